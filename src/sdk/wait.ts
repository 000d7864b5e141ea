import { pause, type Signal } from './pause.ts';
import type { VerdictAnswer } from './records.ts';

/** Timers may fire a little early, and asking early makes the wait longer. */
const MARGIN_MS = 250;
/** setTimeout takes no more than 2^31 ms. */
const PAUSE_MS_MAX = 3_600_000;

/**
 * When to ask for the verdict again: after WAIT not before this moment, otherwise null. The wait counts
 * from the service's answer; `answeredAt` is when it arrived, now when absent.
 */
export function waitUntil(answer: VerdictAnswer, answeredAt: Date = new Date()): Date | null {
  if (answer.verdict !== 'WAIT') return null;
  return new Date(answeredAt.getTime() + answer.waitSeconds * 1000 + MARGIN_MS);
}

/** Whole seconds that a timer shows at `now`; 0 when the moment has come. */
export function secondsUntil(moment: Date, now: Date = new Date()): number {
  return Math.max(0, Math.ceil((moment.getTime() - now.getTime()) / 1000));
}

/** Resolves when the moment has come, never before; rejects with the signal's reason. */
export async function sleepUntil(moment: Date, signal?: Signal | undefined): Promise<void> {
  for (;;) {
    const leftMs = moment.getTime() - Date.now();
    if (leftMs <= 0) return;
    await pause(Math.min(leftMs, PAUSE_MS_MAX), signal);
  }
}
