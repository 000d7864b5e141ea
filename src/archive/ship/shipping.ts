import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from './shipper.ts';

/** Entries wait no longer than this for a segment of their own. */
const SHIP_EVERY_MS = 10_000;

/** After a failure the same step is tried again this much later: a full disk is not mended within a second. */
const RETRY_MS = 5_000;

/** What a shipping process tells about itself. */
export interface ShippingReport {
  /** This process holds the lease. */
  readonly leads: boolean;
  /** Entries that were shipped since the process began. */
  readonly shippedEntries: number;
  /** Why the last step failed; null when it did not. */
  readonly trouble: string | null;
}

export interface ShippingParts {
  readonly step: () => Promise<Step>;
  readonly signal: AbortSignal;
  readonly onReport: (report: ShippingReport) => void;
}

/** Ships until the signal, a step after the other; a failed step is told and tried again. */
export async function keepShipping({ step, signal, onReport }: ShippingParts): Promise<void> {
  let shippedEntries = 0;
  while (!signal.aborted) {
    const outcome = await step().catch((error: unknown) => ({ did: 'failed', error }) as const);
    if (outcome.did === 'shipped') shippedEntries += outcome.entries;
    onReport({
      leads: outcome.did !== 'failed' && !(outcome.did === 'nothing' && outcome.because === 'another node ships'),
      shippedEntries,
      trouble: outcome.did === 'failed' ? troubleOf(outcome.error) : null,
    });
    await pause(pauseAfter(outcome.did === 'shipped' && outcome.more, outcome.did), signal);
  }
}

function pauseAfter(more: boolean, did: Step['did'] | 'failed'): number {
  if (did === 'failed') return RETRY_MS;
  // Merging goes on at once, a segment at a time, so that shipping gets its turn in between.
  return more || did === 'tidied' ? 0 : SHIP_EVERY_MS;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    // The signal ended the pause: so does the loop.
  });
}

function troubleOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
