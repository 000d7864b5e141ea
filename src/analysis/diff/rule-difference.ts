/** The part of a rule set in which something differs. */
export const DIFF_PARTS = [
  'settings',
  'ladder',
  'platforms',
  'limits',
  'lists',
  'groups',
  'bot-signals',
  'verdicts',
] as const;

export type DiffPart = (typeof DIFF_PARTS)[number];

export const DIFFERENCE_KINDS = ['added', 'removed', 'changed', 'renamed', 'reprioritised'] as const;

/** One thing that is decided otherwise; comments, layout, order of members and descriptions are not. */
export interface RuleDifference {
  readonly part: DiffPart;
  /** A rule, a named condition, a setting, a ladder level, a list or a platform. */
  readonly name: string;
  readonly kind: (typeof DIFFERENCE_KINDS)[number];
  /** For people: `asked-too-early: waitRemainingSeconds > 0 -> > 2`. */
  readonly text: string;
}

export function changed(part: DiffPart, name: string, change: string): RuleDifference {
  return { part, name, kind: 'changed', text: `${name}: ${change}` };
}

/** Null means that the side has none. */
export function valueChange(
  part: DiffPart,
  name: string,
  before: string | null,
  after: string | null,
): readonly RuleDifference[] {
  if (before === after) return [];
  if (before === null) return [{ part, name, kind: 'added', text: `${name}: added, ${after}` }];
  if (after === null) return [{ part, name, kind: 'removed', text: `${name}: removed, was ${before}` }];
  return [changed(part, name, `${before} -> ${after}`)];
}
