import type { IncomingMessage } from 'node:http';
import { setImmediate as othersTurn } from 'node:timers/promises';
import { createIncompleteBodyProblem } from '#checkout/http/request/body.ts';

/**
 * Yields the bytes of a body as they arrive. If the caller breaks off, it throws the problem of an incomplete body,
 * because nothing failed in the service. If the reader stops early, the request can still be answered.
 */
export async function* readBodyChunks(req: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* req.iterator({ destroyOnReturn: false });
  } catch (error) {
    if (!req.complete && req.destroyed) throw createIncompleteBodyProblem();
    throw error;
  }
}

const NEWLINE = 0x0a;

/** The number of lines after which other requests get a turn. A chunk can hold tens of thousands of short lines. */
const LINES_AT_ONCE = 100;

/**
 * Yields the lines of a body as bytes, without their line ends. A line longer than `bytesMax` becomes null, and its
 * further chunks are not kept in memory.
 */
export async function* readBodyLines(
  chunks: AsyncIterable<Buffer>,
  bytesMax: number,
): AsyncGenerator<Buffer | null> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let lines = 0;
  for await (const chunk of chunks) {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      yield joinLine(held, heldBytes, rest.subarray(0, end), bytesMax);
      held = [];
      heldBytes = 0;
      rest = rest.subarray(end + 1);
      if (++lines % LINES_AT_ONCE === 0) await othersTurn();
    }
    if (heldBytes <= bytesMax) held.push(rest);
    heldBytes += rest.length;
  }
  if (heldBytes > 0) yield joinLine(held, heldBytes, Buffer.alloc(0), bytesMax);
}

function joinLine(held: readonly Buffer[], heldBytes: number, end: Buffer, bytesMax: number): Buffer | null {
  if (heldBytes + end.length > bytesMax) return null;
  const bytes = Buffer.concat([...held, end]);
  return bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
}
