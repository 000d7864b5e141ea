import type { Audit } from '../access/audit.ts';
import { Proposals } from '../access/proposals.ts';
import type { ArchiveReader } from '../archive/read/archive-reader.ts';
import { type ClientKey, clientNumber } from '../client/client-key.ts';
import type { EvidenceDesk } from '../evidence/desk/evidence-desk.ts';
import type { ListEditor } from '../lists/list-editor.ts';
import { RETENTION } from '../state/retention.ts';
import type { Store } from '../state/store.ts';
import { StoreUnavailable } from '../state/store-errors.ts';
import type { ErasedClient, ErasureLedger } from './erasure-ledger.ts';
import type { ScoringService } from './scoring.ts';

export interface ErasureParts {
  readonly service: Pick<ScoringService, 'erase'>;
  readonly store: Store;
  readonly listEditor: ListEditor;
  readonly evidence?: EvidenceDesk;
  readonly audit: Audit;
  /** Null where none is kept: then a backup brings back who was erased since. */
  readonly ledger?: ErasureLedger | null;
  readonly archive?: ArchiveReader | null;
  /** How long the archive keeps rows, ms; as long as states are kept when absent. */
  readonly archiveKeepMs?: number;
}

/** What repeating the ledger's erasures came to. */
export interface RepeatedErasures {
  readonly clients: number;
  /** Lines of the ledger that cannot be read. */
  readonly unreadable: number;
  /** The archive is away, so nobody knows yet whether an earlier moment of it was put back: to be repeated. */
  readonly waitsForArchive: boolean;
}

/** Erasures that were under way at once with a newer one may not be in a store that knows of the newer one. */
const AT_ONCE_MS = 60_000;

/** Forgets clients wherever the service keeps anything of them. */
export class Erasure {
  readonly #parts: ErasureParts;

  constructor(parts: ErasureParts) {
    this.#parts = parts;
  }

  /** Throws StoreUnavailable; then it is to be repeated. */
  async erase(who: string, client: ClientKey): Promise<void> {
    const { ledger = null, service, listEditor } = this.#parts;
    const { platform, clientIdKey, hash: clientHash } = client;
    // The clock of the journal's erasure entries, which it is compared with, is this machine's, too.
    const at = Date.now();
    await ledger?.append({ at, platform, clientHash });
    await service.erase(platform, clientIdKey);
    await listEditor.forgetClient(platform, clientIdKey);
    await this.#forget(who, client, null);
    await this.#noteSeen(at);
  }

  /**
   * Erases again whom the ledger tells of and whom the store or the archive does not know to be erased, because an
   * earlier moment of it was put back. To be called before anybody is served. Throws StoreUnavailable.
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
    for (const { platform, clientIdKey } of await listEditor.listedAmong(new Set(unique.keys())))
      await listEditor.forgetClient(platform, clientIdKey);
    for (const { platform, clientHash: hash } of unique.values()) {
      await store.erase({ platform, hash });
      await this.#forget('service', { platform, hash }, 'erased before a backup was put back');
    }
    const newest = erased.at(-1);
    if (newest !== undefined) await this.#noteSeen(newest.at);
    return { clients: unique.size, unreadable, waitsForArchive: archivedTo === null };
  }

  /** Says of a line of the ledger whether something of the client may have come back since. */
  async #backAgain(archivedTo: number): Promise<(erased: ErasedClient) => Promise<boolean>> {
    const { store } = this.#parts;
    const seenTo = Number((await store.registers.read(this.#register())) ?? 0);
    const pending = new Set((await store.unshippedErasures()).map((entry) => entry.clientNumber));
    return async ({ at, platform, clientHash }) => {
      if (at > seenTo) return true;
      if (at > archivedTo && !pending.has(clientNumber(clientHash))) return true;
      if (at <= seenTo - AT_ONCE_MS) return false;
      const { state } = await store.load({ platform, clientIdKey: '', hash: clientHash });
      return state.firstSeenAt !== null && state.firstSeenAt <= at;
    };
  }

  /** Null while the archive cannot be read, and nobody by what it holds. */
  async #archivedTo(): Promise<number | null> {
    try {
      return (await this.#parts.archive?.erasedTo()) ?? Number.POSITIVE_INFINITY;
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
    await this.#parts.evidence?.forgetOrders(client.platform);
    const { store, audit } = this.#parts;
    await new Proposals(store.registers, audit, store.clientKeys, Date.now).forgetClient(client);
    await audit.forget(who, client, reason);
  }

  #register(): string {
    return `erasures-of-${this.#parts.ledger?.id ?? ''}`;
  }

  /** The store has done what the ledger told until then; put back, it forgets that, too. */
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
