import { setTimeout as sleep } from 'node:timers/promises';
import type { ShippingStep, ShippingTurn } from './shipper.ts';

const SHIP_EVERY_MS = 10_000;

/** A shipper with much to do rests this many times as long as it works: callers come first. */
const REST_FACTOR = 3;

/** Behind by more than this it rests only as long as it works: the journal must not overflow. */
const BEHIND_MS = 60_000;

/** After a failure the same step is tried again this much later: a full disk is not mended within a second. */
const RETRY_MS = 5_000;

/** Before anything was shipped or looked at. */
export const NOTHING_SHIPPED = {
  leads: false,
  shippedEntries: 0,
  segments: 0,
  bytes: 0,
  gapEntries: 0,
  trouble: null,
};

/** What a shipping process reports. */
export interface ShippingReport {
  /** This process holds the lease. */
  readonly leads: boolean;
  /** Entries that were shipped since the process began. */
  readonly shippedEntries: number;
  readonly segments: number;
  readonly bytes: number;
  /** Entries that the journal's bound pushed out before they were shipped. */
  readonly gapEntries: number;
  /** Why the last step failed; null when it did not. */
  readonly trouble: string | null;
}

export interface ShippingParts {
  readonly step: (turn: ShippingTurn) => Promise<ShippingStep>;
  /** What the archive holds; asked after each step. */
  readonly contents: () => Pick<ShippingReport, 'segments' | 'bytes' | 'gapEntries'>;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
  readonly onReport: (report: ShippingReport) => void;
  /** Entries wait no longer than this for a segment of their own: ten seconds, unless told otherwise. */
  readonly everyMs?: number;
}

/**
 * Ships until the signal, a step after the other; a failed step is reported and tried again. Where something is new at
 * every turn, tidying up gets its own whenever shipping has caught up.
 */
export async function keepShipping({
  step,
  contents,
  clock,
  signal,
  onReport,
  everyMs = SHIP_EVERY_MS,
}: ShippingParts): Promise<void> {
  let shippedEntries = 0;
  let held: ReturnType<ShippingParts['contents']> = NOTHING_SHIPPED;
  let caughtUpAt = clock();
  const turns = new Turns(everyMs);
  while (!signal.aborted) {
    const startedMs = performance.now();
    const outcome = await step(turns.turn).catch((error: unknown) => ({ did: 'failed', error }) as const);
    if (outcome.did === 'shipped') shippedEntries += outcome.entries;
    if (outcome.did !== 'failed' && !(outcome.did === 'shipped' && outcome.more)) caughtUpAt = clock();
    held = lookedAt(contents) ?? held;
    onReport({
      segments: held.segments,
      bytes: held.bytes,
      gapEntries: held.gapEntries,
      leads: leads(outcome),
      shippedEntries,
      trouble: outcome.did === 'failed' ? troubleOf(outcome.error) : null,
    });
    const endedMs = performance.now();
    const restMs = (endedMs - startedMs) * (clock() - caughtUpAt > BEHIND_MS ? 1 : REST_FACTOR);
    await pause(pauseAfter(outcome, restMs, turns.next(outcome, endedMs)), signal);
  }
}

/** Whose turn it is: shipping's as soon as something is due, tidying's between that it has caught up and then, and once at least. */
class Turns {
  readonly #everyMs: number;
  #turn: ShippingTurn = 'ship';
  #dueMs = 0;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  get turn(): ShippingTurn {
    return this.#turn;
  }

  /** Goes on to the next turn; returns how long that can wait when there was nothing to do, ms. */
  next(outcome: StepOutcome, nowMs: number): number {
    const wasTidying = this.#turn === 'tidy';
    const isCaughtUp = outcome.did === 'shipped' && !outcome.more;
    if (isCaughtUp) this.#dueMs = nowMs + this.#everyMs;
    const untilDueMs = Math.max(0, this.#dueMs - nowMs);
    this.#turn = isCaughtUp || (outcome.did === 'tidied' && untilDueMs > 0) ? 'tidy' : 'ship';
    return wasTidying ? untilDueMs : this.#everyMs;
  }
}

/** Null where the folder cannot be read: then the step has failed, too, and said so. */
function lookedAt<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}

type StepOutcome = ShippingStep | { readonly did: 'failed' };

function leads(outcome: StepOutcome): boolean {
  return outcome.did !== 'failed' && !(outcome.did === 'nothing' && outcome.because === 'another node ships');
}

function pauseAfter(outcome: StepOutcome, restMs: number, idleMs: number): number {
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

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    // The signal ended the pause: so does the loop.
  });
}

function troubleOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
