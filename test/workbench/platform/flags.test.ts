import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import type { Explanation } from '#workbench/authoring/explain/explain.ts';
import { ArchivedStore } from '../../history/archive/archived-store.ts';
import { FLAGS } from '../../rule-fixtures/flags.ts';
import { edited, whole } from '../../rule-fixtures/sound-rules.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import type { DecisionList, Tenant } from '../../service/tenant.ts';
import { newPlatform } from '../../state/clients.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

interface Explored {
  readonly exploration: {
    readonly values: readonly { readonly value: string | null; readonly decisions: readonly number[] }[];
  };
}

interface Feed {
  readonly events: readonly { readonly data: { readonly decision?: Decision } }[];
}

describeOnStores('flags over HTTP', (store) => {
  let place: ArchivedStore;
  let service: RunningService;
  let shop: Tenant;

  before(async () => {
    place = await ArchivedStore.open(store());
    const rules = edited({ 'flags.yaml': whole(FLAGS) });
    service = await startService({ store: store(), archive: place.reader(), rules });
  });
  beforeEach(async () => {
    shop = await service.tenant(newPlatform());
    for (const [orderRef, amountRequested, method] of [
      ['small', '20.00', 'card'],
      ['large', '700.00', 'card'],
      ['both', '800.00', 'crypto'],
    ])
      await shop.verdict({ clientIdKey: `payer-of-${orderRef}`, orderRef, amountRequested, method });
  });
  after(async () => {
    await service?.stop();
    await place?.release();
  });

  const found = async (flag: string) => {
    const { body } = await shop.ask<DecisionList>('GET', `decisions?flag=${flag}`);
    return body.decisions.map(({ orderRef }) => orderRef);
  };

  it('are never told to a caller', async () => {
    const { body } = await shop.verdict({ amountRequested: '900.00', orderRef: 'told' });
    expect(Object.keys(body).toSorted()).to.deep.equal(['isBot', 'reason', 'ruleVersion', 'verdict']);
    const [decision] = await shop.decisions({ orderRef: 'told' });
    expect(decision?.flags).to.deep.equal(['large-first-order']);
  });

  it('find decisions, from the journal as from the archive', async () => {
    for (const isShipped of [false, true]) {
      if (isShipped) await place.shipAll();
      expect(await found('large-first-order')).to.have.members(['large', 'both']);
      expect(await found('risky-method')).to.deep.equal(['both']);
      expect(await found('large')).to.deep.equal([]);
    }
  });

  it('count decisions by time', async () => {
    service.clock.moveSeconds(15);
    const { body } = await shop.ask<Explored>('GET', 'explore?by=flag&span=day');
    const counts = body.exploration.values.map(({ value, decisions }) => [
      value,
      decisions.reduce((total, number) => total + number, 0),
    ]);
    expect(counts).to.deep.equal([
      ['large-first-order', 2],
      ['risky-method', 1],
    ]);
  });

  it('come with the verdict in the feed', async () => {
    const { body } = await shop.ask<Feed>('GET', 'events');
    const flags = body.events.map(({ data }) => [data.decision?.orderRef, data.decision?.flags]);
    expect(flags).to.deep.include(['both', ['large-first-order', 'risky-method']]);
    expect(flags).to.deep.include(['small', undefined]);
  });

  it('are explained rule by rule, and reproduced', async () => {
    const [decision] = await shop.decisions({ orderRef: 'both' });
    const { body } = await shop.ask<Explanation>('GET', `decisions/${decision?.decisionId}/explanation`);
    const { flags } = body.rules ?? expect.fail('the rules are at hand');
    expect(flags.raised).to.deep.equal(['large-first-order', 'risky-method']);
    expect(flags.why).to.equal(
      'large-first-order, crypto and voucher matched. Flags are for people and change no verdict.',
    );
    expect(flags.rules.map(({ name, matched }) => [name, matched])).to.deep.equal([
      ['large-first-order', true],
      ['crypto', true],
      ['voucher', true],
    ]);
    expect(body.reproduced).to.equal(true);
  });
});
