import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import { createBodyValidator } from '#checkout/http/request/body.ts';
import { createMalformedBodyProblem, HttpProblem } from '#checkout/http/request/problems.ts';
import { ListEntrySchema, type StoredEntry } from '#checkout/lists/list-entry.ts';
import type { ListNode } from '#checkout/lists/list-node.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { NAME_PATTERN } from '#decision/rules/rule-set.ts';
import {
  findValueRemark,
  type ListContent,
  type ListOwner,
  listedAttributeSchema,
  listKindSchema,
} from '#decision/shared-lists.ts';
import { LIST_CHANGES_MAX } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import {
  type EntryEdit,
  type EntryEffect,
  type ListAndAuthor,
  type ListEditor,
  ListRefusal,
  REASON_CHARACTERS_MAX,
} from '#workbench/lists/list-editor.ts';
import type { GrantWatch } from './grant-watch.ts';
import {
  createEndedKeyRefusal,
  createTooManyLinesRefusal,
  createUnavailableRefusal,
  isBlankLine,
  LINES_MAX,
  parseJsonLine,
  type RefusedLine,
  toRefusedLine,
} from './lines.ts';
import { cutPage, declareTextCursor } from './parameters.ts';

const { value, reason, who, addedAt, expiresAt } = ListEntrySchema.properties;

export const ListEntryViewSchema = s.named(
  'ListEntry',
  s.shape('One entry of a shared list', {
    value,
    reason,
    who,
    addedAt,
    expiresAt,
    hasEnded: s.yesNo('It has ended and no longer counts'),
    change: s.count('The number of the change that wrote it'),
    remark: Type.Optional(s.plainText('A note about this value for the person who lists it')),
  }),
);

export const ListEntriesSchema = s.named(
  'ListEntries',
  s.shape('Entries of a shared list', {
    list: s.plainText('Its name', 'blocked-devices'),
    kind: listKindSchema,
    attribute: Type.Optional(listedAttributeSchema),
    total: s.count('How many entries it has'),
    entries: s.list(ListEntryViewSchema, 'Entries, those changed last first'),
    coveredBy: Type.Optional(
      s.shape(
        'With `value`: the range that holds this address, when it has no entry of its own; absent without one',
        ListEntryViewSchema.properties,
      ),
    ),
    next: s.nextPageCursorSchema,
  }),
);

export const SharedListSchema = s.named(
  'SharedList',
  s.shape('A shared list', {
    list: s.plainText('Its name', 'blocked-devices'),
    kind: listKindSchema,
    attribute: Type.Optional(listedAttributeSchema),
    entries: s.count('How many it has'),
    ended: s.count('How many of them have ended'),
    changedAt: s.epochMs('When an entry was last added or changed, or the list was made'),
    ofInstallation: s.yesNo('It belongs to the whole installation and holds for every platform'),
  }),
);

export const SharedListsSchema = s.named(
  'SharedLists',
  s.shape('The shared lists as this node has them', {
    lists: s.list(SharedListSchema, 'The lists of your platform and of the whole installation, by name'),
    next: s.nextPageCursorSchema,
    ageMs: s.nullable(
      s.count('Milliseconds since the node last read the lists from the store; null: it never could'),
    ),
    isStale: s.yesNo('True: this is too long ago, so recent changes may be missing'),
  }),
);

export function toEntryView(
  entry: StoredEntry,
  { now, editor }: Pick<EntriesAsk, 'now' | 'editor'>,
): s.ValueOf<typeof ListEntryViewSchema> {
  const { value, reason, who, addedAt, expiresAt, version } = editor.toOwnerView(entry);
  const remark = findValueRemark(entry);
  return {
    value,
    reason,
    who,
    addedAt,
    expiresAt,
    hasEnded: hasEnded(entry, now),
    change: version,
    ...(remark === null ? {} : { remark }),
  };
}

interface EntriesAsk {
  readonly after: number | null;
  readonly limit: number;
  readonly now: number;
  readonly editor: ListEditor;
}

/** Returns the newest entries of a list, at most `limit`. With `after`, only entries from before that change. */
export function toEntriesView(
  name: string,
  content: ListContent,
  entries: ReadonlyMap<string, StoredEntry> | null,
  { now, editor, ...asked }: EntriesAsk,
): s.ValueOf<typeof ListEntriesSchema> {
  const all = [...(entries?.values() ?? [])];
  const { page, next } = cutPage(all, ({ version }) => version, asked);
  return {
    list: name,
    ...toListKindView(content),
    total: all.length,
    entries: page.map((entry) => toEntryView(entry, { now, editor })),
    next,
  };
}

/** Returns the lists that keys of a platform may see. */
export function toListsView(
  node: ListNode,
  platform: PlatformName,
  { now, ...asked }: { readonly now: number; readonly after: string | null; readonly limit: number },
): s.ValueOf<typeof SharedListsSchema> {
  const { ageMs, isStale } = node.report();
  const owners = new Set<ListOwner>([platform, '*']);
  const made = [...owners].flatMap((owner) => node.copy.listListRecords(owner));
  const { page, next } = cutPage(made, getListPlace, asked, 'ascending');
  const lists = page.map((one) => toListView(node, one, now));
  return { lists, next, ageMs: ageMs === null ? null : Math.round(ageMs), isStale };
}

/**
 * Returns the position of a list in the sequence of names. It differs for a list of the installation, because a
 * platform may have a list of the same name.
 */
