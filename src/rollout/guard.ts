import type { ClientCounts } from './arm-counts.ts';

/** The two arms of a canary, by clients. */
export interface ArmClients {
  readonly active: ClientCounts;
  readonly candidate: ClientCounts;
}

/** Why a canary of these percent of the clients cannot have a guard; null when it can. */
export function whyUnguarded(percent: number): string | null {
  if (percent < 100) return null;
  return 'compares the canary with clients of the active version, and 100 percent leave none of those; choose fewer percent, or leave the guard out';
}

/** Of canaries whose rules are the same as the active ones, at most this share is ever taken back. */
const FALSE_ALARMS_MAX = 0.01;

/**
 * What is compared, and its part of the false alarms; the most harmful mistake has the most. What is not final is
 * known only of clients with an outcome.
 */
export const COMPARED_SHARES = [
  { name: 'BLOCK', of: (counts: ClientCounts) => counts.blocked, weight: 0.5, final: true },
  { name: 'WAIT', of: (counts: ClientCounts) => counts.waited, weight: 0.2, final: true },
  { name: 'bot flag', of: (counts: ClientCounts) => counts.bots, weight: 0.1, final: true },
  // Who has not paid may still pay, so only payers are evidence.
  { name: 'paid', of: (counts: ClientCounts) => counts.paid, weight: 0.2, final: false },
] as const;

/**
 * Why a canary must be taken back: a share of its clients lies more than `points` percentage points from
 * the active version's, and chance does not explain it. Null while there is no such reason.
 *
 * Which arm a client belongs to is a draw by hash with a known chance, `percent`, whatever the client does.
 * Were the rules the same, the arms of the blocked clients would be such draws, and so would those of the
 * others. The evidence is how much better alternatives explain the draws than chance does: a mixture of
 * likelihood ratios, which is a martingale while the rules are the same. It therefore exceeds 1 / a with a
 * chance of at most a, over a trial of any length, however often somebody looks (Ville's inequality; Howard,
 * Ramdas, McAuliffe and Sekhon, Time-uniform nonparametric, nonasymptotic confidence sequences, 2021).
 */
export function guardBreach(arms: ArmClients, percent: number, points: number): string | null {
  const { active, candidate } = arms;
  if (whyUnguarded(percent) !== null || active.seen === 0 || candidate.seen === 0) return null;
  for (const { name, of, weight, final } of COMPARED_SHARES) {
    const activeShare = of(active) / active.seen;
    const candidateShare = of(candidate) / candidate.seen;
    if (Math.abs(candidateShare - activeShare) * 100 <= points) continue;
    const misses: Draws['misses'] = final ? missesOf(arms, of) : [0, 0];
    const draws: Draws = { hits: [of(active), of(candidate)], misses };
    const evidence = logEvidence(draws, percent / 100, points / 100);
    if (evidence < -Math.log(FALSE_ALARMS_MAX * weight)) continue;
    const trials = Math.floor(weight * Math.exp(Math.min(evidence, LOG_SHOWN_MAX)));
    const told = final ? '' : ` (${fatesOf(candidate)}; against ${fatesOf(active)})`;
    return `${name} share ${inPercent(candidateShare)} of ${candidate.seen} clients against ${inPercent(activeShare)} of ${active.seen}${told}: more than ${points} points apart, which chance shows in less than 1 of ${trials} trials`;
  }
  return null;
}

/** A chance of one in a million is as good as none to people. */
const LOG_SHOWN_MAX = Math.log(5_000_000);

function missesOf({ active, candidate }: ArmClients, of: (counts: ClientCounts) => number): Draws['misses'] {
  return [active.seen - of(active), candidate.seen - of(candidate)];
}

/** How many of the clients with and without a thing were drawn into each arm: active, candidate. */
export interface Draws {
  readonly hits: readonly [number, number];
  readonly misses: readonly [number, number];
}

/** Shares of the active version that alternatives are spread over, and their distance in units of the points. */
const BASES = [0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.6, 0.75, 0.88, 0.96, 0.99];
const DISTANCES = [-6, -3, -2, -1.2, 1.2, 2, 3, 6];

/**
 * The natural logarithm of the mixture over alternatives in which the share of one arm lies further from
 * the other's than `distance`. `chance` is a client's chance of being drawn into the candidate's arm.
 */
export function logEvidence(draws: Draws, chance: number, distance: number): number {
  const logs = BASES.flatMap((base) =>
    DISTANCES.map((times) => base + times * distance)
      .filter((other) => other > 0 && other < 1)
      .map((other) => logRatio(draws, chance, base, other)),
  );
  const largest = Math.max(...logs);
  const sum = logs.reduce((total, log) => total + Math.exp(log - largest), 0);
  return largest + Math.log(sum / logs.length);
}

/** How much better the draws are explained when the active share is `base` and the candidate's is `other`. */
function logRatio({ hits, misses }: Draws, chance: number, base: number, other: number): number {
  const ofHit = (chance * other) / (chance * other + (1 - chance) * base);
  const ofMiss = (chance * (1 - other)) / (chance * (1 - other) + (1 - chance) * (1 - base));
  return (
    hits[1] * Math.log(ofHit / chance) +
    hits[0] * Math.log((1 - ofHit) / (1 - chance)) +
    misses[1] * Math.log(ofMiss / chance) +
    misses[0] * Math.log((1 - ofMiss) / (1 - chance))
  );
}

/** What is known of the clients by now: who is unknown may still pay. */
export function fatesOf({ seen, paid, unpaid }: ClientCounts): string {
  return `${paid} paid, ${unpaid} only unpaid, ${Math.max(0, seen - paid - unpaid)} unknown`;
}

function inPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
