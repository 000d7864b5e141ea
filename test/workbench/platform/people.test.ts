import { expect } from 'chai';
import type { ValueOf } from '#base/shapes.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { Audit } from '#workbench/access/audit.ts';
import { parseRoleMappings } from '#workbench/access/roles.ts';
import { Sessions } from '#workbench/access/sessions.ts';
import type { PeopleSchema } from '#workbench/platform/people.ts';
import { call, type Problem } from '../../service/http-call.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

type People = ValueOf<typeof PeopleSchema>;

const PARSED = parseRoleMappings('groups:fraud=analyst@shop,groups:desk=support@bank,groups:ops=operator@*');
const ROLES = typeof PARSED === 'string' ? [] : PARSED;
const [FRAUD = '', DESK = '', OPS = ''] = ROLES.map(({ item }) => item);

describeOnStores('people over HTTP', (store) => {
  let shop: Tenant;
  let all: Tenant;
  let sessions: Sessions;
  const { service } = serviceOfSuite(() => ({
    store: store(),
    consoleUrl: new URL('http://127.0.0.1'),
    provider: { issuer: new URL('https://login.example'), clientId: 'a', clientSecret: 'b', roles: ROLES },
  }));
  before(async () => {
    shop = await service.tenant('shop', ['keys', 'audit']);
    all = new Tenant(
      shop,
      (await service.application.keys.issue(INSTALLATION_PLATFORM, ['keys'], null, 'maria')).key,
    );
    sessions = new Sessions(store().documents, service.application.keys, ROLES, service.clock.now);
  });

  const start = (sub: string, ...items: readonly string[]) =>
    sessions.start({ kind: 'person', sub, email: `${sub}@example.com`, items });
  const people = async (of: Tenant) => (await of.ask<People>('GET', 'people')).body;
  const find = async (of: Tenant, sub: string) =>
    (await people(of)).people.find(({ id }) => id === `person:${sub}`);
  const signOut = (of: Tenant, id: string) => of.ask<Problem>('POST', 'people/sign-out', { id });
  const isOpen = async (secret: string) => (await sessions.find(secret)) !== null;

  it('are listed with their roles and their browsers, newest first', async () => {
    const began = service.clock.now();
    await start('ann', FRAUD);
    service.clock.moveSeconds(60);
    await start('ann', FRAUD);
    const hours = 12 * 3_600_000;
    expect(await find(shop, 'ann')).to.deep.equal({
      id: 'person:ann',
      who: 'person:ann (ann@example.com)',
      access: [{ platform: 'shop', role: 'analyst' }],
      sessions: [began + 60_000, began].map((at) => ({ beganAt: at, usedAt: at, endsAt: at + hours })),
    });
  });

  it('who signed in with a key are listed by it', async () => {
    const id = `key ${shop.key.slice(3, 15)}`;
    const own = { 'Sec-Fetch-Site': 'same-origin' };
    await call('POST', `${shop.platformUrl}/v1/platform/session`, own, { key: shop.key });
    const one = (await people(shop)).people.find((person) => person.id === id);
    expect(one).to.deep.include({ who: id, access: [{ platform: 'shop', role: null }] });
  });

  it('may sign in by the claims of the provider', async () => {
    const { provider, roles } = await people(shop);
    expect(provider).to.equal('login.example');
    expect(roles).to.deep.equal([
      {
        claim: 'groups',
        value: 'fraud',
        role: 'analyst',
        platform: 'shop',
        operations: ['figures', 'rules:read', 'rules'],
      },
    ]);
    const everywhere = (await people(all)).roles;
    expect(everywhere.map(({ platform }) => platform)).to.deep.equal(['shop', 'bank', '*']);
    expect(everywhere[2]?.operations).to.include.members(['clients', 'decisions', 'operate']);
  });

  it('of another platform, and of the whole installation, are listed for the whole installation alone', async () => {
    await start('bob', DESK);
    await start('cleo', FRAUD, OPS);
    await start('dora', FRAUD, DESK);
    const seen = (told: People) => told.people.map(({ who }) => who).join();
    const atShop = await people(shop);
    expect(seen(atShop)).not.to.match(/bob|cleo/);
    expect((await find(shop, 'dora'))?.access).to.deep.equal([{ platform: 'shop', role: 'analyst' }]);
    expect(seen(await people(all))).to.match(/bob.*cleo.*dora/);
    expect((await find(all, 'dora'))?.access).to.have.length(2);
  });

  it('who have another role in another browser are listed with both', async () => {
    await start('emma', FRAUD);
    await start('emma', OPS);
    expect(await find(shop, 'emma')).to.equal(undefined);
    expect((await find(all, 'emma'))?.access).to.have.deep.members([
      { platform: 'shop', role: 'analyst' },
      { platform: '*', role: 'operator' },
    ]);
  });

  it('are signed out in every browser, which the audit notes', async () => {
    const secrets = [await start('finn', FRAUD), await start('finn', FRAUD)];
    const other = await start('gina', FRAUD);
    expect((await signOut(shop, 'person:finn')).status).to.equal(204);
    expect(await Promise.all([...secrets, other].map(isOpen))).to.deep.equal([false, false, true]);
    const { entries } = await new Audit(store().auditLog, Date.now).read(null, 1000);
    expect(entries.at(-1)).to.deep.include({
      who: `key ${shop.key.slice(3, 15)}`,
      action: 'sign-out',
      platform: 'shop',
      subject: 'person:finn',
      after: { sessions: 2 },
    });
  });

  it('are signed out everywhere of the sessions that the platform is shown', async () => {
    const [both, desk] = [await start('kim', FRAUD, DESK), await start('kim', DESK)];
    expect((await find(shop, 'kim'))?.sessions).to.have.length(1);
    expect((await signOut(shop, 'person:kim')).status).to.equal(204);
    expect(await Promise.all([both, desk].map(isOpen))).to.deep.equal([false, true]);
    expect((await signOut(shop, 'person:kim')).status).to.equal(404);
    expect((await signOut(all, 'person:kim')).status).to.equal(204);
    expect(await isOpen(desk)).to.equal(false);
  });

  it('whom a platform may not see are not signed out from there', async () => {
    const secrets = [await start('hugo', DESK), await start('ines', FRAUD, OPS)];
    for (const id of ['person:hugo', 'person:ines', 'person:nobody']) {
      const { status, body } = await signOut(shop, id);
      expect([status, body.detail]).to.deep.equal([404, `"${id}" is not signed in here.`]);
    }
    expect(await Promise.all(secrets.map(isOpen))).to.deep.equal([true, true]);
    expect((await signOut(all, 'person:hugo')).status).to.equal(204);
  });

  it('are not listed once their session has ended, and listing prolongs none', async () => {
    await start('jane', FRAUD);
    service.clock.moveSeconds(29 * 60);
    expect(await find(shop, 'jane')).not.to.equal(undefined);
    service.clock.moveSeconds(60);
    expect(await find(shop, 'jane')).to.equal(undefined);
  });
});
