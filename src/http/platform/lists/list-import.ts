import { Type } from 'typebox';
import { choice, named, shape } from '../../../shapes.ts';
import { word } from '../../openapi/words.ts';
import { operation } from '../../operation/operation.ts';
import type { RequestBody } from '../../operation/request-body.ts';
import { requireContentType } from '../../request/body.ts';
import { GrantWatch } from '../../request/grant-watch.ts';
import { LIST_LINES_MAX, ListLineSchema, streamListEdits } from './entry-lines.ts';
import { BAD_LIST_ADDRESS, LIST_IN_PATH } from './list-address.ts';
import { deskOf } from './list-entry.ts';
import type { ListParts } from './lists.ts';

const LINES = 'application/x-ndjson';

const line = Type.Integer({ minimum: 1, description: 'Number of the line, from 1' });

const ListLineResultSchema = named(
  'ListLineResult',
  Type.Union([
    shape('A line that was taken', {
      line,
      value: word('As it was sent'),
      result: choice(
        ['added', 'changed', 'unchanged', 'removed', 'absent'] as const,
        'absent: it was not there to be removed',
      ),
    }),
    shape('A line that was refused; the others are not stopped by it', {
      line,
      error: word('As the title of a problem'),
      detail: word('What is wrong, and what to do'),
    }),
  ]),
);

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
  description: `Up to ${LIST_LINES_MAX} as one JSON object a line, answered by a line each in the same order. A line puts a value on the list, or with \`remove\` takes it off; a bad line stops no other. The audit log notes how many were added, changed and removed; each entry keeps its own reason.`,
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
  answer: async ({ ctx, key, isGranted, body }, { listEditor }: ListParts) => {
    const desk = deskOf(key, LIST_IN_PATH.read(ctx));
    await body();
    ctx.type = LINES;
    // What is still to come after the last answer is not read.
    ctx.res.once('finish', () => ctx.req.complete || ctx.req.destroy());
    return streamListEdits(ctx.req, listEditor, desk, new GrantWatch(isGranted));
  },
});
