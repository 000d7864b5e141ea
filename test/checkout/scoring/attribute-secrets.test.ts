import { expect } from 'chai';
import fc from 'fast-check';
import type { Decision } from '#decision/decision.ts';
import { declaring } from '../../rule-fixtures/declared-attributes.ts';
import { edited, whole } from '../../rule-fixtures/sound-rules.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { type RunningService, type ServiceOptions, startService } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const SECRETS = {
  before: { signalSecret: 'the first secret of these tests, long' },
  during: {
    signalSecret: 'the second secret of these tests, long',
    signalSecretPrevious: 'the first secret of these tests, long',
  },
  after: { signalSecret: 'the second secret of these tests, long' },
} as const;

type Stage = keyof typeof SECRETS;

const FLAGS = `
rules:
  - name: shared-card
    conditions: { all: [{ fact: clientsOnAttribute, params: { name: card, window: 7d }, operator: greaterThan, value: 1 }] }
    event: { type: flag, params: { flag: shared-card } }
  - name: second-card
    conditions:
      any:
        - { fact: distinctAttribute, params: { name: card, window: 1h }, operator: greaterThan, value: 1 }
        - { fact: distinctAttribute, params: { name: card, window: 7d }, operator: greaterThan, value: 1 }
    event: { type: flag, params: { flag: second-card } }
  - name: other-payout
    conditions: { all: [{ fact: attribute, params: { name: payout }, operator: notEqual, value: { fact: attribute, params: { name: card } } }] }
    event: { type: flag, params: { flag: other-payout } }
  - name: same-payout
    conditions: { all: [{ fact: attribute, params: { name: payout }, operator: equal, value: { fact: attribute, params: { name: card } } }] }
    event: { type: flag, params: { flag: same-payout } }
  - name: named-payout
    conditions: { all: [{ fact: attribute, params: { name: payout }, operator: equal, value: named }] }
    event: { type: flag, params: { flag: named-payout } }
  - name: stolen
    conditions: { all: [{ fact: listed, params: { list: stolen }, operator: equal, value: true }] }
    event: { type: flag, params: { flag: stolen } }
  - name: known-wallet
    conditions: { all: [{ fact: listed, params: { list: wallets }, operator: equal, value: true }] }
    event: { type: flag, params: { flag: known-wallet } }
`;

const RULES = edited({
  'ruleset.yaml': declaring(
    '{ card: { type: text, pseudonym: true }, payout: { type: text, pseudonym: true }, wallet: { type: text } }',
  ),
  'flags.yaml': whole(FLAGS),
});

const HOUR_SECONDS = 3600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** A platform that is asked through nodes with the secrets of each stage of a change. */
class ChangingFleet {
  readonly clock = new MovableClock();
  readonly #options: ServiceOptions;
  readonly #nodes = new Map<Stage, RunningService>();
  #key = '';
  #orders = 0;

  constructor(options: ServiceOptions) {
    this.#options = { ...options, clock: this.clock, rules: RULES };
  }

