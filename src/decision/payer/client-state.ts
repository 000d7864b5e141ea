import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Type } from '#base/json-schema.ts';
import { epochMs, list, meaning, named, nullable, type Shape, shape, word } from '#base/shapes.ts';
import type { CLIENT_GROUPS } from '#decision/decision-words.ts';
import { type AttributeValues, forgetValues, NO_ATTRIBUTE_VALUES } from './attribute-values.ts';
import { type DayTallies, forgetTallies, NO_DAY_TALLIES, tallyRequests, toDayNumber } from './day-tallies.ts';
import { type AskedScore, type Hints, keepRememberedHints } from './hints.ts';
import { type KnownDevices, keepRememberedDevices, NO_KNOWN_DEVICES } from './known-devices.ts';
import { type Ladder, NO_ATTEMPTS } from './ladder.ts';
import { type Exposure, toExposure } from './order.ts';
import { hasOutcomes, NO_OUTCOMES, type OutcomeTally } from './outcomes.ts';

/** The payer's segment (interface, section 2.2). */
export type ClientGroup = (typeof CLIENT_GROUPS)[number];

export const clientGroup = meaning<ClientGroup>(
  {
    NEW: 'first contact',
    STICKY: 'bound to a requisite',
    PAYING: 'has paid without a binding',
    TRUSTED: 'stable history of payments',
    BLOCKED: 'blocked by decision or by a chain of unpaid attempts',
  },
  "The payer's segment",
);

/** One verdict request as the facts remember it. Texts other than the amount are kept as tokens. */
export interface VerdictEvent {
  readonly at: number;
  /** It was asked before an imposed wait was over. */
  readonly early: boolean;
  /** It was answered with a requisite. */
  readonly granted: boolean;
  /** It was answered WAIT. */
  readonly waited: boolean;
  /** It was answered BLOCK. */
  readonly blocked: boolean;
  /** The outcome of its order has been reported since. */
  readonly settled: boolean;
  readonly method: string;
  /** As `formatMoney` writes it. */
  readonly amount: string;
  readonly order: string;
  readonly sellPoint: string;
  readonly fingerprint: string | null;
  readonly ip: string | null;
}

export const BindingSchema = named(
  'Binding',
  shape('The requisite that a client is bound to', {
    requisiteRef: word('Answered as stickyRequisiteRef', 'requisite-7'),
    acceptorKeys: list(Type.String(), 'Answered as preferredAcceptorKey'),
    method: nullable(word('The only method it fits; null: all')),
    expiresAt: nullable(epochMs('When it ends; null: never')),
  }),
);

export type Binding = Shape<typeof BindingSchema>;

export const OVERRIDE_GROUPS = ['BLOCKED', 'TRUSTED'] as const;

export type OverrideGroup = (typeof OVERRIDE_GROUPS)[number];

export const overrideGroup = meaning<OverrideGroup>(
  { BLOCKED: 'refused until it is lifted or ends', TRUSTED: 'let through, whatever the signals say' },
  'The group that the client is put into',
);

export const OverrideSchema = named(
  'Override',
  shape("A person's decision about a client, which the rules put before what they count", {
    group: overrideGroup,
    reason: word('Why', 'chargebacks'),
    by: word('Who, as the audit names it', 'key 3f9a0c51d2e7 of ann'),
    at: epochMs('When it was made'),
    expiresAt: nullable(epochMs('When it ends; null: never')),
  }),
);

export type Override = Shape<typeof OverrideSchema>;

/** What a payer was answered in one stage of a trial; each payer counts once for each of these. */
export interface StageMark {
  /** When the stage began, epoch ms. */
  readonly since: number;
  readonly blocked: boolean;
  readonly waited: boolean;
  readonly bot: boolean;
}

/** The mark after another verdict of the stage that began at `since`. */
export function markStage(
  mark: StageMark | null,
  since: number,
  { verdict, isBot }: { readonly verdict: string; readonly isBot: boolean },
): StageMark {
  const before = mark?.since === since ? mark : null;
  return {
    since,
    blocked: before?.blocked === true || verdict === 'BLOCK',
    waited: before?.waited === true || verdict === 'WAIT',
    bot: before?.bot === true || isBot,
  };
}

/** A wait that somebody ended before its time. */
interface EndedWait {
  /** Of the decision that imposed it. */
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
}

