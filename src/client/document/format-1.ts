import type { Hint, HintKind, Hints } from '../hints.ts';
import { type CountedOutcome, inTime, type OutcomeTally, olderOutcomes } from '../outcomes.ts';

/** Format 1, which named the newest 20 outcomes by their orders. */
export type OutcomesRow1 = [
  paid: number,
  unpaid: number,
  lastPaidAt: number | null,
  lastUnpaidAt: number | null,
  recent: [order: string, paid: 0 | 1, at: number][],
];
/** The hints of the last score alone. */
export type HintsRow1 = [
  scoredAt: number,
  fingerprint: string | 0,
  ip: string | 0,
  jsOk: 0 | 1 | null,
  honeypotAt: number | null,
  userAgent: 0 | 1 | 2,
];

/** Format 1 did not say when what it no longer remembered happened: not after the oldest that it did remember. */
export function tallyOf([
  paidCount,
  unpaidCount,
  lastPaidAt,
  lastUnpaidAt,
  rows,
]: OutcomesRow1): OutcomeTally {
  const recent = rows
    .map(([, paid, at]): CountedOutcome => ({ paid: paid === 1, at, amount: null }))
    .sort(inTime);
  const [oldest] = recent;
  const before = (known: number | null, kind: boolean) =>
    recent.some(({ paid }) => paid === kind) ? (oldest?.at ?? null) : known;
  const older = {
    lastPaidAt: before(lastPaidAt, true),
    lastUnpaidAt: before(lastUnpaidAt, false),
    unpaidChain: 0,
  };
  const tally = { paidCount, unpaidCount, technicalCount: 0, recent, older };
  return { ...tally, older: olderOutcomes(tally) };
}

export function hintsOf([scoredAt, fingerprint, ip, jsOk, honeypotAt, userAgent]: HintsRow1): Hints {
  const shown: Hint[] = [];
  const show = (kind: HintKind, at: number, id = '') => shown.push({ kind, id, since: 1, lastAt: at });
  if (honeypotAt !== null) show('trap', honeypotAt);
  if (fingerprint !== 0) show('fingerprint', scoredAt, fingerprint);
  if (ip !== 0) show('ip', scoredAt, ip);
  if (jsOk === 0) show('noScript', scoredAt);
  if (userAgent > 0) show('userAgent', scoredAt);
  if (userAgent === 2) show('automated', scoredAt);
  return { scoredAt, shown, asked: [] };
}
