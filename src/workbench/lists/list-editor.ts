import { hash } from 'node:crypto';
import { NamedError } from '#base/named-error.ts';
import { FairQueue } from '#base/work/fair-queue.ts';
import { StepThrottle } from '#base/work/step-throttle.ts';
import { INSTALLATION_PLATFORM, isInstallation } from '#checkout/access/access-keys.ts';
import {
  createRecreatedListFilter,
  encodeEntry,
  formatListHeaderEntryId,
  hashEntryId,
  type ListEntry,
  ListEntrySchema,
  type StoredEntry,
} from '#checkout/lists/list-entry.ts';
import type { ListNode, SharedListsCopy } from '#checkout/lists/list-node.ts';
import type { Pseudonymize } from '#decision/addresses.ts';
import type { ClientKeys, PlatformName } from '#decision/payer/client-key.ts';
import { findNearestName } from '#decision/rules/problem.ts';
import { isName, LIST_NAME_MESSAGE } from '#decision/rules/rule-set.ts';
import {
  type DevicePseudonymConverter,
  findListContentFault,
  formatListContent,
  type ListContent,
  type ListKind,
  type ListOwner,
  parseListValue,
  toReadableValue,
} from '#decision/shared-lists.ts';
import { LIST_CHANGES_MAX, type ListLog, type ListLogChange } from '#state/store.ts';
import { type Audit, toAuditedValue } from '#workbench/access/audit.ts';

export const REASON_CHARACTERS_MAX = 500;

/** The list to change, and the author of the change. */
export interface ListAndAuthor {
  /** The platform, or `*` for the whole installation. */
  readonly owner: ListOwner;
  readonly list: string;
  /** The author, in the form of `Actor.text` and `formatOsUserActor`. */
  readonly who: string;
}

export interface NewListEntry {
  readonly value: string;
  readonly reason: string;
  /** When the entry ends, in epoch ms. Null if it stays until it is removed. */
  readonly expiresAt: number | null;
}

/** A change was refused. The message is for the caller. */
export class ListRefusal extends NamedError {}

/** The list does not exist. The message names the nearest existing one. */
export class UnknownList extends NamedError {}

export type EntryEdit =
  | { readonly kind: 'put'; readonly ask: NewListEntry }
  | { readonly kind: 'remove'; readonly value: string };

/** The entries after a request, by id. Null if the entry is removed. */
type Planned = Map<string, ListEntry | null>;

/**
 * Writing many entries at once blocks other requests, so one write runs at a time and the platforms take turns. The
 * listener limits how many writes of a platform wait.
 */
const STEPS = {
  atOnceMax: 1,
  ownerMax: 1,
  waitingMax: Number.POSITIVE_INFINITY,
  first: { owner: INSTALLATION_PLATFORM, kept: 0 },
} as const;

export const ENTRY_EFFECTS = ['added', 'changed', 'unchanged', 'removed', 'absent'] as const;

export type EntryEffect = (typeof ENTRY_EFFECTS)[number];

interface ListEditorParts {
  readonly listLog: ListLog;
  readonly node: ListNode;
  readonly pseudonym: Pseudonymize;
  readonly names: DevicePseudonymConverter;
  readonly audit: Audit;
  readonly clientKeys: ClientKeys;
  /** The time in epoch ms. */
  readonly clock: () => number;
}

/**
 * Changes shared lists, and notes in the audit who changed what and why. The node that writes a change uses it at
 * once.
 */
export class ListEditor {
  readonly #parts: ListEditorParts;
  readonly #steps = new FairQueue(STEPS);
  /** Leaves half of the time to verdicts, however many people change lists. */
  readonly #pace = new StepThrottle(1);

  constructor(parts: ListEditorParts) {
    this.#parts = parts;
  }

  /**
   * Creates a list. Returns the existing list if it has the same content. Throws `ListRefusal`, `StoreUnavailable` or
   * `TooManyAuditedChanges`.
   */
  async createList(
    edited: ListAndAuthor,
    kind: ListKind,
    attribute: string | null = null,
  ): Promise<StoredEntry> {
    const content = { kind, attribute };
    const { audit, node, listLog, clock } = this.#parts;
    const { owner, list, who } = edited;
    audit.admit(who, 'list');
    await node.sync();
    const before = node.copy.findListRecord(owner, list);
    if (before?.kind === kind && before.attribute === attribute) return before;
    const why =
      before === null
        ? explainRefusedList(node.copy, edited, content)
        : `The list ${list} holds entries of kind ${formatListContent(before)}; make a list with another name.`;
    if (why !== null) throw new ListRefusal(why);
    const made = {
      owner,
      list,
      kind,
      attribute,
      value: '',
      keys: [],
      expiresAt: null,
      reason: '',
      who,
      addedAt: clock(),
    };
    const changes = [{ id: formatListHeaderEntryId(owner, list), text: encodeEntry(made) }];
    const isMade =
      (await listLog.write(changes, createRecreatedListFilter(made, node.copy.version))) !== null;
    await node.sync();
    const after = node.copy.findListRecord(owner, list);
    if (!isMade || after === null)
      throw new ListRefusal('Somebody else has just made this list with another kind.');
    const entry = { who, action: 'list', platform: toPlatform(owner), subject: list } as const;
    await audit.note({ ...entry, after: attribute === null ? { kind } : content });
    return after;
  }