/** All that the service knows about one payer of one platform. Times are epoch ms. */
export interface ClientState {
  /** Decisions made for this client; the next one gets seq + 1. */
  readonly seq: number;
  readonly firstSeenAt: number | null;
  /** Time never runs backwards for a client: nothing is decided before this. */
  readonly lastAt: number;
  readonly lastVerdictAt: number | null;
  /** The newest verdict was BLOCK. */
  readonly lastVerdictBlocked: boolean;
  /** How many things other than scores happened. */
  readonly changes: number;
  readonly ladder: Ladder;
  /** The length of the last imposed wait, ms; 0 without one. */
  readonly lastWaitMs: number;
  /**
   * The named ladder that gave the last imposed wait its length; null: the one without a name. It says after what absence
   * the client starts afresh. A rule set that has no such ladder goes by its own `resetAfter`.
   */
  readonly lastWaitLadder: string | null;
  /** The newest verdict requests, oldest first. */
  readonly events: readonly VerdictEvent[];
  readonly outcomes: OutcomeTally;
  readonly hints: Hints | null;
  readonly knownDevices: KnownDevices;
  /** Of the requests that are not among the events any more. */
  readonly dayTallies: DayTallies;
  readonly attributeValues: AttributeValues;
  readonly binding: Binding | null;
  readonly override: Override | null;
  /** Of the newest stage for which a version was drawn; null: none. */
  readonly stage: StageMark | null;
  /** In the last ENDED_WAITS_MS, oldest first. */
  readonly endedWaits: readonly EndedWait[];
}

/** How many verdict requests a client's state remembers one by one; windowed counts stop there. */
export const EVENTS_MAX = 64;

/** The longest window that a velocity fact may look back over. */
export const EVENT_WINDOW_MS_MAX = 24 * 3600_000;

