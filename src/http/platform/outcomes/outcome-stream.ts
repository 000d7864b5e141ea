import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { OutcomeEffect } from '../../../client/changes.ts';
import { TooManyWaiting } from '../../../service/client-turns.ts';
import type { OrderReport } from '../../../service.ts';
import { StoreUnavailable } from '../../../state/store.ts';
import { BODY_BYTES_MAX, bodyChunks, decodeText, parseJson } from '../../request/body.ts';
import { bodyLines } from '../../request/body-lines.ts';
import { type GrantWatch, whileGranted } from '../../request/grant-watch.ts';
import { HttpProblem, malformedBody } from '../../request/problems.ts';
import { outcomeReport } from './outcome-report.ts';

/** Lines that are worked on at the same time; those of one client keep their order. */
const LINES_UNDER_WAY_MAX = 32;

const KEY_ENDED =
  'The access key was revoked or has expired meanwhile; nothing from this line on was recorded.';

export const LINES_MAX = 100_000;

type Recorder = (report: OrderReport) => Promise<OutcomeEffect>;

/**
 * Takes outcomes from a body of one JSON object a line and gives a result a line, in the same order:
 * `{line, clientIdKey, orderRef, result}` or `{line, error, detail}`. A bad line does not stop the others.
 */
export function streamOutcomes(req: IncomingMessage, record: Recorder, grant: GrantWatch): Readable {
  const results = Readable.from(resultLines(req, record, grant));
  return results.once('close', () => grant.stop());
}

async function* resultLines(
  req: IncomingMessage,
  record: Recorder,
  grant: GrantWatch,
): AsyncGenerator<string> {
  const underWay: Promise<string>[] = [];
  let number = 0;
  for await (const bytes of bodyLines(whileGranted(bodyChunks(req), grant), BODY_BYTES_MAX)) {
    if (grant.hasEnded) break;
    number++;
    if (number > LINES_MAX) {
      underWay.push(
        Promise.resolve(format(number, 'too many lines', `Send at most ${LINES_MAX} lines at once.`)),
      );
      break;
    }
    if (bytes?.length === 0) continue;
    const result = resultLine(number, bytes, record);
    // Awaited below, in its turn; until then a failure must not count as one that nobody handles.
    result.catch(() => {});
    underWay.push(result);
    const first = underWay.length < LINES_UNDER_WAY_MAX ? undefined : underWay.shift();
    if (first !== undefined) yield await first;
  }
  for (const result of underWay) yield await result;
  if (grant.hasEnded) yield format(number + 1, 'unknown X-KA-Access-Key', KEY_ENDED);
}

async function resultLine(line: number, bytes: Buffer | null, record: Recorder): Promise<string> {
  try {
    if (bytes === null) throw malformedBody(`A line must have at most ${BODY_BYTES_MAX} bytes.`);
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
