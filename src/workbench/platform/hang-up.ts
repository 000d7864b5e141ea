import type { ServerResponse } from 'node:http';
import { badRequest } from '#checkout/http/request/problems.ts';

/** Aborts when the connection closes before the answer, so that work for a caller who hung up ends. What it throws then reaches nobody. */
export function createHangUpSignal({ res }: { readonly res: ServerResponse }): AbortSignal {
  const hungUp = new AbortController();
  const abort = () => hungUp.abort(badRequest('The caller hung up before the answer.'));
  if (res.destroyed) abort();
  else res.once('close', () => res.writableFinished || abort());
  return hungUp.signal;
}
