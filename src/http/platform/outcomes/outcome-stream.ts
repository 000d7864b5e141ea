import type { OutcomeEffect } from '../../../client/changes.ts';
import { TooManyWaiting } from '../../../service/client-turns.ts';
import type { OrderReport } from '../../../service/scoring.ts';
import { StoreUnavailable } from '../../../state/store.ts';
import type { GrantWatch } from '../../request/grant-watch.ts';
import { HttpProblem } from '../../request/problems.ts';
import { INTERNAL_ERROR } from '../../request/refusals.ts';
import { keyEnded, LINES_MAX, lineValue, refusedLine, tooManyLines, unavailableLine } from '../lines.ts';
import { outcomeReport } from './outcome-report.ts';

/** Lines that are worked on at the same time; those of one client keep their order. */
const LINES_UNDER_WAY_MAX = 32;

type Recorder = (report: OrderReport) => Promise<OutcomeEffect>;

/**
 * Takes outcomes, one JSON object a line, and gives a result a line, in the same order:
 * `{line, clientIdKey, orderRef, result}` or `{line, error, detail, retryable}`. A bad line does not stop the others.
 */
export async function* recordOutcomes(
  lines: AsyncIterable<Buffer | null>,
  record: Recorder,
  grant: GrantWatch,
  onFault: (error: unknown) => void,
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
    const result = resultLine(number, bytes, record, onFault);
    underWay.push(result);
    const first = underWay.length < LINES_UNDER_WAY_MAX ? undefined : underWay.shift();
    if (first !== undefined) yield await first;
  }
  for (const result of underWay) yield await result;
  if (grant.hasEnded) yield keyEnded(number + 1, 'recorded');
}

async function resultLine(
  line: number,
  bytes: Buffer | null,
  record: Recorder,
  onFault: (error: unknown) => void,
): Promise<object> {
  try {
    const report = outcomeReport(lineValue(bytes));
    const { clientIdKey, orderRef } = report;
    return { line, clientIdKey, orderRef, result: await record(report) };
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
