import { Type } from '#base/json-schema.ts';
import { list, literal, named, type Shape, shape, yesNo } from '#base/shapes.ts';
import type { Attributes, DeclaredAttribute } from '#decision/payer/attributes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ClientGroup, ClientState, VerdictEvent } from '#decision/payer/client-state.ts';
import type { KnownHints } from '#decision/payer/hints.ts';
import type { Ladder } from '#decision/payer/ladder.ts';
import type { Smoothing } from '#decision/payer/payment-score.ts';
import { SIGHTING_MARKS, type SightingMark, type SightingMarks } from '#decision/payer/sighting-marks.ts';
import { VERDICTS_ON_DEVICE_MAX } from '#decision/payer/verdict-steps.ts';

interface FactRequest {
  readonly amount: number;
  readonly currency: string;
  readonly method: string;
  readonly sellPointKey: string;
}

/** How many distinct clients were seen on a device, how many of them had each mark, and how often they asked there. */
export interface SharingCounts extends Readonly<Record<SightingMark, number>> {
  readonly clients: number;
  readonly verdicts: number;
}

/** Who was seen on the payer's fingerprint and IP, by window in ms; the payer included. */
export interface Sightings extends Readonly<Record<DeviceKind, ReadonlyMap<number, SharingCounts>>> {
  /** Who used the payer's values of attributes, by name and window in ms: clients; absent: nothing asks for that. */
  readonly attributes?: ReadonlyMap<string, ReadonlyMap<number, number>>;
}

/** What several clients may share and show with a score. */
export type DeviceKind = 'fingerprint' | 'ip';

/** The windows in which the clients of a device are counted, ms, and the marks that are counted there besides. */
export interface SharingQuestion {
  readonly windowsMs: readonly number[];
  /** Others count as 0. */
  readonly marks: readonly SightingMark[];
  /** The windows among them in which the verdicts are counted, too. */
  readonly verdictWindowsMs: readonly number[];
  /** What is noted of a verdict for those who ask later: some rule set that decides meanwhile asks for it. */
  readonly notes: SharingNotes;
}

/** What is noted on a device only where a rule set asks for it. */
export interface SharingNotes {
  readonly verdicts: boolean;
  readonly unpaidOrders: boolean;
}

/** What is asked where nothing is. */
export const NO_QUESTION: SharingQuestion = {
  windowsMs: [],
  marks: [],
  verdictWindowsMs: [],
  notes: { verdicts: false, unpaidOrders: false },
};

export interface SharingQuestions extends Readonly<Record<DeviceKind, SharingQuestion>> {
  /** Absent: no attribute is asked for. */
  readonly attributes?: readonly AttributeQuestion[];
}

/** An attribute of which it is noted who uses its values, and the windows in which those clients are counted, ms. */
export interface AttributeQuestion {
  readonly declared: DeclaredAttribute;
  readonly windowsMs: readonly number[];
}

/** A value of an attribute, which several clients of a platform may have, as a pseudonym. */
export interface NamedPseudonym {
  readonly name: string;
  readonly value: string;
}

export interface AskedAttribute extends NamedPseudonym {
  /** The windows in which the clients with this value are counted, ms; none: the client is only noted. */
  readonly windowsMs: readonly number[];
}

/** The counts by name and window. Of a value under two secrets the pseudonym that more clients have counts. */
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

export const NOBODY_SEEN: SharingCounts = {
  clients: 0,
  verdicts: 0,
  paying: 0,
  unpaid: 0,
  blocked: 0,
  unpaidOrders: 0,
};

export const NO_SIGHTINGS: Sightings = { fingerprint: new Map(), ip: new Map() };

/** Each window once, in the order in which a store counts them with the least work. */
export function sortWindowsLongestFirst(windowsMs: readonly number[]): readonly number[] {
  return [...new Set(windowsMs)].sort((one, other) => other - one);
}

/** The questions that ask for all that some others ask for. */
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

/** For each window the counts of the more shared one of two devices; of equally shared ones, of that with fewer who pay. */
export function pickMostShared(one: Sightings, other: Sightings): Sightings {
  const attributes = one.attributes ?? other.attributes;
  return {
    fingerprint: byWindow(one.fingerprint, other.fingerprint),
    ip: byWindow(one.ip, other.ip),
    ...(attributes === undefined ? {} : { attributes }),
  };
}

function byWindow(one: Sightings['ip'], other: Sightings['ip']): Sightings['ip'] {
  if (one.size === 0) return other;
  if (other.size === 0) return one;
  return new Map(
    [...one].map(([windowMs, counts]) => [windowMs, pickMoreShared(counts, other.get(windowMs))]),
  );
}

