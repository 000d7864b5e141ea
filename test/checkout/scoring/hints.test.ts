import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const BROWSER = { userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };
const HOUR_SECONDS = 3600;

describeOnStores('hints of several scores', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  /** A client who shares a device with another one, and is blocked for it. */
  async function blockedSharer(): Promise<{ readonly clientIdKey: string; readonly fingerprint: string }> {
    const fingerprint = randomUUID();
    for (const clientIdKey of [randomUUID(), randomUUID()]) {
      await shop.score({ clientIdKey, fingerprint, ...BROWSER });
      const { body } = await shop.verdict({ clientIdKey });
      if (body.verdict === 'BLOCK') return { clientIdKey, fingerprint };
    }
    throw new Error('nobody was blocked');
  }

  it('keep a bot block although a later score shows no fingerprint', async () => {
    const { clientIdKey } = await blockedSharer();
    service.clock.moveSeconds(300);
    const later = await shop.score({ clientIdKey, sellPointKey: 'shop-2', ...BROWSER });
    expect(later.body.isBot).to.equal(true);
    expect((await shop.verdict({ clientIdKey })).body).to.deep.include({ verdict: 'BLOCK', isBot: true });
  });

  it('keep a bot block although a later score shows another device', async () => {
    const { clientIdKey } = await blockedSharer();
    await shop.score({ clientIdKey, fingerprint: randomUUID(), ip: '198.51.100.7', ...BROWSER });
    expect((await shop.verdict({ clientIdKey })).body.verdict).to.equal('BLOCK');
    service.clock.moveSeconds(24 * HOUR_SECONDS);
    await shop.score({ clientIdKey, fingerprint: randomUUID(), ...BROWSER });
    expect((await shop.verdict({ clientIdKey })).body.verdict).to.equal('GET_NEW');
  });

  it('note a client on every device that it showed, so that a decoy hides no sharing', async () => {
    const [clientIdKey, other, fingerprint] = [randomUUID(), randomUUID(), randomUUID()];
    await shop.score({ clientIdKey, fingerprint, ...BROWSER });
    await shop.score({ clientIdKey, fingerprint: randomUUID(), ...BROWSER });
    await shop.verdict({ clientIdKey });
    await shop.score({ clientIdKey: other, fingerprint, ...BROWSER });
    expect((await shop.verdict({ clientIdKey: other })).body.verdict).to.equal('BLOCK');
  });

  it('are no matter to a long absence, which counts for the ladder and in the client view alike', async () => {
    const clientIdKey = randomUUID();
    await shop.verdict({ clientIdKey });
    await shop.verdict({ clientIdKey });
    expect((await shop.client(clientIdKey)).body.ladder.level).to.equal(1);
    service.clock.moveSeconds(24 * HOUR_SECONDS);
    const { body } = await shop.client(clientIdKey);
    expect(body.ladder).to.deep.equal({ level: 0, attemptOpen: false, waitUntil: null });
  });
});
