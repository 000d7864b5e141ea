import type { Hints } from './hints.ts';
import { type Ladder, NO_ATTEMPTS } from './ladder.ts';
import { hasOutcomes, NO_OUTCOMES, type OutcomeTally } from './outcomes.ts';

/** One verdict request as the velocity facts remember it. Texts are kept as tokens. */
export interface VerdictEvent {
  readonly at: number;
  /** It came before an imposed wait was over. */
  readonly early: boolean;
  /** It was answered with a requisite. */
  readonly granted: boolean;
  readonly method: string;
  readonly amount: string;
  readonly order: string;
  readonly sellPoint: string;
  readonly fingerprint: string | null;
  readonly ip: string | null;
}

/** The requisite that the platform bound this client to. */
export interface Binding {
  readonly requisiteRef: string;
  readonly acceptorKeys: readonly string[];
  /** Null fits every method. */
  readonly method: string | null;
  readonly expiresAt: number | null;
}

export type OverrideGroup = 'BLOCKED' | 'TRUSTED';

export const OVERRIDE_GROUPS = ['BLOCKED', 'TRUSTED'] as const satisfies readonly OverrideGroup[];

/** A person's decision about this client, which the rules put before what they count. */
export interface Override {
  readonly group: OverrideGroup;
  readonly reason: string;
  readonly by: string;
  readonly at: number;
  readonly expiresAt: number | null;
}

/** All that the service knows about one payer of one platform. Times are epoch ms. */
export interface ClientState {
  /** Decisions made for this client; the next one gets seq + 1. */
  readonly seq: number;
  readonly firstSeenAt: number | null;
  /** Time never runs backwards for a client: nothing is decided at an earlier moment than this. */
  readonly lastAt: number;
  readonly lastVerdictAt: number | null;
  readonly ladder: Ladder;
  /** The newest verdict requests, oldest first. */
  readonly events: readonly VerdictEvent[];
  readonly outcomes: OutcomeTally;
  readonly hints: Hints | null;
  readonly binding: Binding | null;
  readonly override: Override | null;
}

/** How many verdict requests a client's state remembers singly; windowed counts stop there. */
export const EVENTS_MAX = 64;

/** The longest window that a velocity fact may look back over. */
export const EVENT_WINDOW_MS_MAX = 24 * 3600_000;

export const UNKNOWN_CLIENT: ClientState = {
  seq: 0,
  firstSeenAt: null,
  lastAt: 0,
  lastVerdictAt: null,
  ladder: NO_ATTEMPTS,
  events: [],
  outcomes: NO_OUTCOMES,
  hints: null,
  binding: null,
  override: null,
};

/**
 * New to the platform: no verdict was asked and no outcome, binding or override is known. A technical failure is
 * an outcome, too: it counts neither way, but the platform has had an order of the client. A score alone does
 * not end being new, so that score stays idempotent.
 */
export function isNewClient(state: ClientState): boolean {
  return state.seq === 0 && !hasOutcomes(state.outcomes) && state.binding === null && state.override === null;
}

/** The state with time moved on to `now`; the first contact is remembered. */
export function touch(state: ClientState, now: number): ClientState {
  return { ...state, firstSeenAt: state.firstSeenAt ?? now, lastAt: Math.max(state.lastAt, now) };
}

/** The moment at which something happens to a client: `clockMs`, but never before what was already recorded of it. */
export function momentFor(state: ClientState, clockMs: number): number {
  return Math.max(clockMs, state.lastAt);
}

/** Adds a verdict request and forgets those that no window can reach any more. */
export function rememberEvent(events: readonly VerdictEvent[], event: VerdictEvent): readonly VerdictEvent[] {
  const oldest = event.at - EVENT_WINDOW_MS_MAX;
  return [...events, event].filter((other) => other.at > oldest).slice(-EVENTS_MAX);
}

/** A binding or override that has not expired at `now`, otherwise null. */
export function live<T extends { readonly expiresAt: number | null }>(item: T | null, now: number): T | null {
  if (item === null || (item.expiresAt !== null && item.expiresAt <= now)) return null;
  return item;
}
