import { expect } from 'chai';
import { pino } from 'pino';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { Audit } from '#workbench/access/audit.ts';
import { parseRoleMappings } from '#workbench/access/roles.ts';
import { freePort } from '../../servers/free-port.ts';
import { type RunningProvider, startIdentityProvider } from '../../servers/identity-provider.ts';
import { call, type HeaderList, type Problem } from '../../service/http-call.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const PARSED = parseRoleMappings(
  'groups:fraud-team=analyst@shop,groups:fraud-team=support@bank,groups:ops=operator@*',
);
const ROLES = typeof PARSED === 'string' ? [] : PARSED;
const OWN = { 'Sec-Fetch-Site': 'same-origin' };

/** A browser as far as cookies and redirects go. */
class Visitor {
  readonly #cookies = new Map<string, string>();

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async visit(url: string): Promise<string | null> {
    const answer = await fetch(url, { redirect: 'manual', headers: { Cookie: this.cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    await answer.text();
    const location = answer.headers.get('Location');
    return location === null ? null : new URL(location, url).href;
  }

  /** From the page to the provider, where a name is typed, and to the callback, which is not visited. */
  async toCallback(start: string, name: string): Promise<string> {
    let next: string | null = start;
    for (let step = 0; step < 8 && next !== null; step++) {
      if (next.includes('/session/callback')) return next;
      next = await this.visit(
        next.includes('/interaction/') ? `${next}?name=${encodeURIComponent(name)}` : next,
      );
    }
    throw new Error('the provider leads nowhere');
  }
}

interface LoggedLine {
  readonly why?: string;
  readonly outcome?: string;
}

function logged(lines: LoggedLine[]) {
  return pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) });
}

