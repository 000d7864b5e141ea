import { JobTimeOrMemoryExceeded } from '#base/work/background-work.ts';
import { createParameterProblem, type Parameter } from '#checkout/http/operation/parameter.ts';
import {
  createBadRequestProblem,
  createNotFoundProblem,
  declareRefusal,
  HttpProblem,
  MALFORMED_BODY,
  runRefusingKnownErrors,
} from '#checkout/http/request/problems.ts';
import type { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import {
  isRuleVersion,
  RULE_VERSION_FORM,
  RULE_VERSION_PATTERN,
  type RuleSet,
  type RuleVersion,
} from '#decision/rules/rule-set.ts';
import * as query from '#workbench/platform/parameters.ts';

export const BAD_VERSION = declareRefusal(
  'bad-version',
  'The path has no valid name of a version.',
  (version: string) =>
    createBadRequestProblem(
      `${JSON.stringify(version.slice(0, 100))} is not a valid name of a version, which is ${RULE_VERSION_FORM}.`,
    ),
  'before',
);

export const UNSOUND_VERSION = declareRefusal(
  'unsound-version',
  'The version has problems.',
  (version: string) =>
    createBadRequestProblem(
      `${version} has problems; correct them first. The page Rules of the console lists them.`,
    ),
  'p2.v12',
);

export const UNKNOWN_VERSION = declareRefusal(
  'unknown-version',
  'This node has no such rule set.',
  (version: string) => createNotFoundProblem(`There is no rule set ${version} on this node.`),
  'p2.v99',
);

const PATTERN = { pattern: RULE_VERSION_PATTERN };

export const VERSION_IN_PATH: Parameter<RuleVersion> = {
  ...query.pathParameter('version', 'A rule set, like p2.v11', PATTERN),
  read: ({ params: { version = '' } }) => {
    if (isRuleVersion(version)) return version;
    throw BAD_VERSION.problem(version);
  },
};

/** Declares a query parameter that holds a version. Its value is null if the parameter is missing. */
export function versionParameter(name: string, description: string): Parameter<RuleVersion | null> {
  const text = query.textParameter(name, description, PATTERN);
  const read: Parameter<RuleVersion | null>['read'] = (ctx) => {
    const version = text.read(ctx);
    if (version === null || isRuleVersion(version)) return version;
    throw createParameterProblem(`The parameter ${name} must be ${RULE_VERSION_FORM}.`);
  };
  return { ...text, read };
}

/** Declares a query parameter that must hold a version. Reading it throws 400 if it is missing. */
export function requiredVersionParameter(name: string, description: string): Parameter<RuleVersion> {
  const version = versionParameter(name, description);
  const read: Parameter<RuleVersion>['read'] = (ctx) => {
    const given = version.read(ctx);
    if (given !== null) return given;
    throw createParameterProblem(`The parameter ${name} is required.`);
  };
  return { ...version, required: true, read };
}

export function parseBodyVersion(member: string, text: string): RuleVersion {
  if (isRuleVersion(text)) return text;
  throw MALFORMED_BODY.problem(`/${member}`, `must be ${RULE_VERSION_FORM}`);
}

export const RULE_SET_TOO_HEAVY = declareRefusal(
  'rule-set-too-heavy',
  'Work on the rule set took more computing time or memory than a node allows.',
  (limit: string) =>
    new HttpProblem(
      422,
      'rule set too heavy',
      `The node gave up: ${limit}. The commands rules check, rules test and rules diff have no such limit.`,
    ),
  'it took more than 8 s of computing time',
);

/** Runs work on rule files. Throws the refusal RULE_SET_TOO_HEAVY if the work takes too much computing time or memory. */
export function runRefusingTooHeavyWork<T>(work: () => Promise<T>): Promise<T> {
  return runRefusingKnownErrors(work, RULE_SET_TOO_HEAVY.problem, JobTimeOrMemoryExceeded);
}

/**
 * Returns the rule set of a version. Throws 400 if the version has problems, and 404 if this node has no such
 * version.
 */
export function requireSoundRuleSet(version: RuleVersion, loadedRules: LoadedRules): RuleSet {
  const ruleSet = loadedRules.findByVersion(version);
  if (ruleSet !== null) return ruleSet;
  const isRefused = loadedRules.listRefused().some((one) => one.version === version);
  throw (isRefused ? UNSOUND_VERSION : UNKNOWN_VERSION).problem(version);
}
