import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { toEpochMs } from '../../../client/instant.ts';
import {
  type EntryEdit,
  type EntryEffect,
  type ListDesk,
  type ListEditor,
  ListRefusal,
  REASON_CHARACTERS_MAX,
} from '../../../lists/list-editor.ts';
import { instant, key, text } from '../../../shapes.ts';
import { LIST_CHANGES_MAX } from '../../../state/lists/list-log.ts';
import { StoreUnavailable } from '../../../state/store.ts';
import { BODY_BYTES_MAX, bodyChunks, decodeText, parseJson } from '../../request/body.ts';
import { bodyLines } from '../../request/body-lines.ts';
import { bodyOf } from '../../request/body-of.ts';
import { type GrantWatch, whileGranted } from '../../request/grant-watch.ts';
import { HttpProblem, malformedBody } from '../../request/problems.ts';
import { KIND_OR_NONE } from './list-views.ts';

export const LIST_LINES_MAX = 100_000;

export const ListLineSchema = Type.Object({
  value: key('What is put on the list, or taken from it'),
  remove: Type.Optional(Type.Boolean({ description: 'True takes it from the list' })),
  kind: KIND_OR_NONE,
  reason: Type.Optional(text(REASON_CHARACTERS_MAX, 'Why; needed unless it is removed')),
  expiresAt: Type.Optional(instant),
});

const lineBody = bodyOf(ListLineSchema);

const KEY_ENDED = 'The access key was revoked or has expired meanwhile; nothing from this line on was done.';

/** A line that was read, or why it cannot be. */
export type ReadLine =
  | { readonly line: number; readonly edit: EntryEdit; readonly value: string }
  | { readonly line: number; readonly error: string; readonly detail: string };

/**
 * Changes a list by a body of one JSON object a line and gives a result a line, in the same order:
 * `{line, value, result}` or `{line, error, detail}`. A bad line does not stop the others.
 */
export function streamListEdits(
  req: IncomingMessage,
  editor: ListEditor,
  desk: ListDesk,
  grant: GrantWatch,
): Readable {
  const results = Readable.from(resultLines(req, editor, desk, grant));
  return results.once('close', () => grant.stop());
}

async function* resultLines(
  req: IncomingMessage,
  editor: ListEditor,
  desk: ListDesk,
  grant: GrantWatch,
): AsyncGenerator<string> {
  let batch: ReadLine[] = [];
  let number = 0;
  for await (const bytes of bodyLines(whileGranted(bodyChunks(req), grant), BODY_BYTES_MAX)) {
    if (grant.hasEnded) break;
    number++;
    if (bytes?.length === 0) continue;
    batch.push(number > LIST_LINES_MAX ? tooMany(number) : readListLine(number, bytes));
    if (number > LIST_LINES_MAX) break;
    if (batch.length < LIST_CHANGES_MAX) continue;
    yield* await results(batch, editor, desk);
    batch = [];
  }
  yield* await results(grant.hasEnded ? [] : batch, editor, desk);
  if (grant.hasEnded) {
    const line = batch[0]?.line ?? number + 1;
    yield format({ line, error: 'unknown X-KA-Access-Key', detail: KEY_ENDED });
  }
}

/** One line of a bulk change: what it asks for, or what is wrong with it. */
export function readListLine(line: number, bytes: Buffer | null): ReadLine {
  try {
    if (bytes === null) throw malformedBody(`A line must have at most ${BODY_BYTES_MAX} bytes.`);
    const { value, remove = false, kind = null, reason, expiresAt } = lineBody(parseJson(decodeText(bytes)));
    if (remove) return { line, value, edit: { kind: 'remove', value } };
    if (reason === undefined) throw malformedBody('/reason is required.');
    const ask = { value, kind, reason, expiresAt: toEpochMs(expiresAt) };
    return { line, value, edit: { kind: 'put', ask } };
  } catch (error) {
    if (error instanceof HttpProblem) return { line, error: error.title, detail: error.message };
    throw error;
  }
}

function tooMany(line: number): ReadLine {
  return { line, error: 'too many lines', detail: `Send at most ${LIST_LINES_MAX} lines at once.` };
}

async function results(
  batch: readonly ReadLine[],
  editor: ListEditor,
  desk: ListDesk,
): Promise<readonly string[]> {
  const edits = batch.flatMap((read) => ('edit' in read ? [read.edit] : []));
  const effects = (await effectsOf(edits, editor, desk)).values();
  return batch.map((read) => {
    if (!('edit' in read)) return format(read);
    const { line, value } = read;
    const effect = effects.next().value;
    if (effect === undefined) {
      return format({ line, error: 'temporarily unavailable', detail: 'Not done; send this line again.' });
    }
    return effect instanceof ListRefusal
      ? format({ line, error: 'not for this list', detail: effect.message })
      : format({ line, value, result: effect });
  });
}

/** None when the store is away. */
async function effectsOf(
  edits: readonly EntryEdit[],
  editor: ListEditor,
  desk: ListDesk,
): Promise<readonly (EntryEffect | ListRefusal)[]> {
  if (edits.length === 0) return [];
  try {
    return await editor.change(desk, edits);
  } catch (error) {
    if (error instanceof StoreUnavailable) return [];
    throw error;
  }
}

function format(line: object): string {
  return `${JSON.stringify(line)}\n`;
}
