import { toEpochMs } from '../../../client/instant.ts';
import { Type } from '../../../json-schema.ts';
import {
  type EntryEdit,
  type EntryEffect,
  isRange,
  type ListDesk,
  type ListEditor,
  ListRefusal,
  REASON_CHARACTERS_MAX,
} from '../../../lists/list-editor.ts';
import { instant, key, text } from '../../../shapes.ts';
import { LIST_CHANGES_MAX } from '../../../state/list-log.ts';
import { StoreUnavailable } from '../../../state/store-errors.ts';
import { bodyOf } from '../../request/body-of.ts';
import type { GrantWatch } from '../../request/grant-watch.ts';
import { HttpProblem, malformedBody } from '../../request/problems.ts';
import {
  keyEnded,
  LINES_MAX,
  lineValue,
  type RefusedLine,
  refusedLine,
  tooManyLines,
  unavailableLine,
} from '../lines.ts';
import { KIND_OR_NONE } from './list-views.ts';

export const ListLineSchema = Type.Object(
  {
    value: key('What is put on the list, or taken from it'),
    remove: Type.Optional(Type.Boolean({ description: 'True takes it from the list' })),
    kind: KIND_OR_NONE,
    reason: Type.Optional(text(REASON_CHARACTERS_MAX, 'Why; needed unless it is removed')),
    expiresAt: Type.Optional(instant),
  },
  {
    told: { not: { properties: { reason: { type: 'null' }, remove: { enum: [false, null] } } } },
  },
);

const lineBody = bodyOf(ListLineSchema);

/** A line that was read, or why it cannot be. */
export type ReadLine =
  | { readonly line: number; readonly edit: EntryEdit; readonly value: string }
  | RefusedLine;

/** What a line did, or why it did nothing. */
export type ToldLine =
  | { readonly line: number; readonly value: string; readonly result: EntryEffect }
  | RefusedLine;

/**
 * Changes a list by lines of one JSON object each and gives a result a line, in the same order:
 * `{line, value, result}` or `{line, error, detail, retryable}`. A bad line does not stop the others.
 */
export async function* editList(
  lines: AsyncIterable<Buffer | null>,
  editor: ListEditor,
  desk: ListDesk,
  grant: GrantWatch,
  refusesRanges: boolean,
): AsyncGenerator<object> {
  let batch: ReadLine[] = [];
  let number = 0;
  for await (const bytes of lines) {
    if (grant.hasEnded) break;
    number++;
    if (number > LINES_MAX) {
      batch.push(tooManyLines(number));
      break;
    }
    if (bytes?.length === 0) continue;
    const read = readListLine(number, bytes);
    batch.push(refusesRanges ? withoutRange(read) : read);
    if (batch.length < LIST_CHANGES_MAX) continue;
    yield* await results(batch, editor, desk);
    batch = [];
  }
  yield* await results(grant.hasEnded ? [] : batch, editor, desk);
  if (grant.hasEnded) yield keyEnded(batch[0]?.line ?? number + 1, 'done');
}

/** One line of a bulk change: what it asks for, or what is wrong with it. */
export function readListLine(line: number, bytes: Buffer | null): ReadLine {
  try {
    const { value, remove = false, kind = null, reason, expiresAt } = lineBody(lineValue(bytes));
    if (remove) return { line, value, edit: { kind: 'remove', value } };
    if (reason === undefined) throw malformedBody('/reason is required.');
    const ask = { value, kind, reason, expiresAt: toEpochMs(expiresAt) };
    return { line, value, edit: { kind: 'put', ask } };
  } catch (error) {
    if (error instanceof HttpProblem) return refusedLine(line, error);
    throw error;
  }
}

/** Somebody else has to approve a range of addresses, which therefore needs a request of its own. */
export function withoutRange(read: ReadLine): ReadLine {
  if (!('edit' in read) || read.edit.kind === 'remove' || !isRange(read.edit.ask)) return read;
  const detail =
    'A range of addresses needs the approval of somebody else; put it by itself, which makes a proposal.';
  return { line: read.line, error: 'needs approval', detail, retryable: false };
}

async function results(
  batch: readonly ReadLine[],
  editor: ListEditor,
  desk: ListDesk,
): Promise<readonly object[]> {
  try {
    return await changeByLines(batch, editor, desk);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return batch.map((read) => ('edit' in read ? unavailableLine(read.line, 'done') : read));
  }
}

/** Changes a list by a batch of lines, and says of each what it did. Throws StoreUnavailable. */
export async function changeByLines(
  batch: readonly ReadLine[],
  editor: ListEditor,
  desk: ListDesk,
): Promise<readonly ToldLine[]> {
  const edits = batch.flatMap((read) => ('edit' in read ? [read.edit] : []));
  const effects = edits.length === 0 ? [] : await editor.change(desk, edits);
  const inTurn = effects.values();
  return batch.map((read) => {
    if (!('edit' in read)) return read;
    const { line, value } = read;
    const effect = inTurn.next().value;
    if (effect === undefined) throw new Error(`line ${line} has no effect`);
    return effect instanceof ListRefusal
      ? { line, error: 'not for this list', detail: effect.message, retryable: false }
      : { line, value, result: effect };
  });
}