/** The counts with one more of those who were seen: a client with these marks, where they are asked for. */
export function countClientWithMarks(
  counts: SharingCounts,
  own: SightingMarks,
  marks: readonly SightingMark[],
): SharingCounts {
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

/** All counts are of one device, so that rules may compare them; but for the verdicts, which are of the busiest. */
export function pickMoreShared(one: SharingCounts, other: SharingCounts = one): SharingCounts {
  const more = other.clients - one.clients || one.paying - other.paying;
  const [shared, less] = more > 0 ? [other, one] : [one, other];
  return less.verdicts > shared.verdicts ? { ...shared, verdicts: less.verdicts } : shared;
}

/** The verdicts on a device where these clients were seen: at least one each, also where counting began later. */
export function boundDeviceVerdicts(counted: number, clients: number): number {
  return Math.min(VERDICTS_ON_DEVICE_MAX, Math.max(counted, clients));
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
  /** What the caller says of the payer, in this request and in scores of the last 24 hours. */
  readonly attributes: Attributes;
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
  /** True: a decision computes and records it only where a rule asks. Otherwise every decision does. */
  readonly onDemand?: true;
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
  /** Longer windows are of whole days; absent: windows may be of any length. */
  readonly wholeDaysAboveMs?: number;
  /** What values it can have in a window that is not longer than that; absent: those of its domain. */
  readonly domainWithinDay?: FactDomain;
  /** Why a window that is short enough cannot be asked for all the same; null where it can. */
  readonly windowRefusal?: (windowMs: number) => string | null;
  /** Of a fact about who shares a device: which device, and who is counted. */
  readonly sharing: { readonly on: DeviceKind; readonly counts: keyof SharingCounts } | null;
  /** Of a fact about the values of an attribute, which `params: { name }` names; absent: about no attribute. */
  readonly ofAttribute?: {
    readonly counts: 'values' | 'clients';
    /** Null in the catalogue, where no rule set declares it. */
    readonly declared: DeclaredAttribute | null;
  };
  readonly read: (context: FactContext, windowMs: number) => number | null;
}

/** A fact about one of the shared lists, which `params: { list }` names. */
export interface ListedFact extends FactDescription {
  readonly kind: 'listed';
  readonly read: (context: FactContext, list: string) => boolean;
}

/** A fact that callers say and the rule set declares; `params: { name }` names it. */
export interface AttributeFact extends FactDescription {
  readonly kind: 'attribute';
  /** Null in the catalogue, where no rule set declares it. */
  readonly declared: DeclaredAttribute | null;
  readonly read: (context: FactContext) => FactReading;
}

export interface ConcludedFact extends FactDescription {
  readonly kind: 'concluded';
  /** The first rule file that may ask for it. */
  readonly from: 'bot-signals' | 'verdicts';
  readonly read: (conclusions: Conclusions) => FactValue;
}

export type Fact = PlainFact | CircumstantialFact | WindowedFact | ListedFact | AttributeFact | ConcludedFact;

/** Over 31 years; longer durations count as this one. */
const SECONDS_MAX = 999_999_999;

/** Whole seconds from `then` to `now`, from 0 to SECONDS_MAX. */
export function countSecondsSince(then: number, now: number): number {
  return Math.min(SECONDS_MAX, Math.max(0, Math.floor((now - then) / 1000)));
}

export function countDomain(max: number): FactDomain {
  return { type: 'number', integer: true, min: 0, max };
}

/** One domain for all amounts, so that proofs can compare them. */
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

/** The fact, computed and recorded only where a rule asks. */
export function computeOnDemand(fact: PlainFact): PlainFact {
  return { ...fact, onDemand: true };
}

/** A fact that may have no value; its description says of whom. */
export function plainFactIfKnown(
  domain: FactDomain,
  unit: string | null,
  description: string,
  absence: Absence,
  read: (context: FactContext) => FactReading,
): PlainFact {
  return { kind: 'plain', domain, unit, description, absence, read };
}

/** One of some words, or not known. */
export function wordFactIfKnown(
  values: readonly string[],
  description: string,
  absence: Absence,
  read: (context: FactContext) => string | null,
): PlainFact {
  const text = `${description} ${formatAbsence(absence)}`;
  return plainFactIfKnown({ type: 'enum', values }, null, text, absence, read);
}

export function booleanFact(description: string, read: (context: FactContext) => boolean): PlainFact {
  return plainFact(BOOLEAN_DOMAIN, null, description, read);
}

/** True, false, or not known. */
export function booleanFactIfKnown(
  description: string,
  absence: Absence,
  read: (context: FactContext) => boolean | null,
): PlainFact {
  return plainFactIfKnown(BOOLEAN_DOMAIN, null, `${description} ${formatAbsence(absence)}`, absence, read);
}

/** Seconds since the last event of a kind; not known when there was none. `read` gives its epoch ms. */
export function secondsSinceFact(
  event: string,
  payerWithout: string,
  read: (context: FactContext) => number | null,
): PlainFact {
  const absence: Absence = { of: payerWithout, mistakenFor: SECONDS_MAX };
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

/** The sentence of a fact's description that says of whom it has no value. */
export function formatAbsence({ of }: Absence): string {
  return `Not known of ${of}.`;
}

/** The fact with the domain that it has over this window; `windowMs` is 0 for a fact without one. */
export function setFactWindow(fact: Fact, windowMs: number): Fact {
  if (fact.kind !== 'windowed' || fact.domainWithinDay === undefined) return fact;
  return countsWholeDays(fact, windowMs) ? fact : { ...fact, domain: fact.domainWithinDay };
}

/** Whether the window is of several whole days of UTC, and not of so many milliseconds. */
export function countsWholeDays(fact: Fact, windowMs: number): boolean {
  return fact.kind === 'windowed' && windowMs > (fact.wholeDaysAboveMs ?? fact.longestWindowMs);
}

/** Counted or summed up over a window. */
export function windowedFact(
  domain: FactDomain,
  unit: string,
  description: string,
  longestWindowMs: number,
  read: (context: FactContext, windowMs: number) => number,
): WindowedFact {
  return { kind: 'windowed', domain, unit, description, longestWindowMs, sharing: null, read };
}
