import { Type } from 'typebox';
import { list, nullable, type Shape, shape, word, yesNo } from '../shapes.ts';

/** What a score may show of the payer's device and page: fingerprint and IP with their HMACs, the rest as signs. */
export type HintKind = 'fingerprint' | 'ip' | 'noScript' | 'trap' | 'userAgent' | 'automated';

/** Something that scores showed. Times are epoch ms. */
export interface Hint {
  readonly kind: HintKind;
  /** The HMAC of a fingerprint or IP; empty for a sign. */
  readonly id: string;
  /** Of an IP: shortened HMACs of the networks around it. */
  readonly networks?: readonly string[];
  /** Of a device that was shown while the secret of the HMACs was being changed: the one under the secret before. */
  readonly formerId?: string;
  /** The number of the score that showed it first. */
  readonly since: number;
  readonly lastAt: number;
}

/** A score request that was asked, by a token of all that it said. */
export interface AskedScore {
  readonly request: string;
  /** Its place among the different scores of the client. */
  readonly number: number;
  /** When it was asked for the first time. */
  readonly at: number;
}

/** All that the scores of the last 24 hours showed. Hints only add up: a later score takes none back but noScript. */
export interface Hints {
  /** Of the last score. */
  readonly scoredAt: number;
  /** In the order in which they were last shown. */
  readonly shown: readonly Hint[];
  readonly asked: readonly AskedScore[];
}

const fingerprint = nullable(word('HMAC of the fingerprint; null when none was sent'));
const ip = nullable(word("HMAC of the payer's address; null when none was sent"));

export const ScoreHintsSchema = shape('What one score says about the device and the page', {
  fingerprint,
  ip,
  networks: Type.Optional(
    list(Type.String(), 'Shortened HMACs of the networks around the address; absent without one'),
  ),
  former: Type.Optional(
    shape('While the secret of the HMACs is being changed: the same device under the secret before', {
      fingerprint,
      ip,
    }),
  ),
  jsOk: nullable(yesNo('The page ran JavaScript; null when nobody said')),
  honeypotTriggered: yesNo('A trap field was filled in'),
  userAgentPresent: yesNo('A User-Agent was sent'),
  userAgentIsAutomated: yesNo('The User-Agent is that of a program'),
});

export type ScoreHints = Shape<typeof ScoreHintsSchema>;

/** HMACs of one device. */
export type FormerDevice = Pick<ScoreHints, 'fingerprint' | 'ip'>;

/** What is known of the payer's device and page at a moment. */
export interface KnownHints {
  readonly scored: boolean;
  /** HMACs, the one shown last at the end. */
  readonly fingerprints: readonly string[];
  readonly ips: readonly string[];
  /** Of the networks around the IPs, shortened HMACs. */
  readonly networks: readonly string[];
  /** What the same devices were called before the secret of the HMACs was changed; absent when it was not. */
  readonly former?: Pick<KnownHints, 'fingerprints' | 'ips'>;
  readonly noScript: boolean;
  readonly trapped: boolean;
  readonly userAgentPresent: boolean;
  readonly userAgentIsAutomated: boolean;
}

/** A hint that was not shown for this long belongs to another checkout and is not used. */
export const HINTS_VALID_MS = 24 * 3600_000;

/** How many fingerprints, and how many IPs, of one payer are known at a time: those that were shown last. */
export const DEVICES_MAX = 4;

/** How many different score requests are remembered, so that repeating one gives the same answer. */
export const ASKED_SCORES_MAX = 8;

const NO_HINTS: KnownHints = {
  scored: false,
  fingerprints: [],
  ips: [],
  networks: [],
  noScript: false,
  trapped: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
};

/** The hints with what one more score shows; `request` is a token of all that the score says. */
export function withScore(before: Hints | null, score: ScoreHints, request: string, now: number): Hints {
  const asked = (before?.asked ?? []).filter(({ at }) => now - at < HINTS_VALID_MS);
  const repeated = asked.find((other) => other.request === request);
  const number = repeated?.number ?? nextNumber(stillShown(before, now), asked);
  const one = { request, number, at: now };
  return {
    scoredAt: now,
    shown: shownAfter(before, score, number, now),
    asked: repeated === undefined ? [...asked, one].slice(-ASKED_SCORES_MAX) : asked,
  };
}

