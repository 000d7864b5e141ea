import { Readable } from 'node:stream';
import { Type } from '#base/json-schema.ts';
import { choice, key, named, plainText, requestInstantSchema, shape } from '#base/shapes.ts';
import {
  createTaggedOperations,
  declareOperation,
  type ReadableBody,
} from '#checkout/http/operation/operation.ts';
import {
  createBodyValidator,
  readContentType,
  readJson,
  requireContentType,
} from '#checkout/http/request/body.ts';
import { HttpProblem, MALFORMED_BODY } from '#checkout/http/request/problems.ts';
import { INTERNAL_ERROR } from '#checkout/http/request/refusals.ts';
import { TooManyWaiting } from '#checkout/scoring/client-updates.ts';
import { AmountTooPrecise, type OrderReport } from '#checkout/scoring/order-report.ts';
import type { OutcomeRecorder, OutcomeResult } from '#checkout/scoring/scoring.ts';
import {
  DECIMAL_CHARACTERS_MAX,
  DECIMAL_PATTERN,
  normalizeAmount,
  REQUESTED_CURRENCY_PATTERN,
} from '#decision/payer/amount.ts';
import { OUTCOME_EFFECTS } from '#decision/payer/changes.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { outcomeCauseSchema, outcomeSchema } from '#decision/payer/order.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { GrantWatch } from './grant-watch.ts';
import {
  answerLines,
  createEndedKeyRefusal,
  createTooManyLinesRefusal,
  createUnavailableRefusal,
  declareLineResult,
  isBlankLine,
  LINES_MAX,
  LINES_MEDIA_TYPE,
  parseJsonLine,
  toRefusedLine,
} from './lines.ts';
import type { PlatformOperationParts } from './parts.ts';

const PAID = { const: 'PAID' };
const REVERSED = { const: 'REVERSED' };
const GIVEN = { type: 'string', minLength: 1 };
const ZERO_PATTERN = '^0+(\\.0+)?$';

const OutcomeBodySchema = Type.Object(
  {
    clientIdKey: key('Stable identifier of the client'),
    orderRef: key("Caller's order identifier, opaque to the service"),
    outcome: outcomeSchema,
    cause: Type.Optional(outcomeCauseSchema),
    occurredAt: Type.Optional(requestInstantSchema),
    amount: Type.Optional(
      Type.String({
        pattern: DECIMAL_PATTERN,
        maxLength: DECIMAL_CHARACTERS_MAX,
        description:
          'With PAID: the total captured for the order so far; absent: the amount asked for. With REVERSED: the total taken back so far; absent: everything. At most as many decimals as ISO 4217 gives the currency. A JSON string, not a number',
      }),
    ),
    currency: Type.Optional(
      Type.String({
        pattern: REQUESTED_CURRENCY_PATTERN,
        description: "Currency of the amount; absent: that of the order, or else the platform's",
      }),
    ),
  },
  // These rules about two members are only a description. The code checks them, because its refusals can say what to
  // do.
  {
    told: {
      allOf: [
        { not: { properties: { outcome: PAID, cause: GIVEN }, required: ['cause'] } },
        {
          not: {
            properties: { outcome: PAID, amount: { type: 'string', pattern: ZERO_PATTERN } },
            required: ['amount'],
          },
        },
        {
          if: { properties: { amount: GIVEN }, required: ['amount'] },
          // biome-ignore lint/suspicious/noThenProperty: a JSON Schema names it so.
          then: {
            anyOf: [
              { properties: { outcome: PAID } },
              { properties: { cause: REVERSED }, required: ['cause'] },
            ],
          },
          else: { not: { properties: { currency: GIVEN }, required: ['currency'] } },
        },
      ],
    },
  },
);

const outcomeBody = createBodyValidator(OutcomeBodySchema);

const STRAY_CAUSE = ['/cause', 'goes only with UNPAID'] as const;
const STRAY_AMOUNT = ['/amount', 'goes only with PAID, and with UNPAID of cause REVERSED'] as const;
const STRAY_CURRENCY = ['/currency', 'goes only with an amount'] as const;
const NOTHING_PAID = ['/amount', 'must be above 0; report the amount captured, or leave it out'] as const;

