import type { PlatformName } from '../client/client-key.ts';
import type { ClientGroup, ClientState, VerdictEvent } from '../client/client-state.ts';
import type { KnownHints } from '../client/hints.ts';
import type { Ladder } from '../client/ladder.ts';
import type { Smoothing } from '../client/payment-score.ts';
import { Type } from '../json-schema.ts';
import { always, list, named, type Shape, shape, yesNo } from '../shapes.ts';

interface FactRequest {
  readonly amount: number;
  readonly currency: string;
  readonly method: string;
  readonly sellPointKey: string;
}

/** Distinct clients seen on the payer's fingerprint and IP, by window in ms; the payer included. */
export interface Sightings {
  readonly fingerprint: ReadonlyMap<number, number>;
  readonly ip: ReadonlyMap<number, number>;
}

export const NO_SIGHTINGS: Sightings = { fingerprint: new Map(), ip: new Map() };

/** The higher counts of two devices. */
export function mostShared(one: Sightings, other: Sightings): Sightings {
  return { fingerprint: highest(one.fingerprint, other.fingerprint), ip: highest(one.ip, other.ip) };
}

function highest(one: Sightings['ip'], other: Sightings['ip']): Sightings['ip'] {
  if (one.size === 0) return other;
  if (other.size === 0) return one;
  return new Map([...one].map(([windowMs, count]) => [windowMs, Math.max(count, other.get(windowMs) ?? 0)]));
}

/** How many clients a fingerprint or IP remembers; counts stop there. */
export const CLIENTS_ON_DEVICE_MAX = 1000;

/** The longest window that a sharing fact may look back over. */
export const SHARING_WINDOW_MS_MAX = 7 * 24 * 3600_000;

/** Where and when something is decided, which every decision record says besides its facts. */
interface Circumstances {
  readonly platform: PlatformName;
  /** The platform's, by its IANA name. */
  readonly timeZone: string;
  /** Epoch ms. */
  readonly now: number;
}

/** All that facts are computed from. Counts include the request being decided. */
export interface FactContext extends Circumstances {
  /** Its events include the request being decided, when that is a verdict. */
  readonly state: ClientState;
  /** The request being decided when it is a verdict; null for a score. */
  readonly asked: VerdictEvent | null;
  /** Whether the client was new before this request; false for a verdict. */
  readonly isNew: boolean;
  /** As it stands now, before the decision. */
  readonly ladder: Ladder;
  /** Of the request before this one. */
  readonly previousVerdictAt: number | null;
  readonly sightings: Sightings;
  readonly hints: KnownHints;
  readonly request: FactRequest;
  readonly smoothing: Smoothing;
  /** Whether the request has an entry on the shared list of this name. */
  readonly isListed: (list: string) => boolean;
}

/** What the earlier rules of the same decision concluded, which later rules may ask for. */
export interface Conclusions {
  readonly clientGroup: ClientGroup;
  readonly botWeight: number;
  readonly isBot: boolean;
}

/** A value that a fact can have, and that rules compare it with. */
export type FactValue = number | boolean | string;

export const factValue = Type.Unsafe<FactValue>({
  type: ['number', 'boolean', 'string'],
  description: 'What a fact of the catalogue may be',
});

/** What a decision saw of a fact; null: its value was not known. A fact that was not recorded is absent. */
export type FactReading = FactValue | null;

export const factReading = Type.Unsafe<FactReading>({
  type: ['number', 'boolean', 'string', 'null'],
  description: 'What a fact of the catalogue was; null: not known',
});

/** What values a fact can have; rule files are checked against it. */
export type FactDomain = Shape<(typeof DOMAINS)[keyof typeof DOMAINS]>;

export const DOMAINS = {
  number: named(
    'NumberDomain',
    shape('A number', {
      type: always('number'),
      integer: yesNo('Whole numbers only'),
      min: Type.Number(),
      max: Type.Number(),
    }),
  ),
  boolean: named('BooleanDomain', shape('true or false', { type: always('boolean') })),
  enum: named(
    'EnumDomain',
    shape('One of some words', { type: always('enum'), values: list(Type.String(), 'The words') }),
  ),
  text: named('TextDomain', shape('A text', { type: always('text') })),
} as const;