function getListPlace({ list: name, owner }: StoredEntry): string {
  return isInstallation(owner) ? `${name}*` : name;
}

export const LIST_CURSOR = declareTextCursor(new RegExp(NAME_PATTERN.replace(/\$$/, '\\*?$')));

/** Returns a list as the API shows it. `made` is the entry that was written when the list was made. */
export function toListView(
  node: ListNode,
  made: StoredEntry,
  now: number,
): s.ValueOf<typeof SharedListSchema> {
  const { owner, list: name, addedAt } = made;
  const entries = [...(node.copy.findEntriesOfList(owner, name)?.values() ?? [])];
  return {
    list: name,
    ...toListKindView(made),
    entries: entries.length,
    ended: entries.filter((entry) => hasEnded(entry, now)).length,
    changedAt: entries.at(-1)?.addedAt ?? addedAt,
    ofInstallation: isInstallation(owner),
  };
}

/** Returns the kind of a list's entries, and the attribute if the list has one. */
export function toListKindView({ kind, attribute }: ListContent) {
  return attribute === null ? { kind } : { kind, attribute };
}

function hasEnded({ expiresAt }: StoredEntry, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

export const ListLineSchema = Type.Object(
  {
    value: s.key('The value to put on the list or to remove'),
    remove: Type.Optional(Type.Boolean({ description: 'True: remove the value from the list' })),
    reason: Type.Optional(s.text(REASON_CHARACTERS_MAX, 'Why; required unless the value is removed')),
    expiresAt: Type.Optional(s.requestInstantSchema),
  },
  { told: { not: { properties: { reason: { enum: [null, ''] }, remove: { enum: [false, null] } } } } },
);

const lineBody = createBodyValidator(ListLineSchema);

/** A line that was read, or the reason why it cannot be read. */
export type ParsedListLine =
  | { readonly line: number; readonly edit: EntryEdit; readonly value: string }
  | RefusedLine;

/** The effect of a line, or the reason why it had none. */
export type AppliedListLine =
  | { readonly line: number; readonly value: string; readonly result: EntryEffect }
  | RefusedLine;

/**
 * Changes a list by lines of one JSON object each. Yields one result for each line, in the same sequence: `{line,
 * value, result}` or `{line, error, code, detail, retryable}`. A bad line does not stop the others.
 */
export async function* editListByLines(
  lines: AsyncIterable<Buffer | null>,
  editor: ListEditor,
  edited: ListAndAuthor,
  grant: GrantWatch,
): AsyncGenerator<object> {
  let batch: ParsedListLine[] = [];
  let number = 0;
  for await (const bytes of lines) {
    if (grant.hasEnded) break;
    number++;
    if (number > LINES_MAX) {
      batch.push(createTooManyLinesRefusal(number));
      break;
    }
    if (isBlankLine(bytes) || isCommentLine(bytes)) continue;
    batch.push(parseListLine(number, bytes));
    if (batch.length < LIST_CHANGES_MAX) continue;
    yield* await changeBatch(batch, editor, edited);
    batch = [];
  }
  yield* await changeBatch(grant.hasEnded ? [] : batch, editor, edited);
  if (grant.hasEnded) yield createEndedKeyRefusal(batch[0]?.line ?? number + 1, 'done');
}

/** Files of values that people keep have comment lines, which begin with "#". */
function isCommentLine(bytes: Buffer | null): boolean {
  return bytes?.toString('utf8', 0, COMMENT_BYTES).trimStart().startsWith('#') ?? false;
}

const COMMENT_BYTES = 100;

/** Reads one line of a bulk change: the requested change, or what is wrong with the line. */
export function parseListLine(line: number, bytes: Buffer | null): ParsedListLine {
  try {
    const { value, remove = false, reason, expiresAt } = lineBody(parseJsonLine(bytes));
    if (remove) return { line, value, edit: { kind: 'remove', value } };
    if (reason === undefined) throw createMalformedBodyProblem('/reason is required.');
    const ask = { value, reason, expiresAt: toEpochMs(expiresAt) };
    return { line, value, edit: { kind: 'put', ask } };
  } catch (error) {
    if (error instanceof HttpProblem) return toRefusedLine(line, error);
    throw error;
  }
}

async function changeBatch(
  batch: readonly ParsedListLine[],
  editor: ListEditor,
  edited: ListAndAuthor,
): Promise<readonly object[]> {
  try {
    return await applyListLines(batch, editor, edited);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return batch.map((read) => ('edit' in read ? createUnavailableRefusal(read.line, 'done') : read));
  }
}

/** Changes a list by a batch of lines. Returns the effect of each line. Throws StoreUnavailable. */
export async function applyListLines(
  batch: readonly ParsedListLine[],
  editor: ListEditor,
  edited: ListAndAuthor,
): Promise<readonly AppliedListLine[]> {
  const edits = batch.flatMap((read) => ('edit' in read ? [read.edit] : []));
  const effects = edits.length === 0 ? [] : await editor.changeMany(edited, edits);
  const inTurn = effects.values();
  return batch.map((read) => {
    if (!('edit' in read)) return read;
    const { line, value } = read;
    const effect = inTurn.next().value;
    if (effect === undefined) throw new Error(`line ${line} has no effect`);
    return effect instanceof ListRefusal
      ? { line, error: 'not for this list', code: 'not-for-list', detail: effect.message, retryable: false }
      : { line, value, result: effect };
  });
}
