import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { Audit } from '#workbench/access/audit.ts';
import { call, type HeaderList, type Problem } from '../../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { verdictBody } from '../../service/request-bodies.ts';
import { NO_RATE_LIMIT, serviceOfSuite, startService } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

/** The headers of a browser on the console itself. */
const OWN = { 'Sec-Fetch-Site': 'same-origin' };

describeOnStores('signing in with a key', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  const ask = <Body = Problem>(method: string, path: string, headers: HeaderList, body?: object) =>
    call<Body>(method, `${service.application.platformUrl}/v1/platform/${path}`, headers, body);
  const signIn = (key: string, headers: HeaderList = OWN) => ask('POST', 'session', headers, { key });
  const cookieOf = async (key = shop.key) => {
    const { headers } = await signIn(key);
    return headers.getSetCookie()[0]?.split(';')[0] ?? '';
  };
  const noted = async (action: string) => {
    const { entries } = await new Audit(store().auditLog, Date.now).read(null, 1000);
    return entries.filter((entry) => entry.action === action);
  };

  it('gives a cookie that no script can read and no other site can have sent', async () => {
    const { status, headers, body } = await signIn(shop.key);
    expect(status).to.equal(200);
    expect(body).to.include({ platform: 'shop' });
    expect(headers.getSetCookie()).to.have.length(1);
    expect(headers.getSetCookie()[0]).to.match(
      /^session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
  });

  it('makes the cookie do what the key may do', async () => {
    const Cookie = await cookieOf();
    expect((await ask('GET', 'session', { Cookie })).body).to.include({ platform: 'shop' });
    const path = 'client/override?clientIdKey=by-cookie';
    const override = { group: 'BLOCKED', reason: 'chargebacks' };
    expect((await ask('PUT', path, { ...OWN, Cookie }, override)).status).to.equal(200);
    const [entry] = (await noted('override')).slice(-1);
    expect(entry?.who).to.equal(`key ${shop.key.slice(3, 15)}`);
  });

  it('refuses a wrong key, and one without grants here', async () => {
    const wrong = await signIn('ka_wrong');
    expect(wrong.status).to.equal(401);
    expect(wrong.body.detail).to.equal('The access key is not known, was revoked, or has expired.');
    expect(wrong.headers.getSetCookie()).to.deep.equal([]);
    const checkout = await service.tenant('shop', ['score', 'verdict']);
    expect((await signIn(checkout.key)).status).to.equal(403);
  });

  it('slows down who guesses, and refuses no right key, behind the same proxy or from the same address', async () => {
    const rateLimit = { ...NO_RATE_LIMIT, trustedProxies: 1 };
    const own = await startService({ store: store(), rateLimit });
    const { key } = await own.tenant();
    const url = `${own.application.platformUrl}/v1/platform/session`;
    const from = (address: string, tried: string) =>
      call<Problem>('POST', url, { ...OWN, 'X-Forwarded-For': address }, { key: tried });
    // At once: on a busy machine one after the other would take longer than some of them are remembered.
    const guesses = await Promise.all(Array.from({ length: 40 }, () => from('203.0.113.7', 'ka_wrong')));
    const { body } = guesses.find(({ status }) => status === 429) ?? expect.fail('nobody is slowed down');
    const detail = 'Too many sign-ins were refused; try again in a minute.';
    expect([body.detail, body.retryable]).to.deep.equal([detail, true]);
    expect((await from('203.0.113.7', key)).status).to.equal(200);
    expect((await from('203.0.113.8', 'ka_wrong')).status).to.equal(401);
    await own.stop();
  });

  it('ends by signing out, which the audit notes', async () => {
    const Cookie = await cookieOf();
    const answer = await ask('DELETE', 'session', { ...OWN, Cookie });
    expect(answer.status).to.equal(204);
    expect(answer.headers.getSetCookie()).to.deep.equal([
      'session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
    const { status, body } = await ask('GET', 'session', { Cookie });
    expect([status, body.detail]).to.deep.equal([401, 'The session has ended; sign in again.']);
    const who = `key ${shop.key.slice(3, 15)}`;
    expect((await noted('sign-in')).at(-1)).to.include({ who, platform: 'shop' });
    expect((await noted('sign-out')).at(-1)).to.deep.include({
      who,
      platform: 'shop',
      after: { sessions: 1 },
    });
  });

  it('ends in every browser when asked to, when the key is revoked, and with the next in this browser', async () => {
    const { key } = await service.tenant();
    const [here, there] = [await cookieOf(key), await cookieOf(key)];
    await ask('DELETE', 'session?sessions=all', { ...OWN, Cookie: here });
    const revoked = await cookieOf(key);
    await service.application.keys.revoke(key.slice(3, 15));
    const before = await cookieOf();
    await signIn(shop.key, { ...OWN, Cookie: before });
    for (const Cookie of [there, revoked, before])
      expect((await ask('GET', 'session', { Cookie })).status).to.equal(401);
  });

  it('says without a key who is signed in in this browser', async () => {
    const Cookie = await cookieOf();
    expect((await ask('GET', 'sign-in', {})).body).to.include({ session: null });
    expect((await ask('GET', 'sign-in', { Cookie: 'session=old' })).body).to.include({ session: null });
    const { body } = await ask('GET', 'session', { Cookie });
    expect((await ask('GET', 'sign-in', { Cookie })).body).to.deep.include({ session: body });
  });

  describe('on behalf of another site', () => {
    const override = { group: 'TRUSTED', reason: 'forged' };
    const put = async (headers: HeaderList) => {
      const Cookie = await cookieOf();
      return ask('PUT', 'client/override?clientIdKey=forged', { ...headers, Cookie }, override);
    };
    const own = () => service.application.platformUrl;

    for (const [whence, headers] of [
      ['cross-site', () => ({ 'Sec-Fetch-Site': 'cross-site', Origin: own() })],
      ['same-site', () => ({ 'Sec-Fetch-Site': 'same-site', Origin: own() })],
      ['no site', () => ({ 'Sec-Fetch-Site': 'none', Origin: own() })],
      ['another port of this very host', () => ({ Origin: 'http://127.0.0.1:9' })],
      ['an unknown origin', () => ({})],
    ] as const)
      it(`is refused from ${whence}`, async () => {
        const { status, body } = await put(headers());
        expect([status, body.title]).to.deep.equal([403, 'request of another site']);
      });

    it('is accepted from the console by the origin alone, for old browsers', async () => {
      expect((await put({ Origin: own() })).status).to.equal(200);
    });

    it('can neither read, nor sign in or out', async () => {
      const Cookie = await cookieOf();
      const foreign = { 'Sec-Fetch-Site': 'cross-site', Cookie };
      expect((await ask('GET', 'decisions', foreign)).status).to.equal(403);
      expect((await signIn(shop.key, foreign)).status).to.equal(403);
      expect((await ask('DELETE', 'session', foreign)).status).to.equal(403);
      expect((await ask('GET', 'session', { Cookie })).status).to.equal(200);
    });
  });

  it('is refused for another platform than that of the page', async () => {
    const Cookie = await cookieOf();
    const { status, body } = await ask('GET', 'decisions', { Cookie, 'X-KA-Platform': 'bank' });
    expect([status, body.detail]).to.deep.equal([
      403,
      'The person signed in in this browser has no access to the platform "bank"; load the page again.',
    ]);
  });

  it('does not replace the header of programs: a wrong key is refused beside a good cookie', async () => {
    const Cookie = await cookieOf();
    const { status } = await ask('GET', 'session', { Cookie, 'X-KA-Access-Key': 'ka_wrong' });
    expect(status).to.equal(401);
  });

  it('grants nothing on the listener of callers', async () => {
    const Cookie = await cookieOf();
    const url = `${service.application.callerUrl}/v1/client/verdict`;
    const { status, body } = await call<Problem>('POST', url, { ...OWN, Cookie }, verdictBody());
    expect([status, body.detail]).to.deep.equal([401, 'The header X-KA-Access-Key is missing.']);
  });

  it('accepts the address that people use as its own, and sends HSTS where that has TLS', async () => {
    const own = await startService({ store: store(), consoleUrl: new URL('https://scoring.example.com') });
    const { key } = await own.application.keys.issue(toPlatformName('shop'), ['decisions'], KEY_LIFETIME_MS);
    const url = `${own.application.platformUrl}/v1/platform/session`;
    const at = (Origin: string) => call('POST', url, { Origin }, { key });
    expect((await at(own.application.platformUrl)).status).to.equal(403);
    const { headers } = await at('https://scoring.example.com');
    expect(headers.getSetCookie()[0]).to.match(
      /^__Host-session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    await own.stop();
  });
});
