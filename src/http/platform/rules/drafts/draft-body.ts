import { type TSchema, Type } from 'typebox';
import type { DraftText } from '../../../../rules/folder/draft.ts';
import { formatProblem, type Problem } from '../../../../rules/problem.ts';
import { isRuleVersion, RULE_VERSION_FORM, type RuleVersion } from '../../../../rules/rule-set.ts';
import { type Shape, text } from '../../../../shapes.ts';
import { jsonBody, malformed, malformedAt } from '../../../operation/request-body.ts';
import { HttpProblem, refusal } from '../../../request/problems.ts';

/** Twice what a version's files may come to when they are opened, for what JSON adds. */
export const DRAFT_BYTES_MAX = 1024 * 1024;

/** A name of 100 characters below one of the folders comes to less. */
const PATH_CHARACTERS_MAX = 120;

export const DRAFT_FILES = Type.Record(
  Type.String({ maxLength: PATH_CHARACTERS_MAX }),
  Type.String({ wellFormed: true }),
  { description: 'Texts by path, like verdicts.yaml or cases/ladder.yaml' },
);

/** A rule set that somebody is at work on, as a body brings it along. */
export const DRAFT_MEMBERS = {
  version: text(32, 'What the draft is called, like p2.v11'),
  files: DRAFT_FILES,
} as const;

export const DRAFT_EXAMPLE = {
  version: 'p2.v11',
  files: { 'ladder.yaml': 'levels: [40s, 5m, 30m]\nresetAfter: 24h\n' },
} as const;

const BAD_VERSION = ['/version', `must be ${RULE_VERSION_FORM}`] as const;

export const BAD_DRAFT_NAME = malformed(...BAD_VERSION);

export const DRAFT_UNSOUND = refusal(
  'draftUnsound',
  'It has problems; only what is sound is kept, or tried.',
  (version: string, done: string, problems: string) =>
    new HttpProblem(
      422,
      'draft not sound',
      `${version} is not ${done}, because it is not sound:\n${problems}`,
    ),
  'p2.v11',
  'kept',
  'verdicts.yaml:12:17  unknown fact "waitServd"; did you mean "waitServed"?',
);

/** What a draft that is not sound is answered with, after what was wanted of it. */
export function draftUnsound(
  version: RuleVersion,
  done: 'kept' | 'tried',
  problems: readonly Problem[],
): HttpProblem {
  return DRAFT_UNSOUND.problem(version, done, problems.map(formatProblem).join('\n'));
}

/** A body that brings the files of a draft along, so that it may be larger than others. */
export function draftBody<S extends TSchema>(name: string, schema: S, example: Shape<S>) {
  return jsonBody(name, schema, example, DRAFT_BYTES_MAX);
}

/** Throws 400 when the draft is not called as versions are. */
export function draftText({
  version,
  files,
}: {
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
}): DraftText {
  if (!isRuleVersion(version)) throw malformedAt(...BAD_VERSION);
  return { version, files: Object.entries(files) };
}
