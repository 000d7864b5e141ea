import type { VerdictEvent } from '../../src/client/client-state.ts';

/** A verdict that was asked for at a moment, on no device that is known. */
export function eventAt(at: number, more: Partial<VerdictEvent> = {}): VerdictEvent {
  return {
    at,
    early: false,
    granted: false,
    settled: false,
    method: 'm',
    amount: 'a',
    order: 'o',
    sellPoint: 's',
    fingerprint: null,
    ip: null,
    ...more,
  };
}
