import { randomUUID } from 'node:crypto';
import { NamedError } from '#base/named-error.ts';
import type { Archive } from '#history/archive/archive.ts';
import { type Commit, CommitConflict } from '#history/archive/archive-log.ts';
import { fetchSalt, requireSalt, writeSalt } from '#history/archive/archived-salt.ts';
import { ADOPTED_CURSOR } from '#history/archive/unshipped.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import type { Documents } from '#state/documents.ts';
import type { Registers, Store } from '#state/store.ts';

/** A node that may become the one that ships. */
export interface ShippingNode {
  readonly store: Pick<Store, 'name' | 'registers' | 'clientKeys' | 'documents'>;
  readonly archive: Archive;
  readonly lease: Lease;
  /** For people who ask who ships: `host/pid`. */
  readonly name: string;
  /** The clock that decides, which is the store's; epoch ms. */
  readonly clock: () => number;
}

/**
 * Takes or renews the lease; false while another node ships. Throws what keeps this node from shipping: it has given the
 * lease back then, and every node can see why.
 */
export async function acquireLease(node: ShippingNode): Promise<boolean> {
  const { store, archive, lease, name: by, clock } = node;
  try {
    await archive.refresh();
    await claimArchive(store, archive, { by, at: clock(), add: [], remove: [], cursor: ADOPTED_CURSOR });
    // A node that cannot write must not keep the lease from those that can.
    return await lease.hold(() => archive.tryWriting());
  } catch (error) {
    if (error instanceof CommitConflict) return false;
    await releaseLease(node, error);
    throw error;
  }
}

/** Gives the lease back, and tells every node why this one does not ship. */
export async function releaseLease(
  { store, lease, name, clock }: ShippingNode,
  error: unknown,
): Promise<void> {
  await lease.release().catch(() => {
    // The store is away: the lease runs out by itself.
  });
  const why = error instanceof Error ? error.message : String(error);
  const trouble: ShippingTrouble = { name, why, at: clock() };
  await store.documents.set(COLLECTION, name, trouble, TOLD_FOR_MS).catch(() => {
    // The store is away, and nobody ships.
  });
}

/** The store's journal goes to another archive than this node's. */
export class AnotherArchive extends NamedError {}

/**
 * A store has one archive: the one that was first shipped to. An archive of another id, on another disk, would
 * hold a part of the history and look like all of it, so it is refused. It keeps the salt of the store's clients.
 * `adoption` is committed where the archive was another store's until now.
 */
async function claimArchive(
  store: Pick<Store, 'name' | 'registers' | 'clientKeys'>,
  archive: Archive,
  adoption: Commit,
): Promise<void> {
  const { registers, clientKeys } = store;
  const { folder, home } = archive;
  await fetchSalt(home);
  requireSalt(store, folder);
  await claimId(registers, archive, adoption);
  await writeSalt(home, clientKeys.salt);
  requireSalt(store, folder);
}

/** An archive that exists already is not taken over by itself: a person has to say so. */
async function claimId(registers: Registers, archive: Archive, adoption: Commit): Promise<void> {
  const { home } = archive;
  const own = await home.id();
  const claimed = await registers.read(ARCHIVE_REGISTER);
  if (own === null) return beginArchive(registers, archive, claimed);
  if (claimed === own) return;
  if (claimed === null && home.adoptedBy === 'person')
    throw new AnotherArchive(
      `${home.name} holds an archive that this store knows nothing of; when its own store is lost, run archive adopt, otherwise set ARCHIVE_DIR to another place`,
    );
  if (claimed === null) {
    // First: a process that ends in between begins anew, and nobody continues from the other store's
    // cursor.
    if (archive.read().version > 0) await archive.commit(archive.read(), adoption);
    if (await registers.compareAndSet(ARCHIVE_REGISTER, null, own)) return;
  }
  throw new AnotherArchive(
    `this store's archive is ${claimed ?? 'another one'}, and ${home.name} is ${own}; set ARCHIVE_DIR to the place that the fleet shares, or to "off" on this node; when that one is lost, run state forget-archive`,
  );
}

