import { expect } from 'chai';
import { declaring } from '../../rule-fixtures/declared-attributes.ts';
import { edited, edits, swap } from '../../rule-fixtures/sound-rules.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const HOUR_SECONDS = 3600;

const RULES = edited({
  'ruleset.yaml': declaring('{ card: { type: text, pseudonym: true } }'),
  'verdicts.yaml': edits(
    swap(
      '\nrules:\n',
      `
rules:
  - name: shared-card
    priority: 902
    conditions: { all: [{ fact: clientsOnAttribute, params: { name: card, window: 1h }, operator: greaterThan, value: 1 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "{clientsOnAttribute(card 1h)} payers have the card." } }
  - name: third-card
    priority: 901
    conditions: { all: [{ fact: distinctAttribute, params: { name: card, window: 1h }, operator: greaterThan, value: 2 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "{distinctAttribute(card 1h)} cards within an hour, {distinctAttribute(card 7d)} within a week." } }
`,
    ),
  ),
});

interface Recorded {
  readonly decisions: readonly {
    readonly reason: string;
    readonly facts: Readonly<Record<string, unknown>>;
  }[];
}

describeOnStores('the velocity of an attribute', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store(), rules: RULES }));
  let orders = 0;

  const ask = async (clientIdKey: string, card?: unknown) => {
    const attributes = card === undefined ? {} : { attributes: { card } };
    const { body } = await shop.verdict({ clientIdKey, orderRef: `order-${++orders}`, ...attributes });
    return body.verdict;
  };

  const newest = async (clientIdKey: string) => {
    const { body } = await shop.ask<Recorded>('GET', `client?clientIdKey=${clientIdKey}`);
    const { reason, facts } = body.decisions[0] ?? { reason: '', facts: {} };
    const counts = [
      'clientsOnAttribute(card 1h)',
      'distinctAttribute(card 1h)',
      'distinctAttribute(card 7d)',
    ];
    return { reason, counts: counts.map((label) => facts[label]) };
  };

  it('counts the payers with one card, within the window alone', async () => {
    expect(await ask('ann', '4242')).to.equal('GET_NEW');
    expect(await ask('ann', '4242'), 'the same payer again').not.to.equal('BLOCK');
    expect(await ask('bob', '4242')).to.equal('BLOCK');
    expect((await newest('bob')).reason).to.equal('2 payers have the card.');
    service.clock.moveSeconds(HOUR_SECONDS);
    expect(await ask('cid', '4242')).to.equal('GET_NEW');
    expect(await ask('dan', '4242'), 'one payer is still within the hour').to.equal('BLOCK');
    expect((await newest('dan')).reason).to.equal('2 payers have the card.');
  });

  it('counts the cards of one payer, of this request too, over each window', async () => {
    await ask('eve', 'e-1');
    service.clock.moveSeconds(HOUR_SECONDS);
    await ask('eve', 'e-2');
    await ask('eve', 'e-3');
    expect((await newest('eve')).counts).to.deep.equal([1, 2, 3]);
    await ask('eve', 'e-3');
    expect((await newest('eve')).counts, 'a known one').to.deep.equal([1, 2, 3]);
    expect(await ask('eve', 'e-4')).to.equal('BLOCK');
    expect((await newest('eve')).reason).to.equal('3 cards within an hour, 4 within a week.');
  });

  it('does not know who has a card that nobody says, and still counts those of before', async () => {
    await ask('fay');
    expect((await newest('fay')).counts).to.deep.equal([null, 0, 0]);
    await ask('fay', 'f-1');
    await ask('fay', 4242);
    expect((await newest('fay')).counts, 'another type').to.deep.equal([null, 1, 1]);
  });

  it('counts a card that a score said, of the verdict that follows', async () => {
    await shop.score({ clientIdKey: 'gil', attributes: { card: 'g-1' } });
    await shop.score({ clientIdKey: 'hal', attributes: { card: 'g-1' } });
    expect(await ask('gil'), 'scores are not counted').to.equal('GET_NEW');
    expect(await ask('hal')).to.equal('BLOCK');
  });

  it('is forgotten with the payer', async () => {
    await ask('ida', 'i-1');
    await shop.ask('DELETE', 'client?clientIdKey=ida');
    expect(await ask('joe', 'i-1')).to.equal('GET_NEW');
  });
});
