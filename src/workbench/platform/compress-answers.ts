import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Middleware } from 'koa';
import type { RequestState } from '#checkout/http/request/request-state.ts';

/** The least number of characters of an answer that is compressed. Shorter answers fit into a few packets. */
const LONG = 8_192;

/** The lowest effort makes a page of decisions ten times smaller. The highest level gains little more. */
const FAST = { level: 1 };

const compress = promisify(gzip);

/**
 * Compresses long texts for callers that accept gzip, on another thread. An answer with an ETag is sent unchanged,
 * because a strong ETag names bytes. Answers that are bytes or streams are sent unchanged, too.
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
