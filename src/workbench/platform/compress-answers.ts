import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Middleware } from 'koa';
import type { RequestState } from '#checkout/http/request/request-state.ts';

/** Shorter answers fit into a few packets as they are. */
const LONG = 8_192;

/** A page of decisions becomes a tenth at the least effort, and little less at the most. */
const FAST = { level: 1 };

const compress = promisify(gzip);

/**
 * Sends long texts compressed to whoever takes gzip; the work is done on another thread. What has an ETag is sent as it
 * is, because a strong one names bytes, and so is what is compressed already.
 */
export function compressAnswers(): Middleware<RequestState> {
  return async (ctx, next) => {
    await next();
    const { body } = ctx;
    if (typeof body !== 'string' || body.length < LONG || ctx.res.hasHeader('ETag')) return;
    ctx.vary('Accept-Encoding');
    if (ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return;
    const bytes = await compress(body, FAST);
    ctx.set('Content-Encoding', 'gzip');
    ctx.body = bytes;
  };
}
