import { type TSchema, Type } from '#base/json-schema.ts';
import { withExample } from '#base/shapes.ts';
import { QueueFull } from '#base/work/fair-queue.ts';
import type { Caller } from '#checkout/access/caller.ts';
import { declareJsonBody } from '#checkout/http/operation/operation.ts';
import {
  createUnavailableProblem,
  declareRefusal,
  HttpProblem,
  runRefusingKnownErrors,
} from '#checkout/http/request/problems.ts';
import { formatProblem, type RuleProblem } from '#decision/rules/problem.ts';
import { createUncheckedVersionSchema, type RuleVersion } from '#decision/rules/rule-set.ts';
import type { DraftText } from '#decision/rules/text/draft-text.ts';
import {
  DRAFTS_IN_MEMORY_MAX,
  PLATFORM_DRAFTS_IN_MEMORY_MAX,
  type RuleDesk,
} from '#workbench/authoring/desk/rule-desk.ts';
import type { DraftFiles } from '#workbench/authoring/drafts.ts';
import { parseBodyVersion } from '#workbench/platform/rules/rule-version.ts';

/** The most bytes of a body with a draft: twice the limit of a version's files, because JSON makes them longer. */
export const DRAFT_BODY_BYTES_MAX = 1024 * 1024;

/**
 * The files of a complete rule set. An example needs all of them, because a draft is read without the version from
 * which it was made.
 */
const FILES_EXAMPLE = {
  'ruleset.yaml':
    'ruleVersion: p2.v11\ndescription: An example.\nsettings: { currency: EUR, scoringLimits: false }\n',
  'groups.yaml':
    'rules:\n  - { name: has-paid, priority: 10, conditions: { all: [{ fact: paidCount, operator: greaterThan, value: 0 }] }, event: { type: group, params: { group: PAYING } } }\notherwise: NEW\n',
  'bot-signals.yaml':
    'threshold: 4\nrules:\n  - { name: trap-field, conditions: { all: [{ fact: honeypotTriggered, operator: equal, value: true }] }, event: { type: signal, params: { weight: 4 } } }\n',
  'verdicts.yaml':
    'rules:\n  - { name: bot, priority: 10, conditions: { all: [{ fact: isBot, operator: equal, value: true }] }, event: { type: verdict, params: { verdict: BLOCK, reason: A bot. } } }\notherwise: { verdict: GET_NEW, reason: No reason to hold the payer back. }\n',
  'ladder.yaml': 'levels: [40s, 5m, 30m]\nresetAfter: 24h\n',
};

export const DraftFilesSchema = withExample(
  Type.Record(Type.String({ wellFormed: true }), {
    description: 'Texts by path, like verdicts.yaml or cases/ladder.yaml',
  }),
  FILES_EXAMPLE,
);

/** The members of a body that contain a draft. */
export const DRAFT_BODY_MEMBERS = {
  version: createUncheckedVersionSchema('Version of the draft, like p2.v11'),
  files: DraftFilesSchema,
} as const;

export const DRAFT_UNSOUND = declareRefusal(
  'draft-unsound',
  'The draft has problems; only a draft without problems is stored or tried.',
  (version: string, done: string, problems: string) =>
    new HttpProblem(
      422,
      'draft has problems',
      `${version} is not ${done}, because it has problems:\n${problems}`,
    ),
  'p2.v11',
  'kept',
  'verdicts.yaml:12:17  unknown fact "waitServd"; did you mean "waitServed"?',
);

/** Returns the refusal of a draft that is not sound. `done` says what was to happen to the draft. */
export function createUnsoundDraftProblem(
  version: RuleVersion,
  done: 'kept' | 'tried',
  problems: readonly RuleProblem[],
): HttpProblem {
  return DRAFT_UNSOUND.problem(version, done, problems.map(formatProblem).join('\n'));
}

/** Declares a body with the files of a draft. It may be larger than other bodies. */
export function declareDraftBody<S extends TSchema>(name: string, schema: S) {
  return declareJsonBody(name, schema, undefined, DRAFT_BODY_BYTES_MAX);
}

/** Converts a body to a draft. Throws 400 if the draft's name is not that of a version. */
export function parseDraftBody({
  version,
  files,
}: Readonly<{ version: string; files: DraftFiles }>): DraftText {
  return { version: parseBodyVersion('version', version), files: Object.entries(files) };
}

export const RULE_DESK_FULL = declareRefusal(
  'desk-full',
  'The node works on as many drafts as it can, of all platforms or of this one.',
  () =>
    createUnavailableProblem(
      `This node is working on ${DRAFTS_IN_MEMORY_MAX} drafts, or on ${PLATFORM_DRAFTS_IN_MEMORY_MAX} of this platform, and takes no more at once. Try again in a moment.`,
    ),
);

/** Runs the work on a draft when the rule desk has room for it. Throws 503 if too many drafts wait. */
export function runAtRuleDesk<T>(desk: RuleDesk, { platform }: Caller, work: () => Promise<T>): Promise<T> {
  return runRefusingKnownErrors(
    () => desk.runWithDraftInMemory(platform, work),
    () => RULE_DESK_FULL.problem(),
    QueueFull,
  );
}
