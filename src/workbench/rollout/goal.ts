import { NamedError } from '#base/named-error.ts';
import { explainImpossibleGuard } from '#checkout/rollout/guard.ts';
import { sumPercent, type VersionShare } from '#checkout/rollout/rollout.ts';
import { encodeObjective, type GivenObjective } from '#decision/objective.ts';
import type { RuleVersion } from '#decision/rules/rule-set.ts';
import { findSharesFault, type RolloutGoal } from './advance.ts';

/** The members that only a canary has, besides those of the objective. */
export const CANARY_MEMBERS = ['percent', 'guard', 'also'] as const;

/** The largest number of other candidates. More candidates would leave too few clients for a comparison. */
export const OTHER_CANDIDATES_MAX = 9;

/** The goal as the body of a request or the options of a command give it. */
interface AskedGoal {
  readonly version: RuleVersion;
  readonly mode: RolloutGoal['mode'];
  readonly percent: number | undefined;
  /** The guard's limit, in percentage points. */
  readonly guard: number | undefined;
  readonly also: readonly VersionShare[] | undefined;
  readonly judged: GivenObjective;
}

/** The goal is not possible. The message is the rest of a sentence that begins with the name of the member. */
export class GoalError extends NamedError {
  readonly member: string;

  constructor(member: string, message: string) {
    super(message);
    this.member = member;
  }
}

/** Parses a goal. Throws `GoalError` if it is not possible. */
export function parseGoal({ version, mode, percent, guard, also, judged }: AskedGoal): RolloutGoal {
  if (mode !== 'canary') {
    const stray = Object.entries({ percent, guard, also, ...judged }).find(
      ([, value]) => value !== undefined,
    );
    if (stray !== undefined) throw new GoalError(stray[0], 'goes only with a canary');
    return { mode };
  }
  if (percent === undefined) throw new GoalError('percent', 'is required for a canary');
  const others = also ?? [];
  if (others.length > OTHER_CANDIDATES_MAX)
    throw new GoalError(
      'also',
      `names ${others.length} candidates; at most ${OTHER_CANDIDATES_MAX} are allowed`,
    );
  const shares = [{ version, percent }, ...others];
  const noDraw = findSharesFault(shares);
  if (noDraw !== null) throw new GoalError('also', noDraw);
  const objective = encodeObjective(judged);
  const canary = { mode, percent, also: others, ...(objective === null ? {} : { objective }) } as const;
  if (guard === undefined) return { ...canary, guardPoints: null };
  const refusal = explainImpossibleGuard(sumPercent(shares));
  if (refusal !== null) throw new GoalError('guard', refusal);
  return { ...canary, guardPoints: guard };
}
