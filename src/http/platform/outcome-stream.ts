import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { OutcomeEffect } from '../../client/outcomes.ts';
import { TooManyWaiting } from '../../service/client-turns.ts';
import type { OutcomeReport } from '../../service.ts';
import { StoreUnavailable } from '../../state/store.ts';
import { decodeText, MAX_BODY_BYTES, parseJson } from '../request/body.ts';
import { bodyLines } from '../request/body-lines.ts';
import { HttpProblem, malformedBody } from '../request/problems.ts';
import { bodyOf, OutcomeBodySchema, toEpochMs } from '../request/schemas.ts';

const outcomeBody = bodyOf(OutcomeBodySchema);

/** Lines that are worked on at the same time; those of one client keep their order. */
const CONCURRENT_LINES = 32;
const MAX_LINES = 100_000;

type Recorder = (report: OutcomeReport) => Promise<OutcomeEffect>;

/** One outcome out of a request body; throws 400 when it is none. */
export function outcomeReport(value: unknown): OutcomeReport {
  const { clientIdKey, orderRef, outcome, cause, occurredAt } = outcomeBody(value);
  if (outcome === 'PAID' && cause !== undefined) {
    throw malformedBody('/cause goes only with UNPAID.', [
      { pointer: '/cause', detail: 'goes only with UNPAID' },
    ]);
  }
  return { clientIdKey, orderRef, outcome, cause: cause ?? null, occurredAt: toEpochMs(occurredAt) };
}

/**
 * Takes outcomes from a body of one JSON object a line and gives a result a line, in the same order:
 * `{line, clientIdKey, orderRef, result}` or `{line, error, detail}`. A bad line does not stop the others.
 */
export function streamOutcomes(req: IncomingMessage, record: Recorder): Readable {
  return Readable.from(resultLines(req, record));
}

async function* resultLines(req: IncomingMessage, record: Recorder): AsyncGenerator<string> {
  const underWay: Promise<string>[] = [];
  let number = 0;
  for await (const bytes of bodyLines(req, MAX_BODY_BYTES)) {
    number++;
    if (number > MAX_LINES) {
      underWay.push(
        Promise.resolve(format(number, 'too many lines', `Send at most ${MAX_LINES} lines at once.`)),
      );
      break;
    }
    if (bytes?.length === 0) continue;
    const result = resultLine(number, bytes, record);
    // Awaited below, in its turn; until then a failure must not count as one that nobody handles.
    result.catch(() => {});
    underWay.push(result);
    const first = underWay.length < CONCURRENT_LINES ? undefined : underWay.shift();
    if (first !== undefined) yield await first;
  }
  for (const result of underWay) yield await result;
}

async function resultLine(line: number, bytes: Buffer | null, record: Recorder): Promise<string> {
  try {
    if (bytes === null) throw malformedBody(`A line must have at most ${MAX_BODY_BYTES} bytes.`);
    const report = outcomeReport(parseJson(decodeText(bytes)));
    const { clientIdKey, orderRef } = report;
    const result = await record(report);
    return `${JSON.stringify({ line, clientIdKey, orderRef, result })}\n`;
  } catch (error) {
    if (error instanceof HttpProblem) return format(line, error.title, error.message);
    if (error instanceof StoreUnavailable || error instanceof TooManyWaiting) {
      return format(line, 'temporarily unavailable', 'Not recorded; send this line again.');
    }
    throw error;
  }
}

function format(line: number, error: string, detail: string): string {
  return `${JSON.stringify({ line, error, detail })}\n`;
}
