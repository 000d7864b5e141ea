import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Type } from '#base/json-schema.ts';
import {
  describedChoice,
  epochMs,
  list,
  named,
  nullable,
  plainText,
  shape,
  type ValueOf,
} from '#base/shapes.ts';
import type { CLIENT_GROUPS } from '#decision/decision-words.ts';
import {
  forgetOldAttributeValues,
  NO_ATTRIBUTE_VALUES,
  type PackedAttributeValues,
} from './attribute-values.ts';
import {
  forgetOldDayTallies,
  NO_DAY_TALLIES,
  type PackedDayTallies,
  tallyRequests,
  toDayNumber,
} from './day-tallies.ts';
import { type AskedScore, type Hints, removeExpiredHints } from './hints.ts';
import { excludeOldKnownDevices, type KnownDevices, NO_KNOWN_DEVICES } from './known-devices.ts';
import { EMPTY_LADDER, type Ladder } from './ladder.ts';
import { type OrderStage, toAskedOrderStage } from './order.ts';
import { hasOutcomes, NO_OUTCOMES, type OutcomeTally } from './outcomes.ts';

/** The group of a payer (interface, section 2.2). */
export type ClientGroup = (typeof CLIENT_GROUPS)[number];

export const clientGroupSchema = describedChoice<ClientGroup>(
  {
    NEW: 'first contact',
    STICKY: 'bound to a requisite',
    PAYING: 'has paid without a binding',
    TRUSTED: 'stable history of payments',
    BLOCKED: 'blocked by decision or by a chain of unpaid attempts',
  },
  'The group of the payer',
);

/**
 * A remembered verdict request, as the facts use it. All texts but the amount are kept as tokens, see `toShortHash`.
 */
export interface VerdictEvent {
  readonly at: number;
  /** Whether the request came before an imposed wait was over. */
  readonly early: boolean;
  /** Whether the request was answered with a requisite. */
  readonly granted: boolean;
  /** Whether the request was answered WAIT. */
  readonly waited: boolean;
  /** Whether the request was answered BLOCK. */
  readonly blocked: boolean;
  /** Whether an outcome of the request's order was reported since. */
  readonly settled: boolean;
  readonly method: string;
  /** The text of `formatMoney`. */
  readonly amount: string;
  readonly order: string;
  readonly sellPoint: string;
  readonly fingerprint: string | null;
  readonly ip: string | null;
}

export const BindingSchema = named(
  'Binding',
  shape('The requisite that a client is bound to', {
    requisiteRef: plainText('Answered as stickyRequisiteRef', 'requisite-7'),
    acceptorKeys: list(Type.String(), 'Answered as preferredAcceptorKey'),
    method: nullable(plainText('The only method it fits; null: all')),
    expiresAt: nullable(epochMs('When it ends; null: never')),
  }),
);

export type Binding = ValueOf<typeof BindingSchema>;

export const OVERRIDE_GROUPS = ['BLOCKED', 'TRUSTED'] as const;

export type OverrideGroup = (typeof OVERRIDE_GROUPS)[number];

export const overrideGroupSchema = describedChoice<OverrideGroup>(
  { BLOCKED: 'refused until it is lifted or ends', TRUSTED: 'let through, whatever the signals say' },
  'The group that the client is put into',
);

export const OverrideSchema = named(
  'Override',
  shape('A group that a person gave to a client. It takes precedence over the rules', {
    group: overrideGroupSchema,
    reason: plainText('Why', 'chargebacks'),
    by: plainText('Who, as the audit names it', 'key 3f9a0c51d2e7 of ann'),
    at: epochMs('When it was made'),
    expiresAt: nullable(epochMs('When it ends; null: never')),
  }),
);

export type Override = ValueOf<typeof OverrideSchema>;

/** The answers that a payer got in one stage of a trial. Each payer is counted once for each kind of answer. */
export interface TrialStageAnswers {
  /** When the stage began, epoch ms. */
  readonly since: number;
  readonly blocked: boolean;
  readonly waited: boolean;
  readonly bot: boolean;
}

/** Returns the answers after another verdict of the stage that began at `since` (epoch ms). */
export function addStageAnswer(
  mark: TrialStageAnswers | null,
  since: number,
  { verdict, isBot }: { readonly verdict: string; readonly isBot: boolean },
): TrialStageAnswers {
  const before = mark?.since === since ? mark : null;
  return {
    since,
    blocked: before?.blocked === true || verdict === 'BLOCK',
    waited: before?.waited === true || verdict === 'WAIT',
    bot: before?.bot === true || isBot,
  };
}

/** A wait that a person ended before its time. */
interface EndedWait {
  /** The number of the decision that imposed the wait. */
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
}

