import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { describeOnStores } from '../stores/describe-on-stores.ts';
import { serviceOfSuite } from './running-service.ts';

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

  /** The answers to the same score, at first and some time after an earlier one. */
  async function repeatedScore(
    earlier: readonly object[],
    own: object,
    between: readonly object[],
    hours: number,
  ): Promise<readonly boolean[]> {
    const clientIdKey = randomUUID();
    await shop.verdict({ clientIdKey });
    const ask = async (members: object) => (await shop.score({ clientIdKey, ...members })).body.isBot;
    for (const hints of earlier) await ask({ sellPointKey: 'shop-1', ...hints });
    service.clock.moveSeconds(HOUR_SECONDS);
    const first = await ask({ sellPointKey: 'shop-2', ...own });
    for (const hints of between) await ask({ sellPointKey: 'shop-3', ...hints });
    service.clock.moveSeconds((hours - 1) * HOUR_SECONDS);
    return [first, await ask({ sellPointKey: 'shop-2', ...own })];
  }

  it('answer a repeated score with a trap or a User-Agent that another shop saw 24 hours ago', async () => {
    const trapped = { ...BROWSER, clientHints: { honeypotTriggered: true } };
    expect(await repeatedScore([trapped], BROWSER, [], 24)).to.deep.equal([true, true]);
    const own = { clientHints: { jsOk: false } };
    expect(await repeatedScore([BROWSER], own, [], 24)).to.deep.equal([false, false]);
  });

  it('answer a repeated score with a device that four others at another shop have pushed out', async () => {
    const { fingerprint } = await blockedSharer();
    const others = Array.from({ length: 4 }, () => ({ fingerprint: randomUUID(), ...BROWSER }));
    const shared = { fingerprint, ...BROWSER };
    expect(await repeatedScore([shared], BROWSER, others, 2)).to.deep.equal([true, true]);
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
