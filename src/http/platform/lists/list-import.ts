import { ENTRY_EFFECTS } from '../../../lists/list-editor.ts';
import { choice, word } from '../../../shapes.ts';
import { operation } from '../../operation/operation.ts';
import type { RequestBody } from '../../operation/request-body.ts';
import { requireContentType } from '../../request/body.ts';
import { answerLines, LINES, LINES_MAX, lineResult } from '../lines.ts';
import { editList, ListLineSchema } from './entry-lines.ts';
import { BAD_LIST_ADDRESS, LIST_IN_PATH } from './list-address.ts';
import { deskOf } from './list-entry.ts';
import type { ListParts } from './lists.ts';

const ListLineResultSchema = lineResult('ListLineResult', {
  value: word('As it was sent'),
  result: choice(ENTRY_EFFECTS, 'absent: it was not there to be removed'),
});

/** Lines, which are read while they are answered. */
const LINES_BODY: RequestBody<'lines'> = {
  content: {
    [LINES]: { name: 'ListLine', example: { value: 'device-1', kind: 'fingerprint', reason: 'a ring' } },
  },
  shapes: { ListLine: ListLineSchema },
  onlyLines: true,
  read: async (req) => {
    requireContentType(req, LINES);
    return 'lines';
  },
};

export const importListEntries = operation({
  method: 'post',
  path: '/v1/platform/lists/{list}/entries',
  operationId: 'importListEntries',
  summary: 'Changes a shared list by many lines',
  description: `Up to ${LINES_MAX} as one JSON object a line, answered by a line each in the same order. A line puts a value on the list, or with \`remove\` takes it off; a bad line stops no other. Where approval is required, ranges of addresses are refused line by line: each is put by itself. The audit log notes how many were added, changed and removed; each entry keeps its own reason.`,
  tag: 'Lists',
  grant: 'lists',
  parameters: [LIST_IN_PATH],
  body: LINES_BODY,
  answers: {
    200: {
      description: 'What each line did',
      content: {
        [LINES]: { shape: ListLineResultSchema, example: { line: 1, value: 'device-1', result: 'added' } },
      },
    },
  },
  refusals: [BAD_LIST_ADDRESS],
  answer: async (asked, { listEditor, approvals }: ListParts) => {
    const desk = deskOf(asked.caller, LIST_IN_PATH.read(asked.ctx));
    await asked.body();
    return answerLines(asked, (lines, grant) =>
      editList(lines, listEditor, desk, grant, approvals.isRequired),
    );
  },
});
