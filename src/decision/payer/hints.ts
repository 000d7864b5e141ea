import { isDeepStrictEqual } from 'node:util';
import { Type } from '#base/json-schema.ts';
import { list, nullable, plainText, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import {
  type Attributes,
  DECLARED_ATTRIBUTES_MAX,
  NO_ATTRIBUTES,
  type NullableAttributeValue,
  recordedAttributesSchema,
} from './attributes.ts';
import type { DeviceCounts } from './known-devices.ts';

/**
 * The kinds of hints of a score about the payer's device and page. A hint of a fingerprint or an IP has an HMAC, and
 * a hint of an attribute has a value. All other hints have no value.
 */
export type HintKind =
  | 'fingerprint'
  | 'ip'
  | 'noScript'
  | 'script'
  | 'trap'
  | 'userAgent'
  | 'automated'
  | 'app'
  | 'attribute';

export interface Hint {
  readonly kind: HintKind;
  /** The HMAC of a fingerprint or an IP, empty for other kinds. */
  readonly id: string;
  /** An attribute that the caller stated about the payer. */
  readonly attribute?: {
    readonly name: string;
    readonly value: NullableAttributeValue;
    /**
     * The pseudonym of the same text under the previous secret, for a pseudonym made while the secret was being
     * changed.
     */
    readonly formerValue?: string;
  };
  /** Shortened HMACs of the networks around an IP. */
  readonly networks?: readonly string[];
  /**
   * The id of a device under the previous secret, for a device seen while the secret of the HMACs was being changed.
   */
  readonly formerId?: string;
}

/** A hint, and when it was last shown (epoch ms). */
interface ShownHint {
  readonly hint: Hint;
  readonly lastAt: number;
}

/** A remembered score request. `request` is a token of its content. */
export interface AskedScore {
  readonly request: string;
  /** When the score was first asked within 24 hours, in epoch ms. */
  readonly at: number;
  /** How many events other than scores had happened to the payer. */
  readonly changes: number;
  /** The hints that were known then, the newest device last. */
  readonly knownHints: readonly Hint[];
  /** How many devices of the payer were remembered then. If missing, `knownHints` contains all of them. */
  readonly devices?: DeviceCounts;
}

/** Everything that the scores of the last 24 hours showed. A later score replaces only the hints about JavaScript. */
export interface Hints {
  /** When the last score was asked, in epoch ms. */
  readonly scoredAt: number;
  /** The hints in the sequence in which they were last shown. */
  readonly shown: readonly ShownHint[];
  readonly asked: readonly AskedScore[];
}

const fingerprint = nullable(plainText('HMAC of the fingerprint; null when none was sent'));
const ip = nullable(plainText("HMAC of the payer's address; null when none was sent"));

export const ScoreHintsSchema = shape('What one score says about the device and the page', {
  fingerprint,
  ip,
  networks: Type.Optional(
    list(Type.String(), 'Shortened HMACs of the networks around the address; absent without one'),
  ),
  former: Type.Optional(
    shape('While the secret of the HMACs is being changed: the same under the secret before', {
      fingerprint,
      ip,
      attributes: Type.Optional(recordedAttributesSchema),
    }),
  ),
  jsOk: nullable(yesNo('The page ran JavaScript; null when nobody said')),
  honeypotTriggered: yesNo('A trap field was filled in'),
  userAgentPresent: yesNo('A User-Agent was sent'),
  userAgentIsAutomated: yesNo('The User-Agent is that of a program'),
  userAgentIsApp: yesNo("The User-Agent is that of a native app's HTTP library"),
  attributes: Type.Optional(recordedAttributesSchema),
});

export type ScoreHints = ValueOf<typeof ScoreHintsSchema>;

/** The hints about the payer's device and page that are known at a moment. */
export interface KnownHints {
  readonly scored: boolean;
  /** HMACs, the newest last. */
  readonly fingerprints: readonly string[];
  readonly ips: readonly string[];
  /** Shortened HMACs of the networks around the IPs. */
  readonly networks: readonly string[];
  /**
   * The same devices and pseudonyms of attributes under the previous secret. Missing if the secret was not changed.
   */
  readonly former?: Pick<KnownHints, 'fingerprints' | 'ips' | 'attributes'>;
  /** Whether the page of the last score executed JavaScript. Null if the score did not say. */
  readonly jsOk: boolean | null;
  readonly trapped: boolean;
  readonly userAgentPresent: boolean;
  readonly userAgentIsAutomated: boolean;
  readonly userAgentIsApp: boolean;
  /** The attributes that callers stated about the payer. Missing if there are none. */
  readonly attributes?: Attributes;
  /**
   * How many devices were remembered when a repeated score was first asked. If missing, the devices that are
   * remembered now are counted.
   */
  readonly devices?: DeviceCounts;
}

/** How long a hint is known in ms. An older hint belongs to another checkout and is not used. */
export const HINTS_VALID_MS = 24 * 3600_000;

/** How many fingerprints, and how many IPs, of one payer are known at a time. The newest ones stay. */
const DEVICES_MAX = 4;

/** How many different score requests are remembered. A repeated request that is remembered gets the same answer. */
export const ASKED_SCORES_MAX = 16;

const NO_HINTS: KnownHints = {
  scored: false,
  fingerprints: [],
  ips: [],
  networks: [],
  jsOk: null,
  trapped: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
  userAgentIsApp: false,
};

/** A score that is being asked. */
interface NewScore extends Pick<AskedScore, 'request' | 'changes'> {
  /** The token of the same request under the previous secret. Missing if the secret was not changed. */
  readonly formerRequest?: string;
  readonly devices: DeviceCounts;
}

/** Adds the hints of a score, and remembers the score. `request` is a token of its content. */
export function rememberScore(
  before: Hints | null,
  score: ScoreHints,
  { request, formerRequest, changes, devices }: NewScore,
  now: number,
): { readonly hints: Hints; readonly asked: AskedScore } {
  const { shown, ...hints } = addScoreHints(before, score, now);
  const remembered = hints.asked.filter(({ at }) => now - at < HINTS_VALID_MS);
  const knownHints = shown.map(({ hint }) => hint);
  const isFirst = (other: AskedScore) => other.request === request;
  const isFormer = (other: AskedScore) => other.request === formerRequest;
  const first = remembered.find(isFirst) ?? remembered.find(isFormer);
  if (first === undefined) {
    const asked = { request, at: now, changes, knownHints, ...omitEqualCounts(devices, knownHints) };
    return { asked, hints: { ...hints, shown, asked: [...remembered, asked].slice(-ASKED_SCORES_MAX) } };
  }
  if (isFirst(first)) return { asked: first, hints: { ...hints, shown, asked: remembered } };
  const asked = {
    ...first,
    request,
    knownHints: first.knownHints.map((hint) => knownHints.find(createRenewalTest(hint)) ?? hint),
  };
  return { asked, hints: { ...hints, shown, asked: remembered.with(remembered.indexOf(first), asked) } };
}

/** Creates a test that recognises this hint under the new secret. */
function createRenewalTest({ kind, id, attribute }: Hint): (other: Hint) => boolean {
  return (other) =>
    other.kind === kind &&
    (attribute === undefined
      ? other.formerId === id
      : other.attribute?.name === attribute.name && other.attribute.formerValue === attribute.value);
}

/**
 * Returns the counts of devices to remember with a score. Returns no counts if they equal those of the devices among
 * `knownHints`.
 */
function omitEqualCounts(devices: DeviceCounts, knownHints: readonly Hint[]): Pick<AskedScore, 'devices'> {
  const { fingerprints, ips } = countDevicesAmong(knownHints);
  return fingerprints === devices.fingerprints && ips === devices.ips ? {} : { devices };
}

function countDevicesAmong(knownHints: readonly Hint[]): DeviceCounts {
  const count = (wanted: HintKind) => knownHints.filter(({ kind }) => kind === wanted).length;
  return { fingerprints: count('fingerprint'), ips: count('ip') };
}

/** Adds the hints of a score without remembering the score. Replays that answer no scores use this function. */
export function addScoreHints(before: Hints | null, score: ScoreHints, now: number): Hints {
  // Whether JavaScript ran concerns one page only, so the next score replaces this hint.
  let shown = (before?.shown ?? []).filter(
    ({ hint, lastAt }) => now - lastAt < HINTS_VALID_MS && hint.kind !== 'noScript' && hint.kind !== 'script',
  );
  for (const hint of listShownHints(score)) shown = showHint(shown, hint, now);
  return { scoredAt: now, shown, asked: before?.asked ?? [] };
}

/** Removes expired hints and scores. Returns null if nothing is left. */
export function removeExpiredHints(hints: Hints | null, now: number): Hints | null {
  if (hints === null) return null;
  const shown = hints.shown.filter(({ lastAt }) => now - lastAt < HINTS_VALID_MS);
  const asked = hints.asked.filter(({ at }) => now - at < HINTS_VALID_MS);
  const isKnown = now - hints.scoredAt < HINTS_VALID_MS || shown.length + asked.length > 0;
  return isKnown ? { ...hints, shown, asked } : null;
}

/** Returns the hints from which a score request is answered: the ones that were known when it was first asked. */
export function getHintsOfAskedScore({ knownHints, devices }: AskedScore): KnownHints {
  return { ...summarizeHints(knownHints, true), devices: devices ?? countDevicesAmong(knownHints) };
}

/** Returns the hints that are known at `now`. */
export function getKnownHints(hints: Hints | null, now: number): KnownHints {
  if (hints === null) return NO_HINTS;
  const known = hints.shown.filter(({ lastAt }) => now - lastAt < HINTS_VALID_MS);
  return summarizeHints(
    known.map(({ hint }) => hint),
    now - hints.scoredAt < HINTS_VALID_MS,
  );
}

function summarizeHints(known: readonly Hint[], scored: boolean): KnownHints {
  const ids = (wanted: HintKind) => known.filter(({ kind }) => kind === wanted).map(({ id }) => id);
  const formerIds = (wanted: HintKind) =>
    known.flatMap(({ kind, formerId }) => (kind === wanted && formerId !== undefined ? [formerId] : []));
  const formerAttributes = collectFormerAttributes(known);
  const former = {
    fingerprints: formerIds('fingerprint'),
    ips: formerIds('ip'),
    ...(formerAttributes === undefined ? {} : { attributes: formerAttributes }),
  };
  const isChanged = former.fingerprints.length + former.ips.length > 0 || formerAttributes !== undefined;
  const has = (wanted: HintKind) => known.some(({ kind }) => kind === wanted);
  return {
    scored,
    fingerprints: ids('fingerprint'),
    ips: ids('ip'),
    networks: known.flatMap(({ networks = [] }) => networks),
    ...(isChanged ? { former } : {}),
    jsOk: has('noScript') ? false : has('script') ? true : null,
    trapped: has('trap'),
    userAgentPresent: has('userAgent'),
    userAgentIsAutomated: has('automated'),
    userAgentIsApp: has('app'),
    ...(has('attribute') ? { attributes: collectAttributes(known) } : {}),
  };
}

function collectAttributes(known: readonly Hint[]): Attributes {
  return Object.fromEntries(
    known.flatMap(({ attribute }) => (attribute === undefined ? [] : [[attribute.name, attribute.value]])),
  );
}

function collectFormerAttributes(known: readonly Hint[]): Attributes | undefined {
  // No secret is being changed most of the time.
  if (!known.some(({ attribute }) => attribute?.formerValue !== undefined)) return undefined;
  return Object.fromEntries(
    known.flatMap(({ attribute }) =>
      attribute?.formerValue === undefined ? [] : [[attribute.name, attribute.formerValue]],
    ),
  );
}

function* listShownHints(score: ScoreHints): Generator<Hint> {
  const { fingerprint, ip, networks = [], former } = score;
  const known = (formerId: string | null = null) => (formerId === null ? {} : { formerId });
  if (fingerprint !== null) yield { kind: 'fingerprint', id: fingerprint, ...known(former?.fingerprint) };
  const around = networks.length === 0 ? {} : { networks };
  if (ip !== null) yield { kind: 'ip', id: ip, ...around, ...known(former?.ip) };
  if (score.jsOk !== null) yield { kind: score.jsOk ? 'script' : 'noScript', id: '' };
  if (score.honeypotTriggered) yield { kind: 'trap', id: '' };
  if (score.userAgentPresent) yield { kind: 'userAgent', id: '' };
  if (score.userAgentIsAutomated) yield { kind: 'automated', id: '' };
  if (score.userAgentIsApp) yield { kind: 'app', id: '' };
  if (score.attributes !== undefined) yield* listShownAttributes(score.attributes, former?.attributes);
}

function* listShownAttributes(attributes: Attributes, former: Attributes = NO_ATTRIBUTES): Generator<Hint> {
  for (const [name, value] of Object.entries(attributes)) {
    const formerValue = former[name];
    const known = typeof formerValue === 'string' ? { formerValue } : {};
    yield { kind: 'attribute', id: '', attribute: { name, value, ...known } };
  }
}

/** Adds a hint at the end. When there are too many hints of its kind, the oldest one is forgotten. */
function showHint(shown: readonly ShownHint[], hint: Hint, now: number): ShownHint[] {
  const isSame = (other: Hint) =>
    other.kind === hint.kind &&
    (other.id === hint.id || other.id === hint.formerId) &&
    other.attribute?.name === hint.attribute?.name;
  const known = shown.find((other) => isSame(other.hint));
  const others = shown.filter((other) => other !== known);
  const alike = others.filter((other) => other.hint.kind === hint.kind);
  const most = hint.kind === 'attribute' ? DECLARED_ATTRIBUTES_MAX : DEVICES_MAX;
  const forgotten = alike.length < most ? undefined : alike[0];
  // An equal hint stays the same object, so that it is stored once for all scores.
  const kept = known !== undefined && isDeepStrictEqual(known.hint, hint) ? known.hint : hint;
  return [...others.filter((other) => other !== forgotten), { hint: kept, lastAt: now }];
}
