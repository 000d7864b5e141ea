import { expect } from 'chai';
import { GRANTABLE_OPERATIONS, INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { Audit } from '#workbench/access/audit.ts';
import { parseRoleMappings } from '#workbench/access/roles.ts';
import { Sessions } from '#workbench/access/sessions.ts';
import { call, type Problem } from '../../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

interface KeyView {
  readonly id: string;
  readonly platform: string;
  readonly owner: string | null;
  readonly operations: readonly string[];
  readonly status: string;
  readonly expiresAt: string | null;
}

interface Issued {
  readonly key: string;
  readonly record: KeyView;
}

interface KeyList {
  readonly keys: readonly KeyView[];
  readonly mayGive: readonly string[];
}

const SOME = { operations: ['score', 'verdict'], days: 30 };

describeOnStores('keys over HTTP', (store) => {
  let number = 0;
  const { service } = serviceOfSuite(() => ({ store: store() }));

  const tenant = () => service.tenant(`keys-${++number}`);
  const keys = async (of: Tenant) => (await of.ask<KeyList>('GET', 'keys')).body;
  const noted = async () => {
    const audit = new Audit(store().auditLog, Date.now);
    const { entries } = await audit.read(String(Math.max(0, (await store().auditLog.newest()) - 1)), 1);
    return entries[0];
  };

  it('are issued with an end, shown once, valid at once, and noted', async () => {
    const shop = await tenant();
    const { status, body } = await shop.ask<Issued>('POST', 'keys', SOME);
    expect(status).to.equal(200);
    expect(body.key).to.match(/^ka_[0-9a-f]{12}_[\w-]{43}$/);
    const platform = `keys-${number}`;
    expect(body.record).to.include({ platform, owner: null, status: 'live', revokedAt: null });
    expect((await new Tenant(shop, body.key).verdict()).status).to.equal(200);
    const text = JSON.stringify(await keys(shop));
    expect(text).to.include(body.record.id);
    expect(text).not.to.include(body.key).and.not.to.include('sha256');
    const entry = await noted();
    expect(entry).to.deep.include({ action: 'key issued', platform, subject: body.record.id });
    expect(entry?.after).to.deep.equal(body.record);
  });

  it('are refused once they are revoked, which may be repeated', async () => {
    const shop = await tenant();
    const { body } = await shop.ask<Issued>('POST', 'keys', SOME);
    const path = `keys/${body.record.id}`;
    expect((await shop.ask<KeyView>('DELETE', path)).body).to.include({ status: 'revoked' });
    expect((await new Tenant(shop, body.key).verdict()).status).to.equal(401);
    expect(await noted()).to.deep.include({ action: 'key revoked', before: body.record });
    expect((await shop.ask('DELETE', path)).status).to.equal(200);
  });

  it('of another platform are neither shown nor revoked', async () => {
    const [shop, bank] = [await tenant(), await tenant()];
    const { body } = await bank.ask<Issued>('POST', 'keys', SOME);
    expect(JSON.stringify(await keys(shop))).not.to.include(body.record.id);
    const refused = await shop.ask<Problem>('DELETE', `keys/${body.record.id}`);
    expect(refused.status).to.equal(404);
    expect(refused.body.detail).to.equal(
      `There is no key "${body.record.id}" here; the list of keys has the ids.`,
    );
    expect((await new Tenant(bank, body.key).verdict()).status).to.equal(200);
  });

  it('of all platforms are shown to the installation, which may revoke them', async () => {
    const bank = await tenant();
    const { key } = await service.application.keys.issue(INSTALLATION_PLATFORM, ['keys'], null);
    const owner = new Tenant(bank, key);
    const { body } = await bank.ask<Issued>('POST', 'keys', SOME);
    expect((await keys(owner)).keys.map(({ id }) => id)).to.include(body.record.id);
    expect((await owner.ask('DELETE', `keys/${body.record.id}`)).status).to.equal(200);
    expect((await keys(owner)).mayGive).to.deep.equal(['keys']);
  });

  it('are granted no more than their issuer has, and never to operate or to approve', async () => {
    const { key } = await service.application.keys.issue(INSTALLATION_PLATFORM, GRANTABLE_OPERATIONS, null);
    const owner = new Tenant(await tenant(), key);
    const few = await service.tenant(`keys-${number}`, ['keys', 'rules:read']);
    for (const [who, operations, given] of [
      [few, ['rules'], 'rules:read, keys'],
      [few, ['verdict'], 'rules:read, keys'],
      [owner, ['operate'], 'lists:read, lists, rules:read, rules, keys, audit'],
      [owner, ['lists', 'approve'], 'lists:read, lists, rules:read, rules, keys, audit'],
    ] as const) {
      const { status, body } = await who.ask('POST', 'keys', { operations, days: 1 });
      const asked = operations.at(-1);
      expect(status).to.equal(403);
      expect(body.detail).to.equal(`You cannot grant "${asked}" here. You may grant ${given}.`);
    }
  });

  it('end no later than the key that issued them', async () => {
    const shop = await tenant();
    const made = await service.application.keys.issue(
      toPlatformName(`keys-${number}`),
      ['keys', 'lists'],
      3 * 86_400_000,
    );
    const { body } = await new Tenant(shop, made.key).ask<Issued>('POST', 'keys', {
      operations: ['lists'],
      days: 30,
    });
    expect(body.record.expiresAt).to.equal(made.record.expiresAt);
  });

  it('are at most two hundred at a time', async () => {
    const shop = await tenant();
    const platform = toPlatformName(`keys-${number}`);
    for (let made = 1; made < 199; made += 1)
      await service.application.keys.issue(platform, ['score'], KEY_LIFETIME_MS);
    const { status, body } = await shop.ask<Issued>('POST', 'keys', SOME);
    const refused = await shop.ask('POST', 'keys', SOME);
    expect([status, refused.status]).to.deep.equal([200, 409]);
    expect(refused.body.detail).to.equal(
      `${platform} has 200 live keys, and at most 200 are allowed; revoke keys that are no longer used`,
    );
    await service.application.keys.revoke(body.record.id);
    expect((await shop.ask('POST', 'keys', SOME)).status).to.equal(200);
  });
});

describeOnStores('keys that a person issues', (store) => {
  const parsed = parseRoleMappings('groups:boss=admin@shop,groups:boss=admin@bank,groups:ops=operator@shop');
  const roles = typeof parsed === 'string' ? [] : parsed;
  const provider = { issuer: new URL('https://login.example'), clientId: 'a', clientSecret: 'b', roles };
  const { service } = serviceOfSuite(() => ({
    store: store(),
    consoleUrl: new URL('http://127.0.0.1'),
    provider,
  }));

  const as = async (group: string, platform: string) => {
    const sessions = new Sessions(store().documents, service.application.keys, roles, service.clock.now);
    const items = roles.map(({ item }) => item).filter((item) => item.startsWith(`groups:${group}=`));
    const secret = await sessions.start({ kind: 'person', sub: group, email: null, items });
    const headers = {
      Cookie: `session=${secret}`,
      'Sec-Fetch-Site': 'same-origin',
      'X-KA-Platform': platform,
    };
    return (method: string, path: string, body?: object) =>
      call<Problem & Issued>(method, `${service.application.platformUrl}/v1/platform/${path}`, headers, body);
  };

  it('have the person as owner, at the platform of the page, also for programs, and end within 90 days', async () => {
    const ask = await as('boss', 'bank');
    const { status, body } = await ask('POST', 'keys', { operations: ['score', 'outcomes'], days: 365 });
    expect(status).to.equal(200);
    expect(Date.parse(body.record.expiresAt ?? '') - service.clock.now()).to.equal(90 * 24 * 3_600_000);
    expect(body.record).to.deep.include({
      platform: 'bank',
      owner: 'person:boss',
      operations: ['score', 'outcomes'],
    });
  });
});
