import { expect } from 'chai';
import type { RuleTrace } from '#decision/rules/evaluate/trace.ts';
import type { Explanation } from '#workbench/authoring/explain/explain.ts';
import { BIN_RULES } from '../../rule-fixtures/pseudonym-constants.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { type RunningService, serviceOfSuite, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const FIRST = 'the first secret of these tests, long';
const SECOND = 'the second secret of these tests, long';
const CHANGING = { signalSecret: SECOND, signalSecretPrevious: FIRST };

/** An order of the client whose card has this BIN; null: nobody says one. */
function ask(shop: Tenant, clientIdKey: string, cardBin: string | null) {
  const attributes = cardBin === null ? {} : { attributes: { cardBin } };
  return shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1`, ...attributes });
}

async function verdictOn(shop: Tenant, clientIdKey: string, cardBin: string | null) {
  return (await ask(shop, clientIdKey, cardBin)).body.verdict;
}

async function newest(shop: Tenant, clientIdKey: string) {
  const [decision] = await shop.decisions({ clientIdKey });
  if (decision === undefined) throw new Error(`nothing was decided about ${clientIdKey}`);
  return decision;
}

async function explained(shop: Tenant, clientIdKey: string): Promise<Explanation> {
  const { decisionId } = await newest(shop, clientIdKey);
  return (await shop.ask<Explanation>('GET', `decisions/${decisionId}/explanation`)).body;
}

const named = (rules: readonly RuleTrace[] | undefined, name: string) =>
  rules?.find((rule) => rule.name === name);

describeOnStores('a constant that a pseudonym is compared with', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store(), rules: BIN_RULES }));

  it('decides of the text that a verdict says', async () => {
    expect(await verdictOn(shop, 'ann', '411111')).to.equal('BLOCK');
    expect(await verdictOn(shop, 'bob', '510000')).to.equal('BLOCK');
    expect(await verdictOn(shop, 'cid', '411112')).to.equal('GET_NEW');
    expect(await verdictOn(shop, 'dan', null)).to.equal('GET_NEW');
    expect((await newest(shop, 'bob')).rule).to.equal('own-bin');
    expect((await newest(shop, 'cid')).flags, 'is none of the others').to.deep.equal(['foreign-bin']);
    expect((await newest(shop, 'dan')).flags, 'is not known').to.equal(undefined);
  });

  it('decides of the text that a score said before', async () => {
    await shop.score({ clientIdKey: 'eve', attributes: { cardBin: '400000' } });
    expect(await verdictOn(shop, 'eve', null)).to.equal('BLOCK');
  });

  it('stands in an explanation in clear, and no pseudonym beside it', async () => {
    await ask(shop, 'fay', '510000');
    const { rules, reproduced } = await explained(shop, 'fay');
    expect(reproduced).to.equal(true);
    expect(rules?.verdicts.why).to.equal(
      'own-bin matched, because attribute(cardBin) is 510000; the rule before it did not.',
    );
    const trace = JSON.stringify(named(rules?.verdicts.rules, 'own-bin'));
    expect(trace)
      .to.include('"510000"')
      .and.not.to.match(/hmac:\w/);
    await ask(shop, 'gil', '400000');
    expect((await explained(shop, 'gil')).rules?.verdicts.why).to.equal(
      'suspect-bin matched, because attribute(cardBin) is an entry of the list suspect-bins; it is asked first.',
    );
    await ask(shop, 'hal', '420000');
    const flags = (await explained(shop, 'hal')).rules?.flags;
    expect([flags?.why, named(flags?.rules, 'foreign-bin')?.matched]).to.deep.equal([
      'No rule of flags.yaml matched.',
      false,
    ]);
  });

  it('is in no record, feed or export of the payer', async () => {
    await ask(shop, 'ida', '411111');
    const { entries } = await service.store.readJournal(null, 1000);
    const feed = await shop.ask<object>('GET', 'events');
    const exported = await shop.ask<object>('GET', 'client/export?clientIdKey=ida');
    expect(JSON.stringify([entries, feed.body, exported.body])).not.to.include('411111');
  });
});

describeOnStores('a constant that a pseudonym is compared with while SIGNAL_SECRET changes', (store) => {
  const clock = new MovableClock();

  async function on<T>(
    secrets: { readonly signalSecret: string; readonly signalSecretPrevious?: string },
    run: (shop: Tenant, service: RunningService) => Promise<T>,
  ): Promise<T> {
    const service = await startService({ store: store(), rules: BIN_RULES, clock, ...secrets });
    try {
      clock.moveSeconds(1);
      return await run(await service.tenant(), service);
    } finally {
      await service.stop();
    }
  }

  before(() =>
    on({ signalSecret: FIRST }, async (shop) => {
      for (const clientIdKey of ['ann', 'bob', 'cid'])
        await shop.score({ clientIdKey, attributes: { cardBin: '411111' } });
      await ask(shop, 'then', '411111');
    }),
  );

  it('equals what was kept under either secret', async () => {
    await on(CHANGING, async (shop) => {
      expect(await verdictOn(shop, 'ann', null), 'of a score before').to.equal('BLOCK');
      expect(await verdictOn(shop, 'new', '411111')).to.equal('BLOCK');
      expect(await verdictOn(shop, 'bob', '420000'), 'a verdict says another').to.equal('GET_NEW');
    });
  });

  it('says nothing of what was kept under a secret that is not there, not even that it is another', async () => {
    await on({ signalSecret: SECOND }, async (shop) => {
      expect(await verdictOn(shop, 'cid', null)).to.equal('GET_NEW');
      const { facts, flags } = await newest(shop, 'cid');
      expect([facts['attribute(cardBin)'], flags]).to.deep.equal([null, undefined]);
    });
  });

  it('explains what was decided before with both secrets, and cannot say with the new one alone', async () => {
    await on(CHANGING, async (shop) => {
      expect((await explained(shop, 'then')).reproduced).to.equal(true);
    });
    await on({ signalSecret: SECOND }, async (shop) => {
      const { reproduced, differences, rules, verification } = await explained(shop, 'then');
      expect({ reproduced, differences, rules }).to.deep.equal({
        reproduced: false,
        differences: [],
        rules: null,
      });
      expect(verification).to.equal(
        'The rules compare attribute(cardBin) with constants, and the record keeps it as an HMAC under another SIGNAL_SECRET than the one here. Set SIGNAL_SECRET to that of the service, or SIGNAL_SECRET_PREVIOUS to the one before.',
      );
    });
  });
});
