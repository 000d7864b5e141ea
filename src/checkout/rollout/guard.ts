import { type Candidate, getActivePercent, type Rollout } from './rollout.ts';
import type { ArmClientCounts, TrialStageFigures } from './trial-counts.ts';

export interface ClientCountsByArm {
  readonly active: ArmClientCounts;
  readonly candidate: ArmClientCounts;
}

/** Explains why a canary for this percent of the clients cannot have a guard. Returns null if it can. */
export function explainImpossibleGuard(percent: number): string | null {
  if (percent < 100) return null;
  return 'compares the canary with clients of the active version, and at 100 percent there are none; choose fewer percent, or leave the guard out';
}

/** The highest probability with which the guard takes back a canary that has the same rules as the active version. */
const FALSE_ALARMS_MAX = 0.01;

/**
 * The shares that the guard compares. `harm` is 1 if an increase of the share is harm, and -1 if a decrease is.
 * `weight` is the part of the allowed false alarms that this share may cause. The most harmful mistake has the
 * largest weight. `final` is false for payment, because a client who has not paid yet may still pay.
 */
export const GUARDED_SHARES = [
  { name: 'BLOCK', of: (counts: ArmClientCounts) => counts.blocked, harm: 1, weight: 0.5, final: true },
  { name: 'WAIT', of: (counts: ArmClientCounts) => counts.waited, harm: 1, weight: 0.2, final: true },
  { name: 'bot flag', of: (counts: ArmClientCounts) => counts.bots, harm: 1, weight: 0.1, final: true },
  { name: 'paid', of: (counts: ArmClientCounts) => counts.paid, harm: -1, weight: 0.2, final: false },
] as const;

/**
 * Explains why a canary must be taken back: a share of its clients is more than `points` percentage points worse than
 * the active version's, and chance does not explain the difference. Returns null if there is no such reason. A share
 * that is better never takes a canary back.
 *
 * A client's arm is drawn by hash with a known chance, `percent`, whatever the client does. If both rule sets were
 * the same, each client that is blocked for the first time would be in the candidate's arm with exactly this chance.
 * A client who was not blocked may still be blocked, and a client who has not paid may still pay, so these clients
 * are no evidence.
 *
 * The evidence is a ratio of two probabilities of the draws. The first supposes that the shares of the two arms
 * differ, and the second that the rule sets are the same. The evidence is averaged over several supposed shares, as a
 * mixture of likelihood ratios. Such a mixture is a martingale while the rules are the same. Therefore the evidence
 * exceeds 1 / a with a probability of at most a, over a trial of any length and however often somebody reads the
 * figures (Ville's inequality; Howard, Ramdas, McAuliffe and Sekhon, Time-uniform nonparametric, nonasymptotic
 * confidence sequences, 2021).
 *
 * When a payment is reversed, its client is no longer counted as paid. The theorem does not cover this change. In
 * simulations the false alarms stay within the bound.
 */
export function explainGuardBreach(arms: ClientCountsByArm, percent: number, points: number): string | null {
  return listStrayed(arms, percent, points, 1)[0] ?? null;
}

/** Lists the shares that the canary improves by more than `points`, each in words. */
export function listImprovedShares(
  arms: ClientCountsByArm,
  percent: number,
  points: number,
): readonly string[] {
  return listStrayed(arms, percent, points, -1);
}

/** Lists the shares that moved by more than `points` towards harm (1) or away from harm (-1). */
function listStrayed(
  arms: ClientCountsByArm,
  percent: number,
  points: number,
  towards: 1 | -1,
): readonly string[] {
  const { active, candidate } = arms;
  if (explainImpossibleGuard(percent) !== null || active.seen === 0 || candidate.seen === 0) return [];
  return GUARDED_SHARES.flatMap(({ name, of, harm, weight, final }) => {
    const activeShare = of(active) / active.seen;
    const candidateShare = of(candidate) / candidate.seen;
    const sign = harm === towards ? 1 : -1;
    if (sign * (candidateShare - activeShare) * 100 <= points) return [];
    const evidence = computeLogEvidence([of(active), of(candidate)], percent / 100, (sign * points) / 100);
    if (evidence < -Math.log(FALSE_ALARMS_MAX * weight)) return [];
    const trials = Math.floor(weight * Math.exp(Math.min(evidence, LOG_SHOWN_MAX)));
    const told = final
      ? ''
      : ` (${formatClientsByPayment(candidate)}; against ${formatClientsByPayment(active)})`;
    return [
      `${name} share ${formatPercent(candidateShare)} of ${candidate.seen} clients against ${formatPercent(activeShare)} of ${active.seen}${told}: more than ${points} points apart; chance alone shows this in fewer than 1 of ${trials} trials`,
    ];
  });
}

