import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import type { ReplayInput, VerdictInput } from '#history/evidence/backtest/input.ts';
import { getRecordedOrderStage, type JournalEntry } from '#state/journal.ts';

/** The inputs of a backtest: verdicts for the method `card`, and reports. */
export function inputsOf(entries: readonly JournalEntry[]): readonly ReplayInput[] {
  return entries.flatMap(inputOf);
}

function inputOf(entry: JournalEntry): readonly ReplayInput[] {
  const { at, platform, clientIdKey } = entry;
  if (entry.kind === 'outcome') {
    const { orderRef, order, report = order, turnedAway } = entry;
    return [
      {
        kind: 'outcome',
        at,
        platform,
        clientIdKey,
        clientHash: 0n,
        orderRef,
        report,
        orderStage: getRecordedOrderStage(turnedAway),
      },
    ];
  }
  if (entry.kind !== 'verdict') return [];
  const { sellPointKey, orderRef, ruleVersion, digest, verdict, facts } = entry.decision;
  const asked: VerdictInput = {
    kind: 'verdict',
    at,
    platform,
    clientIdKey,
    sellPointKey,
    orderRef,
    ruleVersion,
    digest,
    verdict,
    method: 'card',
    amount: String(facts['amount']),
    currency: String(facts['currency']),
    clientHash: 0n,
    orderKey: 0n,
    sightings: NO_SIGHTINGS,
  };
  return [asked];
}
