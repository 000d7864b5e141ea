import { expect } from 'chai';
import type { ValueOf } from '#base/shapes.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { Audit } from '#workbench/access/audit.ts';
import type { AuditPageSchema } from '#workbench/platform/audit.ts';
import type { Problem } from '../../service/http-call.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

interface Check {
  readonly checkedAt: number;
  readonly entries: number;
  readonly forgotten: number;
  readonly faults: readonly { readonly number: number; readonly what: string }[];
}

const OVERRIDE = { group: 'BLOCKED', reason: 'chargebacks' };
const MADE = { kind: 'method' };

type Page = ValueOf<typeof AuditPageSchema>;

describeOnStores('the audit over HTTP', (store) => {
  let number = 0;
  const { service } = serviceOfSuite(() => ({ store: store() }));

  const tenant = () => service.tenant(`audited-${++number}`);
  const found = async (of: Tenant, query = '') => (await of.ask<Page>('GET', `audit?${query}`)).body;
  const told = ({ entries }: Pick<Page, 'entries'>) =>
    entries.map(({ action, subject }) => `${action} ${subject}`);
  const note = async (platform: string, at: number, who = 'user ann on ops') => {
    const audit = new Audit(store().auditLog, () => at);
    const entry = { who, action: 'rollout', subject: 'p2.v11', before: null, after: null } as const;
    await audit.note({ ...entry, platform: toPlatformName(platform), reason: null });
  };

  it('lists who did what to whom and why, newest first', async () => {
    const shop = await tenant();
    await shop.ask('PUT', 'client/override?clientIdKey=ivan', OVERRIDE);
    await shop.ask('PUT', 'lists/closed', MADE);
    const { entries } = await found(shop);
    expect(told({ entries })).to.deep.equal(['list closed', 'override ivan']);
    expect(entries[1]).to.deep.include({
      who: `key ${shop.key.slice(3, 15)}`,
      platform: `audited-${number}`,
      reason: 'chargebacks',
      before: null,
    });
  });

  it('refuses overrides that it would have to sum up, but never BLOCKED', async () => {
    const shop = await tenant();
    const lift = (payer: number) => shop.ask<Problem>('DELETE', `client/override?clientIdKey=payer-${payer}`);
    for (let payer = 0; payer < 2_000; payer += 50)
      await Promise.all(Array.from({ length: 50 }, (_, more) => lift(payer + more)));
    const answers = [await shop.override('ivan', 'TRUSTED'), await lift(0)];
    expect(answers.map(({ status, headers }) => [status, headers.get('Retry-After')])).to.deep.equal([
      [429, '60'],
      [429, '60'],
    ]);
    expect(answers[0]?.body.detail).to.equal(
      'This access key makes more overrides or list changes than the audit can note one by one: 2,000, then 60 an hour. Nothing was changed. Import lists as lines, which count once; blocking and rolling back always work.',
    );
    expect((await shop.client('ivan')).status).to.equal(404);
    expect((await shop.override('ivan', 'BLOCKED')).status).to.equal(200);
    expect(told(await found(shop))[0]).to.equal('override ivan');
  }).timeout(60_000);

  it('is limited to one platform; the whole installation sees all', async () => {
    const [shop, bank] = [await tenant(), await tenant()];
    await bank.ask('PUT', 'client/override?clientIdKey=secret-payer', OVERRIDE);
    expect(await found(shop)).to.deep.equal({ entries: [], unreadable: [], next: null });
    const { key } = await service.application.keys.issue(INSTALLATION_PLATFORM, ['audit'], null);
    expect(told(await found(new Tenant(shop, key)))).to.include('override secret-payer');
  });

  it('is searched by who, what and when', async () => {
    const shop = await tenant();
    const name = `audited-${number}`;
    for (const [at, who] of [
      [1_000_000_000_000, 'user ann on ops'],
      [1_000_000_060_000, 'user bob on ops'],
      [1_000_000_120_000, 'user Ann on desk'],
    ] as const)
      await note(name, at, who);
    await shop.ask('PUT', 'lists/closed', MADE);
    const who = async (query: string) => (await found(shop, query)).entries.map((one) => one.who);
    expect(await who('who=ANN')).to.deep.equal(['user Ann on desk', 'user ann on ops']);
    expect(await who('from=1000000060000&to=1000000120000')).to.deep.equal(['user bob on ops']);
    expect(await who('action=list')).to.have.length(1);
  });

  it('searches five thousand entries for a page, and continues from there', async () => {
    const shop = await tenant();
    const name = `audited-${number}`;
    await note(name, 1_000_000_000_000);
    const audit = new Audit(store().auditLog, () => 1_000_000_000_000);
    const entry = { who: 'user ann', action: 'rollout', subject: null, before: null, after: null } as const;
    const many = Array.from({ length: 5_000 }, () => audit.note({ ...entry, platform: null, reason: null }));
    await Promise.all(many);
    const { entries, next } = await found(shop);
    expect(entries).to.deep.equal([]);
    expect((await found(shop, `after=${next}`)).entries).to.have.length(1);
  });

  it('names an entry that was changed past recognition, and shows those around it', async () => {
    const shop = await tenant();
    await shop.ask('PUT', 'lists/closed', MADE);
    const strange = [
      'gone',
      null,
      {},
      { who: 7, action: 'list', platform: null },
      { who: 'ann', action: 'dance' },
    ];
    for (const entry of strange) await store().auditLog.append({ at: 0, entry, payer: null });
    const payer = { clientHash: 'of nobody', detail: 'ivan' };
    const entry = { who: 'ann', action: 'override', platform: null };
    await store().auditLog.append({ at: 0, entry, payer });
    await shop.ask('PUT', 'lists/later', MADE);
    const page = await found(shop);
    const newest = await store().auditLog.newest();
    expect(told(page)).to.deep.equal(['list later', 'list closed']);
    expect(page.unreadable).to.deep.equal(
      Array.from({ length: 6 }, (_, index) => newest - 1 - index).map((number) => ({
        number,
        what: `Entry ${number} was changed and cannot be read; run "audit verify".`,
      })),
    );
    const two = await found(shop, `after=${newest}&limit=2`);
    expect([two.entries, two.unreadable.length, two.next]).to.deep.equal([[], 2, String(newest - 2)]);
  });

  it('verifies as long as nobody changes it', async () => {
    const shop = await tenant();
    await shop.ask('PUT', 'lists/closed', MADE);
    const whole = (await shop.ask<Check>('GET', 'audit/check')).body;
    expect(whole.faults).to.deep.equal([]);
    expect(whole.entries).to.equal(await store().auditLog.newest());
    expect(whole.checkedAt).to.be.closeTo(service.clock.now(), 60_000);
  });

  it('names an entry that was noted elsewhere and is missing, and refuses what names no entry', async () => {
    const shop = await tenant();
    const missing = (await store().auditLog.newest()) + 1;
    const path = `audit/check?known=${missing}:${'0'.repeat(64)}`;
    const { faults } = (await shop.ask<Check>('GET', path)).body;
    expect(faults.map(({ what }) => what)).to.deep.equal([`Entry ${missing} is missing.`]);
    const refused = await shop.ask<{ detail: string }>('GET', 'audit/check?known=1:zz');
    expect([refused.status, refused.body.detail]).to.deep.equal([
      400,
      'The parameter known must be the number and the hash of an audit entry, like 17:9f86..',
    ]);
  });
});