/** The text shows no chance below one in five million, because a smaller chance tells a reader nothing more. */
const LOG_SHOWN_MAX = Math.log(5_000_000);

/**
 * BASES are the supposed shares of the active version. The supposed share of the candidate lies above or below such a
 * base, by the guard's points multiplied by one of DISTANCES.
 */
const BASES = [0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.6, 0.75, 0.88, 0.96, 0.99];
const DISTANCES = [1.2, 2, 3, 6];

/** The number of clients to whom the compared event happened, by arm: active, candidate. */
type ArmHits = readonly [number, number];

/**
 * Computes the natural logarithm of the evidence that the candidate's share is more than `distance` above the active
 * share. If `distance` is negative, it is the evidence that the candidate's share is more than `-distance` below the
 * active share. `chance` is a client's chance of being drawn into the candidate's arm.
 */
export function computeLogEvidence(hits: ArmHits, chance: number, distance: number): number {
  const logs = BASES.flatMap((base) =>
    DISTANCES.map((times) => base + times * distance)
      .filter((other) => other > 0 && other < 1)
      .map((other) => computeLogRatio(hits, chance, base, other)),
  );
  const largest = Math.max(...logs);
  const sum = logs.reduce((total, log) => total + Math.exp(log - largest), 0);
  return largest + Math.log(sum / logs.length);
}

/**
 * Computes the natural logarithm of a ratio of two probabilities of the draws. The first supposes that the active
 * share is `base` and the candidate's share is `other`. The second supposes that both shares are equal.
 */
function computeLogRatio(hits: ArmHits, chance: number, base: number, other: number): number {
  const ofHit = (chance * other) / (chance * other + (1 - chance) * base);
  return hits[1] * Math.log(ofHit / chance) + hits[0] * Math.log((1 - ofHit) / (1 - chance));
}

/** Formats what is known of the clients so far. An unknown client may still pay. */
export function formatClientsByPayment({ seen, paid, unpaid }: ArmClientCounts): string {
  return `${paid} paid, ${unpaid} only unpaid, ${Math.max(0, seen - paid - unpaid)} unknown`;
}

function formatPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** Explains why the guard of this candidate takes it back. Returns null if it does not, or if there is no guard. */
export function explainCandidateGuardBreach(
  rollout: Rollout,
  candidate: Candidate,
  arms: TrialStageFigures['arms'],
): string | null {
  return askGuard(explainGuardBreach, rollout, candidate, arms, null);
}

/**
 * Lists the shares that the canary improves by more than the points of its guard. The list is empty if there is no
 * guard.
 */
export function listCandidateImprovements(
  rollout: Rollout,
  candidate: Candidate,
  arms: TrialStageFigures['arms'],
): readonly string[] {
  return askGuard(listImprovedShares, rollout, candidate, arms, []);
}

/**
 * Calls `compareShares` with the figures for the guard of a candidate. Returns `none` if the candidate has no guard.
 */
function askGuard<T>(
  compareShares: (clients: ClientCountsByArm, percent: number, points: number) => T,
  rollout: Rollout,
  { guardPoints, percent }: Candidate,
  arms: TrialStageFigures['arms'],
  none: T,
): T {
  if (guardPoints === null) return none;
  // The chance of the candidate's arm among the compared clients: those of the candidate and of the active version.
  const chance = percent / (percent + getActivePercent(rollout));
  const clients = { active: arms.active.clients, candidate: arms.candidate.clients };
  return compareShares(clients, chance * 100, guardPoints);
}

/**
 * A part of a candidate's trial in which the arms stay the same. It ends when the mode, a share of the draw or the
 * active version changes.
 */
interface TrialStage {
  readonly trial: string;
  /** Epoch ms. */
  readonly since: number;
}

/**
 * Returns the current stage of a candidate. The counts of each stage begin at zero, because a new share moves clients
 * to another arm.
 */
export function getTrialStage({ trial, version, mode, percent, stageSince }: Candidate): TrialStage {
  return { trial: `${trial}/${version}/${mode}/${percent}/${stageSince}`, since: stageSince };
}