  /** Returns the kind of a list's entries. Throws `UnknownList`. */
  async requireContent(owner: ListOwner, list: string): Promise<ListContent> {
    if (this.#parts.node.copy.findListRecord(owner, list) === null) await this.#parts.node.sync();
    return this.#contentOf(owner, list);
  }

  /** Returns the kind of a list's entries, according to this node's copy of the lists. */
  #contentOf(owner: ListOwner, list: string): ListContent {
    const { copy } = this.#parts.node;
    const made = copy.findListRecord(owner, list);
    if (made !== null) return made;
    const nearest = findNearestName(
      list,
      copy.listListRecords(owner).map((one) => one.list),
    );
    const meant = nearest === null ? '.' : `; did you mean "${nearest}"?`;
    throw new UnknownList(
      `There is no list "${list}"${meant} Make the list first, with the kind of its entries: PUT /v1/platform/lists/${list}, or the command lists make.`,
    );
  }

  /**
   * Adds an entry to a list, or renews it. Throws `UnknownList`, `ListRefusal`, `StoreUnavailable` or
   * `TooManyAuditedChanges`.
   */
  async put(edited: ListAndAuthor, ask: NewListEntry): Promise<StoredEntry> {
    this.#parts.audit.admit(edited.who, 'list');
    const { entry, id, before } = await this.#write(edited, () => {
      const planned = this.#entryOf(edited, ask);
      const place = hashEntryId(planned);
      return {
        entry: planned,
        id: place,
        before: this.#parts.node.copy.findEntry(place),
        changes: [{ id: place, text: encodeEntry(planned) }],
      };
    });
    await this.#note(edited, before, entry, ask.reason);
    return this.#parts.node.copy.findEntry(id) ?? { ...entry, id, version: 0 };
  }

  /**
   * Removes a value from a list. Returns false if it was not on the list. Throws `UnknownList` or `TooManyAuditedChanges`.
   */
  async remove(edited: ListAndAuthor, value: string, reason: string | null): Promise<boolean> {
    this.#parts.audit.admit(edited.who, 'list');
    await this.#parts.node.sync();
    const before = this.find(edited.owner, edited.list, value);
    if (before === null) return false;
    const made = await this.#parts.listLog.write([{ id: before.id, text: null }]);
    await this.#parts.node.sync();
    // Somebody else may have removed the value between the two steps.
    if (made?.[0] !== true) return false;
    await this.#note(edited, before, null, reason);
    return true;
  }

  /** Finds the entry for a value. Returns null if the list has none. Throws `UnknownList`. */
  find(owner: ListOwner, list: string, value: string): StoredEntry | null {
    const id = this.#idOf({ owner, list }, value);
    return id === null ? null : this.#parts.node.copy.findEntry(id);
  }

  /** Returns an entry as its owner sees it, with the owner's name for a device. */
  toOwnerView<Entry extends ListEntry>(entry: Entry): Entry {
    return { ...entry, value: toReadableValue(entry, (hmac) => this.#parts.names.nameOf(entry.owner, hmac)) };
  }

  #read(owner: ListOwner, kind: ListKind, value: string) {
    const { pseudonym, names } = this.#parts;
    return parseListValue(kind, value, pseudonym, (name) => names.pseudonymOf(owner, name));
  }

  /**
   * Makes up to LIST_CHANGES_MAX changes, each independently. Returns for each change its effect, or why it was
   * refused. The audit has one entry for all, with a digest of the written changes. Throws `UnknownList`.
   */
  async changeMany(
    edited: ListAndAuthor,
    edits: readonly EntryEdit[],
  ): Promise<readonly (EntryEffect | ListRefusal)[]> {
    const { effects, changes } = await this.#write(edited, () => {
      const room = { entries: 0, keys: 0 };
      const planned: Planned = new Map();
      const effectOf = (edit: EntryEdit) => {
        try {
          return this.#plan(edited, edit, room, planned);
        } catch (error) {
          if (error instanceof ListRefusal) return error;
          throw error;
        }
      };
      const does = edits.map(effectOf);
      const changes = [...planned].map(([id, entry]) => ({ id, text: entry && encodeEntry(entry) }));
      return { effects: does, changes };
    });
    await this.#noteMany(edited, effects, hash('sha256', JSON.stringify(changes)));
    return effects;
  }

  async listClientsWithHashes(
    hashes: ReadonlySet<string>,
  ): Promise<readonly { readonly platform: PlatformName; readonly clientIdKey: string }[]> {
    const { node, clientKeys } = this.#parts;
    await node.sync();
    return node.copy
      .listAllLists()
      .flatMap((entries) => [...entries.values()])
      .flatMap(({ owner, kind, value }) =>
        kind === 'client' && owner !== '*' && hashes.has(clientKeys.of(owner, value).hash)
          ? [{ platform: owner, clientIdKey: value }]
          : [],
      );
  }

  /** Finds the entries for a client on the lists of its platform. */
  async listEntriesOfClient(platform: PlatformName, clientIdKey: string): Promise<readonly StoredEntry[]> {
    const { node } = this.#parts;
    await node.sync();
    return node.copy
      .listAllLists()
      .flatMap((entries) => [...entries.values()].slice(0, 1))
      .filter(({ owner }) => owner === platform)
      .map(({ owner, list }) =>
        node.copy.findEntry(hashEntryId({ owner, list, kind: 'client', value: clientIdKey })),
      )
      .filter((entry) => entry !== null);
  }

  async removeClient(platform: PlatformName, clientIdKey: string): Promise<void> {
    const { node, listLog } = this.#parts;
    const known = (await this.listEntriesOfClient(platform, clientIdKey)).map(({ id }) => id);
    for (let start = 0; start < known.length; start += LIST_CHANGES_MAX) {
      await listLog.write(known.slice(start, start + LIST_CHANGES_MAX).map((id) => ({ id, text: null })));
    }
    if (known.length > 0) await node.sync();
  }

  /** Plans changes on the newest copy and writes them. */
  #write<P extends { readonly changes: readonly ListLogChange[] }>(
    { owner }: ListAndAuthor,
    plan: () => P,
  ): Promise<P> {
    const { listLog, node } = this.#parts;
    const step = async () => {
      await node.sync();
      const planned = plan();
      await listLog.write(planned.changes);
      await node.sync();
      return planned;
    };
    return this.#steps.run(owner, () => this.#pace.run(step));
  }

  /** Plans one line of a request, taking the effects of the earlier lines into account. */
  #plan(
    edited: ListAndAuthor,
    edit: EntryEdit,
    room: { entries: number; keys: number },
    planned: Planned,
  ): EntryEffect {
    const { copy } = this.#parts.node;
    const standing = (id: string) => planned.get(id) ?? (planned.has(id) ? null : copy.findEntry(id));
    if (edit.kind === 'remove') {
      const id = this.#idOf(edited, edit.value);
      const there = id === null ? null : standing(id);
      if (id === null || there === null) return 'absent';
      planned.set(id, null);
      if (copy.findEntry(id) === null) {
        room.entries -= 1;
        room.keys -= there.keys.length;
      }
      return 'removed';
    }
    const entry = this.#entryOf(edited, edit.ask, room);
    const id = hashEntryId(entry);
    const before = standing(id);
    if (before?.reason === entry.reason && before.expiresAt === entry.expiresAt) return 'unchanged';
    planned.set(id, entry);
    if (before !== null) return 'changed';
    if (copy.findEntry(id) === null) {
      room.entries += 1;
      room.keys += entry.keys.length;
    }
    return 'added';
  }

  /** Returns the id that an entry for this value would have. Returns null if the list cannot hold the value. */
  #idOf({ owner, list }: Pick<ListAndAuthor, 'owner' | 'list'>, value: string): string | null {
    const { kind } = this.#contentOf(owner, list);
    const read = this.#read(owner, kind, value);
    return read.ok ? hashEntryId({ owner, list, kind, value: read.value }) : null;
  }

  /**
   * Creates an entry. `room` says how many entries and networks the same request has added before. Throws
   * `UnknownList` or `ListRefusal`.
   */
  #entryOf(
    { owner, list, who }: ListAndAuthor,
    { value, reason, expiresAt }: NewListEntry,
    room: RoomTaken = { entries: 0, keys: 0 },
  ): ListEntry {
    const { clock } = this.#parts;
    const { kind, attribute } = this.#contentOf(owner, list);
    const read = this.#read(owner, kind, value);
    if (!read.ok) throw new ListRefusal(`${read.problem.charAt(0).toUpperCase()}${read.problem.slice(1)}.`);
    if (expiresAt !== null && expiresAt <= clock()) {
      throw new ListRefusal('expiresAt is in the past; leave it out for an entry without an end.');
    }
    const entry = { owner, list, kind, attribute, value: read.value, keys: read.keys, reason, who };
    const made = { ...entry, addedAt: clock(), expiresAt };
    const why = explainLackOfRoom(this.#parts.node.copy, made, room);
    if (why !== null) throw new ListRefusal(why);
    return made;
  }

  async #note(
    edited: ListAndAuthor,
    before: ListEntry | null,
    after: ListEntry | null,
    reason: string | null,
  ) {
    const { owner, list, who } = edited;
    const platform = toPlatform(owner);
    const shown = (entry: ListEntry | null) => {
      if (entry === null) return null;
      const { kind, value, reason, expiresAt } = this.toOwnerView(entry);
      return toAuditedValue(ListEntrySchema, { kind, value, reason, expiresAt });
    };
    const entry = { who, action: 'list', platform, subject: list, reason } as const;
    const known = after ?? before;
    // Audit notes about a client are deleted when the client is erased.
    const client =
      known?.kind === 'client' && platform !== null ? this.#parts.clientKeys.of(platform, known.value) : null;
    await this.#parts.audit.note({ ...entry, before: shown(before), after: shown(after) }, client);
  }

  async #noteMany(
    { owner, list, who }: ListAndAuthor,
    effects: readonly (EntryEffect | ListRefusal)[],
    sha256: string,
  ) {
    const counts = Object.groupBy(effects, (effect) => (effect instanceof ListRefusal ? 'refused' : effect));
    const made = Object.fromEntries(
      (['added', 'changed', 'removed'] as const).map((effect) => [effect, counts[effect]?.length ?? 0]),
    );
    if (Object.values(made).every((count) => count === 0)) return;
    const platform = toPlatform(owner);
    const entry = { who, action: 'list', platform, subject: list } as const;
    const after = { ...made, lines: effects.length, sha256 };
    await this.#parts.audit.note({ ...entry, after, reason: 'many at once' });
  }
}

