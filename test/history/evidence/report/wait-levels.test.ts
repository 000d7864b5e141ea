import { expect } from 'chai';
import fc from 'fast-check';
import type { ResultRow } from '#history/archive/query-engine.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { createWaitLevelsEvidenceTable } from '#history/evidence/report/wait-levels.ts';
import type { WorthReport } from '#history/evidence/report/worth-report.ts';
import { type Evidence, withEvidence } from '#history/evidence/source/evidence.ts';
import type { Store } from '#state/store.ts';
import { currentRules } from '../../../service/current-rules.ts';
import { History, JULY } from '../backtest/backtest-history.ts';
import { all, recordedEvidence, reportOn } from '../source/recorded-evidence.ts';
import { liveBusyMonth } from './busy-month.ts';

const DAY = 86_400_000;

describe('the cost of a wait by level', () => {
  const rules = currentRules();
  const levelsOf = async (live: (history: History, store: Store) => Promise<void>) => {
    const { archive } = await recordedEvidence((store) => live(new History(store), store));
    return (await reportOn(archive, rules)).waitLevels;
  };

  it('counts who came back, asked too early, was lost, or is not known yet', async () => {
    const levels = await levelsOf(async (history) => {
      for (const client of ['paid', 'back', 'lost']) {
        await history.verdict(client, '1', '10.00');
        await history.verdict(client, '2', '10.00');
      }
      // The wait of the first level is over after 30 s.
      history.now = JULY + 130_000;
      await history.verdict('back', '2', '10.00');
      history.now = JULY + 230_000;
      await history.verdict('paid', '3', '20.00');
      history.now += 60_000;
      await history.outcome('paid', '3', 'PAID');
      history.now = JULY + 3 * DAY;
      for (const order of ['1', '2', '2']) await history.verdict('hasty', order, '5.00');
    });
    const [first, second] = levels;
    expect(first).to.deep.include({
      version: 'p2.v10',
      ladder: null,
      level: 1,
      waitSeconds: 30,
      orders: 4,
      unknown: 1,
      early: 0,
      cameBack: 2,
      granted: 2,
      paid: 1,
      lost: 1,
      backAfterSeconds: { median: 150, p90: 190 },
      currency: 'EUR',
      amount: { asked: 30, paid: 20, lost: 10 },
    });
    expect(second).to.deep.include({ level: 2, orders: 1, unknown: 1, backAfterSeconds: null, amount: null });
  });

  it('counts a wait that a person ended apart, whatever came of it', async () => {
    const levels = await levelsOf(async (history, store) => {
      for (const order of ['1', '2']) await history.verdict('called', order, '10.00');
      await history.endWait(store, 'called');
      await history.verdict('called', '2', '10.00');
    });
    const [first] = levels;
    const none = { unknown: 0, early: 0, cameBack: 0, lost: 0 };
    expect(first).to.deep.include({ level: 1, orders: 1, ...none, ended: 1 });
  });

  it('is told in no money while nobody knows what became of the orders', async () => {
    const levels = await levelsOf(async (history) => {
      for (const order of ['1', '2']) await history.verdict('new', order, '10.00');
    });
    const [row = []] = createWaitLevelsEvidenceTable(levels).rows;
    expect(row.slice(3, 7)).to.deep.equal(['EUR', 'unknown', 'unknown', 'unknown']);
  });

  it('counts a payment for one wait, the last before the grant that it came after', async () => {
    const levels = await levelsOf(async (history) => {
      // Granted, told to wait 30 s, granted again, told to wait 5 min, granted and paid.
      for (const seconds of [0, 0, 60, 0, 600]) {
        history.now += seconds * 1000;
        await history.verdict('ann', '1');
      }
      await history.outcome('ann', '1', 'PAID');
      history.now += 3 * DAY;
      await history.verdict('bob', '1');
    });
    expect(levels.map(({ level, granted, paid }) => [level, granted, paid])).to.deep.equal([
      [1, 1, 0],
      [2, 1, 1],
    ]);
  });

  it('counts 24 hours from the wait', async () => {
    const levels = await levelsOf(async (history) => {
      for (const [client, backAfterMs] of [
        ['in time', DAY],
        ['too late', DAY + 1],
      ] as const) {
        const toldAt = history.now;
        await history.verdict(client, '1');
        await history.verdict(client, '2');
        history.now = toldAt + backAfterMs;
        await history.verdict(client, '2');
        await history.outcome(client, '2', 'PAID');
      }
      history.now += 3 * DAY;
      await history.verdict('somebody', '1');
    });
    expect(levels.map(({ cameBack, granted, paid, lost }) => [cameBack, granted, paid, lost])).to.deep.equal([
      [1, 1, 1, 1],
    ]);
  });

  it('equals a count decision by decision at any time, with one result per order', async () => {
    const { archive } = await recordedEvidence(liveBusyMonth);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 9 }), async (days) => {
        const ask = { ...all(archive), asOf: JULY + days * DAY };
        const { found, byHand } = await withEvidence(ask, async (evidence) => ({
          found: await reportRuleWorth(evidence, { rules, by: null }),
          byHand: await countByHand(evidence),
        }));
        expect(figuresOf(found)).to.deep.equal(byHand);
        for (const { orders, unknown, early, cameBack, granted, paid, lost } of found.waitLevels) {
          expect(unknown + early + cameBack + lost).to.equal(orders);
          expect([granted <= cameBack, paid <= granted]).to.deep.equal([true, true]);
        }
        expect(found.waitLevels.reduce((sum, { paid }) => sum + paid, 0)).to.be.at.most(found.orders.paid);
      }),
      { numRuns: 4, seed: 11 },
    );
  });
});

