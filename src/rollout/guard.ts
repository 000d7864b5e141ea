/** What one arm answered since a trial began. */
export interface ArmCounts {
  readonly verdicts: number;
  readonly blocks: number;
  readonly waits: number;
  readonly bots: number;
}

export const NO_COUNTS: ArmCounts = { verdicts: 0, blocks: 0, waits: 0, bots: 0 };

/** Fewer verdicts than this in either arm prove nothing. */
export const GUARD_SAMPLE = 200;

/** |z| of a two-sided test at 0.1 %: the guard looks every second, so a laxer one would cry wolf. */
const SIGNIFICANT_Z = 3.29;

const SHARES = [
  { name: 'BLOCK', of: (counts: ArmCounts) => counts.blocks },
  { name: 'WAIT', of: (counts: ArmCounts) => counts.waits },
  { name: 'bot flag', of: (counts: ArmCounts) => counts.bots },
] as const;

/**
 * Why a canary must be taken back: a share of its answers lies more than `points` percentage points
 * from the active version's, and chance does not explain it. Null while there is no such reason.
 */
export function guardBreach(active: ArmCounts, candidate: ArmCounts, points: number): string | null {
  if (active.verdicts < GUARD_SAMPLE || candidate.verdicts < GUARD_SAMPLE) return null;
  for (const { name, of } of SHARES) {
    const activeShare = of(active) / active.verdicts;
    const candidateShare = of(candidate) / candidate.verdicts;
    const apart = Math.abs(candidateShare - activeShare) * 100;
    const z = twoProportionZ(of(active), active.verdicts, of(candidate), candidate.verdicts);
    if (apart > points && Math.abs(z) > SIGNIFICANT_Z) {
      return `${name} share ${percent(candidateShare)} of ${candidate.verdicts} against ${percent(activeShare)} of ${active.verdicts}: more than ${points} points apart (z ${z.toFixed(1)})`;
    }
  }
  return null;
}

/** The pooled two-proportion z statistic; 0 when both shares are 0 or 1. */
export function twoProportionZ(hitsA: number, totalA: number, hitsB: number, totalB: number): number {
  const pooled = (hitsA + hitsB) / (totalA + totalB);
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / totalA + 1 / totalB));
  return deviation === 0 ? 0 : (hitsB / totalB - hitsA / totalA) / deviation;
}

export function addCounts(a: ArmCounts, b: ArmCounts): ArmCounts {
  return {
    verdicts: a.verdicts + b.verdicts,
    blocks: a.blocks + b.blocks,
    waits: a.waits + b.waits,
    bots: a.bots + b.bots,
  };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
