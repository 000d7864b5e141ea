import { RuleCoverageSchema } from '../../../../authoring/cases/cases.ts';
import { ChangedLineSchema } from '../../../../authoring/cases/update-cases.ts';
import type { Remark } from '../../../../authoring/desk/examine.ts';
import { lostCasesMember } from '../../../../authoring/desk/release-version.ts';
import type { RuleDesk } from '../../../../authoring/desk/rule-desk.ts';
import { knownLists } from '../../../../authoring/shared-list-notes.ts';
import { Type } from '../../../../json-schema.ts';
import type { ListNode } from '../../../../lists/list-node.ts';
import { ConstantSchema } from '../../../../rules/folder/constant.ts';
import { ProblemSchema } from '../../../../rules/problem.ts';
import { formatExample } from '../../../../rules/proof/relations.ts';
import { count, list, named, nullable, type Shape, shape, word, yesNo } from '../../../../shapes.ts';
import { jsonAnswer, operation } from '../../../operation/operation.ts';
import { withinLimits } from '../rule-version.ts';
import {
  BAD_DRAFT_NAME,
  DRAFT_EXAMPLE,
  DRAFT_FILES,
  DRAFT_MEMBERS,
  draftBody,
  draftText,
} from './draft-body.ts';
import { atDesk, DESK_FULL } from './draft-turn.ts';

export interface CheckDraftParts {
  readonly desk: RuleDesk;
  readonly lists: ListNode;
  readonly clock: () => number;
}

const RemarkSchema = shape('Something to tell about a rule file', {
  ...ProblemSchema.properties,
  example: nullable(word('Facts that show it')),
});

export const CheckedDraftSchema = named(
  'CheckedDraft',
  shape('What is to be told about a draft', {
    sound: yesNo('False: nodes would refuse it'),
    digest: nullable(word('SHA-256 over its files; null when it is not sound')),
    problems: list(RemarkSchema, 'In what it is not sound; otherwise what stands in the way of its release'),
    notes: list(RemarkSchema, 'Worth knowing, and no obstacle'),
    coverage: nullable(RuleCoverageSchema),
    lostCases: lostCasesMember,
    constants: list(ConstantSchema, 'What a sweep may vary; empty when it is not sound'),
  }),
);

export const checkDraft = operation({
  method: 'post',
  path: '/v1/platform/rules/drafts/check',
  operationId: 'checkDraft',
  summary: 'What is to be told about a draft',
  description:
    'As the commands "rules check" and "rules test" tell it, about files that lie nowhere yet. Nothing is kept.',
  tag: 'Rules',
  grant: 'rules',
  body: draftBody('CheckDraftBody', Type.Object(DRAFT_MEMBERS), DRAFT_EXAMPLE),
  answers: jsonAnswer('Its problems with their places, and what its cases say', CheckedDraftSchema, {
    sound: false,
    digest: null,
    problems: [
      {
        at: { file: 'ruleset.yaml', line: 1, column: 1 },
        message: 'the file is missing',
        example: null,
      },
    ],
    notes: [],
    coverage: null,
    lostCases: null,
    constants: [],
  }),
  refusals: [BAD_DRAFT_NAME, DESK_FULL],
  answer: ({ body, caller }, { desk, lists, clock }: CheckDraftParts) =>
    atDesk(desk, caller, async (): Promise<Shape<typeof CheckedDraftSchema>> => {
      const draft = draftText(await body());
      const known = knownLists(lists.copy, clock(), caller.platform);
      const { digest, problems, notes, ...rest } = await withinLimits(() =>
        desk.check(caller.platform, draft, known),
      );
      return {
        sound: digest !== null,
        digest,
        problems: problems.map(told),
        notes: notes.map(told),
        ...rest,
      };
    }),
});

function told({ at, message, example }: Remark): Shape<typeof RemarkSchema> {
  return { at, message, example: example ? formatExample(example) : null };
}

export const RewrittenCasesSchema = named(
  'RewrittenCases',
  shape('The cases of a draft with the lengths of waits that it gives now', {
    files: DRAFT_FILES,
    lines: list(ChangedLineSchema, 'What changes in them'),
    left: count('Cases that fail by more than the length of a wait, and stay as they are'),
  }),
);

export const rewriteCases = operation({
  method: 'post',
  path: '/v1/platform/rules/drafts/cases',
  operationId: 'rewriteCases',
  summary: 'The cases of a draft with the lengths of waits that it gives now',
  description:
    'As "rules test --update" writes them: the case files that change, comments and layout kept. A draft that is not sound has none. Nothing is kept.',
  tag: 'Rules',
  grant: 'rules',
  body: draftBody('RewriteCasesBody', Type.Object(DRAFT_MEMBERS), DRAFT_EXAMPLE),
  answers: jsonAnswer('The files that change, and line by line in what', RewrittenCasesSchema, {
    files: { 'cases/ladder.yaml': 'cases: ..\n' },
    lines: [
      {
        file: 'cases/ladder.yaml',
        line: 12,
        before: '        expect: { verdict: WAIT, waitSeconds: 30 }',
        after: '        expect: { verdict: WAIT, waitSeconds: 40 }',
      },
    ],
    left: 0,
  }),
  refusals: [BAD_DRAFT_NAME, DESK_FULL],
  answer: ({ body, caller }, { desk }: Pick<CheckDraftParts, 'desk'>) =>
    atDesk(desk, caller, async (): Promise<Shape<typeof RewrittenCasesSchema>> => {
      const draft = draftText(await body());
      const rewritten = await withinLimits(() => desk.rewriteCases(caller.platform, draft));
      const { files = new Map(), lines = [], left = [] } = rewritten ?? {};
      return { files: Object.fromEntries(files), lines, left: left.length };
    }),
});
