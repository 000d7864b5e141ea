import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import { parseJsonObjectOrNull } from '#base/files/json-object.ts';
import { NamedError } from '#base/named-error.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import {
  type ClientKey,
  isClientHash,
  isPlatformName,
  type PlatformName,
  toClientNumberText,
} from '#decision/payer/client-key.ts';
import { syncFolder } from '#history/archive/archive-log.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { Audit } from '#workbench/access/audit.ts';
import { Proposals } from '#workbench/approvals/proposals.ts';
import type { EvidenceDesk } from '#workbench/evidence/evidence-desk.ts';
import type { ListEditor } from '#workbench/lists/list-editor.ts';

interface ErasedClient {
  /** When the erasure began, in epoch ms. */
  readonly at: number;
  readonly platform: PlatformName;
  /** The client's hash. It is salted by the store, so it identifies nobody without the store. */
  readonly clientHash: string;
}

/** The ledger cannot be used. The message says what to do. */
export class LedgerUnusable extends NamedError {}

/**
 * A file of erasures, one on each line, that is kept outside every backup. A restored store has forgotten whom it had
 * erased since the backup, and reads the erasures from this file. The first line has the id of the ledger. Under this
 * id, a store notes how far it has followed the ledger.
 */
export class ErasureLedger {
  readonly id: string;
  readonly #path: string;
  /** The times of erasure by client, and the length of the file when it was read. The file only grows. */
  #known: { readonly bytes: number; readonly times: ReadonlyMap<string, number> } | null = null;

  /** Opens the ledger. Creates the file if there is none. Throws `LedgerUnusable`. */
  constructor(path: string) {
    this.#path = path;
    try {
      makeOwnFolder(dirname(path));
      if (!existsSync(path)) {
        const head = `${JSON.stringify({ ledger: randomUUID() })}\n`;
        writeFileSync(path, head, { flag: 'wx', mode: 0o600, flush: true });
        syncFolder(dirname(path));
      }
      const text = readFileSync(path, 'utf8');
      // A line that a crash cut off is kept, and the next entry begins a new line.
      if (!text.endsWith('\n')) appendFileSync(path, '\n', { flush: true });
      this.id = readLedgerId(text);
    } catch (cause) {
      if (cause instanceof LedgerUnusable) throw cause;
      throw new LedgerUnusable(
        `ERASURE_LEDGER names ${path}, which cannot be read and written; check the path and its permissions`,
        { cause },
      );
    }
  }

