import { ABSENT_REASONS, type AbsentHint, type AbsentReason } from '../decision/body-hints.ts';
import { choice, count, nullable, type Shape, shape } from '../shapes.ts';

function sentHint(what: string) {
  return shape(`How often callers sent ${what}`, {
    sent: count('How often it was in a score'),
    absent: count('How often it said nothing about the payer, and counted as absent'),
    why: nullable(
      choice(
        ABSENT_REASONS,
        'Why most of them did: placeholder, a text that stands for no value; notAnAddress; notPublic, an address that many hosts have at the same time. Null without one',
      ),
    ),
  });
}

export const SentHintsSchema = shape('What callers told of payers in the last 24 hours', {
  ip: sentHint('an address'),
  fingerprint: sentHint('a fingerprint'),
  requests: count('Scores and verdicts'),
  placeholderClients: count(
    'Of these with a clientIdKey like guest or undefined: all payers who have it are one payer to the rules',
  ),
});

export type SentHints = Shape<typeof SentHintsSchema>;

type Field = AbsentHint['field'];

/** A label that is counted: requests, a field that was sent, or one that was absent and why. */
export type HintLabel = 'requests' | 'placeholderClients' | Field | `${Field} ${AbsentReason}`;

/** Counts by hour since 1970, and within it by what was counted. */
export type HintCounts = Record<string, Partial<Record<HintLabel, number>>>;

const HOUR_MS = 3_600_000;
const HOURS_MAX = 24;

/** Adds one to a count of the hour at `now`, in place: this runs with every request. */
export function countHint(counts: HintCounts, label: HintLabel, now: number): void {
  const hour = Math.floor(now / HOUR_MS);
  const labels = counts[hour] ?? {};
  counts[hour] = labels;
  labels[label] = (labels[label] ?? 0) + 1;
}

/** The sums of two counts, of the newest hours. */
export function addHintCounts(a: HintCounts, b: HintCounts): HintCounts {
  const sums = { ...a };
  for (const [hour, labels] of Object.entries(b)) {
    const before: Readonly<Record<string, number>> = sums[hour] ?? {};
    const added = Object.entries(labels).map(([label, number]) => [label, (before[label] ?? 0) + number]);
    sums[hour] = { ...before, ...Object.fromEntries(added) };
  }
  return Object.fromEntries(Object.entries(sums).slice(-HOURS_MAX));
}

export function sentHintsOf(counts: HintCounts, now: number): SentHints {
  const since = Math.floor(now / HOUR_MS) - HOURS_MAX;
  const hours = Object.entries(counts).filter(([hour]) => Number(hour) > since);
  const sum = (label: HintLabel) => hours.reduce((total, [, labels]) => total + (labels[label] ?? 0), 0);
  const field = (name: Field) => {
    const reasons = ABSENT_REASONS.map((why): [AbsentReason, number] => [why, sum(`${name} ${why}`)]);
    const absent = reasons.reduce((total, [, number]) => total + number, 0);
    const [[why] = [null]] = reasons.toSorted(([, a], [, b]) => b - a);
    return { sent: sum(name), absent, why: absent === 0 ? null : why };
  };
  return {
    ip: field('ip'),
    fingerprint: field('fingerprint'),
    requests: sum('requests'),
    placeholderClients: sum('placeholderClients'),
  };
}
