import type { VerdictEvent } from '#decision/payer/client-state.ts';

/** A verdict request at a time, from no known device. */
export function eventAt(at: number, more: Partial<VerdictEvent> = {}): VerdictEvent {
  return {
    at,
    early: false,
    granted: false,
    settled: false,
    waited: false,
    blocked: false,
    method: 'm',
    amount: 'a',
    order: 'o',
    sellPoint: 's',
    fingerprint: null,
    ip: null,
    ...more,
  };
}
