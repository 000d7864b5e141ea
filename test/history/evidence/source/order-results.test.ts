import { expect } from 'chai';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { edited } from '../../../rule-fixtures/sound-rules.ts';
import { all, type RecordedEvidence, servedEvidence } from './recorded-evidence.ts';

/** Refuses a requisite for 13, and shows one for any other amount. */
const RULES = edited({
  'verdicts.yaml': () => `
rules:
  - name: unlucky
    priority: 2
    conditions: { all: [{ fact: amount, operator: equal, value: 13 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "no" } }
otherwise: { verdict: GET_NEW, reason: "ok" }
`,
});

const PAID = { outcome: 'PAID' };
const UNPAID = { outcome: 'UNPAID' };
const REVERSED = { outcome: 'UNPAID', cause: 'REVERSED' };
const at = (occurredAt: string) => ({ occurredAt: `2026-01-01T00:00:${occurredAt}Z` });

describe('the result of an order in evidence', () => {
  let recorded: RecordedEvidence;

  before(async () => {
    recorded = await servedEvidence(RULES, async (shop) => {
      const ask = (orderRef: string, amountRequested = '100.00') =>
        shop.verdict({ clientIdKey: orderRef, orderRef, amountRequested });
      const tell = (orderRef: string, ...reports: readonly object[]) =>
        reports.reduce<Promise<unknown>>(
          (before, one) =>
            before.then(() =>
              shop.ask('POST', 'outcomes', JSON.stringify({ clientIdKey: orderRef, orderRef, ...one })),
            ),
          Promise.resolve(),
        );
      await ask('opened', '13');
      await tell('opened', UNPAID);
      await ask('opened');
      await ask('failed after payment');
      await tell('failed after payment', PAID, UNPAID);
      await ask('reversed first');
      await tell('reversed first', { ...REVERSED, ...at('09') }, { ...PAID, ...at('05') });
      await ask('reversed last');
      await tell('reversed last', { ...PAID, ...at('05') }, { ...REVERSED, ...at('09') });
      await ask('refunded in part');
      await tell('refunded in part', { ...PAID, amount: '80.00' }, { ...REVERSED, amount: '30.00' });
      await ask('waits for its payment');
      await tell('waits for its payment', { ...REVERSED, amount: '30.00' });
    });
  });

  const ordersOf = (kind: keyof RecordedEvidence) =>
    withEvidence(all(recorded[kind]), ({ duck }) =>
      duck.rows('SELECT order_ref, status, cause, reversed, amount FROM orders ORDER BY order_ref'),
    );

  for (const kind of ['archive', 'journal'] as const)
    it(`is what the payer's state has, from the ${kind}`, async () => {
      expect((await ordersOf(kind)).map((row) => Object.values(row))).to.deep.equal([
        ['failed after payment', 'PAID', 'PAID', false, 100],
        ['opened', 'UNKNOWN', null, false, 100],
        ['refunded in part', 'PAID', 'PAID', false, 50],
        ['reversed first', 'UNPAID', 'REVERSED', true, 100],
        ['reversed last', 'UNPAID', 'REVERSED', true, 100],
        ['waits for its payment', 'TECHNICAL', 'TECHNICAL', false, 100],
      ]);
    });

  it('is the same in the figures of the report, whatever was reported first', async () => {
    const { orders, reversals } = await withEvidence(all(recorded.archive), (evidence) =>
      reportRuleWorth(evidence, { rules: RULES, by: null }),
    );
    expect(orders).to.deep.equal({ paid: 2, unpaid: 2, turnedAway: 0, unknown: 1 });
    expect(reversals.seen).to.equal(2);
    expect(reversals.causes).to.deep.include({ cause: 'REVERSED', currency: 'EUR', orders: 2, amount: 200 });
  });
});