/** The same where no score is answered: which request showed something first is left open. */
export function withUnansweredScore(before: Hints | null, score: ScoreHints, now: number): Hints {
  return { scoredAt: now, shown: shownAfter(before, score, 0, now), asked: before?.asked ?? [] };
}

function shownAfter(before: Hints | null, score: ScoreHints, since: number, now: number): Hints['shown'] {
  let shown = stillShown(before, now);
  for (const hint of shownBy(score)) shown = show(shown, { ...hint, since, lastAt: now });
  return shown;
}

function stillShown(before: Hints | null, now: number): Hints['shown'] {
  // That a page did not execute JavaScript is true of that page alone: the next score replaces it.
  return (before?.shown ?? []).filter(
    ({ kind, lastAt }) => now - lastAt < HINTS_VALID_MS && kind !== 'noScript',
  );
}

function nextNumber(shown: Hints['shown'], asked: Hints['asked']): number {
  return 1 + Math.max(0, ...shown.map(({ since }) => since), ...asked.map(({ number }) => number));
}

/**
 * What a score request is answered with. A repeated one is answered with what was known when it was asked for
 * the first time within 24 hours, so that score is idempotent whatever other points of sale send in between.
 */
export function hintsKnownTo(request: string, hints: Hints, now: number): KnownHints {
  const number = hints.asked.find((other) => other.request === request)?.number;
  return knownHints({ ...hints, shown: hints.shown.filter(({ since }) => since <= (number ?? since)) }, now);
}

/** What is known at `now`. */
export function knownHints(hints: Hints | null, now: number): KnownHints {
  if (hints === null) return NO_HINTS;
  const known = hints.shown.filter(({ lastAt }) => now - lastAt < HINTS_VALID_MS);
  const ids = (wanted: HintKind) => known.filter(({ kind }) => kind === wanted).map(({ id }) => id);
  const formerIds = (wanted: HintKind) =>
    known.flatMap(({ kind, formerId }) => (kind === wanted && formerId !== undefined ? [formerId] : []));
  const former = { fingerprints: formerIds('fingerprint'), ips: formerIds('ip') };
  const has = (wanted: HintKind) => known.some(({ kind }) => kind === wanted);
  return {
    scored: now - hints.scoredAt < HINTS_VALID_MS,
    fingerprints: ids('fingerprint'),
    ips: ids('ip'),
    networks: known.flatMap(({ networks = [] }) => networks),
    ...(former.fingerprints.length + former.ips.length === 0 ? {} : { former }),
    noScript: has('noScript'),
    trapped: has('trap'),
    userAgentPresent: has('userAgent'),
    userAgentIsAutomated: has('automated'),
  };
}

function* shownBy(score: ScoreHints): Generator<Pick<Hint, 'kind' | 'id' | 'networks' | 'formerId'>> {
  const { fingerprint, ip, networks = [], former } = score;
  const known = (formerId: string | null = null) => (formerId === null ? {} : { formerId });
  if (fingerprint !== null) yield { kind: 'fingerprint', id: fingerprint, ...known(former?.fingerprint) };
  const around = networks.length === 0 ? {} : { networks };
  if (ip !== null) yield { kind: 'ip', id: ip, ...around, ...known(former?.ip) };
  if (score.jsOk === false) yield { kind: 'noScript', id: '' };
  if (score.honeypotTriggered) yield { kind: 'trap', id: '' };
  if (score.userAgentPresent) yield { kind: 'userAgent', id: '' };
  if (score.userAgentIsAutomated) yield { kind: 'automated', id: '' };
}

/** With one more hint at the end; with too many devices the one not shown for longest is forgotten. */
function show(shown: readonly Hint[], hint: Hint): Hint[] {
  const known = shown.find(({ kind, id }) => kind === hint.kind && (id === hint.id || id === hint.formerId));
  const others = shown.filter((other) => other !== known);
  const alike = others.filter(({ kind }) => kind === hint.kind);
  const forgotten = alike.length < DEVICES_MAX ? undefined : alike[0];
  const since = Math.min(hint.since, known?.since ?? hint.since);
  return [...others.filter((other) => other !== forgotten), { ...hint, since }];
}