/** The register comes first: two nodes that begin at once both use its id. */
async function beginArchive(registers: Registers, archive: Archive, claimed: string | null): Promise<void> {
  const { home } = archive;
  if (claimed !== null && archive.read().version > 0)
    throw new AnotherArchive(`${home.name} is empty, but this store has an archive; set ARCHIVE_DIR right`);
  const id = claimed ?? randomUUID();
  if (claimed !== null || (await registers.compareAndSet(ARCHIVE_REGISTER, null, id))) return home.giveId(id);
  throw new AnotherArchive(`another node has just begun the archive in ${home.name}; it is tried again`);
}

const COLLECTION = 'shipping-troubles';

/** A trouble is reported with every try; an older one is over, or its node is gone. */
const TOLD_FOR_MS = 60_000;

/** Why a node could not ship when it tried last. */
interface ShippingTrouble {
  /** `host/pid/..` */
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

/** The holder renews the lease far more often; one that is silent this long counts as dead. */
const SILENCE_MS = 30_000;

/** A step may take minutes where the archive is kept behind a slow link. */
const RENEW_MS = 10_000;

interface Holder {
  readonly holder: string | null;
  /** Counts up with every renewal, so that others see the holder live without comparing clocks. */
  readonly renewals: number;
}

/**
 * One node of the fleet ships. The lease spares the others the work; it is not what keeps entries from being shipped
 * twice: of two commits with the same number only one succeeds.
 */
export class Lease {
  readonly #registers: Registers;
  readonly #holder: string;
  readonly #monotonicMs: () => number;
  #seen: { readonly text: string | null; readonly sinceMs: number } | null = null;

  constructor(registers: Registers, holder: string, monotonicMs: () => number) {
    this.#registers = registers;
    this.#holder = holder;
    this.#monotonicMs = monotonicMs;
  }

  /** Takes or renews the lease; false while another holder is alive. What must succeed before it is taken comes first. */
  async hold(beforeTaking = async () => {}): Promise<boolean> {
    const text = await this.#registers.read(REGISTER);
    const current = parse(text);
    if (current.holder !== null && current.holder !== this.#holder && !this.#isSilent(text)) return false;
    if (current.holder !== this.#holder) await beforeTaking();
    const next: Holder = { holder: this.#holder, renewals: current.renewals + 1 };
    return this.#registers.compareAndSet(REGISTER, text, JSON.stringify(next));
  }

  /** Does work of the holder, and renews the lease meanwhile. */
  async whileHeld<T>(work: () => Promise<T>): Promise<T> {
    // Where the store is away, nothing can be committed either.
    const renewing = setInterval(() => this.hold().catch(() => {}), RENEW_MS);
    try {
      return await work();
    } finally {
      clearInterval(renewing);
    }
  }

  async release(): Promise<void> {
    const text = await this.#registers.read(REGISTER);
    const { holder, renewals } = parse(text);
    if (holder !== this.#holder) return;
    const none: Holder = { holder: null, renewals: renewals + 1 };
    await this.#registers.compareAndSet(REGISTER, text, JSON.stringify(none));
  }

  /** Whether the holder has not renewed its lease for long enough, as seen from here. */
  #isSilent(text: string | null): boolean {
    const now = this.#monotonicMs();
    if (this.#seen?.text !== text) this.#seen = { text, sinceMs: now };
    return now - this.#seen.sinceMs >= SILENCE_MS;
  }
}

/** Who ships, for people: `host/pid/..`; null when nobody holds the lease. */
export async function findLeaseHolder(registers: Pick<Registers, 'read'>): Promise<string | null> {
  return parse(await registers.read(REGISTER)).holder;
}

/** An unreadable lease holds nobody back. */
function parse(text: string | null): Holder {
  const nobody: Holder = { holder: null, renewals: 0 };
  if (text === null) return nobody;
  try {
    const { holder, renewals }: Partial<Holder> = JSON.parse(text);
    return { holder: holder ?? null, renewals: renewals ?? 0 };
  } catch {
    return nobody;
  }
}