/** Everything that the service knows about one payer of one platform. Times are epoch ms. */
export interface ClientState {
  /** How many decisions were made for this client. The next decision gets seq + 1. */
  readonly seq: number;
  readonly firstSeenAt: number | null;
  /** The latest recorded time. Time never runs backwards for a client: no decision is made before this time. */
  readonly lastAt: number;
  readonly lastVerdictAt: number | null;
  /** Whether the newest verdict was BLOCK. */
  readonly lastVerdictBlocked: boolean;
  /** How many events other than scores happened to the payer. */
  readonly changes: number;
  readonly ladder: Ladder;
  /** The length of the last imposed wait in ms, or 0 if there was none. */
  readonly lastWaitMs: number;
  /**
   * The named ladder that gave the last imposed wait its length. Null means the ladder without a name. The ladder
   * says after what absence the client starts afresh. A rule set without this ladder uses its own `resetAfter`.
   */
  readonly lastWaitLadder: string | null;
  /** The newest verdict requests, oldest first. */
  readonly events: readonly VerdictEvent[];
  readonly outcomes: OutcomeTally;
  readonly hints: Hints | null;
  readonly knownDevices: KnownDevices;
  /** Counts of the requests that are no longer among the events. */
  readonly dayTallies: PackedDayTallies;
  readonly attributeValues: PackedAttributeValues;
  readonly binding: Binding | null;
  readonly override: Override | null;
  /**
   * The answers in the newest trial stage in which a version was drawn for the client. Null if there was no such
   * stage.
   */
  readonly stage: TrialStageAnswers | null;
  /** Waits that people ended within ENDED_WAITS_WINDOW_MS, oldest first. */
  readonly endedWaits: readonly EndedWait[];
}

/** How many verdict requests a client's state remembers one by one. Counts over windows stop at this number. */
export const EVENTS_MAX = 64;

/** The longest window of a velocity fact in ms. */
export const EVENT_WINDOW_MS_MAX = 24 * 3600_000;

export const UNKNOWN_CLIENT_STATE: ClientState = {
  seq: 0,
  firstSeenAt: null,
  lastAt: 0,
  lastVerdictAt: null,
  lastVerdictBlocked: false,
  changes: 0,
  ladder: EMPTY_LADDER,
  lastWaitMs: 0,
  lastWaitLadder: null,
  events: [],
  outcomes: NO_OUTCOMES,
  hints: null,
  knownDevices: NO_KNOWN_DEVICES,
  dayTallies: NO_DAY_TALLIES,
  attributeValues: NO_ATTRIBUTE_VALUES,
  binding: null,
  override: null,
  stage: null,
  endedWaits: [],
};

/**
 * Whether a client is new to the platform: it never asked for a verdict and has no outcome, binding or override. A
 * technical failure is an outcome here: it is neither paid nor unpaid, but it proves that the client had an order.
 * After scores alone the client is still new, so a repeated score gives the same answer.
 */
export function isNewClient(state: ClientState): boolean {
  return state.seq === 0 && !hasOutcomes(state.outcomes) && state.binding === null && state.override === null;
}

/** Notes that something other than a score happened to the client at `now`. */
export function recordActivity(state: ClientState, now: number): ClientState {
  return { ...recordScoreActivity(state, now), changes: state.changes + 1 };
}

/** Notes a score at `now`. A score does not count as a change. */
export function recordScoreActivity(state: ClientState, now: number): ClientState {
  return { ...state, firstSeenAt: state.firstSeenAt ?? now, lastAt: Math.max(state.lastAt, now) };
}

/**
 * Whether nothing but scores happened to a client since a score was first asked. The end of a binding or of an
 * override is a change, too.
 */
export function isUnchangedSinceScore(
  { changes, binding, override }: ClientState,
  asked: Pick<AskedScore, 'at' | 'changes'>,
  now: number,
): boolean {
  const stays = (item: Binding | Override | null) =>
    keepUnlessExpired(item, asked.at) === keepUnlessExpired(item, now);
  return changes === asked.changes && stays(binding) && stays(override);
}

/** Returns the time of the next event: `clockMs`, but never a time before the latest recorded one. */
export function chooseEventTime(state: ClientState, clockMs: number): number {
  return Math.max(clockMs, state.lastAt);
}

/**
 * Attempts without an outcome are remembered longer than any window: for AWAITED_ATTEMPT_MS_MAX in ms, and at most
 * AWAITED_ATTEMPTS_MAX of them. So the amount of a late payment is still known.
 */
export const AWAITED_ATTEMPT_MS_MAX = 30 * 24 * 3600_000;
export const AWAITED_ATTEMPTS_MAX = 8;

/**
 * Keeps the events within the longest window at `now`, and the events whose outcome is awaited. Other events may be
 * dropped sooner or later without a difference, as long as no outcome of their orders was reported. Returns the same
 * list if nothing is forgotten.
 */
export function keepRememberedEvents(events: readonly VerdictEvent[], now: number): readonly VerdictEvent[] {
  const oldest = now - EVENT_WINDOW_MS_MAX;
  if (events.every(({ at }) => at > oldest)) return events;
  const oldestAwaited = now - AWAITED_ATTEMPT_MS_MAX;
  const awaited = events.filter(
    ({ at, granted, settled }) => at <= oldest && at > oldestAwaited && granted && !settled,
  );
  const recent = events.filter(({ at }) => at > oldest);
  return [...awaited.slice(-AWAITED_ATTEMPTS_MAX), ...recent];
}

