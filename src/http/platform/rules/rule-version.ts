import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import { isRuleVersion, RULE_VERSION_PATTERN, type RuleSet } from '../../../rules/rule-set.ts';
import { LimitExceeded } from '../../../work/background-work.ts';
import type { Parameter } from '../../operation/parameters.ts';
import { badRequest, HttpProblem, notFound, orRefused, refusal } from '../../request/problems.ts';

const WHEN_BAD = 'A version is not written as one, or has problems.';

export const WHEN_UNKNOWN = 'This node has no such rule set.';

export const BAD_VERSION = refusal(
  'bad-version',
  WHEN_BAD,
  (name: string) => badRequest(`${name} must be a rule version, once, like p2.v10.`),
  'before',
);

export const UNSOUND_VERSION = refusal(
  'unsound-version',
  WHEN_BAD,
  (version: string) =>
    badRequest(`${version} has problems; mend it first. The console's page Rules lists them.`),
  'p2.v12',
);

export const UNKNOWN_VERSION = refusal(
  'unknown-version',
  WHEN_UNKNOWN,
  (version: string) => notFound(`There is no rule set ${version} on this node.`),
  'p2.v99',
);

/** A version that a query must name; `soundVersion` reads it. */
export function versionInQuery(name: string, description: string): Parameter<string | string[] | undefined> {
  const schema = { type: 'string', pattern: RULE_VERSION_PATTERN };
  return { name, in: 'query', required: true, description, schema, read: ({ query }) => query[name] };
}

export const TOO_HEAVY = refusal(
  'rule-set-too-heavy',
  'Work on the rule set took more computing time or memory than a node gives it.',
  (limit: string) =>
    new HttpProblem(
      422,
      'rule set too heavy',
      `A node does not go on with this: ${limit}. The commands rules check, rules test and rules diff take their time.`,
    ),
  'it took more than 8 s of computing time',
);

/** Work on rule files; TOO_HEAVY when it takes too much. */
export function withinLimits<T>(work: () => Promise<T>): Promise<T> {
  return orRefused(work, TOO_HEAVY.problem, LimitExceeded);
}

/** The rule set that a request names as `name`; 400 when it cannot be compared, 404 when there is none. */
export function soundVersion(
  given: string | string[] | undefined,
  name: string,
  loadedRules: LoadedRules,
): RuleSet {
  if (typeof given !== 'string' || !isRuleVersion(given)) throw BAD_VERSION.problem(name);
  const ruleSet = loadedRules.get(given);
  if (ruleSet !== null) return ruleSet;
  const refused = loadedRules.refused().some(({ version }) => version === given);
  throw refused ? UNSOUND_VERSION.problem(given) : UNKNOWN_VERSION.problem(given);
}
