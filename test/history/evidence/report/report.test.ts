import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { DEFAULT_OBJECTIVE } from '#decision/objective.ts';
import { listComparisons } from '#decision/rules/condition.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import { listDecidingConditions } from '#decision/rules/rule-set.ts';
import { toColumnOfFactKey } from '#history/archive/fact-columns.ts';
import { type ExperimentReport, evaluateExperiment } from '#history/evidence/experiment/experiment-report.ts';
import type { OrderCounts } from '#history/evidence/presentation.ts';
import { createJudge, readFactCells } from '#history/evidence/report/fact-cells.ts';
import {
  createJudgementsTable,
  createOrderTables,
  sumOrderTablesByRule,
} from '#history/evidence/report/order-batches.ts';
import {
  computeRuleEffectOfTrial,
  findOnlyMissingRulePath,
} from '#history/evidence/report/trial-rule-effect.ts';
import {
  type RuleWorth,
  SLICE_NAMES,
  type SliceName,
  type WorthReport,
} from '#history/evidence/report/worth-report.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { estimateShareByCluster } from '#history/statistics/intervals.ts';
import { edited, swap, whole } from '../../../rule-fixtures/sound-rules.ts';
import { currentRules } from '../../../service/current-rules.ts';
import type { MovableClock } from '../../../service/movable-clock.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { History, Workplace } from '../backtest/backtest-history.ts';
import {
  all,
  type RecordedEvidence,
  recordedEvidence,
  reportOn,
  servedEvidence,
} from '../source/recorded-evidence.ts';
import { liveBusyMonth } from './busy-month.ts';
import { countByHand, type HandCount } from './count-by-hand.ts';