/** Of whom a fact has no value. */
export interface Absence {
  /** Whose value is not known, like "a payer who never paid". */
  readonly of: string;
  /** What somebody who forgets such payers takes the fact to be of them; `rules check` remarks on comparisons that hold for it. */
  readonly mistakenFor: FactValue;
}

interface FactDescription {
  readonly domain: FactDomain;
  readonly unit: string | null;
  readonly description: string;
  /** Only of a fact that may have no value. No comparison holds of it then, but for the operator "known". */
  readonly absence?: Absence | undefined;
}

interface PlainFact extends FactDescription {
  readonly kind: 'plain';
  readonly read: (context: FactContext) => FactReading;
}

/** A fact that can be worked out later from any decision record, so decisions record it only where a rule uses it. */
export interface CircumstantialFact extends FactDescription {
  readonly kind: 'circumstantial';
  readonly read: (circumstances: Circumstances) => FactValue;
}

/** A fact counted over `params: { window }`, chosen by the analyst. */
export interface WindowedFact extends FactDescription {
  readonly kind: 'windowed';
  readonly longestWindowMs: number;
  readonly sharing: keyof Sightings | null;
  readonly read: (context: FactContext, windowMs: number) => number | null;
}

/** A fact about one of the shared lists, which `params: { list }` names. */
export interface ListedFact extends FactDescription {
  readonly kind: 'listed';
  readonly read: (context: FactContext, list: string) => boolean;
}

export interface ConcludedFact extends FactDescription {
  readonly kind: 'concluded';
  /** The first rule file that may ask for it. */
  readonly from: 'bot-signals' | 'verdicts';
  readonly read: (conclusions: Conclusions) => FactValue;
}

export type Fact = PlainFact | CircumstantialFact | WindowedFact | ListedFact | ConcludedFact;

/** Over 31 years; longer durations count as this one. */
const SECONDS_MAX = 999_999_999;

/** Whole seconds from `then` to `now`, from 0 to SECONDS_MAX. */
export function secondsSince(then: number, now: number): number {
  return Math.min(SECONDS_MAX, Math.max(0, Math.floor((now - then) / 1000)));
}

export function count(max: number): FactDomain {
  return { type: 'number', integer: true, min: 0, max };
}

/** One domain for all amounts, so that proofs can compare them. */
export const MONEY: FactDomain = { type: 'number', integer: false, min: 0, max: 1e38 };

export const YES_NO: FactDomain = { type: 'boolean' };

export const SECONDS: FactDomain = { type: 'number', integer: true, min: 0, max: SECONDS_MAX };

export function plain(
  domain: FactDomain,
  unit: string | null,
  description: string,
  read: (context: FactContext) => FactValue,
): PlainFact {
  return { kind: 'plain', domain, unit, description, read };
}

export function flag(description: string, read: (context: FactContext) => boolean): PlainFact {
  return plain(YES_NO, null, description, read);
}

/** True, false, or not known. */
export function flagIfKnown(
  description: string,
  absence: Absence,
  read: (context: FactContext) => boolean | null,
): PlainFact {
  const text = `${description} ${absenceText(absence)}`;
  return { kind: 'plain', domain: YES_NO, unit: null, description: text, absence, read };
}

/** Seconds since the last event of a kind; not known when there was none. `read` gives its epoch ms. */
export function secondsSinceLast(
  event: string,
  payerWithout: string,
  read: (context: FactContext) => number | null,
): PlainFact {
  const absence: Absence = { of: payerWithout, mistakenFor: SECONDS_MAX };
  return {
    kind: 'plain',
    domain: SECONDS,
    unit: 'seconds',
    description: `Since ${event}. ${absenceText(absence)}`,
    absence,
    read: (context) => {
      const then = read(context);
      return then === null ? null : secondsSince(then, context.now);
    },
  };
}

/** The sentence of a fact's description that says of whom it has no value. */
export function absenceText({ of }: Absence): string {
  return `Not known of ${of}.`;
}

/** Counted or summed up over a window. */
export function windowed(
  domain: FactDomain,
  unit: string,
  description: string,
  longestWindowMs: number,
  read: (context: FactContext, windowMs: number) => number,
): WindowedFact {
  return { kind: 'windowed', domain, unit, description, longestWindowMs, sharing: null, read };
}