/** Reads one outcome from a request's body. Throws 400 if the body is no outcome. */
function readOutcomeReport(value: unknown): OrderReport {
  const { clientIdKey, orderRef, outcome, cause, occurredAt, amount, currency } = outcomeBody(value);
  if (outcome === 'PAID' && cause !== undefined) throw MALFORMED_BODY.problem(...STRAY_CAUSE);
  const report = { clientIdKey, orderRef, outcome, cause: cause ?? null, occurredAt: toEpochMs(occurredAt) };
  if (amount === undefined) {
    if (currency !== undefined) throw MALFORMED_BODY.problem(...STRAY_CURRENCY);
    return report;
  }
  if (outcome !== 'PAID' && cause !== 'REVERSED') throw MALFORMED_BODY.problem(...STRAY_AMOUNT);
  if (outcome === 'PAID' && normalizeAmount(amount) === '0') throw MALFORMED_BODY.problem(...NOTHING_PAID);
  return { ...report, money: { amount, currency: currency?.toUpperCase() ?? null } };
}

/**
 * Returns the refusal of a report whose amount has more digits than its currency allows. Returns any other error
 * unchanged.
 */
function toRefusal(error: unknown): unknown {
  return error instanceof AmountTooPrecise ? MALFORMED_BODY.problem('/amount', error.message) : error;
}

/** The most lines that are recorded at the same time. Lines about one client keep their sequence. */
const LINES_UNDER_WAY_MAX = 32;

/** The most lines that are read ahead, so that their orders can be looked up together. */
const LINES_AHEAD_MAX = 1000;

/** The report of a line, or the reason why it has none. */
interface ReadLine {
  readonly line: number;
  readonly report: OrderReport | null;
  readonly error: unknown;
}

/**
 * Records outcomes, one JSON object a line. Yields one result for each line, in the same sequence: `{line,
 * clientIdKey, orderRef, result}` or `{line, error, code, detail, retryable}`. A bad line does not stop the others.
 */
export async function* recordOutcomeLines(
  lines: AsyncIterable<Buffer | null>,
  recorder: OutcomeRecorder,
  grant: GrantWatch,
  onFault: (error: unknown) => void,
): AsyncGenerator<object> {
  const underWay: Promise<object>[] = [];
  let number = 0;
  const ahead: AsyncIterable<ReadLine> = Readable.from(readLines(lines, recorder), {
    highWaterMark: LINES_AHEAD_MAX,
  });
  for await (const read of ahead) {
    if (grant.hasEnded) break;
    number = read.line;
    underWay.push(recordLine(read, recorder, onFault));
    const first = underWay.length < LINES_UNDER_WAY_MAX ? undefined : underWay.shift();
    if (first !== undefined) yield await first;
  }
  for (const result of underWay) yield await result;
  if (grant.hasEnded) yield createEndedKeyRefusal(number + 1, 'recorded');
}

async function* readLines(
  lines: AsyncIterable<Buffer | null>,
  recorder: OutcomeRecorder,
): AsyncGenerator<ReadLine> {
  let line = 0;
  for await (const bytes of lines) {
    line++;
    if (!isBlankLine(bytes) || line > LINES_MAX) yield readLine(line, bytes, recorder);
    if (line > LINES_MAX) return;
  }
}

function readLine(line: number, bytes: Buffer | null, recorder: OutcomeRecorder): ReadLine {
  if (line > LINES_MAX) return { line, report: null, error: null };
  try {
    const report = readOutcomeReport(parseJsonLine(bytes));
    recorder.expect(report);
    return { line, report, error: null };
  } catch (error) {
    return { line, report: null, error };
  }
}

