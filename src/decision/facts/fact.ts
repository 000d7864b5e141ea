import { Type } from '#base/json-schema.ts';
import { list, literal, named, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import type { Attributes, DeclaredAttribute } from '#decision/payer/attributes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ClientGroup, ClientState, VerdictEvent } from '#decision/payer/client-state.ts';
import type { KnownHints } from '#decision/payer/hints.ts';
import type { Ladder } from '#decision/payer/ladder.ts';
import type { Smoothing } from '#decision/payer/payment-score.ts';
import { SIGHTING_MARKS, type SightingMark, type SightingMarks } from '#decision/payer/sighting-marks.ts';
import { VERDICTS_IN_WINDOW_MAX } from '#decision/payer/verdict-steps.ts';

interface FactRequest {
  readonly amount: number;
  readonly currency: string;
  readonly method: string;
  readonly sellPointKey: string;
}

/** The counts of a device: its clients, how many of them have each mark, and their requests for verdicts. */
export interface DeviceSharingCounts extends Readonly<Record<SightingMark, number>> {
  readonly clients: number;
  readonly verdicts: number;
}

/** The counts of the payer's fingerprint and IP, by window in ms. The counts include the payer. */
export interface Sightings extends Readonly<Record<DeviceKind, ReadonlyMap<number, DeviceSharingCounts>>> {
  /**
   * The clients of the payer's attribute values, counted by name and window in ms. Missing if no rule asks for them.
   */
  readonly attributes?: ReadonlyMap<string, ReadonlyMap<number, number>>;
}

/** The kinds of devices that several clients may share. */
export type DeviceKind = 'fingerprint' | 'ip';

/** The windows in ms over which the clients of a device are counted, and the marks that are counted with them. */
export interface SharingQuestion {
  readonly windowsMs: readonly number[];
  /** A mark that is not listed has the count 0. */
  readonly marks: readonly SightingMark[];
  /** The windows of `windowsMs` over which verdicts are counted, too. */
  readonly verdictWindowsMs: readonly number[];
  /** The notes that a verdict makes on a device, because a deciding rule set asks for them. */
  readonly notes: SharingNotes;
}

/** The notes on a device that are made only when a rule set asks for them. */
export interface SharingNotes {
  readonly verdicts: boolean;
  readonly unpaidOrders: boolean;
}

/** The question of a rule set that asks nothing about a device. */
export const NO_SHARING_QUESTION: SharingQuestion = {
  windowsMs: [],
  marks: [],
  verdictWindowsMs: [],
  notes: { verdicts: false, unpaidOrders: false },
};

export interface SharingQuestions extends Readonly<Record<DeviceKind, SharingQuestion>> {
  /** Missing if no rule asks about an attribute. */
  readonly attributes?: readonly AttributeQuestion[];
}

/** An attribute whose values are noted with their clients, and the windows in ms over which the clients are counted. */
export interface AttributeQuestion {
  readonly declared: DeclaredAttribute;
  readonly windowsMs: readonly number[];
}

/** A value of an attribute as a pseudonym. Several clients of a platform may have the same value. */
export interface NamedPseudonym {
  readonly name: string;
  readonly value: string;
}

export interface AskedAttribute extends NamedPseudonym {
  /** The windows in ms over which the clients with this value are counted. If empty, the client is only noted. */
  readonly windowsMs: readonly number[];
}

/** Groups counts by name and window. If a value is counted under two pseudonyms, the higher count is taken. */
export function groupCountsByName(
  counted: readonly (readonly [name: string, clients: ReadonlyMap<number, number>])[],
): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const counts = new Map<string, ReadonlyMap<number, number>>();
  for (const [name, clients] of counted) {
    const other = counts.get(name);
    const more = [...clients].map(
      ([windowMs, count]) => [windowMs, Math.max(count, other?.get(windowMs) ?? 0)] as const,
    );
    counts.set(name, other === undefined ? clients : new Map([...other, ...more]));
  }
  return counts;
}

export const NOBODY_SEEN: DeviceSharingCounts = {
  clients: 0,
  verdicts: 0,
  paying: 0,
  unpaid: 0,
  blocked: 0,
  unpaidOrders: 0,
};

export const NO_SIGHTINGS: Sightings = { fingerprint: new Map(), ip: new Map() };

/** Sorts windows without duplicates, in the sequence in which a store counts them with the least work. */
export function sortWindowsLongestFirst(windowsMs: readonly number[]): readonly number[] {
  return [...new Set(windowsMs)].sort((one, other) => other - one);
}