  /** Nodes are started where they are first asked. */
  async at(stage: Stage): Promise<Tenant> {
    const known = this.#nodes.get(stage);
    const node = known ?? (await startService({ ...this.#options, ...SECRETS[stage] }));
    this.#nodes.set(stage, node);
    if (this.#key === '') this.#key = (await node.tenant()).key;
    return new Tenant(node.application, this.#key);
  }

  async score(stage: Stage, clientIdKey: string, attributes: object): Promise<void> {
    const shop = await this.at(stage);
    expect((await shop.score({ clientIdKey, attributes })).status).to.equal(200);
  }

  async verdict(stage: Stage, clientIdKey: string, attributes: object = {}): Promise<Decision> {
    const shop = await this.at(stage);
    const orderRef = `order-${++this.#orders}`;
    expect((await shop.verdict({ clientIdKey, orderRef, attributes })).status).to.equal(200);
    const [decision] = await shop.decisions({ clientIdKey, orderRef });
    return decision ?? expect.fail('the verdict is recorded');
  }

  /** Ends the nodes and the key, so that the next ones begin with what the store has. */
  async stop(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => node.stop()));
    this.#nodes.clear();
    this.#key = '';
  }
}

/** What a decision tells, without the pseudonyms themselves. */
function counted({ verdict, flags = [], facts }: Decision) {
  const known = Object.entries(facts).map(([label, value]) => {
    return [label, label.startsWith('attribute(') ? value !== null : value];
  });
  return { verdict, flags, facts: Object.fromEntries(known) };
}

function countsOf({ facts, flags = [] }: Decision) {
  return {
    clients: facts['clientsOnAttribute(card 7d)'],
    distinct: facts['distinctAttribute(card 7d)'],
    flags,
  };
}

interface Step {
  readonly payer: string;
  readonly isScore: boolean;
  readonly card: string | null;
  readonly payout: string | null;
  readonly waitSeconds: number;
}

const value = fc.constantFrom('1', '1', '2', null);

const step: fc.Arbitrary<Step> = fc.record({
  payer: fc.constantFrom('ann', 'ann', 'bob'),
  isScore: fc.boolean(),
  card: value,
  payout: fc.constantFrom('1', '1', '2', 'named', null),
  waitSeconds: fc.constantFrom(60, 60, HOUR_SECONDS, 12 * HOUR_SECONDS, 2 * DAY_SECONDS),
});

describeOnStores('attributes while the secret of the HMACs changes', (store) => {
  let fleet: ChangingFleet;
  before(() => {
    fleet = new ChangingFleet({ store: store() });
  });
  after(() => fleet.stop());

  it('count the values of a payer, and the payers with a value, as if the secret had stayed', async () => {
    await fleet.verdict('before', 'ann', { card: 'a-1' });
    await fleet.verdict('before', 'bob', { card: 'a-1' });
    expect(countsOf(await fleet.verdict('during', 'ann', { card: 'a-1' }))).to.deep.equal({
      clients: 2,
      distinct: 1,
      flags: ['shared-card'],
    });
    expect(countsOf(await fleet.verdict('during', 'cid', { card: 'a-1' })).clients).to.equal(3);
    const second = countsOf(await fleet.verdict('during', 'ann', { card: 'a-2' }));
    expect(second).to.deep.equal({ clients: 1, distinct: 2, flags: ['second-card'] });
    expect(
      countsOf(await fleet.verdict('before', 'dan', { card: 'a-1' })).clients,
      'a node of before',
    ).to.equal(4);
    expect(countsOf(await fleet.verdict('during', 'ann', { card: 'a-1' })).clients).to.equal(4);
    expect(countsOf(await fleet.verdict('after', 'ann', { card: 'a-1' })), 'seen since').to.deep.equal({
      clients: 2,
      distinct: 2,
      flags: ['shared-card', 'second-card'],
    });
    for (const payer of ['eli', 'fin', 'gus']) await fleet.verdict('after', payer, { card: 'a-1' });
    const joined = await fleet.verdict('during', 'ann', { card: 'a-1' });
    expect(countsOf(joined).clients, 'more have it under the new secret').to.equal(5);
  });

  it('compare what a score said before with what a verdict says after, and the other way round', async () => {
    await fleet.score('before', 'eve', { card: 'e-1' });
    const flagsOf = async (stage: Stage, clientIdKey: string, attributes?: object) =>
      (await fleet.verdict(stage, clientIdKey, attributes)).flags ?? [];
    expect(await flagsOf('during', 'eve', { payout: 'e-1' })).to.deep.equal(['same-payout']);
    expect(await flagsOf('during', 'eve', { payout: 'e-2' })).to.deep.equal(['other-payout']);
    expect(await flagsOf('during', 'eve'), 'one alone').to.deep.equal([]);
    await fleet.score('before', 'fay', { card: 'f-1' });
    await fleet.score('during', 'fay', { payout: 'f-1' });
    expect(await flagsOf('during', 'fay'), 'both of scores').to.deep.equal(['same-payout']);
    await fleet.score('during', 'gil', { card: 'g-1' });
    expect(await flagsOf('before', 'gil', { payout: 'g-1' }), 'a node of before').to.deep.equal([
      'same-payout',
    ]);
    expect(await flagsOf('before', 'gil', { payout: 'g-2' })).to.deep.equal(['other-payout']);
    expect(await flagsOf('after', 'gil', { payout: 'g-1' })).to.deep.equal(['same-payout']);
  });

  it('are not known where they were said under a secret that the node does not have', async () => {
    await fleet.score('before', 'hal', { card: 'h-1' });
    const after = await fleet.verdict('after', 'hal', { payout: 'h-1' });
    expect(after.flags ?? []).to.deep.equal([]);
    expect(after.facts['attribute(card)']).to.equal(null);
    expect(after.facts['clientsOnAttribute(card 7d)']).to.equal(null);
    const during = await fleet.verdict('during', 'hal', { payout: 'h-1' });
    expect(during.flags, 'nothing is lost for nodes that have it').to.deep.equal(['same-payout']);
    await fleet.score('after', 'ida', { card: 'i-1' });
    expect((await fleet.verdict('before', 'ida', { payout: 'i-2' })).flags ?? []).to.deep.equal([]);
  });

  it('stand on the shared lists where they were put before, until they are put again', async () => {
    const shop = await fleet.at('before');
    for (const [list, attribute] of [
      ['stolen', 'card'],
      ['wallets', 'wallet'],
    ]) {
      await shop.ask('PUT', `lists/${list}`, { kind: 'attribute', attribute });
      await shop.ask('PUT', `lists/${list}/entries?value=l-1`, { reason: 'of a ring' });
    }
    await fleet.score('before', 'joe', { card: 'l-1' });
    await fleet.stop();
    const flagsOf = async (stage: Stage, clientIdKey: string, attributes?: object) =>
      (await fleet.verdict(stage, clientIdKey, attributes)).flags ?? [];
    expect(await flagsOf('during', 'kim', { card: 'l-1', wallet: 'l-1' })).to.deep.equal([
      'stolen',
      'known-wallet',
    ]);
    expect(await flagsOf('during', 'kim', { card: 'l-2', wallet: 'l-2' })).not.to.include.members(['stolen']);
    expect(await flagsOf('during', 'joe'), 'said before').to.include('stolen');
    await fleet.score('during', 'lea', { card: 'l-1' });
    expect(await flagsOf('during', 'lea'), 'said by a score after it').to.include('stolen');
    expect(await flagsOf('after', 'mia', { card: 'l-1', wallet: 'l-1' })).not.to.include('stolen');
    await (await fleet.at('during')).ask('PUT', 'lists/stolen/entries?value=l-1', { reason: 'of a ring' });
    await fleet.stop();
    expect(await flagsOf('after', 'nat', { card: 'l-1', wallet: 'l-1' })).to.include('stolen');
  });

  it('are forgotten with their payer under both secrets', async () => {
    await fleet.verdict('before', 'ola', { card: 'o-1' });
    await fleet.verdict('during', 'ola', { card: 'o-1' });
    await fleet.score('during', 'ola', { card: 'o-2' });
    const shop = await fleet.at('during');
    const exported = await shop.ask<{ state: object }>('GET', 'client/export?clientIdKey=ola');
    expect(JSON.stringify(exported.body.state)).to.match(
      /"value":"hmac:[\w-]{22}","formerValue":"hmac:[\w-]{22}"/,
    );
    expect((await shop.ask('DELETE', 'client?clientIdKey=ola')).status).to.equal(204);
    for (const stage of ['before', 'during', 'after'] as const)
      for (const card of ['o-1', 'o-2']) {
        const other = `pat-${stage}-${card}`;
        expect(countsOf(await fleet.verdict(stage, other, { card })).clients, other).to.equal(1);
        await (await fleet.at(stage)).ask('DELETE', `client?clientIdKey=${other}`);
      }
  });

  it('go on for every life as if the secret had stayed', async () => {
    let lives = 0;
    const steps = fc.array(step, { minLength: 1, maxLength: 6 });
    const live = async (name: string, stage: Stage, { payer, isScore, card, payout }: Step) => {
      const own = (text: string | null) =>
        text === null ? undefined : text === 'named' ? text : `${name}-${text}`;
      const attributes = { card: own(card), payout: own(payout) };
      if (isScore) return fleet.score(stage, `${name}-${payer}`, attributes);
      return counted(await fleet.verdict(stage, `${name}-${payer}`, attributes));
    };
    await fc.assert(
      fc.asyncProperty(steps, steps, steps, async (before, during, after) => {
        const number = ++lives;
        // Lives take weeks, and a key ends after a year.
        if (number % 5 === 0) await fleet.stop();
        const all = [
          ...before.map((one) => ['before', one] as const),
          ...during.map((one) => ['during', one] as const),
          [
            'during',
            { payer: 'ann', isScore: true, card: null, payout: null, waitSeconds: 7 * DAY_SECONDS },
          ] as const,
          ...after.map((one) => ['after', one] as const),
        ];
        for (const [stage, one] of all) {
          const changed = await live(`changed-${number}`, stage, one);
          expect(changed).to.deep.equal(await live(`same-${number}`, 'before', one));
          fleet.clock.moveSeconds(one.waitSeconds);
        }
      }),
      { numRuns: 25 },
    );
  }).timeout(60_000);
});