function toPlatform(owner: ListOwner): PlatformName | null {
  return owner === '*' ? null : owner;
}

/** The limits of shared lists. */
export const LIST_LIMITS = {
  entriesPerList: 100_000,
  /** The limit of a platform, so that no platform uses up the room of the others. */
  entriesPerPlatform: 250_000,
  /** The limit of all lists together. Each node holds them in memory. */
  entriesInAll: 500_000,
  listsPerOwner: 200,
  /** The most networks of which the ranges of a list consist. */
  keysPerList: 1_000_000,
};

interface RoomTaken {
  readonly entries: number;
  readonly keys: number;
}

/** Says for the caller why a list has no room for an entry. Returns null if it has room. */
export function explainLackOfRoom(
  copy: SharedListsCopy,
  entry: ListEntry,
  taken: RoomTaken,
  limits = LIST_LIMITS,
): string | null {
  const { owner, list } = entry;
  if (copy.findEntry(hashEntryId(entry)) !== null) return null;
  const entries = copy.findEntriesOfList(owner, list);
  if ((entries?.size ?? 0) + taken.entries >= limits.entriesPerList)
    return `A list has at most ${limits.entriesPerList} entries.`;
  if (
    owner !== INSTALLATION_PLATFORM &&
    copy.countEntries(owner) + taken.entries >= limits.entriesPerPlatform
  )
    return `The lists of a platform have at most ${limits.entriesPerPlatform} entries together.`;
  if (copy.size + taken.entries >= limits.entriesInAll)
    return `All lists together have at most ${limits.entriesInAll} entries.`;
  if (copy.countKeys(owner, list) + taken.keys + entry.keys.length > limits.keysPerList)
    return `The ranges of a list may be made of at most ${limits.keysPerList} networks; use prefixes like /16, /24 and /32, or /32, /48 and /64.`;
  return null;
}

function explainRefusedList(
  copy: SharedListsCopy,
  { owner, list }: ListAndAuthor,
  content: ListContent,
): string | null {
  if (!isName(list)) return LIST_NAME_MESSAGE;
  const fault = findListContentFault(content);
  if (fault !== null) return `"attribute" ${fault}.`;
  const { kind } = content;
  if (kind === 'client' && isInstallation(owner))
    return 'A client belongs to one platform, so a list of the whole installation holds none.';
  if (copy.listListRecords(owner).length >= LIST_LIMITS.listsPerOwner)
    return `A platform has at most ${LIST_LIMITS.listsPerOwner} lists.`;
  return null;
}
