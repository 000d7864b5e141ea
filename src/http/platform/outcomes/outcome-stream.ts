import { Readable } from 'node:stream';
import { TooManyWaiting } from '../../../service/client-turns.ts';
import type { OrderReport, OutcomeRecorder } from '../../../service/scoring.ts';
import { StoreUnavailable } from '../../../state/store-errors.ts';
import type { GrantWatch } from '../../request/grant-watch.ts';
import { HttpProblem } from '../../request/problems.ts';
import { INTERNAL_ERROR } from '../../request/refusals.ts';
import { keyEnded, LINES_MAX, lineValue, refusedLine, tooManyLines, unavailableLine } from '../lines.ts';
import { outcomeReport } from './outcome-report.ts';

/** Lines that are worked on at the same time; those of one client keep their order. */
const LINES_UNDER_WAY_MAX = 32;

/** Lines that are read before their turn, so that their orders can be looked up together. */
const LINES_AHEAD_MAX = 1000;

/** What a line says, or why it says nothing. */
interface ReadLine {
  readonly line: number;
  readonly report: OrderReport | null;
  readonly error: unknown;
}

/**
 * Takes outcomes, one JSON object a line, and gives a result a line, in the same order:
 * `{line, clientIdKey, orderRef, result}` or `{line, error, detail, retryable}`. A bad line does not stop the others.
 */
export async function* recordOutcomes(
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
    underWay.push(resultLine(read, recorder, onFault));
    const first = underWay.length < LINES_UNDER_WAY_MAX ? undefined : underWay.shift();
    if (first !== undefined) yield await first;
  }
  for (const result of underWay) yield await result;
  if (grant.hasEnded) yield keyEnded(number + 1, 'recorded');
}

async function* readLines(
  lines: AsyncIterable<Buffer | null>,
  recorder: OutcomeRecorder,
): AsyncGenerator<ReadLine> {
  let line = 0;
  for await (const bytes of lines) {
    line++;
    if (bytes?.length !== 0 || line > LINES_MAX) yield readLine(line, bytes, recorder);
    if (line > LINES_MAX) return;
  }
}

function readLine(line: number, bytes: Buffer | null, recorder: OutcomeRecorder): ReadLine {
  if (line > LINES_MAX) return { line, report: null, error: null };
  try {
    const report = outcomeReport(lineValue(bytes));
    recorder.expect(report);
    return { line, report, error: null };
  } catch (error) {
    return { line, report: null, error };
  }
}

async function resultLine(
  { line, report, error }: ReadLine,
  recorder: OutcomeRecorder,
  onFault: (error: unknown) => void,
): Promise<object> {
  if (line > LINES_MAX) return tooManyLines(line);
  try {
    if (report === null) throw error;
    const { clientIdKey, orderRef } = report;
    return { line, clientIdKey, orderRef, result: await recorder.record(report) };
  } catch (error) {
    if (error instanceof HttpProblem) return refusedLine(line, error);
    if (error instanceof StoreUnavailable || error instanceof TooManyWaiting) {
      return unavailableLine(line, 'recorded');
    }
    // The lines around it are payments, too: one that meets a fault keeps none of them from being recorded.
    onFault(error);
    return refusedLine(line, INTERNAL_ERROR.problem());
  }
}
