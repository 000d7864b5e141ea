import { expect } from 'chai';
import type { Static } from '#base/json-schema.ts';
import type { Decision } from '#decision/decision.ts';
import type { Exploration } from '#history/archive/read/exploration.ts';
import type { FoundDecisions } from '#history/archive/read/found-decisions.ts';
import type { Explanation } from '#workbench/authoring/explain/explain.ts';
import type { DecisionListSchema } from '#workbench/platform/decisions.ts';
import { serviceOfSuite } from '../../../service/running-service.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';

type DecisionList = Static<typeof DecisionListSchema>;

describeOnStores('the search for decisions', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));
  /** All of the shop's decisions, newest first. */
  let all: readonly Decision[];
  before(async () => {
    for (let ask = 0; ask < 4; ask++) {
      for (const clientIdKey of ['ann', 'bob', 'cleo'].slice(0, 3 - (ask % 2))) {
        await shop.verdict({ clientIdKey, orderRef: `order-${clientIdKey}` });
        service.clock.moveSeconds(1);
      }
    }
    all = await shop.decisions();
  });

  const find = async (query: Readonly<Record<string, string>>) =>
    (await shop.ask<FoundDecisions>('GET', `decisions?${new URLSearchParams(query)}`)).body;
  const ids = (decisions: readonly Decision[]) => decisions.map(({ decisionId }) => decisionId);

  it('finds those with a verdict, a rule or a version, and says that all were searched', async () => {
    expect(all.length).to.equal(10);
    const lookedAt = { decisions: 10, backTo: all.at(-1)?.at, complete: true };
    for (const [query, fits] of [
      [{ verdict: 'GET_NEW' }, ({ verdict }: Decision) => verdict === 'GET_NEW'],
      [{ rule: 'asked-too-early' }, ({ rule }: Decision) => rule === 'asked-too-early'],
      [{ ruleVersion: 'p2.v10' }, () => true],
      [{ ruleVersion: 'p2.v9' }, () => false],
      [{ verdict: 'WAIT', rule: 'otherwise' }, () => false],
      [{ clientGroup: 'NEW' }, ({ clientGroup }: Decision) => clientGroup === 'NEW'],
      [{ clientGroup: 'TRUSTED' }, () => false],
      [{ signal: 'honeypot' }, () => false],
      [{ amountMin: '1', amountMax: '1000000' }, () => true],
      [{ amountMin: '1000000.01' }, () => false],
    ] as const) {
      const found = await find(query);
      expect(ids(found.decisions), JSON.stringify(query)).to.deep.equal(ids(all.filter(fits)));
      expect([found.lookedAt, found.next]).to.deep.equal([lookedAt, null]);
    }
  });

  it('finds those since a time and before one, and says that there are no more', async () => {
    const { decisions, lookedAt } = await find({ from: new Date(all[3]?.at ?? 0).toISOString() });
    expect(ids(decisions)).to.deep.equal(ids(all.slice(0, 4)));
    expect(lookedAt.complete).to.equal(true);
    expect(ids((await find({ to: String(all[4]?.at) })).decisions)).to.deep.equal(ids(all.slice(5)));
  });

  it('ends at the limit, and says how far back it went', async () => {
    const waits = all.filter(({ verdict }) => verdict === 'WAIT');
    const { decisions, lookedAt } = await find({ verdict: 'WAIT', limit: '2' });
    expect(ids(decisions)).to.deep.equal(ids(waits.slice(0, 2)));
    expect(lookedAt).to.include({ backTo: waits[1]?.at, complete: false });
    expect(lookedAt.decisions).to.equal(all.filter(({ at }) => at >= (waits[1]?.at ?? 0)).length);
  });

  it('applies to an order and to a client as well', async () => {
    const ann = all.filter(({ clientIdKey }) => clientIdKey === 'ann');
    const waits = ann.filter(({ verdict }) => verdict === 'WAIT');
    for (const whose of [{ clientIdKey: 'ann' }, { orderRef: 'order-ann' }]) {
      expect(ids((await find({ ...whose, verdict: 'WAIT' })).decisions)).to.deep.equal(ids(waits));
      const one = await find({ ...whose, verdict: 'GET_NEW', limit: '1' });
      expect(ids(one.decisions)).to.deep.equal(ids(ann.slice(-1)));
      expect(one.lookedAt).to.deep.equal({ decisions: ann.length, backTo: ann.at(-1)?.at, complete: true });
    }
  });

  it('gives on demand the outcomes of the listed orders, each once', async () => {
    const occurredAt = service.clock.now();
    await shop.outcome('ann', 'order-ann', 'UNPAID', { cause: 'EXPIRED', occurredAt });
    // The same order reference of another client is another order.
    await shop.outcome('dora', 'order-bob', 'PAID');
    const asked = await shop.ask<DecisionList>('GET', 'decisions?include=outcomes');
    expect(asked.body.outcomes).to.deep.equal([
      { clientIdKey: 'ann', orderRef: 'order-ann', outcome: 'UNPAID', cause: 'EXPIRED', occurredAt },
    ]);
    expect((await shop.ask<DecisionList>('GET', 'decisions')).body.outcomes).to.equal(null);
  });

  it('needs valid parameters', async () => {
    for (const [query, detail] of [
      [
        { ruleVersion: 'v10' },
        'The parameter ruleVersion must be p<number>.v<number>, like p2.v10; a draft may add one hyphen and one word of at most 16 small letters and digits, like p2.v11-night.',
      ],
      ...['-1', '1E+3', '9'.repeat(16), `1.${'9'.repeat(10)}`].map(
        (amountMin): [{ amountMin: string }, string] => [
          { amountMin },
          'The parameter amountMin must be a decimal number like 25 or 25.00, with at most 15 digits and 9 decimals.',
        ],
      ),
      [
        { outcome: 'PAID', orderRef: 'a' },
        'The parameter outcome goes with neither orderRef nor clientIdKey.',
      ],
    ] as const) {
      const { status, body } = await shop.ask('GET', `decisions?${new URLSearchParams(query)}`);
      expect(status).to.equal(400);
      expect(body.detail).to.equal(detail);
    }
  });

  it('finds of an order those of one client, up to the limit', async () => {
    for (const clientIdKey of ['dora', 'emil', 'emil'])
      await shop.verdict({ clientIdKey, orderRef: 'shared order' });
    const shared = { orderRef: 'shared order', limit: '1' };
    const of = async (clientIdKey: string) =>
      (await find({ ...shared, clientIdKey })).decisions.map((one) => one.clientIdKey);
    expect([await of('dora'), await of('emil'), await of('fred')]).to.deep.equal([['dora'], ['emil'], []]);
  });
});

