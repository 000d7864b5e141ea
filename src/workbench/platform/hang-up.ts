import type { ServerResponse } from 'node:http';
import { createBadRequestProblem } from '#checkout/http/request/problems.ts';

/**
 * Creates a signal that is aborted if the connection closes before the answer is sent. It ends the work for a caller
 * who hung up. Nobody sees the error that the work then throws.
 */
export function createHangUpSignal({ res }: { readonly res: ServerResponse }): AbortSignal {
  const hungUp = new AbortController();
  const abort = () => hungUp.abort(createBadRequestProblem('The caller hung up before the answer.'));
  if (res.destroyed) abort();
  else res.once('close', () => res.writableFinished || abort());
  return hungUp.signal;
}
