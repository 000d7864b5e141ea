import { randomUUID } from 'node:crypto';
import { NamedError } from '#base/named-error.ts';
import type { Archive } from '#history/archive/archive.ts';
import { type ArchiveCommit, CommitConflict } from '#history/archive/archive-log.ts';
import {
  makeSaltReadableLocally,
  requireSameSalt,
  writeSaltIfMissing,
} from '#history/archive/archived-salt.ts';
import { ADOPTED_ARCHIVE_CURSOR } from '#history/archive/unshipped.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import type { Documents } from '#state/documents.ts';
import type { Registers, Store } from '#state/store.ts';

/** A node that may become the node that ships. */
export interface ShippingNode {
  readonly store: Pick<Store, 'name' | 'registers' | 'clientKeys' | 'documents'>;
  readonly archive: Archive;
  readonly lease: ShippingLease;
  /** The name of the node for people who ask which node ships: `host/pid`. */
  readonly name: string;
  /** Returns the store's time, in epoch ms. */
  readonly clock: () => number;
}

/**
 * Takes or renews the lease. Returns false while another node ships. Throws if this node cannot ship. Before it
 * throws, it has released the lease and recorded the reason for all nodes.
 */
export async function tryAcquiringLease(node: ShippingNode): Promise<boolean> {
  const { store, archive, lease, name: by, clock } = node;
  try {
    await archive.refresh();
    await claimArchive(store, archive, {
      by,
      at: clock(),
      add: [],
      remove: [],
      cursor: ADOPTED_ARCHIVE_CURSOR,
    });
    // A node that cannot write must not keep the lease from the others.
    return await lease.hold(() => archive.tryWriting());
  } catch (error) {
    if (error instanceof CommitConflict) return false;
    await releaseLeaseWithReason(node, error);
    throw error;
  }
}

/** Releases the lease, and records why this node does not ship. */
export async function releaseLeaseWithReason(
  { store, lease, name, clock }: ShippingNode,
  error: unknown,
): Promise<void> {
  await lease.release().catch(() => {
    // The store cannot be reached. The lease expires.
  });
  const why = error instanceof Error ? error.message : String(error);
  const trouble: ShippingTrouble = { name, why, at: clock() };
  await store.documents.set(COLLECTION, name, trouble, TOLD_FOR_MS).catch(() => {
    // The store cannot be reached, so no node ships.
  });
}

/** Thrown if the store's journal is shipped to another archive than this node's. */
export class AnotherArchive extends NamedError {}

/**
 * Makes sure that this archive is the store's one archive, which is the first one to which entries were shipped. An
 * archive with another id, on another disk, would hold a part of the history and look complete, so it is refused. The
 * archive also gets the salt of the store's client hashes. `adoption` is committed if the archive belonged to another
 * store until now.
 */
async function claimArchive(
  store: Pick<Store, 'name' | 'registers' | 'clientKeys'>,
  archive: Archive,
  adoption: ArchiveCommit,
): Promise<void> {
  const { registers, clientKeys } = store;
  const { folder, home } = archive;
  await makeSaltReadableLocally(home);
  requireSameSalt(store, folder);
  await claimId(registers, archive, adoption);
  await writeSaltIfMissing(home, clientKeys.salt);
  requireSameSalt(store, folder);
}

/** Claims the archive for this store. An archive in S3 that exists already needs a person to adopt it. */
async function claimId(registers: Registers, archive: Archive, adoption: ArchiveCommit): Promise<void> {
  const { home } = archive;
  const own = await home.readId();
  const claimed = await registers.read(ARCHIVE_REGISTER);
  if (own === null) return beginArchive(registers, archive, claimed);
  if (claimed === own) return;
  if (claimed === null && home.adoptedBy === 'person')
    throw new AnotherArchive(
      `${home.name} holds an archive of another store; if that store is lost, run "archive adopt", otherwise set ARCHIVE_DIR to another place`,
    );
  if (claimed === null) {
    // The commit comes first. If the process ends before the register is set, the next try begins anew, and no node
    // continues from the other store's cursor.
    if (archive.read().version > 0) await archive.commit(archive.read(), adoption);
    if (await registers.compareAndSet(ARCHIVE_REGISTER, null, own)) return;
  }
  throw new AnotherArchive(
    `this store's archive is ${claimed ?? 'another one'}, and ${home.name} is ${own}; set ARCHIVE_DIR to the place that the fleet shares, or to "off" on this node; if that archive is lost, run "state forget-archive"`,
  );
}