/** Merges questions into one that asks for everything that any of the questions asks for. */
export function mergeQuestions(questions: readonly SharingQuestions[]): SharingQuestions {
  const on = (kind: DeviceKind): SharingQuestion => ({
    windowsMs: sortWindowsLongestFirst(questions.flatMap((question) => question[kind].windowsMs)),
    marks: SIGHTING_MARKS.filter((mark) => questions.some((question) => question[kind].marks.includes(mark))),
    verdictWindowsMs: [...new Set(questions.flatMap((question) => question[kind].verdictWindowsMs))],
    notes: {
      verdicts: questions.some((question) => question[kind].notes.verdicts),
      unpaidOrders: questions.some((question) => question[kind].notes.unpaidOrders),
    },
  });
  const attributes = questions.flatMap((question) => question.attributes ?? []);
  return {
    fingerprint: on('fingerprint'),
    ip: on('ip'),
    ...(attributes.length === 0 ? {} : { attributes }),
  };
}

/** Picks the more shared device for each window, or of two equal devices the one with fewer paying clients. */
export function pickMoreSharedSightings(one: Sightings, other: Sightings): Sightings {
  const attributes = one.attributes ?? other.attributes;
  return {
    fingerprint: pickByWindow(one.fingerprint, other.fingerprint),
    ip: pickByWindow(one.ip, other.ip),
    ...(attributes === undefined ? {} : { attributes }),
  };
}

function pickByWindow(one: Sightings['ip'], other: Sightings['ip']): Sightings['ip'] {
  if (one.size === 0) return other;
  if (other.size === 0) return one;
  return new Map(
    [...one].map(([windowMs, counts]) => [windowMs, pickMoreSharedCounts(counts, other.get(windowMs))]),
  );
}

/** Adds the client's own marks to the counts of the marks that are asked for. Other marks get the count 0. */
export function addClientMarks(
  counts: DeviceSharingCounts,
  own: SightingMarks,
  marks: readonly SightingMark[],
): DeviceSharingCounts {
  const counted = (mark: SightingMark) =>
    marks.includes(mark) ? Math.min(CLIENTS_ON_DEVICE_MAX, counts[mark] + Number(own[mark])) : 0;
  return {
    clients: counts.clients,
    verdicts: counts.verdicts,
    unpaidOrders: counted('unpaidOrders'),
    paying: counted('paying'),
    unpaid: counted('unpaid'),
    blocked: counted('blocked'),
  };
}

/** Picks the counts of the more shared device. The verdicts are those of the busier device. */
export function pickMoreSharedCounts(
  one: DeviceSharingCounts,
  other: DeviceSharingCounts = one,
): DeviceSharingCounts {
  const more = other.clients - one.clients || one.paying - other.paying;
  const [shared, less] = more > 0 ? [other, one] : [one, other];
  return less.verdicts > shared.verdicts ? { ...shared, verdicts: less.verdicts } : shared;
}

/** Returns the number of verdicts on a device, at least one for each client, even if counting began later. */
export function computeDeviceVerdictCount(counted: number, clients: number): number {
  return Math.min(VERDICTS_IN_WINDOW_MAX, Math.max(counted, clients));
}

/** How many clients are remembered for a fingerprint or IP. Counts stop at this number. */
export const CLIENTS_ON_DEVICE_MAX = 1000;

/** The longest window in ms of a fact about clients who share a device or a value. */
export const SHARING_WINDOW_MS_MAX = 7 * 24 * 3600_000;

/** Where and when a decision is made. Every decision record contains the platform and the time besides its facts. */
interface Circumstances {
  readonly platform: PlatformName;
  /** The IANA name of the platform's time zone. */
  readonly timeZone: string;
  /** Epoch ms. */
  readonly now: number;
}

/** The inputs of all facts. Counts include the request that is being decided. */
export interface FactContext extends Circumstances {
  /** The state. If a verdict is being decided, its request is among the events. */
  readonly state: ClientState;
  /** The request that is being decided, if it is a verdict. Null for a score. */
  readonly asked: VerdictEvent | null;
  /** Whether the client was new before this request. Always false for a verdict. */
  readonly isNew: boolean;
  /** The ladder before the decision. */
  readonly ladder: Ladder;
  /** When the previous verdict was made, in epoch ms. Null if there was none. */
  readonly previousVerdictAt: number | null;
  readonly sightings: Sightings;
  readonly hints: KnownHints;
  readonly request: FactRequest;
  readonly smoothing: Smoothing;
  /** Whether the request has an entry on the shared list of this name. */
  readonly isListed: (list: string) => boolean;
  /** The attributes that the caller stated about the payer, in this request and in scores of the last 24 hours. */
  readonly attributes: Attributes;
}