type Requests = Pick<ClientState, 'events' | 'dayTallies'>;

/** Adds a request. The oldest requests are removed to make room, and are added to the tallies of their days. */
export function addVerdictEvent(requests: Requests, event: VerdictEvent): Requests {
  const kept = keepRememberedEvents(requests.events, event.at).slice(1 - EVENTS_MAX);
  return { events: [...kept, event], dayTallies: tallyForgottenRequests(requests, kept, event.at) };
}

/** Forgets the requests that are too old at `now`, and tallies them by day. */
export function forgetOldRequests(requests: Requests, now: number): Requests {
  const events = keepRememberedEvents(requests.events, now);
  return { events, dayTallies: tallyForgottenRequests(requests, events, now) };
}

function tallyForgottenRequests(
  { events, dayTallies }: Requests,
  kept: Requests['events'],
  now: number,
): PackedDayTallies {
  if (kept.length === events.length) return forgetOldDayTallies(dayTallies, now);
  const remembered = new Set(kept);
  const forgotten = events.filter((event) => !remembered.has(event));
  return tallyRequests(dayTallies, forgotten, findNewestAttempts(events), now);
}

/** Finds the last granted request of each order on each day of UTC, because an order is counted once a day. */
function findNewestAttempts(events: Requests['events']): ReadonlySet<VerdictEvent> {
  const granted = events.filter((event) => event.granted);
  return new Set(
    new Map(granted.map((event) => [`${event.order} ${toDayNumber(event.at)}`, event])).values(),
  );
}

/** How long in ms an ended wait counts towards WAITS_ENDED_PER_PAYER_MAX. */
export const ENDED_WAITS_WINDOW_MS = 24 * 3600_000;

export function keepRecentlyEndedWaits(waits: readonly EndedWait[], now: number): readonly EndedWait[] {
  return waits.filter(({ at }) => at > now - ENDED_WAITS_WINDOW_MS);
}

/**
 * Removes everything from the state that cannot change an answer from `now` on, whatever the rules. A few hundred
 * bytes remain of a payer who stays away. Afterwards no event with a time before `now` may be recorded.
 */
export function compactState(state: ClientState, now: number): ClientState {
  return {
    ...state,
    ...forgetOldRequests(state, now),
    hints: removeExpiredHints(state.hints, now),
    knownDevices: excludeOldKnownDevices(state.knownDevices, now),
    attributeValues: forgetOldAttributeValues(state.attributeValues, now),
    endedWaits: keepRecentlyEndedWaits(state.endedWaits, now),
  };
}

/** Marks the requests for an order as settled. Returns the same list if no request must be marked. */
export function markOrderEventsSettled(
  events: readonly VerdictEvent[],
  order: string,
): readonly VerdictEvent[] {
  if (!events.some((event) => event.order === order && !event.settled)) return events;
  return events.map((event) => (event.order === order ? { ...event, settled: true } : event));
}

/**
 * Finds the amount of an order in the form of `formatMoney`: the amount of its newest attempt, or else of its newest
 * request. Returns null if the amount is unknown.
 */
export function findOrderAmount(events: readonly VerdictEvent[], order: string): string | null {
  const asked = events.filter((event) => event.order === order);
  return (asked.findLast(({ granted }) => granted) ?? asked.at(-1))?.amount ?? null;
}

/** Lists the tokens of the remembered orders for which a requisite was shown, each once, the newest first. */
export function listAttemptedOrders(events: readonly VerdictEvent[]): readonly string[] {
  const granted = events.filter((event) => event.granted).map(({ order }) => order);
  return [...new Set(granted.reverse())];
}

/** Tells from the remembered requests whether the order was not asked for, turned away or granted. */
export function classifyRememberedOrder(events: readonly VerdictEvent[], order: string): OrderStage {
  const asked = events.filter((event) => event.order === order);
  return asked.length === 0 ? 'notAsked' : toAskedOrderStage(asked.some(({ granted }) => granted));
}

/** Returns a binding or override if it is valid at `now`, otherwise null. */
export function keepUnlessExpired<T extends { readonly expiresAt: number | null }>(
  item: T | null,
  now: number,
): T | null {
  if (item === null || (item.expiresAt !== null && item.expiresAt <= now)) return null;
  return item;
}

/**
 * Makes a short token for a text that is only compared for equality within one client's history. The token has 36
 * bits: two different texts among the 64 remembered requests of a client have the same token once in 30 million.
 */
export function toShortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 6);
}

const familiarTokens = new LRUCache<string, string>({ max: 1000, memoMethod: toShortHash });

/**
 * Makes the same token as `toShortHash`, cached. Use it for texts with few distinct values, like methods, because
 * hashing takes longer than computing most facts.
 */
export function toCachedShortHash(text: string): string {
  return familiarTokens.memo(text);
}

/** Makes the token of a device. The id of a device is an HMAC already, so its first characters are enough. */
export function shortenDeviceId(id: string | null): string | null {
  return id === null ? null : id.slice(0, 6);
}