describe('the report on rules', () => {
  let sources: RecordedEvidence;
  let place: Workplace;
  let found: WorthReport;
  let byHand: ReadonlyMap<string, HandCount>;
  before(async () => {
    place = new Workplace();
    sources = await recordedEvidence(liveBusyMonth);
    found = await reportOn(sources.archive, place.rules('p2.v10'));
    byHand = countByHand(place.rules('p2.v10'), readFileSync(sources.journal.path, 'utf8'));
  });
  after(() => place.end());

  const ruleOf = ({ rules }: WorthReport, name: string): RuleWorth => {
    const rule = rules.find((one) => one.name === name && one.file !== 'groups.yaml');
    return rule ?? expect.fail(`there is no rule ${name}`);
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
    expect(await reportOn(sources.journal, place.rules('p2.v10'))).to.deep.equal(found);
  });

  it('has orders that are paid, unpaid, turned away and unknown', () => {
    const { paid, unpaid, turnedAway, unknown } = found.orders;
    for (const count of [paid, unpaid, turnedAway, unknown, found.technical]) expect(count).to.be.above(0);
  });

  it("compares a rule's unpaid share with that of all orders", () => {
    const { unpaidShare, lift, orders } = ruleOf(found, 'wait-served');
    expect(unpaidShare?.value).to.be.closeTo(orders.unpaid / (orders.paid + orders.unpaid), 1e-12);
    expect(lift).to.equal((unpaidShare?.value ?? 0) / (found.unpaidShare?.value ?? 1));
    expect(ruleOf(found, 'no-javascript')).to.deep.include({ matched: 0, unpaidShare: null, lift: null });
  });

  it('has intervals of unpaid shares by clients, of all and of a rule', async () => {
    const byClient = (matching: string) =>
      withEvidence(all(sources.archive), async ({ duck }) => {
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
      const expected = estimateShareByCluster(clients);
      expect(clients.some(({ whole }) => whole > 1)).to.equal(true);
      expect(share?.value).to.be.closeTo(expected?.value ?? 0, 1e-9);
      expect(share?.low).to.be.closeTo(expected?.low ?? 0, 1e-9);
      expect(share?.high).to.be.closeTo(expected?.high ?? 0, 1e-9);
    }
  });

  it('adds up amounts by currency, so that rules that divide the decisions add up to all', async () => {
    const total = (name: string) => ruleOf(found, name).amount['EUR']?.unpaid ?? 0;
    const sum = await withEvidence(all(sources.archive), ({ duck }) =>
      duck.rows("SELECT sum(amount) AS unpaid FROM orders WHERE status = 'UNPAID'"),
    );
    const groups = found.rules.filter(({ file }) => file === 'groups.yaml');
    expect(groups.every(({ amount }) => Object.keys(amount).every((name) => name === 'EUR'))).to.equal(true);
    expect(total('missing-user-agent') + total('otherwise')).to.be.above(0);
    expect(total('attempt-unpaid')).to.be.below(Number(sum[0]?.['unpaid']));
  });

  it('ignores unpaid reports of orders that were never granted, and counts every payment', async () => {
    const refused = await recordedEvidence(async (store) => {
      const history = new History(store);
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
      const sliced = await reportOn(sources.archive, place.rules('p2.v10'), by);
      for (const { name, matched, decided, orders, by: parts = [] } of sliced.rules) {
        const sum = (of: (part: (typeof parts)[number]) => number) =>
          parts.reduce((total, part) => total + of(part), 0);
        const sums = [
          sum((part) => part.matched),
          sum((part) => part.decided),
          sum((part) => part.orders.unpaid),
        ];
        expect(sums, `${name} by ${by}`).to.deep.equal([matched, decided, orders.unpaid]);
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
    const waits = await recordedEvidence(async (store) => {
      const history = new History(store);
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
    for (const [by, first, second] of [
      ['version', 'p2.v10: 1, 1 paid', 'p2.v10: 1, 1 paid'],
      ['arm', 'active: 1, 1 paid', 'active: 1, 1 paid'],
      ['group', 'NEW: 1, 1 paid', 'NEW: 1, 1 paid'],
      ['level', '0: 1, 0 paid', '1: 1, 1 paid'],
    ] as const)
      expect(await told(by)).to.deep.equal([first, second]);
  });

  it('applies another version to the recorded facts, and says whose decisions they are', async () => {
    place.draft('p2.v11', { file: 'groups.yaml', from: 'value: 4 }', to: 'value: 2 }' });
    const stricter = await reportOn(sources.archive, place.rules('p2.v11'));
    expect([stricter.version, stricter.ownDecisions]).to.deep.equal(['p2.v11', 0]);
    expect(found.ownDecisions).to.equal(found.decisions);
    expect(ruleOf(stricter, 'client-blocked').matched).to.be.above(ruleOf(found, 'client-blocked').matched);
  });

  it('counts decisions without a recorded fact separately, and names the fact', async () => {
    place.draft('p2.v13', {
      file: 'bot-signals.yaml',
      from: 'clientsOnFingerprint, params: { window: 24h }',
      to: 'clientsOnFingerprint, params: { window: 48h }',
    });
    const lacking = await reportOn(sources.archive, place.rules('p2.v13'));
    const undecidable = { count: found.decisions, facts: ['clientsOnFingerprint(2d)'] };
    expect(lacking.undecidable).to.deep.equal(undecidable);
    expect(lacking.orders).to.deep.equal({ paid: 0, unpaid: 0, turnedAway: 0, unknown: 0 });
  });
});

describe('the amounts in a report', () => {
  it('keep fractions of a cent, and show no digits from rounding errors', async () => {
    const rules = currentRules();
    const { archive } = await servedEvidence(rules, async (shop, { clock }) => {
      for (const [n, amountRequested] of ['0.0001', '0.0002'].entries()) {
        const order = { clientIdKey: `payer-${n}`, orderRef: `order-${n}` };
        await shop.verdict({ ...order, amountRequested });
        clock.moveSeconds(1);
        await shop.outcome(order.clientIdKey, order.orderRef, 'PAID');
      }
    });
    expect((await reportOn(archive, rules)).amount).to.deep.equal({
      EUR: { paid: 0.0003, unpaid: 0, reversed: 0, turnedAway: 0, unknown: 0 },
    });
  });
});

/** Signals that refuse nobody for sharing a device. */
const SHARING_AS_HINT = `
rules:
  - name: shared-fingerprint
    conditions: { all: [{ fact: clientsOnFingerprint, params: { window: 24h }, operator: greaterThanInclusive, value: 2 }] }
    event: { type: signal, params: { weight: 1 } }
  - name: honeypot
    conditions: { all: [{ fact: honeypotTriggered, operator: equal, value: true }] }
    event: { type: signal, params: { weight: 4 } }
threshold: 4
`;

describe('the interval of a rule about shared devices', () => {
  const [RINGS, PAYERS] = [12, 4];

  it('counts those who share one as one, since they pay together or not at all', async () => {
    const rules = edited({ 'bot-signals.yaml': whole(SHARING_AS_HINT) });
    const { archive } = await servedEvidence(rules, async (shop) => {
      for (let payer = 0; payer < RINGS * PAYERS; payer++) {
        const ring = Math.floor(payer / PAYERS);
        const clientIdKey = `payer-${payer}`;
        await shop.score({ clientIdKey, fingerprint: `ring-${ring}` });
        await shop.verdict({ clientIdKey, orderRef: `order-${payer}` });
        await shop.outcome(clientIdKey, `order-${payer}`, ring % 3 === 0 ? 'UNPAID' : 'PAID');
      }
    });
    const found = await reportOn(archive, rules);
    const signal = found.rules.find(({ name }) => name === 'shared-fingerprint');
    // The first of a ring shares its device with nobody yet.
    const others = PAYERS - 1;
    const rings = Array.from({ length: RINGS }, (_, ring) => ({
      part: ring % 3 === 0 ? others : 0,
      whole: others,
    }));
    expect(signal?.orders.paid).to.equal((RINGS * others * 2) / 3);
    expect(signal?.unpaidShare).to.deep.equal(estimateShareByCluster(rings));
  });
});

describe('the holdout in the report', () => {
  const CLIENTS = 12;
  const rules = edited({ 'groups.yaml': swap('    priority: 80\n', '    priority: 80\n    holdout: 50%\n') });
  /** Clients who were held out, by the outcome of their order. */
  const held: Record<'PAID' | 'UNPAID', number> = { PAID: 0, UNPAID: 0 };

  /** Four unpaid orders, one that was asked for before them, and two that only held-out clients may try to pay. */
  async function liveChain(shop: Tenant, clock: MovableClock, n: number): Promise<void> {
    const clientIdKey = `payer-${n}`;
    await shop.verdict({ clientIdKey, orderRef: `before-${n}` });
    await shop.outcome(clientIdKey, `before-${n}`, 'PAID');
    clock.moveSeconds(60);
    for (const order of ['a', 'b', 'c', 'd']) await shop.outcome(clientIdKey, `${order}-${n}`, 'UNPAID');
    // For every second one the draw is first recorded by a score.
    if (n % 2 === 0) await shop.score({ clientIdKey });
    const { body } = await shop.verdict({ clientIdKey, orderRef: `e-${n}` });
    if (body['verdict'] === 'BLOCK') {
      await shop.verdict({ clientIdKey, orderRef: `f-${n}` });
      return;
    }
    const outcome = n % 4 < 2 ? 'PAID' : 'UNPAID';
    held[outcome]++;
    await shop.outcome(clientIdKey, `e-${n}`, outcome);
    await shop.verdict({ clientIdKey, orderRef: `f-${n}` });
    if (outcome === 'PAID') await shop.outcome(clientIdKey, `f-${n}`, outcome);
  }

  it('gives all orders of both sides from their draw on, turned away or not, and says that they are too few', async () => {
    const sources = await servedEvidence(rules, async (shop, { clock }) => {
      for (let n = 0; n < CLIENTS; n++) await liveChain(shop, clock, n);
    });
    const { PAID: paid, UNPAID: unpaid } = held;
    const others = CLIENTS - paid - unpaid;
    expect(others).to.be.within(1, CLIENTS - 1);
    // A period of the draw is not over for anybody yet.
    const side = (clients: number, orders: Partial<OrderCounts>) => ({
      clients,
      young: clients,
      paidShare: null,
      orders: { paid: 0, unpaid: 0, turnedAway: 0, unknown: 0, ...orders },
    });
    // An order from before the draw counts for nobody. Who did not pay waits before the next one.
    for (const place of [sources.archive, sources.journal]) {
      const found = (await reportOn(place, rules)).rules.find(
        ({ name }) => name === 'blocked-by-unpaid-chain',
      );
      expect(found?.holdout).to.deep.equal({
        share: 0.5,
        ...side(paid + unpaid, { paid: 2 * paid, unpaid, turnedAway: unpaid }),
        others: side(others, { turnedAway: 2 * others }),
      });
      expect(found?.net).to.equal(null);
    }
  });
});

const RULES = 71;

const judgement = (...matched: readonly number[]) => {
  const flags = Array.from({ length: RULES }, (_, rule) => matched.includes(rule));
  return { matched: flags, decided: flags, decisive: flags };
};

const JUDGED = new Map([
  ['0', judgement(0, 70)],
  ['1', judgement(69)],
]);

describe('the passes over orders', () => {
  it('give the same in one pass as in many, also for more rules than a number has bits', async () => {
    const sources = await recordedEvidence(liveBusyMonth);
    const passed = (decisionsMax: number) =>
      withEvidence(all(sources.archive), async (evidence) => {
        const { duck, span } = evidence;
        await duck.run("CREATE TEMP TABLE places AS SELECT 1 AS place, 'EUR' AS currency, '' AS shown");
        await createJudgementsTable(duck, JUDGED);
        const counted: number[] = [];
        const parts = {
          cell: '(fact_paidCount > 0)::UBIGINT',
          byDevice: true,
          place: { sql: '1', join: '' },
        };
        await createOrderTables(
          evidence,
          { ...parts, onProgress: (done) => counted.push(done) },
          decisionsMax,
        );
        expect(counted.at(-1)).to.equal(span.decisions);
        const byDevice = Array.from({ length: RULES }, (_, rule) => rule === 70);
        const tallies = await sumOrderTablesByRule(duck, byDevice);
        return {
          passes: counted.length,
          found: Array.from({ length: RULES + 1 }, (_, rule) => tallies(rule, '')),
        };
      });
    const [one, many] = [await passed(1_000_000), await passed(40)];
    expect([one.passes, many.passes > 5]).to.deep.equal([1, true]);
    expect(many.found).to.deep.equal(one.found);
    const matching = one.found.flatMap(({ matched, orders }, rule) =>
      matched > 0 && orders.paid > 0 ? [rule] : [],
    );
    expect(matching).to.deep.equal([0, 69, 70, RULES]);
  });
});

describe('the cells of facts', () => {
  it('tell decisions apart exactly where some comparison of the rules does', async () => {
    const place = new Workplace();
    place.draft('p2.v14', {
      file: 'bot-signals.yaml',
      from: '        - { fact: jsOk, operator: equal, value: false }',
      to: '        - { fact: jsOk, operator: known, value: true }\n        - { fact: secondsSinceLastPaid, operator: known, value: false }\n        - any: [{ fact: amount, operator: multipleOf, value: 10 }, { fact: amount, operator: notMultipleOf, value: 0.3 }]',
    });
    const rules = place.rules('p2.v14');
    place.end();
    const comparisons = listComparisons(listDecidingConditions(rules));
    const sources = await recordedEvidence(liveBusyMonth);
    await withEvidence(all(sources.archive), async ({ duck }) => {
      const { sql, cells } = await readFactCells(duck, rules);
      const answersTo = (readFact: (label: string) => unknown) => {
        const values = rules.facts.map(({ label }) => {
          const value = readFact(label);
          if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
          return Number(value);
        });
        return comparisons.map((comparison) => createMatcher(comparison)(values)).join();
      };
      const byCell = new Map(
        cells.map(({ cell, recorded }) => [cell, answersTo((label) => recorded.facts[label])]),
      );
      expect(new Set(byCell.values()).size).to.be.above(20);
      // What was not known is no reason why a decision cannot be made again.
      const judge = createJudge(rules);
      expect(cells.filter((cell) => 'lacking' in judge(cell))).to.deep.equal([]);
      const decisions = await duck.rows(`SELECT *, ${sql} AS cell FROM decisions`);
      for (const row of decisions)
        expect(answersTo((label) => row[toColumnOfFactKey(label)])).to.equal(byCell.get(String(row['cell'])));
    });
  });
});

const SOUND = edited({});
const CHAIN = /\n {2}- name: blocked-by-unpaid-chain\n[\s\S]*?BLOCKED \} \}\n/;
const without = (text: string) => text.replace(CHAIN, '');
const WITHOUT = edited({ 'groups.yaml': without });

describe('two versions that a trial compares', () => {
  it('differ in one rule alone where the other lacks it, wherever the rest is written', () => {
    expect(findOnlyMissingRulePath(SOUND, WITHOUT)).to.equal('groups/blocked-by-unpaid-chain');
    expect(findOnlyMissingRulePath(WITHOUT, SOUND)).to.equal(null);
  });

  it('differ in more where a rule is another, two are gone, or the ladder is longer', () => {
    const stricter = edited({
      'groups.yaml': swap('greaterThanInclusive, value: 4 }', 'greaterThanInclusive, value: 3 }'),
    });
    const ladder = { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 5m, 40m]') };
    for (const other of [SOUND, stricter, edited(ladder), edited({ ...ladder, 'groups.yaml': without })])
      expect(findOnlyMissingRulePath(SOUND, other)).to.equal(null);
  });
});

describe('the net of a rule by a trial', () => {
  const figures = { value: 2, low: -1, high: 4, clientsToGo: null };
  const nothing = evaluateExperiment(
    { from: null, to: null, decisions: 0, gaps: [], silences: [], torn: false },
    null,
    [],
    [],
  );
  const none = { young: 0, capped: 0, requisites: 0, waits: 0, lostAfterWait: 0, waitsEnded: 0 };
  const arm = { ...none, share: 0.5, matureShare: 1, money: {} };
  const orders = { paid: 0, unpaid: 0, turnedAway: 0, unknown: 0 };
  const found: ExperimentReport = {
    ...nothing,
    version: 'p2.v10',
    objective: { ...DEFAULT_OBJECTIVE, currency: 'EUR' },
    arms: [
      { ...arm, orders, version: 'p2.v10', clients: 100 },
      { ...arm, orders, version: 'p2.v11', clients: 10 },
    ],
    differences: ['value', 'paid'].map((metric) => ({ version: 'p2.v11', metric, ...figures })),
  };

  const unknown = { amount: null, reversals: null, requisites: null };

  it('is what the other arm did more, for each client of the arm that has the rule', () => {
    expect(computeRuleEffectOfTrial(found, 'p2.v11', true)).to.deep.equal({
      by: 'trial',
      currency: 'EUR',
      clients: 100,
      ...unknown,
      payments: { value: 200, low: -100, high: 400 },
      value: { value: -200, low: -400, high: 100 },
    });
    expect(computeRuleEffectOfTrial(found, 'p2.v11', false)).to.deep.equal({
      by: 'trial',
      currency: 'EUR',
      clients: 10,
      ...unknown,
      payments: { value: -20, low: -40, high: 10 },
      value: { value: 20, low: -10, high: 40 },
    });
  });

  it('is not known where arms cannot be compared, nor without a value; harm is no obstacle', () => {
    const vetoed = (veto: 'sharedDevices' | 'outcomesMissing' | 'money', version: string | null) =>
      computeRuleEffectOfTrial({ ...found, vetoes: [{ veto, version, why: '' }] }, 'p2.v11', true);
    expect(vetoed('sharedDevices', null)).to.equal(null);
    expect(vetoed('outcomesMissing', 'p2.v11')).to.equal(null);
    expect(vetoed('outcomesMissing', 'p2.v12')).not.to.equal(null);
    expect(vetoed('money', 'p2.v11')).not.to.equal(null);
    expect(computeRuleEffectOfTrial({ ...found, differences: [] }, 'p2.v11', true)).to.equal(null);
  });
});