/** The conclusions of earlier rules of the same decision, which later rules may ask for. */
export interface Conclusions {
  readonly clientGroup: ClientGroup;
  readonly botWeight: number;
  readonly isBot: boolean;
}

/** A value that a fact can have, and with which rules compare the fact. */
export type FactValue = number | boolean | string;

export const factValueSchema = Type.Unsafe<FactValue>({
  type: ['number', 'boolean', 'string'],
  description: 'What a fact of the catalogue may be',
});

/** The recorded value of a fact. Null if the value was not known. A fact that was not recorded is missing. */
export type NullableFactValue = FactValue | null;

export const nullableFactValueSchema = Type.Unsafe<NullableFactValue>({
  type: ['number', 'boolean', 'string', 'null'],
  description: 'What a fact of the catalogue was; null: not known',
});

/** The values that a fact can have. Rule files are checked against it. */
export type FactDomain = ValueOf<(typeof FACT_DOMAIN_SCHEMAS)[keyof typeof FACT_DOMAIN_SCHEMAS]>;

export const FACT_DOMAIN_SCHEMAS = {
  number: named(
    'NumberDomain',
    shape('A number', {
      type: literal('number'),
      integer: yesNo('Whole numbers only'),
      min: Type.Number(),
      max: Type.Number(),
    }),
  ),
  boolean: named('BooleanDomain', shape('true or false', { type: literal('boolean') })),
  enum: named(
    'EnumDomain',
    shape('One of some words', { type: literal('enum'), values: list(Type.String(), 'The words') }),
  ),
  text: named('TextDomain', shape('A text', { type: literal('text') })),
} as const;

/** The payers for whom a fact has no value. */
export interface FactAbsence {
  /** The payers whose value is not known, like "a payer who never paid". */
  readonly of: string;
  /** The value that an author who forgets such payers would expect. `rules check` remarks on comparisons with it. */
  readonly mistakenFor: FactValue;
}

interface FactDescription {
  readonly domain: FactDomain;
  readonly unit: string | null;
  readonly description: string;
  /** The payers without a value. Only the operator `known` matches them. Missing if all payers have a value. */
  readonly absence?: FactAbsence | undefined;
}

interface PlainFact extends FactDescription {
  readonly kind: 'plain';
  /** If true, decisions compute and record the fact only when a rule asks for it. If missing, every decision does. */
  readonly onDemand?: true;
  readonly read: (context: FactContext) => NullableFactValue;
}

/** A fact that can be computed later from any record, so decisions record it only when a rule uses it. */
export interface CircumstantialFact extends FactDescription {
  readonly kind: 'circumstantial';
  readonly read: (circumstances: Circumstances) => FactValue;
}

/** A fact that is counted over `params: { window }`. The analyst chooses the window. */
export interface WindowedFact extends FactDescription {
  readonly kind: 'windowed';
  readonly longestWindowMs: number;
  /** Windows longer than this consist of whole days. If missing, windows may have any length. */
  readonly wholeDaysAboveMs?: number;
  /** The domain for windows that are not longer than a day. If missing, `domain` applies to them, too. */
  readonly domainWithinDay?: FactDomain;
  /** Returns why rules cannot use a window, although the window is short enough. Returns null if they can. */
  readonly windowRefusal?: (windowMs: number) => string | null;
  /** The device and the count of a fact about clients who share a device. Null for other facts. */
  readonly sharing: { readonly on: DeviceKind; readonly counts: keyof DeviceSharingCounts } | null;
  /** The attribute whose values, or their clients, the fact counts. `params: { name }` names it. Otherwise missing. */
  readonly ofAttribute?: {
    readonly counts: 'values' | 'clients';
    /** Null in the catalogue, which belongs to no rule set. */
    readonly declared: DeclaredAttribute | null;
  };
  readonly read: (context: FactContext, windowMs: number) => number | null;
}

/** A fact about the shared list that `params: { list }` names. */
export interface ListedFact extends FactDescription {
  readonly kind: 'listed';
  readonly read: (context: FactContext, list: string) => boolean;
}

/** The fact of an attribute that the rule set declares and callers state. `params: { name }` names the attribute. */
export interface AttributeFact extends FactDescription {
  readonly kind: 'attribute';
  /** Null in the catalogue, which belongs to no rule set. */
  readonly declared: DeclaredAttribute | null;
  readonly read: (context: FactContext) => NullableFactValue;
}

