import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { report } from '../../../src/evidence/report/report.ts';
import {
  type Report,
  type RuleReport,
  SLICE_NAMES,
  type SliceName,
} from '../../../src/evidence/report/rule-report.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import type { RuleSet } from '../../../src/rules/rule-set.ts';
import { clusteredInterval } from '../../../src/statistics/intervals.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';
import { History, Workplace } from '../backtest/backtest-history.ts';
import { all, type LivedEvidence, livedEvidence } from '../source/lived-evidence.ts';
import { liveBusyMonth } from './busy-month.ts';
import { countByHand, type HandCount } from './count-by-hand.ts';

describe('the report on rules', () => {
  let lived: LivedEvidence;
  let place: Workplace;
  let found: Report;
  let byHand: ReadonlyMap<string, HandCount>;
  before(async () => {
    place = new Workplace();
    lived = await livedEvidence(liveBusyMonth);
    found = await reportOn(lived.archive, place.rules('p2.v10'));
    if (lived.journal.kind === 'journal')
      byHand = countByHand(RULES_FOLDER, readFileSync(lived.journal.path, 'utf8'));
  });
  after(() => place.end());

  const reportOn = (from: EvidencePlace, rules: RuleSet, by: SliceName | null = null) =>
    withEvidence(all(from), (evidence) => report(evidence, { rules, by }));
  const ruleOf = ({ rules }: Report, name: string): RuleReport => {
    const rule = rules.find((one) => one.name === name && one.file !== 'groups.yaml');
    if (rule === undefined) throw new Error(`there is no rule ${name}`);
    return rule;
  };

  it('gives for every rule what counting line by line gives', () => {
    const counts = found.rules.map(({ file, name, matched, decided, decisive, orders }) => [
      `${file}/${name}`,
      { matched, decided, decisive, ...orders },
    ]);
    expect(Object.fromEntries(counts)).to.deep.equal(Object.fromEntries(byHand));
    const matching = found.rules.filter(({ matched }) => matched > 0);
    expect(matching.length).to.be.above(12);
    expect(found.rules.some(({ decisive }) => decisive !== null && decisive > 0)).to.equal(true);
  });

  it('gives the same from the exported journal as from the archive', async () => {
    expect(await reportOn(lived.journal, place.rules('p2.v10'))).to.deep.equal(found);
  });

  it('has orders that are paid, unpaid, turned away and unknown', () => {
    const { paid, unpaid, turnedAway, unknown } = found.orders;
    for (const count of [paid, unpaid, turnedAway, unknown, found.technical]) expect(count).to.be.above(0);
  });

  it("compares a rule's unpaid share with that of all orders", () => {
    const { unpaidShare, lift, orders } = ruleOf(found, 'attempt-unpaid');
    expect(unpaidShare?.value).to.be.closeTo(orders.unpaid / (orders.paid + orders.unpaid), 1e-12);
    expect(lift).to.equal((unpaidShare?.value ?? 0) / (found.unpaidShare?.value ?? 1));
    expect(ruleOf(found, 'no-javascript')).to.deep.include({ matched: 0, unpaidShare: null, lift: null });
  });

  it('has intervals of unpaid shares by clients, of all and of a rule', async () => {
    const byClient = (matching: string) =>
      withEvidence(all(lived.archive), async ({ duck }) => {
        const rows = await duck.rows(
          `SELECT client_hash::VARCHAR AS client, count(*) FILTER (status = 'UNPAID')::INT AS part, count(*)::INT AS whole
           FROM orders WHERE status IN ('PAID', 'UNPAID') AND (client_hash, order_ref) IN
             (SELECT (client_hash, order_ref) FROM decisions WHERE ${matching}) GROUP BY client`,
        );
        return rows.map((row) => ({ part: Number(row['part']), whole: Number(row['whole']) }));
      });
    const paidBefore = found.rules.find(({ name }) => name === 'has-paid')?.unpaidShare;
    for (const [share, clients] of [
      [found.unpaidShare, await byClient('true')],
      [paidBefore, await byClient('fact_paidCount >= 1')],
    ] as const) {
      const expected = clusteredInterval(clients);
      expect(clients.some(({ whole }) => whole > 1)).to.equal(true);
      expect(share?.value).to.be.closeTo(expected?.value ?? 0, 1e-9);
      expect(share?.low).to.be.closeTo(expected?.low ?? 0, 1e-9);
      expect(share?.high).to.be.closeTo(expected?.high ?? 0, 1e-9);
    }
  });

  it('adds up amounts by currency, so that rules that divide the decisions add up to all', async () => {
    const total = (name: string) => ruleOf(found, name).amount['EUR']?.unpaid ?? 0;
    const sum = await withEvidence(all(lived.archive), ({ duck }) =>
      duck.rows("SELECT sum(amount) AS unpaid FROM orders WHERE status = 'UNPAID'"),
    );
    const groups = found.rules.filter(({ file }) => file === 'groups.yaml');
    expect(groups.every(({ amount }) => Object.keys(amount).every((name) => name === 'EUR'))).to.equal(true);
    expect(total('missing-user-agent') + total('otherwise')).to.be.above(0);
    expect(total('attempt-unpaid')).to.be.below(Number(sum[0]?.['unpaid']));
  });

  it('ignores unpaid reports of orders that were never granted, and counts every payment', async () => {
    const refused = await livedEvidence(async (store) => {
      const history = new History(store, place.rules('p2.v10'));
      await history.block('ann');
      for (const [order, outcome] of [
        ['1', 'UNPAID'],
        ['2', 'PAID'],
        ['3', null],
      ] as const) {
        await history.verdict('ann', order);
        if (outcome !== null) await history.outcome('ann', order, outcome);
      }
    });
    const { orders, rules, unpaidShare } = await reportOn(refused.archive, place.rules('p2.v10'));
    expect(orders).to.deep.equal({ paid: 1, unpaid: 0, turnedAway: 2, unknown: 0 });
    expect(rules.find(({ name }) => name === 'client-blocked')?.orders).to.deep.equal(orders);
    expect(unpaidShare?.value).to.equal(0);
  });

  it('divides each rule, and all money, by day, method and other dimensions, with equal sums', async () => {
    for (const by of SLICE_NAMES) {
      const sliced = await reportOn(lived.archive, place.rules('p2.v10'), by);
      for (const { name, matched, decided, orders, by: parts = [] } of sliced.rules) {
        const sum = (of: (part: (typeof parts)[number]) => number) =>
          parts.reduce((total, part) => total + of(part), 0);
        expect([by, name, sum((part) => part.matched), sum((part) => part.decided)]).to.deep.equal([
          by,
          name,
          matched,
          decided,
        ]);
        expect(sum((part) => part.orders.unpaid)).to.equal(orders.unpaid);
      }
      for (const status of ['paid', 'unpaid', 'reversed', 'turnedAway', 'unknown'] as const) {
        const parts = (sliced.slices ?? []).map(({ amount }) => amount['EUR']?.[status] ?? 0);
        const sum = parts.reduce((total, part) => total + part, 0);
        expect(sum, `${status} by ${by}`).to.be.closeTo(found.amount['EUR']?.[status] ?? 0, 1e-6);
      }
      expect(sliced.rules.map(({ by: _, ...rule }) => rule)).to.deep.equal(found.rules);
    }
  });

  it('divides by version, arm, group and level of the ladder, an order by its last decision', async () => {
    const waits = await livedEvidence(async (store) => {
      const history = new History(store, place.rules('p2.v10'));
      for (const order of ['1', '1']) await history.verdict('ann', order);
      await history.outcome('ann', '1', 'PAID');
    });
    const told = async (by: SliceName) => {
      const { rules } = await reportOn(waits.archive, place.rules('p2.v10'), by);
      const parts = rules.filter(({ file }) => file === 'verdicts.yaml').flatMap((rule) => rule.by ?? []);
      const decided = parts.filter((part) => part.decided > 0);
      return decided
        .map(({ slice, ...part }) => `${slice}: ${part.decided}, ${part.orders.paid} paid`)
        .toSorted();
    };
    expect({
      version: await told('version'),
      arm: await told('arm'),
      group: await told('group'),
      level: await told('level'),
    }).to.deep.equal({
      version: ['p2.v10: 1, 1 paid', 'p2.v10: 1, 1 paid'],
      arm: ['active: 1, 1 paid', 'active: 1, 1 paid'],
      group: ['NEW: 1, 1 paid', 'NEW: 1, 1 paid'],
      level: ['0: 1, 0 paid', '1: 1, 1 paid'],
    });
  });

  it('applies another version to the recorded facts, and says whose decisions they are', async () => {
    place.draft('p2.v11', { file: 'groups.yaml', from: 'value: 4 }', to: 'value: 2 }' });
    const stricter = await reportOn(lived.archive, place.rules('p2.v11'));
    expect([stricter.version, stricter.ownDecisions, found.ownDecisions]).to.deep.equal([
      'p2.v11',
      0,
      found.decisions,
    ]);
    expect(ruleOf(stricter, 'client-blocked').matched).to.be.above(ruleOf(found, 'client-blocked').matched);
  });

  it('counts decisions without a recorded fact separately, and names the fact', async () => {
    place.draft('p2.v13', {
      file: 'bot-signals.yaml',
      from: 'clientsOnFingerprint, params: { window: 24h }',
      to: 'clientsOnFingerprint, params: { window: 48h }',
    });
    const lacking = await reportOn(lived.archive, place.rules('p2.v13'));
    expect(lacking.undecidable).to.deep.equal({
      count: found.decisions,
      facts: ['clientsOnFingerprint(2d)'],
    });
    expect(lacking.orders).to.deep.equal({ paid: 0, unpaid: 0, turnedAway: 0, unknown: 0 });
  });
});
