import type { OutcomeEffect } from '../../../client/changes.ts';
import { TooManyWaiting } from '../../../service/client-turns.ts';
import type { OrderReport } from '../../../service.ts';
import { StoreUnavailable } from '../../../state/store.ts';
import type { GrantWatch } from '../../request/grant-watch.ts';
import { HttpProblem } from '../../request/problems.ts';
import { keyEnded, LINES_MAX, lineValue, tooManyLines, unavailableLine } from '../lines.ts';
import { outcomeReport } from './outcome-report.ts';

/** Lines that are worked on at the same time; those of one client keep their order. */
const LINES_UNDER_WAY_MAX = 32;

type Recorder = (report: OrderReport) => Promise<OutcomeEffect>;

/**
 * Takes outcomes, one JSON object a line, and gives a result a line, in the same order:
 * `{line, clientIdKey, orderRef, result}` or `{line, error, detail}`. A bad line does not stop the others.
 */
export async function* recordOutcomes(
  lines: AsyncIterable<Buffer | null>,
  record: Recorder,
  grant: GrantWatch,
): AsyncGenerator<object> {
  const underWay: Promise<object>[] = [];
  let number = 0;
  for await (const bytes of lines) {
    if (grant.hasEnded) break;
    number++;
    if (number > LINES_MAX) {
      underWay.push(Promise.resolve(tooManyLines(number)));
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
  if (grant.hasEnded) yield keyEnded(number + 1, 'recorded');
}

async function resultLine(line: number, bytes: Buffer | null, record: Recorder): Promise<object> {
  try {
    const report = outcomeReport(lineValue(bytes));
    const { clientIdKey, orderRef } = report;
    return { line, clientIdKey, orderRef, result: await record(report) };
  } catch (error) {
    if (error instanceof HttpProblem) return { line, error: error.title, detail: error.message };
    if (error instanceof StoreUnavailable || error instanceof TooManyWaiting) {
      return unavailableLine(line, 'recorded');
    }
    throw error;
  }
}
