import { isJsonObject } from '#base/files/json-object.ts';
import { NamedError } from '#base/named-error.ts';

/**
 * The reply cannot be Redis's reply to the question, because bytes were lost, changed or moved on the way. Later
 * replies on that connection may belong to other questions. Therefore the connection is ended, and every call that
 * waits on it fails.
 */
export class BadReply extends NamedError {
  constructor(what: string, reply: unknown) {
    super(`${what} was answered with ${typeof reply}, which is no answer to it`);
  }
}

/** Whether the client library could not read the reply. The library keeps the connection nevertheless. */
export function isReplyParseError(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.message.startsWith('Unknown RESP'));
}

/**
 * Runs a command of the client library and checks its reply. Throws BadReply if `is` rejects the reply, or if the
 * library cannot read it and throws a TypeError.
 */
export async function callChecked<T>(
  what: string,
  command: Promise<T>,
  is: (reply: unknown) => boolean,
): Promise<T> {
  const reply = await command.catch((error: unknown) => {
    throw error instanceof TypeError ? new BadReply(what, error) : error;
  });
  if (is(reply)) return reply;
  throw new BadReply(what, reply);
}

function isText(reply: unknown): boolean {
  return typeof reply === 'string';
}

export function isTextOrNull(reply: unknown): boolean {
  return reply === null || typeof reply === 'string';
}

/** Whether a reply has this many texts. A missing text is null. */
export function createTextsCheck(count: number): (reply: unknown) => boolean {
  return (reply) => Array.isArray(reply) && reply.length === count && reply.every(isTextOrNull);
}

export function areAllTexts(reply: unknown): boolean {
  return Array.isArray(reply) && reply.every(isText);
}

/** Whether a reply consists of entries of a stream, or is empty. */
export function areStreamEntries(reply: unknown): boolean {
  const isRow = (row: unknown) =>
    isJsonObject(row) && typeof row['id'] === 'string' && isJsonObject(row['message']);
  return reply === null || (Array.isArray(reply) && reply.every(isRow));
}

export function isWholeNumber(reply: unknown): reply is number {
  return Number.isSafeInteger(reply);
}

export function requireWholeNumber(what: string, reply: unknown): number {
  if (isWholeNumber(reply)) return reply;
  throw new BadReply(what, reply);
}

export function requireArray(what: string, reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new BadReply(what, reply);
}

/** Returns a text, or null if there is none. Throws BadReply for any other reply. */
export function requireTextOrNull(what: string, reply: unknown): string | null {
  if (reply === undefined || reply === null) return null;
  if (typeof reply === 'string') return reply;
  throw new BadReply(what, reply);
}
