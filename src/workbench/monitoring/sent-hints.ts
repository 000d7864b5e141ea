import { choice, count, list, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import type { RequestCountLabel } from '#checkout/metrics/reporting-listener.ts';
import { UNUSABLE_HINT_REASONS, type UnusableHint } from '#decision/body-hints.ts';
import { ATTRIBUTE_FAULTS } from '#decision/payer/attributes.ts';

function createHintSchema(what: string) {
  return shape(`How often callers sent ${what}`, {
    sent: count('How often it was in a score'),
    absent: count('How often it said nothing about the payer, and counted as absent'),
    why: nullable(
      choice(
        UNUSABLE_HINT_REASONS,
        'Why most of them did: placeholder, a text that stands for no value; notAnAddress; notPublic, an address that many hosts have at the same time. Null without one',
      ),
    ),
  });
}

const sentAttribute = shape('How often callers sent an attribute that the deciding rule set declares', {
  name: plainText('The attribute', 'cardCountry'),
  sent: count('How often'),
  unknown: count('How often its value was not what is declared, and counted as not known'),
  why: nullable(
    choice(
      ATTRIBUTE_FAULTS,
      'Why most of them did: another type, a text that is too long, one that oneOf does not name, a number out of range. Null without one',
    ),
  ),
});

export const SentHintsSchema = shape('What callers told of payers in the last 24 hours', {
  ip: createHintSchema('an address'),
  fingerprint: createHintSchema('a fingerprint'),
  requests: count('Scores and verdicts'),
  placeholderClients: count(
    'Of these with a clientIdKey like guest or undefined: all payers who have it are one payer to the rules',
  ),
  attributes: list(sentAttribute, 'By name'),
  undeclaredAttributes: count('Attributes that the deciding rule set does not declare, and ignores'),
});

export type SentHints = ValueOf<typeof SentHintsSchema>;

type Field = UnusableHint['field'];

/** Counts by hour since 1970, and within an hour by label. */
export type HintCounts = Record<string, Partial<Record<RequestCountLabel, number>>>;

const HOUR_MS = 3_600_000;
const HOURS_MAX = 24;

/** Adds one to a count of the hour of `now`. It changes the counts in place, because it runs with every request. */
export function countHint(counts: HintCounts, label: RequestCountLabel, now: number): void {
  const hour = Math.floor(now / HOUR_MS);
  const labels = counts[hour] ?? {};
  counts[hour] = labels;
  labels[label] = (labels[label] ?? 0) + 1;
}

/** Adds two counts and keeps the newest hours. */
export function addHintCounts(a: HintCounts, b: HintCounts): HintCounts {
  const sums = { ...a };
  for (const [hour, labels] of Object.entries(b)) {
    const before: Readonly<Record<string, number | undefined>> = sums[hour] ?? {};
    const added = Object.entries(labels).map(([label, number = 0]) => [label, (before[label] ?? 0) + number]);
    sums[hour] = { ...before, ...Object.fromEntries(added) };
  }
  return Object.fromEntries(Object.entries(sums).slice(-HOURS_MAX));
}

/**
 * Sums the counts of the last 24 hours for each field and attribute. Names the most frequent reason why values said
 * nothing.
 */
export function summarizeSentHints(counts: HintCounts, now: number): SentHints {
  const since = Math.floor(now / HOUR_MS) - HOURS_MAX;
  const hours = Object.entries(counts).filter(([hour]) => Number(hour) > since);
  const sum = (label: RequestCountLabel) =>
    hours.reduce((total, [, labels]) => total + (labels[label] ?? 0), 0);
  const field = (name: Field) => {
    const [absent, why] = findMostFrequent(UNUSABLE_HINT_REASONS, (reason) => sum(`${name} ${reason}`));
    return { sent: sum(name), absent, why };
  };
  return {
    ip: field('ip'),
    fingerprint: field('fingerprint'),
    requests: sum('requests'),
    placeholderClients: sum('placeholderClients'),
    attributes: listAttributeNames(hours).map((name) => {
      const [unknown, why] = findMostFrequent(ATTRIBUTE_FAULTS, (fault) => sum(`attribute ${name} ${fault}`));
      return { name, sent: sum(`attribute ${name}`), unknown, why };
    }),
    undeclaredAttributes: sum('undeclaredAttributes'),
  };
}

/**
 * Returns how often all reasons occurred together, and the most frequent reason. That reason is null if none
 * occurred.
 */
function findMostFrequent<Reason>(
  reasons: readonly Reason[],
  countOf: (reason: Reason) => number,
): readonly [total: number, most: Reason | null] {
  const counts = reasons.map((reason) => [reason, countOf(reason)] as const);
  const total = counts.reduce((sum, [, number]) => sum + number, 0);
  const [[most] = [null]] = counts.toSorted(([, a], [, b]) => b - a);
  return [total, total === 0 ? null : most];
}

const ATTRIBUTE_LABEL = /^attribute (\w+)$/;

function listAttributeNames(hours: readonly (readonly [string, HintCounts[string]])[]): readonly string[] {
  const labels = hours.flatMap(([, counts]) => Object.keys(counts));
  return [...new Set(labels.flatMap((label) => ATTRIBUTE_LABEL.exec(label)?.[1] ?? []))].toSorted();
}
