/** A decision that comes out differently. */
export interface Mismatch {
  readonly decisionId: string;
  readonly orderRef: string;
  /** Members that differ. */
  readonly members: readonly string[];
}

/** The result of re-deriving decisions. */
export interface Verification {
  readonly checked: number;
  readonly reproduced: number;
  readonly notReproduced: number;
  /** The first of them. */
  readonly mismatches: readonly Mismatch[];
  /** Decisions whose rule set is nowhere any more, by `version digest`. */
  readonly withoutRules: Readonly<Record<string, number>>;
  /** Rows that were changed. */
  readonly damagedRows: number;
  /** Segments that could not be read. */
  readonly unreadable: readonly string[];
}

export const MISMATCHES_MAX = 20;

export const NOTHING_VERIFIED: Verification = {
  checked: 0,
  reproduced: 0,
  notReproduced: 0,
  mismatches: [],
  withoutRules: {},
  damagedRows: 0,
  unreadable: [],
};

export function addVerifications(a: Verification, b: Verification): Verification {
  const withoutRules = { ...a.withoutRules };
  for (const [name, count] of Object.entries(b.withoutRules))
    withoutRules[name] = (withoutRules[name] ?? 0) + count;
  return {
    checked: a.checked + b.checked,
    reproduced: a.reproduced + b.reproduced,
    notReproduced: a.notReproduced + b.notReproduced,
    mismatches: [...a.mismatches, ...b.mismatches].slice(0, MISMATCHES_MAX),
    withoutRules,
    damagedRows: a.damagedRows + b.damagedRows,
    unreadable: [...a.unreadable, ...b.unreadable],
  };
}
