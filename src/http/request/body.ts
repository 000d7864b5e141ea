import type { IncomingMessage } from 'node:http';
import { HttpProblem, malformedBody, type Refusal, refusal } from './problems.ts';

/** No valid request comes near it: all fields at their limits in 4-byte characters are under 16 KiB. */
export const BODY_BYTES_MAX = 32 * 1024;

/** The JSON value in a request body. Refuses with 415, 413 or 400 before anything else is done. */
export async function readJson(req: IncomingMessage, bytesMax: number = BODY_BYTES_MAX): Promise<unknown> {
  requireContentType(req, 'application/json');
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) throw bodyTooLarge(bytesMax).problem();
  return parseJson(decodeText(await wholeBody(req, bytesMax)));
}

/** Throws 415 unless the body is of this type, in UTF-8, and not compressed. */
export function requireContentType(req: IncomingMessage, wanted: string): void {
  if (contentType(req) !== wanted) {
    throw UNSUPPORTED_TYPE.problem(`Content-Type must be ${wanted}, once, and in UTF-8.`);
  }
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw UNSUPPORTED_TYPE.problem('Content-Encoding is not supported.');
}

/** The media type; null when there is none, more than one, or another charset than UTF-8. */
export function contentType(req: IncomingMessage): string | null {
  const given = req.headersDistinct['content-type'] ?? [];
  const [header] = given;
  if (header === undefined || given.length > 1) return null;
  if (header === 'application/json') return header;
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset) ? type : null;
}

/** A byte order mark is kept, so that JSON.parse refuses it as the grammar does. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes that are not UTF-8, or nothing at all, are refused. */
export function decodeText(bytes: Uint8Array): string {
  if (bytes.length === 0) throw malformedBody('The body is empty.');
  try {
    return UTF8.decode(bytes);
  } catch {
    throw malformedBody('The body is not valid UTF-8.');
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (text.startsWith('\uFEFF'))
      throw malformedBody('The body starts with a byte order mark; send plain UTF-8.');
    throw malformedBody('The body is not valid JSON.');
  }
}

/** By events: what most requests pass through is three times as fast as an iterator. */
function wholeBody(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  // The connection closed before anybody read it, for example while the key was looked up: no event will follow.
  if (req.destroyed) return Promise.reject(brokenOff());
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) {
      chunks.push(chunk);
      return;
    }
    req.off('data', take).pause();
    reject(bodyTooLarge(bytesMax).problem());
  };
  // Every request closes at some time; only a broken one is worth an error with its stack.
  const breakOff = () => req.readableEnded || reject(brokenOff());
  req.on('data', take).on('end', () => resolve(Buffer.concat(chunks, bytes)));
  req.on('error', breakOff).on('close', breakOff);
  return promise;
}

function brokenOff(): HttpProblem {
  return malformedBody('The body broke off before its end.');
}

/**
 * The bytes of a body as they arrive. A caller that breaks off is answered as one that sent too little:
 * nothing failed here. Whoever stops reading may still answer.
 */
export async function* bodyChunks(req: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* req.iterator({ destroyOnReturn: false });
  } catch (error) {
    if (!req.complete && req.destroyed) throw brokenOff();
    throw error;
  }
}

/** The refusal of a body that is larger than its operation takes. */
export function bodyTooLarge(bytesMax: number): Refusal {
  return refusal(
    'bodyTooLarge',
    `The body has more than ${bytesMax} bytes.`,
    // The rest of the body is not read, so nothing can follow it on this connection.
    () =>
      new HttpProblem(413, 'body too large', `The body must have at most ${bytesMax} bytes.`, {
        headers: { Connection: 'close' },
      }),
  );
}

export const UNSUPPORTED_TYPE = refusal(
  'unsupportedType',
  'The body is not JSON in UTF-8 by its Content-Type, or is compressed.',
  (detail: string) => new HttpProblem(415, 'unsupported content type', detail),
  'Content-Type must be application/json, once, and in UTF-8.',
);