export const UNKNOWN_CLIENT: ClientState = {
  seq: 0,
  firstSeenAt: null,
  lastAt: 0,
  lastVerdictAt: null,
  lastVerdictBlocked: false,
  changes: 0,
  ladder: NO_ATTEMPTS,
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
 * New to the platform: no verdict was asked and no outcome, binding or override is known. A technical failure is
 * an outcome, too: it counts neither way, but the platform has had an order of the client. A score alone does
 * not end being new, so that score stays idempotent.
 */
export function isNewClient(state: ClientState): boolean {
  return state.seq === 0 && !hasOutcomes(state.outcomes) && state.binding === null && state.override === null;
}

/** Notes that something happened to the client at `now`. */
export function recordActivity(state: ClientState, now: number): ClientState {
  return { ...recordScoreActivity(state, now), changes: state.changes + 1 };
}

/** The same for a score, which does not count as a change. */
export function recordScoreActivity(state: ClientState, now: number): ClientState {
  return { ...state, firstSeenAt: state.firstSeenAt ?? now, lastAt: Math.max(state.lastAt, now) };
}

/** Whether nothing but scores happened to a client since a score was first asked, and no binding or override expired. */
export function isUndisturbed(
  { changes, binding, override }: ClientState,
  asked: Pick<AskedScore, 'at' | 'changes'>,
  now: number,
): boolean {
  const stays = (item: Binding | Override | null) => keepIfValid(item, asked.at) === keepIfValid(item, now);
  return changes === asked.changes && stays(binding) && stays(override);
}

/** The time of the next event: `clockMs`, but never before what is already recorded. */
export function chooseEventTime(state: ClientState, clockMs: number): number {
  return Math.max(clockMs, state.lastAt);
}

/**
 * Attempts without an outcome are remembered this long, and so many of them, beyond every window: the amount of a
 * late payment is then still known.
 */
export const AWAITED_MS_MAX = 30 * 24 * 3600_000;
export const AWAITED_EVENTS_MAX = 8;

/**
 * The events that a window reaches at `now`, or whose outcome is awaited. Forgetting others earlier makes no
 * difference as long as nothing was reported meanwhile. The same list when none is forgotten.
 */
export function keepRememberedEvents(events: readonly VerdictEvent[], now: number): readonly VerdictEvent[] {
  const oldest = now - EVENT_WINDOW_MS_MAX;
  if (events.every(({ at }) => at > oldest)) return events;
  const oldestAwaited = now - AWAITED_MS_MAX;
  const awaited = events.filter(
    ({ at, granted, settled }) => at <= oldest && at > oldestAwaited && granted && !settled,
  );
  const recent = events.filter(({ at }) => at > oldest);
  return [...awaited.slice(-AWAITED_EVENTS_MAX), ...recent];
}

type Requests = Pick<ClientState, 'events' | 'dayTallies'>;

/** The requests with another one, for which the oldest leave. */
export function rememberRequest(requests: Requests, event: VerdictEvent): Requests {
  const kept = keepRememberedEvents(requests.events, event.at).slice(1 - EVENTS_MAX);
  return { events: [...kept, event], dayTallies: tallyForgotten(requests, kept, event.at) };
}

/** The requests that are remembered at `now`; those that are forgotten are tallied by day. */
export function forgetOldRequests(requests: Requests, now: number): Requests {
  const events = keepRememberedEvents(requests.events, now);
  return { events, dayTallies: tallyForgotten(requests, events, now) };
}

function tallyForgotten({ events, dayTallies }: Requests, kept: Requests['events'], now: number): DayTallies {
  if (kept.length === events.length) return forgetTallies(dayTallies, now);
  const remembered = new Set(kept);
  const forgotten = events.filter((event) => !remembered.has(event));
  return tallyRequests(dayTallies, forgotten, newestGrants(events), now);
}

/** The last granted request of each order on each day of UTC: an order counts once a day. */
function newestGrants(events: Requests['events']): ReadonlySet<VerdictEvent> {
  const granted = events.filter((event) => event.granted);
  return new Set(
    new Map(granted.map((event) => [`${event.order} ${toDayNumber(event.at)}`, event])).values(),
  );
}

/** How long a wait that was ended counts against the next one. */
export const ENDED_WAITS_MS = 24 * 3600_000;

export function keepRecentlyEnded(waits: readonly EndedWait[], now: number): readonly EndedWait[] {
  return waits.filter(({ at }) => at > now - ENDED_WAITS_MS);
}

/**
 * The state without what can change no answer from `now` on, whatever the rules: a few hundred bytes for a payer who
 * stays away. Nothing may happen to the payer before `now` afterwards.
 */
export function compactState(state: ClientState, now: number): ClientState {
  return {
    ...state,
    ...forgetOldRequests(state, now),
    hints: keepRememberedHints(state.hints, now),
    knownDevices: keepRememberedDevices(state.knownDevices, now),
    attributeValues: forgetValues(state.attributeValues, now),
    endedWaits: keepRecentlyEnded(state.endedWaits, now),
  };
}

/** Marks the requests for an order as settled; the same list when there are none. */
export function settleOrder(events: readonly VerdictEvent[], order: string): readonly VerdictEvent[] {
  if (!events.some((event) => event.order === order && !event.settled)) return events;
  return events.map((event) => (event.order === order ? { ...event, settled: true } : event));
}

/**
 * The amount of an order, as `formatMoney` writes it: of its newest attempt, or else of its newest request; null when
 * unknown.
 */
export function findOrderAmount(events: readonly VerdictEvent[], order: string): string | null {
  const asked = events.filter((event) => event.order === order);
  return (asked.findLast(({ granted }) => granted) ?? asked.at(-1))?.amount ?? null;
}

/** The tokens of the remembered orders for which a requisite was shown, the newest first, each once. */
export function listGrantedOrders(events: readonly VerdictEvent[]): readonly string[] {
  const granted = events.filter((event) => event.granted).map(({ order }) => order);
  return [...new Set(granted.reverse())];
}

/** How far an order came, by the remembered requests. */
export function findRememberedExposure(events: readonly VerdictEvent[], order: string): Exposure {
  const asked = events.filter((event) => event.order === order);
  return asked.length === 0 ? 'notAsked' : toExposure(asked.some(({ granted }) => granted));
}

/** A binding or override that is still valid at `now`, otherwise null. */
export function keepIfValid<T extends { readonly expiresAt: number | null }>(
  item: T | null,
  now: number,
): T | null {
  if (item === null || (item.expiresAt !== null && item.expiresAt <= now)) return null;
  return item;
}

/**
 * A short stand-in for a text that is only ever compared for equality within one client's history.
 * 36 bits: two different texts among a client's 64 remembered requests meet once in 30 million.
 */
export function toToken(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 6);
}

const familiarTokens = new LRUCache<string, string>({ max: 1000, memoMethod: toToken });

/** The same, cached, for texts with few values, like methods: a hash costs more than most facts. */
export function toCachedToken(text: string): string {
  return familiarTokens.memo(text);
}

/** The same for a device, whose id is an HMAC already. */
export function toDeviceToken(id: string | null): string | null {
  return id === null ? null : id.slice(0, 6);
}