describe('GET /v1/platform/decisions/{decisionId}/explanation', () => {
  const { shop } = serviceOfSuite();

  it('explains a decision by the rules and the values they saw, and reproduces it', async () => {
    const { headers } = await shop.verdict();
    const decisionId = headers.get('X-Decision-Id');
    const { status, body } = await shop.ask<Explanation>('GET', `decisions/${decisionId}/explanation`);
    expect(status).to.equal(200);
    expect(body).to.include({ reproduced: true });
    expect(body.decision).to.include({ decisionId, verdict: 'GET_NEW' });
    expect(body.rules?.verdicts).to.include({ verdict: 'GET_NEW', rule: 'otherwise' });
    expect(body.rules?.verdicts.rules[0]?.condition.at.file).to.equal('verdicts.yaml');
  });
});

describeOnStores('the exploration of the last hour, on a node without an archive', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  async function lastHour(by: string) {
    const path = `explore?span=hour&by=${by}`;
    const { exploration } = (await shop.ask<{ exploration: Exploration }>('GET', path)).body;
    const sums = exploration.values.map(({ value, decisions }) => [value, sum(decisions)]);
    return { slots: exploration.slots.length, all: sum(exploration.all), values: Object.fromEntries(sums) };
  }

  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

  it('has sixty whole minutes, and no older decision', async () => {
    await shop.verdict({ clientIdKey: 'ann', orderRef: 'too old' });
    service.clock.moveSeconds(25 * 3600);
    for (const orderRef of ['first', 'second', 'third']) await shop.verdict({ clientIdKey: 'ann', orderRef });
    expect(await lastHour('verdict')).to.deep.equal({ slots: 60, all: 3, values: { GET_NEW: 1, WAIT: 2 } });
    expect((await lastHour('waitLevel')).values).to.deep.equal({ 1: 1, 2: 1 });
    expect((await lastHour('bot')).values).to.deep.equal({ 'no bot': 3 });
  });

  it('is worked out once for all who ask within ten seconds', async () => {
    service.clock.moveSeconds(10);
    const before = await lastHour('group');
    await shop.verdict({ clientIdKey: 'bob', orderRef: 'newest' });
    expect(await lastHour('group')).to.deep.equal(before);
    service.clock.moveSeconds(10);
    expect((await lastHour('group')).all).to.equal(before.all + 1);
  });
});