describeOnStores('signing in at an identity provider', (store) => {
  let provider: RunningProvider;
  let service: RunningService;
  let url: string;
  const log: LoggedLine[] = [];
  before(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    provider = await startIdentityProvider(() => url);
    service = await startService({
      store: store(),
      consoleUrl: new URL(url),
      provider: provider.settings(ROLES),
      platformPort: port,
      log: logged(log),
    });
  });
  after(async () => {
    await service?.stop();
    await provider?.stop();
  });

  const start = (back = '') => `${url}/session/sign-in?back=${encodeURIComponent(back)}`;
  const signIn = async (name: string, back = '') => {
    const visitor = new Visitor();
    const end = await visitor.visit(await visitor.toCallback(start(back), name));
    return { visitor, end };
  };
  const ask = <Body = Problem>(method: string, path: string, headers: HeaderList, body?: object) =>
    call<Body>(method, `${url}/v1/platform/${path}`, headers, body);

  it('leads back to the page, as a person with the roles of the groups', async () => {
    const { visitor, end } = await signIn('ann', '?platform=bank#/find');
    expect(end).to.equal(`${url}/?platform=bank#/find`);
    const { status, body } = await ask('GET', 'session', { Cookie: visitor.cookie });
    expect(status).to.equal(200);
    expect(body).to.deep.include({
      who: 'person:ann (ann@example.com)',
      owner: 'person:ann',
      platform: 'shop',
      platforms: ['bank', 'shop'],
      operations: ['figures', 'rules:read', 'rules'],
    });
  });

  it('lets a person act where the roles reach, and nowhere else', async () => {
    const { visitor } = await signIn('ann');
    const at = (platform: string) =>
      ask('GET', 'decisions', { Cookie: visitor.cookie, 'X-KA-Platform': platform });
    expect((await at('bank')).status).to.equal(200);
    expect((await at('shop')).body.detail).to.include('"decisions"');
    expect((await at('club')).body.detail).to.include('has no access to the platform "club"');
  });

  it('notes changes under the person', async () => {
    const { visitor } = await signIn('ops');
    const headers = { ...OWN, Cookie: visitor.cookie, 'X-KA-Platform': 'shop' };
    const override = { group: 'BLOCKED', reason: 'chargebacks' };
    expect((await ask('PUT', 'client/override?clientIdKey=by-person', headers, override)).status).to.equal(
      200,
    );
    const { entries } = await new Audit(store().auditLog, Date.now).read(null, 1000);
    expect(entries.findLast(({ action }) => action === 'override')?.who).to.equal(
      'person:ops (ops@example.com)',
    );
    expect(entries.findLast(({ action }) => action === 'sign-in')).to.deep.include({
      who: 'person:ops (ops@example.com)',
      after: { roles: ['groups:ops=operator@*'] },
    });
  });

  it('gives somebody without a role no session, and says so', async () => {
    const { visitor, end } = await signIn('guest');
    expect(end).to.equal(`${url}/?sign-in=no-role`);
    expect(visitor.cookie).not.to.match(/(^|; )session=/);
  });

  it("ends a person's keys where the roles let him keep none any more, as the audit says", async () => {
    const keys = new AccessKeys(store().documents, Date.now);
    const issue = async (platform: string, owner: string) =>
      (await keys.issue(toPlatformName(platform), ['score'], 3_600_000, owner)).record.id;
    const [bobs, atShop, others] = [
      await issue('shop', 'person:bob'),
      await issue('shop', 'person:ann'),
      await issue('shop', 'ann'),
    ];
    await signIn('ann');
    const live = [bobs, atShop, others].map(async (id) => (await keys.findLive(id)) !== null);
    expect(await Promise.all(live)).to.deep.equal([true, false, true]);
    const { entries } = await new Audit(store().auditLog, Date.now).read(null, 1000);
    expect(entries.findLast(({ action }) => action === 'key revoked')).to.deep.include({
      who: 'service',
      platform: 'shop',
      subject: atShop,
      reason: 'its owner signed in without a role that keeps keys there',
    });
  });

  it('refuses a callback in another browser than the one that began', async () => {
    const victim = new Visitor();
    const stolen = await new Visitor().toCallback(start(), 'ann');
    expect(await victim.visit(stolen)).to.equal(`${url}/?sign-in=refused`);
    await victim.visit(start());
    expect(await victim.visit(stolen)).to.equal(`${url}/?sign-in=refused`);
    expect(victim.cookie).not.to.match(/(^|; )session=/);
    expect(log.slice(-2).map(({ why }) => why)).to.deep.equal([
      'this browser did not begin a sign-in, or began it too long ago',
      'the state is not the one of the sign-in that this browser began',
    ]);
  });

  it('counts a callback of another sign-in against nobody, and lets the begun one go on', async () => {
    const visitor = new Visitor();
    const callback = await visitor.toCallback(start(), 'ann');
    for (const query of ['', '?state=another', '?state=a&state=b', '?code=x&state=another'])
      for (let time = 0; time < 35; time += 1)
        expect(await visitor.visit(`${url}/session/callback${query}`)).to.equal(`${url}/?sign-in=refused`);
    expect(await visitor.visit(callback)).to.equal(`${url}/`);
  });

  it('accepts a callback once', async () => {
    const visitor = new Visitor();
    const callback = await visitor.toCallback(start(), 'ann');
    expect(await visitor.visit(callback)).to.equal(`${url}/`);
    expect(await visitor.visit(callback)).to.equal(`${url}/?sign-in=refused`);
  });

  const whoIs = async (name: string) => {
    const { visitor } = await signIn(name);
    return (await ask<{ who: string; platforms: string[] }>('GET', 'session', { Cookie: visitor.cookie }))
      .body;
  };

  it('shows an address only where the document that has it says that it is verified', async () => {
    const name = 'eve with another address in userinfo';
    expect((await whoIs(name)).who).to.equal(`person:${name} (eve@example.com)`);
    expect((await whoIs('eve with a torn address')).who).to.equal('person:eve with a torn address');
  });

  it('gives the roles of the userinfo where that has the claim', async () => {
    expect((await whoIs('eve without a role in userinfo')).platforms).to.deep.equal(['bank', 'shop']);
  });

  it('refuses a person whose sub is too long or has characters that nobody sees, and says so in the log', async () => {
    const longest = 'a'.repeat(255);
    expect((await whoIs(longest)).who).to.equal(`person:${longest}`);
    for (const sub of [`${longest}a`, 'ann\u0001', 'ann\n', 'ann\u202eb']) {
      expect((await signIn(sub)).end, sub).to.equal(`${url}/?sign-in=refused`);
      expect(log.at(-1)?.why).to.equal(
        'the provider names this person by a sub that is not taken: it must have at most 255 characters, none of them a control character',
      );
    }
  });

  it('never leads to another site afterwards', async () => {
    for (const back of ['//evil.example', 'https://evil.example', '?platform=a#/x y', '#/\\evil'])
      expect((await signIn('ann', back)).end, back).to.equal(`${url}/`);
  });

  it('stores no token, only the person and the roles', async () => {
    await signIn('ann');
    const sessions = JSON.stringify(await store().documents.list('sessions'));
    expect(sessions)
      .to.include('"sub":"ann"')
      .and.not.match(/token|eyJ/);
  });

  it('says in the log that an address was refused too often, when that is the reason', async () => {
    const own = await startService({
      store: store(),
      consoleUrl: new URL(url),
      provider: provider.settings(ROLES),
      log: logged(log),
    });
    const visitor = new Visitor();
    const begin = `${own.application.platformUrl}/session/sign-in`;
    for (let time = 0; time < 35; time += 1) {
      const { searchParams } = new URL((await visitor.visit(begin)) ?? '');
      const query = `code=guessed&state=${searchParams.get('state')}`;
      await visitor.visit(`${own.application.platformUrl}/session/callback?${query}`);
    }
    expect(log.at(-1)).to.deep.include({
      outcome: 'refused',
      why: 'too many sign-ins from this address were refused within a minute',
    });
    await own.stop();
  });

  it('says that the provider cannot be reached, while keys still work', async () => {
    const away = await startService({
      store: store(),
      consoleUrl: new URL(url),
      provider: { ...provider.settings(ROLES), issuer: new URL(`http://127.0.0.1:${await freePort()}`) },
    });
    const base = away.application.platformUrl;
    expect(await new Visitor().visit(`${base}/session/sign-in`)).to.equal(`${base}/?sign-in=away`);
    const { key } = await away.tenant();
    const signedIn = await call('POST', `${base}/v1/platform/session`, { Origin: url }, { key });
    expect(signedIn.status).to.equal(200);
    await away.stop();
  });
});
