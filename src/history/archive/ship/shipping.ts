import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readExactClock } from '#base/clock.ts';
import type { Archive } from '#history/archive/archive.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import {
  type ArchivePlace,
  openArchive,
  openStoreWithArchivedSalt,
} from '#history/archive/s3/open-archive.ts';
import { ClockJumps } from '#state/clock-jumps.ts';
import { createStoreClock } from '#state/clock-offset.ts';
import type { OpenStoreOptions } from '#state/open-store.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import { ArchivedRuleSets } from './archived-rule-sets.ts';
import { ShippingLease } from './lease.ts';
import { type ShipOrTidy, Shipper, type ShippingStepResult } from './shipper.ts';

export const SHIP_EVERY_MS = 10_000;

/** A shipper with much to do rests this many times as long as it has worked, because callers come first. */
const REST_FACTOR = 3;

/**
 * A shipper that is behind by more than this, in ms, rests only as long as it works, so that the journal does not
 * overflow.
 */
const BEHIND_MS = 60_000;

/** The time, in ms, after which a failed step is tried again. A full disk is not repaired within a second. */
export const RETRY_MS = 5_000;

/** The report before anything was shipped. */
export const INITIAL_SHIPPING_REPORT: ShippingReport = { leads: false, shippedEntries: 0, trouble: null };

export interface ShippingReport {
  readonly leads: boolean;
  /** The number of entries that were shipped since the process began. */
  readonly shippedEntries: number;
  /** Why the last step failed. Null if it did not fail. */
  readonly trouble: string | null;
}

interface ShippingParts {
  readonly step: (turn: ShipOrTidy) => Promise<ShippingStepResult>;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
  readonly onReport: (report: ShippingReport) => void;
  /** The longest time, in ms, that entries wait for a segment. Ten seconds by default. */
  readonly everyMs?: number;
}

/**
 * Ships one step after the other until the signal is aborted. A failed step is reported and tried again. Each time
 * when shipping has caught up, one step only tidies up, even if all other steps find new entries.
 */
export async function keepShipping({
  step,
  clock,
  signal,
  onReport,
  everyMs = SHIP_EVERY_MS,
}: ShippingParts): Promise<void> {
  let shippedEntries = 0;
  let caughtUpAt = clock();
  const turns = new Turns(everyMs);
  while (!signal.aborted) {
    const startedMs = performance.now();
    const outcome = await step(turns.turn).catch((error: unknown) => ({ did: 'failed', error }) as const);
    if (outcome.did === 'shipped') shippedEntries += outcome.entries;
    if (outcome.did !== 'failed' && !(outcome.did === 'shipped' && outcome.more)) caughtUpAt = clock();
    onReport({
      leads: outcome.did === 'nothing' ? outcome.because !== 'another node ships' : outcome.did !== 'failed',
      shippedEntries,
      trouble: outcome.did === 'failed' ? explainTrouble(outcome.error) : null,
    });
    const endedMs = performance.now();
    const restMs = (endedMs - startedMs) * (clock() - caughtUpAt > BEHIND_MS ? 1 : REST_FACTOR);
    const pauseMs = computePause(outcome, restMs, turns.next(outcome, endedMs));
    // The signal ends the pause, and thereby the loop.
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}

/**
 * Decides whether a step ships or tidies up. It ships as soon as entries are due. After catching up, and before the
 * next entries are due, it tidies up at least once.
 */
class Turns {
  readonly #everyMs: number;
  #turn: ShipOrTidy = 'ship';
  #dueMs = 0;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  get turn(): ShipOrTidy {
    return this.#turn;
  }

  /**
   * Goes on to the next turn. Returns the pause before that turn, in ms, for the case that the finished turn found
   * nothing to do.
   */
  next(outcome: StepOutcome, nowMs: number): number {
    const wasTidying = this.#turn === 'tidy';
    const isCaughtUp = outcome.did === 'shipped' && !outcome.more;
    if (isCaughtUp) this.#dueMs = nowMs + this.#everyMs;
    const untilDueMs = Math.max(0, this.#dueMs - nowMs);
    this.#turn = isCaughtUp || (outcome.did === 'tidied' && untilDueMs > 0) ? 'tidy' : 'ship';
    return wasTidying ? untilDueMs : this.#everyMs;
  }
}

type StepOutcome = ShippingStepResult | { readonly did: 'failed' };

function computePause(outcome: StepOutcome, restMs: number, idleMs: number): number {
  switch (outcome.did) {
    case 'failed':
      return RETRY_MS;
    case 'shipped':
    case 'tidied':
      return restMs;
    case 'nothing':
      return idleMs;
    default:
      return outcome satisfies never;
  }
}

/** Returns the message of whatever a step of shipping threw. */
export function explainTrouble(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The data that a process needs to ship. It is plain data, so that it can be sent to that process. */
export interface ShippingConfig extends OpenStoreOptions, ArchivePlace {
  readonly archiveDir: string;
  readonly archiveKeepMs: number;
  /** How long decisions stay in the store after they were made, in ms. */
  readonly decisionsHotMs: number;
  readonly rulesDir: string;
  /** The name that already holds the lease. Missing if this process takes the lease itself. */
  readonly shipperName?: string;
}

export interface OpenShipper {
  readonly store: Store;
  readonly shipper: Shipper;
  readonly archive: Archive;
  /** Releases the lease and closes what was opened. */
  close(): Promise<void>;
}

/** Merging sorts at most two million rows. Rows that do not fit in this memory go to the disk. */
const SHIPPER_LIMITS = { threads: 1, memoryMiB: 512 } as const;

/** Returns a unique name: `host/pid/..`. Containers may share host name and process id. */
export function createShipperName(): string {
  return `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;
}

/** Opens a shipper with its own connection to the store. Throws StoreUnavailable. */
export async function openShipper(
  { archiveDir, archiveS3, archiveKeepMs, decisionsHotMs, rulesDir, shipperName, ...place }: ShippingConfig,
  onError: (error: Error) => void,
): Promise<OpenShipper> {
  const store = await openStoreWithArchivedSalt({ ...place, archiveDir, archiveS3 }, onError);
  const duck = await QueryEngine.open({
    ...SHIPPER_LIMITS,
    temporaryFolder: join(archiveDir, 'staging', 'spill'),
  });
  const name = shipperName ?? createShipperName();
  const clock = createStoreClock(readExactClock, store);
  const lease = new ShippingLease(store.registers, name, () => performance.now());
  const archive = openArchive({ archiveDir, archiveS3 }, store.registers);
  const shipper = new Shipper({
    store,
    archive,
    duck,
    lease,
    ruleSets: new ArchivedRuleSets(archiveDir, rulesDir),
    name,
    clock,
    clockJumps: new ClockJumps(clock),
    keepMs: archiveKeepMs,
    kept: { journalEntries: RETENTION.journalLookBackEntries, decisionsHotMs },
  });
  const close = async () => {
    await lease.release().catch(() => {
      // The store cannot be reached. The lease expires.
    });
    duck.close();
    await store.close();
  };
  return { store, shipper, archive, close };
}
