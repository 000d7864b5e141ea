import { expect } from 'chai';
import { AccessKeys, OPERATIONS } from '../../src/access/access-keys.ts';
import { Sessions } from '../../src/access/sessions.ts';
import { platformName } from '../../src/client/client-key.ts';
import { MovableClock } from '../service/movable-clock.ts';
import { describeOnStores } from '../stores/describe-on-stores.ts';

const MINUTE_MS = 60_000;

describeOnStores('sessions', (store) => {
  let clock: MovableClock;
  let keys: AccessKeys;
  let sessions: Sessions;
  const issue = async () => (await keys.issue(platformName('shop'), OPERATIONS, null, 'ann')).record.id;
  const isKnown = async (secret: string, node = sessions) => (await node.callerOf(secret)) !== null;
  beforeEach(() => {
    clock = new MovableClock();
    keys = new AccessKeys(store().documents, clock.now);
    sessions = new Sessions(store().documents, keys, clock.now);
  });

  it('are whoever holds the key, on every node', async () => {
    const keyId = await issue();
    const secret = await sessions.start(keyId);
    const elsewhere = new AccessKeys(store().documents, clock.now);
    const caller = await new Sessions(store().documents, elsewhere, clock.now).callerOf(secret);
    expect(caller).to.deep.include({ platform: 'shop', keyId });
    expect(caller?.actor).to.deep.equal({ id: `key ${keyId}`, owner: 'ann', text: `key ${keyId} of ann` });
  });

  it('are kept by the hash of their secret alone', async () => {
    const secret = await sessions.start(await issue());
    const kept = JSON.stringify([
      await store().documents.list('sessions'),
      await store().documents.list('session-uses'),
    ]);
    expect(kept).not.to.include(secret);
    expect(secret).to.match(/^[A-Za-z0-9_-]{43}$/);
    expect(await isKnown(`${secret}A`)).to.equal(false);
  });

  it('end after half an hour without use, and last while they are used', async () => {
    const secret = await sessions.start(await issue());
    for (let look = 0; look < 4; look++) {
      clock.moveSeconds(29 * 60);
      expect(await isKnown(secret)).to.equal(true);
    }
    clock.moveSeconds(31 * 60);
    expect(await isKnown(secret)).to.equal(false);
  });

  it('end after twelve hours however much they are used', async () => {
    const secret = await sessions.start(await issue());
    for (let look = 0; look < 48; look++) {
      expect(await isKnown(secret), `look ${look}`).to.equal(true);
      clock.moveSeconds(15 * 60);
    }
    expect(await isKnown(secret)).to.equal(false);
  });

  it('end with the key that they came from', async () => {
    const keyId = await issue();
    const secret = await sessions.start(keyId);
    await keys.revoke(keyId);
    expect(await isKnown(secret)).to.equal(false);
    const lease = (await keys.issue(platformName('shop'), OPERATIONS, 5 * MINUTE_MS)).record.id;
    const short = await sessions.start(lease);
    clock.moveSeconds(6 * 60);
    expect(await isKnown(short)).to.equal(false);
  });

  it('end one by one, or all of a key at once', async () => {
    const keyId = await issue();
    const [first, second, third] = [
      await sessions.start(keyId),
      await sessions.start(keyId),
      await sessions.start(keyId),
    ];
    const other = await sessions.start(await issue());
    expect(await sessions.end(first, 'this')).to.equal(1);
    expect([await isKnown(first), await isKnown(second)]).to.deep.equal([false, true]);
    expect(await sessions.end(second, 'all')).to.equal(2);
    expect([await isKnown(second), await isKnown(third), await isKnown(other)]).to.deep.equal([
      false,
      false,
      true,
    ]);
    expect(await sessions.end(first, 'all')).to.equal(0);
  });

  it('do not come back when another node notes their use just then', async () => {
    const secret = await sessions.start(await issue());
    clock.moveSeconds(5 * 60);
    await Promise.all([sessions.callerOf(secret), sessions.end(secret, 'this'), sessions.callerOf(secret)]);
    expect(await isKnown(secret)).to.equal(false);
  });

  it('are at most twenty a key: with the next one the oldest ends', async () => {
    const keyId = await issue();
    const secrets: string[] = [];
    for (let number = 0; number < 21; number++) {
      secrets.push(await sessions.start(keyId));
      clock.moveSeconds(1);
    }
    const known = await Promise.all(secrets.map((secret) => isKnown(secret)));
    expect(known).to.deep.equal([false, ...Array.from({ length: 20 }, () => true)]);
  });
});