function figuresOf({ waitLevels }: WorthReport): readonly string[] {
  return waitLevels
    .map(({ level, orders, unknown, early, cameBack, granted, paid, lost }) =>
      [`level ${level}`, orders, unknown, early, cameBack, granted, paid, lost].join(' '),
    )
    .toSorted();
}

interface HandWait {
  readonly level: number;
  readonly end: 'unknown' | 'early' | 'cameBack' | 'lost';
  /** The order that the client got a requisite for when it came back. */
  readonly granted: string | null;
  readonly paid: boolean;
}

/** The same without the service's SQL: client by client, decision by decision. */
async function countByHand({ duck, span }: Evidence): Promise<readonly string[]> {
  const decisions = await duck.rows(
    `SELECT client_hash::VARCHAR AS client, order_ref AS ref, verdict, ladder_after_level::INT AS level,
       epoch_ms(decided_at)::DOUBLE AS at, epoch_ms(ladder_after_wait_until)::DOUBLE AS allowed
     FROM decisions ORDER BY client, seq`,
  );
  const outcomes = await duck.rows(
    `SELECT client_hash::VARCHAR AS client, order_ref AS ref, outcome, epoch_ms(occurred_at)::DOUBLE AS at
     FROM outcomes ORDER BY reported_at`,
  );
  const told = new Map(outcomes.map((row) => [orderOf(row), row]));
  const waits = new Map<string, HandWait>();
  const paidAfter = new Map<string, string>();
  for (const [index, row] of decisions.entries()) {
    if (row['verdict'] !== 'WAIT') continue;
    const next = decisions[index + 1];
    const back = next !== undefined && next['client'] === row['client'] ? next : null;
    const wait = waitOf(row, back, back === null ? null : (told.get(orderOf(back)) ?? null), span.to ?? 0);
    const name = `${orderOf(row)} ${wait.level}`;
    waits.set(name, wait);
    if (wait.paid) paidAfter.set(wait.granted ?? '', name);
  }
  const paying = new Set(paidAfter.values());
  const levels = Map.groupBy(waits, ([, { level }]) => level);
  return [...levels]
    .map(([level, some]) => {
      const ended = (end: HandWait['end']) => some.filter(([, wait]) => wait.end === end).length;
      const granted = some.filter(([, wait]) => wait.granted !== null).length;
      const paid = some.filter(([name]) => paying.has(name)).length;
      return [
        `level ${level}`,
        some.length,
        ended('unknown'),
        ended('early'),
        ended('cameBack'),
        ...[granted, paid, ended('lost')],
      ].join(' ');
    })
    .toSorted();
}

function orderOf({ client, ref }: ResultRow): string {
  return `${String(client)} ${String(ref)}`;
}

/** The result of a wait: `back` is the client's next request, and `told` the last report about that order. */
function waitOf(
  row: ResultRow,
  back: ResultRow | null,
  told: ResultRow | null,
  knownUntil: number,
): HandWait {
  const [toldAt, at] = [Number(row['at']), Number(back?.['at'] ?? Number.POSITIVE_INFINITY)];
  const end = endOf(Number(row['allowed']), toldAt + DAY, at, knownUntil);
  const isGranted = end === 'cameBack' && String(back?.['verdict']).startsWith('GET');
  const paidAt = told?.['outcome'] === 'PAID' ? Number(told['at']) : Number.NaN;
  return {
    level: Number(row['level']),
    end,
    granted: isGranted && back !== null ? orderOf(back) : null,
    paid: isGranted && paidAt >= at && paidAt <= toldAt + DAY,
  };
}

function endOf(allowed: number, over: number, at: number, knownUntil: number): HandWait['end'] {
  if (over > knownUntil) return 'unknown';
  if (at < allowed) return 'early';
  return at <= over ? 'cameBack' : 'lost';
}
