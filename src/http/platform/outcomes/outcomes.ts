import type { Logger } from 'pino';
import { OUTCOME_EFFECTS } from '../../../client/changes.ts';
import type { OrderReport, ScoringService } from '../../../service/scoring.ts';
import { choice, named, shape, word } from '../../../shapes.ts';
import { operation } from '../../operation/operation.ts';
import { malformed, type RequestBody } from '../../operation/request-body.ts';
import { contentType, readJson, requireContentType } from '../../request/body.ts';
import { answerLines, LINES, LINES_MAX, lineResult } from '../lines.ts';
import { OutcomeBodySchema, outcomeReport, STRAY_CAUSE } from './outcome-report.ts';
import { recordOutcomes } from './outcome-stream.ts';

export interface OutcomeParts {
  readonly service: ScoringService;
  readonly log: Logger;
}

/** What a report of an outcome did. */
export const OutcomeResultSchema = named(
  'OutcomeResult',
  shape('What the report did', {
    clientIdKey: word('As reported'),
    orderRef: word('As reported'),
    result: choice(
      OUTCOME_EFFECTS,
      'recorded: counted; superseded: corrected an earlier one; unchanged: a repeat; stale: older than what is known',
    ),
  }),
);

const OutcomeLineResultSchema = lineResult('OutcomeLineResult', OutcomeResultSchema.properties);

/** One outcome, or lines of them, which are read while they are answered. */
const OUTCOMES_BODY: RequestBody<OrderReport | 'lines'> = {
  content: {
    'application/json': {
      name: 'OutcomeBody',
      example: {
        clientIdKey: 'ann',
        orderRef: 'order-1',
        outcome: 'PAID',
        occurredAt: '2026-11-21T10:00:00Z',
      },
    },
    [LINES]: {
      name: 'OutcomeBody',
      example: { clientIdKey: 'bob', orderRef: 'order-2', outcome: 'UNPAID', cause: 'EXPIRED' },
    },
  },
  shapes: { OutcomeBody: OutcomeBodySchema },
  read: async (req) => {
    if (contentType(req) !== LINES) return outcomeReport(await readJson(req));
    requireContentType(req, LINES);
    return 'lines';
  },
};

export const reportOutcomes = operation({
  method: 'post',
  path: '/v1/platform/outcomes',
  operationId: 'reportOutcomes',
  summary: 'What became of an order',
  description: `One outcome as JSON, or up to ${LINES_MAX} as one JSON object a line, answered by a line each in the same order. Final per orderRef: a repeat changes nothing, a later different one supersedes. TECHNICAL counts neither way, nor does UNPAID of an order that was asked for and never granted. A cause goes only with UNPAID.`,
  tag: 'Outcomes',
  grant: 'outcomes',
  body: OUTCOMES_BODY,
  answers: {
    200: {
      description: 'What the report did; for many, a line each',
      content: {
        'application/json': {
          shape: OutcomeResultSchema,
          example: { clientIdKey: 'ann', orderRef: 'order-1', result: 'recorded' },
        },
        [LINES]: {
          shape: OutcomeLineResultSchema,
          example: { line: 1, clientIdKey: 'bob', orderRef: 'order-2', result: 'recorded' },
        },
      },
    },
  },
  refusals: [malformed(...STRAY_CAUSE)],
  answer: async (asked, { service, log }: OutcomeParts) => {
    const { platform } = asked.caller;
    const report = await asked.body();
    if (report === 'lines') {
      const { requestId } = asked.ctx.state;
      const onFault = (err: unknown) => log.error({ requestId, err }, 'unexpected error');
      return answerLines(asked, (lines, grant) =>
        recordOutcomes(lines, service.outcomes(platform), grant, onFault),
      );
    }
    const result = await service.outcome(platform, report);
    return { clientIdKey: report.clientIdKey, orderRef: report.orderRef, result };
  },
});
