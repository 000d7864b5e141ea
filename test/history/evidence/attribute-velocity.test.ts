import { expect } from 'chai';
import { runBacktest } from '#history/evidence/backtest/backtest.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { declaring } from '../../rule-fixtures/declared-attributes.ts';
import { edited, edits, swap } from '../../rule-fixtures/sound-rules.ts';
import { all, type RecordedEvidence, servedEvidence } from './source/recorded-evidence.ts';

/** Rules that refuse a card that this many payers used within an hour, and a payer with this many cards. */
function refusing(clients: number, cards: number) {
  const rule = (name: string, priority: number, fact: string, limit: number) => `
  - name: ${name}
    priority: ${priority}
    conditions: { all: [{ fact: ${fact}, params: { name: Card, window: 1h }, operator: greaterThanInclusive, value: ${limit} }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "{${fact}(Card 1h)}" } }
`;
  const rules = `${rule('shared-card', 902, 'clientsOnAttribute', clients)}${rule('cards', 901, 'distinctAttribute', cards)}`;
  return edited({
    'ruleset.yaml': declaring('{ Card: { type: text, pseudonym: true } }'),
    'verdicts.yaml': edits(swap('\nrules:\n', `\nrules:${rules}`)),
  });
}

const RULES = refusing(3, 3);

describe('evidence on the velocity of attributes', () => {
  let sources: RecordedEvidence;

  before(async () => {
    sources = await servedEvidence(RULES, async (shop) => {
      let orders = 0;
      const ask = (clientIdKey: string, Card: string) =>
        shop.verdict({ clientIdKey, orderRef: `order-${++orders}`, attributes: { Card } });
      for (const payer of ['ann', 'bob', 'cid']) await ask(payer, 'shared');
      for (const card of ['d-1', 'd-2', 'd-3']) await ask('dan', card);
      await shop.score({ clientIdKey: 'eve', attributes: { Card: 'shared' } });
      await shop.verdict({ clientIdKey: 'eve', orderRef: 'order-of-eve' });
    });
  });

  for (const kind of ['archive', 'journal'] as const)
    it(`is replayed as it was counted, and by rules with other limits, from ${kind}`, async () => {
      const tried = [
        { rules: RULES, values: {} },
        { rules: refusing(2, 2), values: {} },
      ] as const;
      const found = await withEvidence(all(sources[kind]), (evidence) =>
        runBacktest(evidence, { tried, against: null, rulesOf: () => RULES }),
      );
      expect([found.compared, found.reproduced]).to.deep.equal([7, 7]);
      // The second payer with the card, and the second card of a payer.
      expect(found.candidates.map(({ changed }) => changed)).to.deep.equal([0, 2]);
    });
});
