import { type Candidate, getActivePercent, type Rollout } from './rollout.ts';
import type { ClientCounts, TrialFigures } from './trial-counts.ts';

export interface ArmClients {
  readonly active: ClientCounts;
  readonly candidate: ClientCounts;
}

/** Why a canary of these percent of the clients cannot have a guard; null when it can. */
export function refuseGuard(percent: number): string | null {
  if (percent < 100) return null;
  return 'compares the canary with clients of the active version, and 100 percent leave none of those; choose fewer percent, or leave the guard out';
}

/** Of canaries whose rules are the same as the active ones, at most this share is ever taken back. */
const FALSE_ALARMS_MAX = 0.01;

/**
 * What is compared, whether more of it (1) or less (-1) is harm, and its part of the false alarms; the most harmful
 * mistake has the largest. Payment is known only of clients with an outcome.
 */
export const GUARDED_SHARES = [
  { name: 'BLOCK', of: (counts: ClientCounts) => counts.blocked, harm: 1, weight: 0.5, final: true },
  { name: 'WAIT', of: (counts: ClientCounts) => counts.waited, harm: 1, weight: 0.2, final: true },
  { name: 'bot flag', of: (counts: ClientCounts) => counts.bots, harm: 1, weight: 0.1, final: true },
  { name: 'paid', of: (counts: ClientCounts) => counts.paid, harm: -1, weight: 0.2, final: false },
] as const;

/**
 * Why a canary must be taken back: a share of its clients is more than `points` percentage points worse than the active
 * version's, and chance does not explain it. Null while there is no such reason. A better share takes nothing back.
 *
 * Which arm a client belongs to is a draw by hash with a known chance, `percent`, whatever the client does. Were the rules
 * the same, the arm of each client that is blocked for the first time would be such a draw. Who was not blocked may still
 * be, and who has not paid may still pay, so these are no evidence. The evidence is how much better alternatives explain
 * the draws than chance does: a mixture of likelihood ratios, which is a martingale while the rules are the same. It
 * therefore exceeds 1 / a with a chance of at most a, over a trial of any length, however often somebody looks (Ville's
 * inequality; Howard, Ramdas, McAuliffe and Sekhon, Time-uniform nonparametric, nonasymptotic confidence sequences, 2021).
 * Payments that are taken back leave the count. The theorem says nothing of that; simulations of it stay within the bound.
 */
export function findGuardBreach(arms: ArmClients, percent: number, points: number): string | null {
  return strayed(arms, percent, points, 1)[0] ?? null;
}

/** What the canary does better by as much, in the same words. */
export function listGuardGains(arms: ArmClients, percent: number, points: number): readonly string[] {
  return strayed(arms, percent, points, -1);
}

/** The shares that went so far into harm (1), or out of it (-1). */
function strayed(arms: ArmClients, percent: number, points: number, towards: 1 | -1): readonly string[] {
  const { active, candidate } = arms;
  if (refuseGuard(percent) !== null || active.seen === 0 || candidate.seen === 0) return [];
  return GUARDED_SHARES.flatMap(({ name, of, harm, weight, final }) => {
    const activeShare = of(active) / active.seen;
    const candidateShare = of(candidate) / candidate.seen;
    const sign = harm === towards ? 1 : -1;
    if (sign * (candidateShare - activeShare) * 100 <= points) return [];
    const evidence = computeLogEvidence([of(active), of(candidate)], percent / 100, (sign * points) / 100);
    if (evidence < -Math.log(FALSE_ALARMS_MAX * weight)) return [];
    const trials = Math.floor(weight * Math.exp(Math.min(evidence, LOG_SHOWN_MAX)));
    const told = final ? '' : ` (${formatClientCounts(candidate)}; against ${formatClientCounts(active)})`;
    return [
      `${name} share ${inPercent(candidateShare)} of ${candidate.seen} clients against ${inPercent(activeShare)} of ${active.seen}${told}: more than ${points} points apart, which chance shows in less than 1 of ${trials} trials`,
    ];
  });
}

/** To people a chance of one in a million is none. */
const LOG_SHOWN_MAX = Math.log(5_000_000);

/** Shares of the active version that alternatives are spread over, and their distance in units of the points. */
const BASES = [0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.6, 0.75, 0.88, 0.96, 0.99];
const DISTANCES = [1.2, 2, 3, 6];

/** How many clients to whom something happened were drawn into each arm: active, candidate. */
type Hits = readonly [number, number];

/**
 * The natural logarithm of the mixture over alternatives in which the share of the candidate lies further from the active
 * one's than `distance`, above it or, when that is less than 0, below. `chance` is a client's chance of being drawn into
 * the candidate's arm.
 */
export function computeLogEvidence(hits: Hits, chance: number, distance: number): number {
  const logs = BASES.flatMap((base) =>
    DISTANCES.map((times) => base + times * distance)
      .filter((other) => other > 0 && other < 1)
      .map((other) => logRatio(hits, chance, base, other)),
  );
  const largest = Math.max(...logs);
  const sum = logs.reduce((total, log) => total + Math.exp(log - largest), 0);
  return largest + Math.log(sum / logs.length);
}

/** How much better the draws are explained when the active share is `base` and the candidate's is `other`. */
function logRatio(hits: Hits, chance: number, base: number, other: number): number {
  const ofHit = (chance * other) / (chance * other + (1 - chance) * base);
  return hits[1] * Math.log(ofHit / chance) + hits[0] * Math.log((1 - ofHit) / (1 - chance));
}

/** What is known of the clients by now: who is unknown may still pay. */
export function formatClientCounts({ seen, paid, unpaid }: ClientCounts): string {
  return `${paid} paid, ${unpaid} only unpaid, ${Math.max(0, seen - paid - unpaid)} unknown`;
}

function inPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** Why the guard of this candidate takes it back; null when it does not, or there is no guard. */
export function findCandidateBreach(
  rollout: Rollout,
  candidate: Candidate,
  arms: TrialFigures['arms'],
): string | null {
  return guarded(findGuardBreach, rollout, candidate, arms, null);
}

/** What the canary does better by more than the points of its guard; nothing where there is no guard. */
export function listCandidateGains(
  rollout: Rollout,
  candidate: Candidate,
  arms: TrialFigures['arms'],
): readonly string[] {
  return guarded(listGuardGains, rollout, candidate, arms, []);
}

/** What a guard says of a candidate; `none` where there is no guard. */
function guarded<T>(
  says: (clients: ArmClients, percent: number, points: number) => T,
  rollout: Rollout,
  { guardPoints, percent }: Candidate,
  arms: TrialFigures['arms'],
  none: T,
): T {
  if (guardPoints === null) return none;
  // Only clients of these two are compared, so this is their chance of being in the candidate's arm.
  const chance = percent / (percent + getActivePercent(rollout));
  const clients = { active: arms.active.clients, candidate: arms.candidate.clients };
  return says(clients, chance * 100, guardPoints);
}

/** A part of a candidate's trial in which the arms stay the same: it ends when the mode, a share of the draw or the active version changes. */
interface Stage {
  readonly trial: string;
  /** Epoch ms. */
  readonly since: number;
}

/** The stage that a candidate is in. Clients who changed arms with a new share are counted from zero. */
export function getStage({ trial, version, mode, percent, stageSince }: Candidate): Stage {
  return { trial: `${trial}/${version}/${mode}/${percent}/${stageSince}`, since: stageSince };
}
