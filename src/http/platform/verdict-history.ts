import { HISTORY_SPANS } from '../../archive/read/verdict-history.ts';
import { Type } from '../../json-schema.ts';
import { VerdictMinuteSchema } from '../../metrics/last-hour.ts';
import type { Records } from '../../service/records.ts';
import { count, epochMs, list, named, nullable, shape } from '../../shapes.ts';
import { AT_EXAMPLE } from '../openapi/decision-shapes.ts';
import { jsonAnswer, operation } from '../operation/operation.ts';
import { BAD_PARAMETER, queryChoice, queryInstant } from '../operation/parameters.ts';

export const VerdictHistorySchema = named(
  'VerdictHistory',
  shape('What all nodes answered over a span', {
    history: nullable(
      shape('From the archive, which gets decisions within ten seconds', {
        stepMs: Type.Integer({ minimum: 1, description: 'Length of a slot, milliseconds' }),
        slots: list(VerdictMinuteSchema, 'Oldest first; the running one last, or the one that holds the end'),
        to: nullable(epochMs('Of the newest decision among them; null without one')),
        gaps: list(
          shape('Entries that were lost before they were shipped, or whose file cannot be read', {
            from: epochMs('About'),
            to: epochMs('About'),
            entries: count('About'),
          }),
          'Within the span',
        ),
      }),
    ),
  }),
);

const SPAN = queryChoice('span', HISTORY_SPANS, 'How far back; absent: day');
const TO = queryInstant('to', 'Where the span ends, in the last slot; absent: now');

export const readVerdictHistory = operation({
  method: 'get',
  path: '/v1/platform/verdict-history',
  operationId: 'readVerdictHistory',
  summary: 'What all nodes answered over hours, days and weeks',
  description:
    'From the archive, so it survives restarts. Null where this node has none: then there is `last-hour` of each node.',
  tag: 'Console',
  grant: 'figures',
  parameters: [SPAN, TO],
  answers: jsonAnswer('Counts by slots of time; the example shows one', VerdictHistorySchema, {
    history: {
      stepMs: 1_800_000,
      slots: [
        {
          at: AT_EXAMPLE,
          verdicts: { GET_NEW: 410, GET_SAME_STICKY: 30, WAIT: 120, BLOCK: 20 },
          groups: { NEW: 300, STICKY: 30, PAYING: 200, TRUSTED: 30, BLOCKED: 20 },
          bots: 20,
          waits: { 1: 90, 2: 30 },
        },
      ],
      to: AT_EXAMPLE,
      gaps: [],
    },
  }),
  refusals: [BAD_PARAMETER],
  answer: async ({ ctx, caller }, { records }: { readonly records: Records }) => ({
    history: await records.verdictHistory(
      caller.platform,
      SPAN.read(ctx) ?? 'day',
      TO.read(ctx) ?? undefined,
    ),
  }),
});