async function recordLine(
  { line, report, error }: ReadLine,
  recorder: OutcomeRecorder,
  onFault: (error: unknown) => void,
): Promise<object> {
  if (line > LINES_MAX) return createTooManyLinesRefusal(line);
  try {
    if (report === null) throw error;
    return { line, ...toResultLine(report, await recorder.record(report)) };
  } catch (caught) {
    const error = toRefusal(caught);
    if (error instanceof HttpProblem) return toRefusedLine(line, error);
    if (error instanceof StoreUnavailable || error instanceof TooManyWaiting) {
      return createUnavailableRefusal(line, 'recorded');
    }
    // Other lines report payments, too. A fault at one line must not prevent their recording.
    onFault(error);
    return toRefusedLine(line, INTERNAL_ERROR.problem());
  }
}

function toResultLine({ clientIdKey, orderRef }: OrderReport, { effect: result, ...askedBy }: OutcomeResult) {
  return { clientIdKey, orderRef, result, ...askedBy };
}

const OutcomeResultSchema = named(
  'OutcomeResult',
  shape('A report, and what it did', {
    clientIdKey: plainText('As reported', 'ann'),
    orderRef: plainText('As reported', 'order-1'),
    result: choice(
      OUTCOME_EFFECTS,
      'What the report did. recorded: it is the first report of the order; superseded: it replaced the outcome known before; unchanged: it repeats the known outcome; outweighed: it says unpaid, but the order is paid and stays paid; stale: a newer or stronger report is known; unknownPayer: the payer was erased, and the report changes nothing',
    ),
    askedBy: Type.Optional(
      choice(
        ['anotherClient'],
        'Another client asked for the order, and the reported client did not: check the clientIdKey of your report. The report counts all the same. Absent: this client asked, or nobody else is known to have asked',
      ),
    ),
  }),
);

const OutcomeLineResultSchema = declareLineResult('OutcomeLineResult', OutcomeResultSchema.properties);

/** A body with one outcome, or with lines of outcomes, which are read while they are answered. */
const OUTCOMES_BODY: ReadableBody<OrderReport | 'lines'> = {
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
    [LINES_MEDIA_TYPE]: {
      name: 'OutcomeBody',
      example: { clientIdKey: 'bob', orderRef: 'order-2', outcome: 'UNPAID', cause: 'EXPIRED' },
    },
  },
  shapes: { OutcomeBody: OutcomeBodySchema },
  read: async (req) => {
    requireContentType(req, 'application/json', LINES_MEDIA_TYPE);
    return readContentType(req) === LINES_MEDIA_TYPE ? 'lines' : readOutcomeReport(await readJson(req));
  },
};

const reportOutcomes = declareOperation({
  route: 'post /v1/platform/outcomes',
  summary: 'Report what became of an order',
  description: `One outcome as JSON, or up to ${LINES_MAX} as one JSON object a line, each answered by a line in the same sequence. A repeat changes nothing. A payment stands until it is reported REVERSED: no other UNPAID takes it back. Amounts are totals captured or taken back so far. TECHNICAL counts neither way, nor does UNPAID of an order that was asked for and never granted. A cause is allowed only with UNPAID. \`askedBy\` warns that another client asked for the order; the report counts all the same.`,
  grant: 'outcomes',
  body: OUTCOMES_BODY,
  answers: {
    200: {
      description: 'What the report did; for lines, one line each',
      content: { 'application/json': OutcomeResultSchema, [LINES_MEDIA_TYPE]: OutcomeLineResultSchema },
    },
  },
  answer: async (asked, { service, log }: PlatformOperationParts) => {
    const { platform } = asked.caller;
    const report = await asked.body();
    if (report === 'lines') {
      const { requestId } = asked.ctx.state;
      const onFault = (err: unknown) => log.error({ requestId, err }, 'unexpected error');
      return answerLines(asked, (lines, grant) =>
        recordOutcomeLines(lines, service.outcomes(platform), grant, onFault),
      );
    }
    const result = await service.outcome(platform, report).catch((error: unknown) => {
      throw toRefusal(error);
    });
    return toResultLine(report, result);
  },
});

export const OUTCOME_OPERATIONS = createTaggedOperations('Outcomes', { reportOutcomes });