  /**
   * Appends an erasure. It is on the disk when this resolves. Throws `StoreUnavailable`. An erasure that cannot be
   * noted does not happen, and must be tried again.
   */
  async append(erased: ErasedClient): Promise<void> {
    try {
      await appendFile(this.#path, `${JSON.stringify(erased)}\n`, { flush: true });
    } catch (cause) {
      throw new StoreUnavailable(`the erasure ledger ${this.#path} cannot be written`, { cause });
    }
  }

  /**
   * Returns when a client was last erased, in epoch ms. Returns undefined if the ledger does not know the client.
   * Throws `StoreUnavailable`.
   */
  findErasureTime(clientHash: string): number | undefined {
    try {
      const bytes = statSync(this.#path).size;
      if (this.#known?.bytes !== bytes) {
        // If a client has several lines, the last one is the newest.
        const times = new Map(this.read().erased.map((one) => [one.clientHash, one.at]));
        this.#known = { bytes, times };
      }
      return this.#known.times.get(clientHash);
    } catch (cause) {
      throw new StoreUnavailable(`the erasure ledger ${this.#path} cannot be read`, { cause });
    }
  }

  /** Reads the erasures in the sequence in which they were noted, and counts the lines that cannot be read. */
  read(): { readonly erased: readonly ErasedClient[]; readonly unreadable: number } {
    const [, ...lines] = readFileSync(this.#path, 'utf8').split('\n');
    const told = lines.filter((line) => line !== '').map(parseErasedClient);
    const erased = told.filter((one) => one !== null);
    return { erased, unreadable: told.length - erased.length };
  }
}

function readLedgerId(text: string): string {
  const id = parseJsonObjectOrNull(text.slice(0, text.indexOf('\n') + 1))?.['ledger'];
  if (typeof id === 'string') return id;
  throw new LedgerUnusable(
    'ERASURE_LEDGER names a file that does not begin as an erasure ledger does; name another file, or put the ledger back',
  );
}

function parseErasedClient(line: string): ErasedClient | null {
  const { at, platform, clientHash } = parseJsonObjectOrNull(line) ?? {};
  if (typeof at !== 'number' || typeof platform !== 'string') return null;
  return isPlatformName(platform) && isClientHash(clientHash) ? { at, platform, clientHash } : null;
}

interface ErasureParts {
  readonly service: Pick<ScoringService, 'erase'>;
  readonly store: Store;
  readonly listEditor: ListEditor;
  readonly evidence?: EvidenceDesk;
  readonly audit: Audit;
  /** The ledger. If it is null or missing, restoring a backup brings back clients who were erased since. */
  readonly ledger?: ErasureLedger | null;
  readonly archive?: ArchiveReader | null;
  /**
   * How long the archive keeps rows, in ms. If missing, rows are taken to be kept for as long as the states of
   * clients.
   */
  readonly archiveKeepMs?: number;
}

interface RepeatedErasures {
  readonly clients: number;
  /** How many lines of the ledger cannot be read. */
  readonly unreadable: number;
  /**
   * True if the archive cannot be read now. Then nobody knows yet if it was restored to an earlier moment, and the
   * erasures must be repeated later.
   */
  readonly waitsForArchive: boolean;
}

/**
 * Erasures may run at the same time. When the store notes one of them, an older one may still be under way. This is
 * the longest time, in ms, by which it may be older.
 */
const AT_ONCE_MS = 60_000;

/** Erases clients everywhere in the service. */
export class Erasure {
  readonly #parts: ErasureParts;

  constructor(parts: ErasureParts) {
    this.#parts = parts;
  }

  /**
   * Erases a client. Returns in words what still holds bytes of the client. Returns null if nothing does. If it
   * throws `StoreUnavailable`, the erasure must be repeated.
   */
  async erase(who: string, client: ClientKey): Promise<string | null> {
    const { ledger = null, service, store, listEditor } = this.#parts;
    const { platform, clientIdKey, hash: clientHash } = client;
    // This is not the store's clock. `at` is compared with the times of journal entries, which come from the clock of
    // this machine.
    const at = Date.now();
    await ledger?.append({ at, platform, clientHash });
    await service.erase(platform, clientIdKey);
    await listEditor.removeClient(platform, clientIdKey);
    await this.#forget(who, client, null);
    await this.#noteSeen(at);
    return store.tracesOfErased();
  }

  /**
   * Erases again the clients of the ledger whose erasure the store or the archive does not know, because it was
   * restored to an earlier moment. Call it before any request is served. Throws `StoreUnavailable`.
   */
  async repeat(): Promise<RepeatedErasures> {
    const { ledger = null, store, listEditor, archiveKeepMs = 0 } = this.#parts;
    if (ledger === null) return { clients: 0, unreadable: 0, waitsForArchive: false };
    const { erased, unreadable } = ledger.read();
    const oldest = Date.now() - Math.max(RETENTION.stateMs, archiveKeepMs);
    const archivedTo = await this.#archivedTo();
    const isBack = await this.#backAgain(archivedTo ?? Number.POSITIVE_INFINITY);
    const back: ErasedClient[] = [];
    for (const one of erased) if (one.at > oldest && (await isBack(one))) back.push(one);
    const unique = new Map(back.map((one) => [one.clientHash, one]));
    for (const { platform, clientIdKey } of await listEditor.listClientsWithHashes(new Set(unique.keys())))
      await listEditor.removeClient(platform, clientIdKey);
    for (const { platform, clientHash: hash } of unique.values()) {
      await store.erase({ platform, hash });
      await this.#forget('service', { platform, hash }, 'erased before a backup was put back');
    }
    const newest = erased.at(-1);
    if (newest !== undefined) await this.#noteSeen(newest.at);
    return { clients: unique.size, unreadable, waitsForArchive: archivedTo === null };
  }

  /** Creates the test whether data of a client may have come back since its erasure. */
  async #backAgain(archivedTo: number): Promise<(erased: ErasedClient) => Promise<boolean>> {
    const { store } = this.#parts;
    const seenTo = Number((await store.registers.read(this.#register())) ?? 0);
    const pending = new Set((await store.unshippedErasures()).map((entry) => entry.clientNumber));
    return async ({ at, platform, clientHash }) => {
      if (at > seenTo) return true;
      if (at > archivedTo && !pending.has(toClientNumberText(clientHash))) return true;
      if (at <= seenTo - AT_ONCE_MS) return false;
      const { state } = await store.load({ platform, clientIdKey: '', hash: clientHash });
      return state.firstSeenAt !== null && state.firstSeenAt <= at;
    };
  }

  /**
   * Returns the time of the newest erasure that the archive knows. Returns Infinity if there is no archive, and null
   * if the archive cannot be read.
   */
  async #archivedTo(): Promise<number | null> {
    try {
      return (await this.#parts.archive?.findNewestErasureTime()) ?? Number.POSITIVE_INFINITY;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      return null;
    }
  }

  async #forget(
    who: string,
    client: Pick<ClientKey, 'platform' | 'hash'>,
    reason: string | null,
  ): Promise<void> {
    await this.#parts.evidence?.deleteJobsNamingOrders(client.platform);
    const { store, audit } = this.#parts;
    await new Proposals(store.registers, audit, store.clientKeys, Date.now).forgetClient(client);
    await audit.forget(who, client, reason);
  }

  #register(): string {
    return `erasures-of-${this.#parts.ledger?.id ?? ''}`;
  }

  /** Notes the time up to which the store has followed the ledger. A restored store has forgotten that, too. */
  async #noteSeen(at: number): Promise<void> {
    const { ledger = null, store } = this.#parts;
    if (ledger === null) return;
    for (;;) {
      const known = await store.registers.read(this.#register());
      if (Number(known ?? 0) >= at) return;
      if (await store.registers.compareAndSet(this.#register(), known, String(at))) return;
    }
  }
}
