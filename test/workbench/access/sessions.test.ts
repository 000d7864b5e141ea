import { expect } from 'chai';
import {
  AccessKeys,
  GRANTABLE_OPERATIONS,
  INSTALLATION_PLATFORM,
  isGranted,
} from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { parseRoleMappings } from '#workbench/access/roles.ts';
import { Sessions } from '#workbench/access/sessions.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const shop = toPlatformName('shop');
const MINUTE_MS = 60_000;

describeOnStores('sessions', (store) => {
  let clock: MovableClock;
  let keys: AccessKeys;
  let sessions: Sessions;
  const issue = async () => (await keys.issue(shop, GRANTABLE_OPERATIONS, KEY_LIFETIME_MS, 'ann')).record.id;
  const start = (keyId: string) => sessions.start({ kind: 'key', keyId });
  const isKnown = async (secret: string, node = sessions) => (await node.find(secret)) !== null;
  beforeEach(() => {
    clock = new MovableClock();
    keys = new AccessKeys(store().documents, clock.now);
    sessions = new Sessions(store().documents, keys, [], clock.now);
  });

  it('belong to the holder of the key, on every node', async () => {
    const keyId = await issue();
    const secret = await start(keyId);
    const elsewhere = new AccessKeys(store().documents, clock.now);
    const node = new Sessions(store().documents, elsewhere, [], clock.now);
    const caller = (await node.find(secret))?.getCaller(null);
    expect(caller).to.deep.include({ platform: 'shop', credential: { kind: 'key', id: keyId } });
    expect(caller?.actor).to.deep.equal({ id: `key ${keyId}`, owner: 'ann', text: `key ${keyId} of ann` });
  });

  it('are stored by the hash of their secret alone', async () => {
    const secret = await start(await issue());
    const kept = JSON.stringify([
      await store().documents.list('sessions'),
      await store().documents.list('session-uses'),
    ]);
    expect(kept).not.to.include(secret);
    expect(secret).to.match(/^[A-Za-z0-9_-]{43}$/);
    expect(await isKnown(`${secret}A`)).to.equal(false);
  });

  it('end after half an hour without use, and last while they are used', async () => {
    const secret = await start(await issue());
    for (let look = 0; look < 4; look++) {
      clock.moveSeconds(29 * 60);
      expect(await isKnown(secret)).to.equal(true);
    }
    clock.moveSeconds(31 * 60);
    expect(await isKnown(secret)).to.equal(false);
  });

  it('end after twelve hours in any case', async () => {
    const secret = await start(await issue());
    for (let look = 0; look < 48; look++) {
      expect(await isKnown(secret), `look ${look}`).to.equal(true);
      clock.moveSeconds(15 * 60);
    }
    expect(await isKnown(secret)).to.equal(false);
  });

  describe('of a person', () => {
    const ROLES = parseRoleMappings(
      'groups:fraud=analyst@shop,groups:desk=support@bank,groups:ops=operator@*',
    );
    const roles = typeof ROLES === 'string' ? [] : ROLES;
    const ann = { kind: 'person', sub: '248', email: 'ann@example.com' } as const;
    const items = roles.map(({ item }) => item);
    const of = (configured = roles) => new Sessions(store().documents, keys, configured, clock.now);

    it('reach the platforms of the roles, with what each role may do there', async () => {
      const secret = await of().start({ ...ann, items: items.slice(0, 2) });
      const session = await of().find(secret);
      expect(session?.platforms).to.deep.equal(['shop', 'bank']);
      expect(session?.getCaller('shop')?.operations).to.deep.equal(['figures', 'rules']);
      expect(session?.getCaller('bank')?.operations).to.deep.equal([
        'decisions',
        'clients:read',
        'waits',
        'lists:read',
        'rules:read',
      ]);
      expect([session?.getCaller('club'), session?.getCaller('*')]).to.deep.equal([null, null]);
      expect(session?.getCaller(null)?.actor).to.deep.equal({
        id: 'person:248',
        owner: 'person:248',
        text: 'person:248 (ann@example.com)',
      });
    });

    it('reach every platform and the installation with a role at all of them', async () => {
      const session = await of().find(await of().start({ ...ann, items: items.slice(2) }));
      const may = (platform: string) => {
        const caller = session?.getCaller(platform) ?? null;
        return caller === null
          ? null
          : GRANTABLE_OPERATIONS.filter((operation) => isGranted(caller, operation));
      };
      expect(may('club')).to.include.members(['clients', 'lists', 'decisions']).and.not.include('operate');
      expect(may('*')).to.deep.equal(['lists:read', 'lists', 'rules:read', 'rules', 'approve', 'operate']);
      expect(may('No platform')).to.equal(null);
    });

    it('end when none of their roles is configured any more', async () => {
      const secret = await of().start({ ...ann, items: items.slice(0, 1) });
      expect(await isKnown(secret, of(roles.slice(1)))).to.equal(false);
      expect(await isKnown(secret, of())).to.equal(true);
    });

    it('when they end, all at once, also end work that outlasts its request', async () => {
      const [secret, elsewhere] = [
        await of().start({ ...ann, items: items.slice(0, 1) }),
        await of().start({ ...ann, items: items.slice(1) }),
      ];
      const credential = (await of().find(secret))?.getCaller('shop')?.credential ?? { kind: 'key', id: '' };
      expect(await of().isGranted(credential, shop, 'rules')).to.equal(true);
      expect(await of().isGranted(credential, shop, 'erase')).to.equal(false);
      expect(await isKnown(elsewhere, of())).to.equal(true);
      await of().end(secret, 'all');
      expect(await isKnown(elsewhere, of())).to.equal(false);
      expect(await of().isGranted(credential, shop, 'rules')).to.equal(false);
    });
  });

  it('of a key of the installation look at each platform, with what a key of the platform may be granted', async () => {
    const session = await sessions.find(
      await start((await keys.issue(INSTALLATION_PLATFORM, ['lists', 'rules', 'operate'], null)).record.id),
    );
    const may = (platform: string | null) => {
      const caller = session?.getCaller(platform) ?? null;
      return caller === null
        ? null
        : [caller.platform, ...GRANTABLE_OPERATIONS.filter((operation) => isGranted(caller, operation))];
    };
    expect(may(null)).to.deep.equal(['*', 'lists:read', 'lists', 'rules:read', 'rules', 'operate']);
    expect(may('club')).to.deep.equal(['club', 'lists:read', 'lists', 'rules:read', 'rules']);
    expect(may('No platform')).to.equal(null);
    const ofShop = await sessions.find(await start(await issue()));
    expect([ofShop?.getCaller('club'), ofShop?.getCaller('*')]).to.deep.equal([null, null]);
  });

  it('end with the key that they came from', async () => {
    const keyId = await issue();
    const secret = await start(keyId);
    await keys.revoke(keyId);
    expect(await isKnown(secret)).to.equal(false);
    const lease = (await keys.issue(shop, GRANTABLE_OPERATIONS, 5 * MINUTE_MS)).record.id;
    const short = await start(lease);
    clock.moveSeconds(6 * 60);
    expect(await isKnown(short)).to.equal(false);
  });

  it('end one by one, or all of a key together', async () => {
    const keyId = await issue();
    const [first, second, third] = [await start(keyId), await start(keyId), await start(keyId)];
    const other = await start(await issue());
    expect(await sessions.end(first, 'this')).to.equal(1);
    expect([await isKnown(first), await isKnown(second)]).to.deep.equal([false, true]);
    expect(await sessions.end(second, 'all')).to.equal(2);
    expect(await isKnown(second)).to.equal(false);
    expect(await isKnown(third)).to.equal(false);
    expect(await isKnown(other)).to.equal(true);
    expect(await sessions.end(first, 'all')).to.equal(0);
  });

  it('do not come back when another node notes their use at the same time', async () => {
    const secret = await start(await issue());
    clock.moveSeconds(5 * 60);
    await Promise.all([sessions.find(secret), sessions.end(secret, 'this'), sessions.find(secret)]);
    expect(await isKnown(secret)).to.equal(false);
  });

  it('are limited to twenty a key: the next one ends the oldest', async () => {
    const keyId = await issue();
    const secrets: string[] = [];
    for (let number = 0; number < 21; number++) {
      secrets.push(await start(keyId));
      clock.moveSeconds(1);
    }
    const known = await Promise.all(secrets.map((secret) => isKnown(secret)));
    expect(known).to.deep.equal([false, ...Array.from({ length: 20 }, () => true)]);
  });
});