export interface ConcludedFact extends FactDescription {
  readonly kind: 'concluded';
  /** The first rule file that may ask for the fact. */
  readonly from: 'bot-signals' | 'verdicts';
  readonly read: (conclusions: Conclusions) => FactValue;
}

export type Fact = PlainFact | CircumstantialFact | WindowedFact | ListedFact | AttributeFact | ConcludedFact;

/** More than 31 years. Longer durations are cut to this one. */
const SECONDS_MAX = 999_999_999;

/** Returns the whole seconds from `then` to `now` (epoch ms), from 0 to SECONDS_MAX. */
export function countSecondsSince(then: number, now: number): number {
  return Math.min(SECONDS_MAX, Math.max(0, Math.floor((now - then) / 1000)));
}

export function createCountDomain(max: number): FactDomain {
  return { type: 'number', integer: true, min: 0, max };
}

/** The domain of all amounts, so that proofs about rule sets can compare amounts with each other. */
export const MONEY_DOMAIN: FactDomain = { type: 'number', integer: false, min: 0, max: 1e38 };

export const BOOLEAN_DOMAIN: FactDomain = { type: 'boolean' };

export const SECONDS_DOMAIN: FactDomain = { type: 'number', integer: true, min: 0, max: SECONDS_MAX };

export function plainFact(
  domain: FactDomain,
  unit: string | null,
  description: string,
  read: (context: FactContext) => FactValue,
): PlainFact {
  return { kind: 'plain', domain, unit, description, read };
}

/** Returns the fact so that it is computed and recorded only when a rule asks for it. */
export function toOnDemandFact(fact: PlainFact): PlainFact {
  return { ...fact, onDemand: true };
}

/** Creates a fact that may have no value. The description must say which payers have no value. */
export function plainFactIfKnown(
  domain: FactDomain,
  unit: string | null,
  description: string,
  absence: FactAbsence,
  read: (context: FactContext) => NullableFactValue,
): PlainFact {
  return { kind: 'plain', domain, unit, description, absence, read };
}

/** Creates a fact that is one of some words, or not known. */
export function wordFactIfKnown(
  values: readonly string[],
  description: string,
  absence: FactAbsence,
  read: (context: FactContext) => string | null,
): PlainFact {
  const text = `${description} ${formatAbsence(absence)}`;
  return plainFactIfKnown({ type: 'enum', values }, null, text, absence, read);
}

export function booleanFact(description: string, read: (context: FactContext) => boolean): PlainFact {
  return plainFact(BOOLEAN_DOMAIN, null, description, read);
}

/** Creates a fact that is true, false, or not known. */
export function booleanFactIfKnown(
  description: string,
  absence: FactAbsence,
  read: (context: FactContext) => boolean | null,
): PlainFact {
  return plainFactIfKnown(BOOLEAN_DOMAIN, null, `${description} ${formatAbsence(absence)}`, absence, read);
}

/** Creates a fact of the seconds since an event. `read` returns the time of the event (epoch ms) or null. */
export function secondsSinceFact(
  event: string,
  payerWithout: string,
  read: (context: FactContext) => number | null,
): PlainFact {
  const absence: FactAbsence = { of: payerWithout, mistakenFor: SECONDS_MAX };
  return {
    kind: 'plain',
    domain: SECONDS_DOMAIN,
    unit: 'seconds',
    description: `Since ${event}. ${formatAbsence(absence)}`,
    absence,
    read: (context) => {
      const then = read(context);
      return then === null ? null : countSecondsSince(then, context.now);
    },
  };
}

/** Writes the sentence of a fact's description that says which payers have no value. */
export function formatAbsence({ of }: FactAbsence): string {
  return `Not known for ${of}.`;
}

/** Returns the fact with the domain that it has over a window. `windowMs` is 0 for a fact without a window. */
export function toFactOverWindow(fact: Fact, windowMs: number): Fact {
  if (fact.kind !== 'windowed' || fact.domainWithinDay === undefined) return fact;
  return countsWholeDays(fact, windowMs) ? fact : { ...fact, domain: fact.domainWithinDay };
}

/** Whether a window is counted in whole days of UTC instead of milliseconds. */
export function countsWholeDays(fact: Fact, windowMs: number): boolean {
  return fact.kind === 'windowed' && windowMs > (fact.wholeDaysAboveMs ?? fact.longestWindowMs);
}

/** Creates a fact that is counted or summed up over a window. */
export function windowedFact(
  domain: FactDomain,
  unit: string,
  description: string,
  longestWindowMs: number,
  read: (context: FactContext, windowMs: number) => number,
): WindowedFact {
  return { kind: 'windowed', domain, unit, description, longestWindowMs, sharing: null, read };
}