/** Begins a new archive. The register is set first, so that two nodes that begin at once use the same id. */
async function beginArchive(registers: Registers, archive: Archive, claimed: string | null): Promise<void> {
  const { home } = archive;
  if (claimed !== null && archive.read().version > 0)
    throw new AnotherArchive(
      `${home.name} is empty, but this store has an archive elsewhere; set ARCHIVE_DIR to it`,
    );
  const id = claimed ?? randomUUID();
  if (claimed !== null || (await registers.compareAndSet(ARCHIVE_REGISTER, null, id)))
    return home.writeId(id);
  throw new AnotherArchive(`another node has just begun the archive in ${home.name}; trying again`);
}

const COLLECTION = 'shipping-troubles';

/** How long a trouble is kept, in ms. Every try reports it again. An older trouble is over, or its node has ended. */
const TOLD_FOR_MS = 60_000;

/** Why a node could not ship at its last try. */
interface ShippingTrouble {
  /** The node's name: `host/pid/..`. */
  readonly name: string;
  readonly why: string;
  /** Epoch ms. */
  readonly at: number;
}

export async function listShippingTroubles(documents: Documents): Promise<readonly ShippingTrouble[]> {
  const troubles = await documents.list<ShippingTrouble>(COLLECTION);
  return troubles.toSorted((a, b) => a.name.localeCompare(b.name));
}

const REGISTER = 'archive-lease';

/** A holder that is silent for this long, in ms, counts as dead. The holder renews the lease far more often. */
const SILENCE_MS = 30_000;

/** The interval, in ms, of renewals during a step. A step may take minutes when the archive is behind a slow link. */
const RENEW_MS = 10_000;

interface Holder {
  readonly holder: string | null;
  /** A number that grows with every renewal. It shows other nodes that the holder lives, without comparing clocks. */
  readonly renewals: number;
}

/**
 * The lease of the one node that ships. The lease only spares the other nodes the work. Without it entries would not
 * be shipped twice either, because only one of two commits with the same number succeeds.
 */
export class ShippingLease {
  readonly #registers: Registers;
  readonly #holder: string;
  readonly #monotonicMs: () => number;
  #seen: { readonly text: string | null; readonly sinceMs: number } | null = null;

  constructor(registers: Registers, holder: string, monotonicMs: () => number) {
    this.#registers = registers;
    this.#holder = holder;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Takes or renews the lease. Returns false while another holder is alive. Before the lease is taken, `beforeTaking`
   * must succeed.
   */
  async hold(beforeTaking = async () => {}): Promise<boolean> {
    const text = await this.#registers.read(REGISTER);
    const current = parseHolder(text);
    if (current.holder !== null && current.holder !== this.#holder && !this.#isSilent(text)) return false;
    if (current.holder !== this.#holder) await beforeTaking();
    const next: Holder = { holder: this.#holder, renewals: current.renewals + 1 };
    return this.#registers.compareAndSet(REGISTER, text, JSON.stringify(next));
  }

  /** Runs the holder's work, and renews the lease during the work. */
  async whileHeld<T>(work: () => Promise<T>): Promise<T> {
    // A failed renewal is ignored: while the store cannot be reached, nothing can be committed either.
    const renewing = setInterval(() => this.hold().catch(() => {}), RENEW_MS);
    try {
      return await work();
    } finally {
      clearInterval(renewing);
    }
  }

  async release(): Promise<void> {
    const text = await this.#registers.read(REGISTER);
    const { holder, renewals } = parseHolder(text);
    if (holder !== this.#holder) return;
    const none: Holder = { holder: null, renewals: renewals + 1 };
    await this.#registers.compareAndSet(REGISTER, text, JSON.stringify(none));
  }

  /** Whether the holder has not renewed its lease for SILENCE_MS, by this node's own clock. */
  #isSilent(text: string | null): boolean {
    const now = this.#monotonicMs();
    if (this.#seen?.text !== text) this.#seen = { text, sinceMs: now };
    return now - this.#seen.sinceMs >= SILENCE_MS;
  }
}

/** Returns the name of the node that ships, for people: `host/pid/..`. Returns null if no node holds the lease. */
export async function findLeaseHolder(registers: Pick<Registers, 'read'>): Promise<string | null> {
  return parseHolder(await registers.read(REGISTER)).holder;
}

/** Parses the register. An unreadable lease counts as free. */
function parseHolder(text: string | null): Holder {
  const nobody: Holder = { holder: null, renewals: 0 };
  if (text === null) return nobody;
  try {
    const { holder, renewals }: Partial<Holder> = JSON.parse(text);
    return { holder: holder ?? null, renewals: renewals ?? 0 };
  } catch {
    return nobody;
  }
}
