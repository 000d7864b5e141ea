import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { Audit } from '#workbench/access/audit.ts';
import { expectHidden } from '../../checkout/http/hidden-device.ts';
import { call } from '../../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const OUTCOME = { clientIdKey: 'malformed', orderRef: 'order-1', outcome: 'PAID' };

describeOnStores('the API for the platform', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  const answered = async (clientIdKey: string, method = 'card') =>
    (await shop.verdict({ clientIdKey, method })).body.verdict;
  const group = async (clientIdKey: string) => (await shop.score({ clientIdKey })).body.clientGroup;
  const remove = async (what: string, clientIdKey: string) =>
    (await shop.ask('DELETE', `client${what}?clientIdKey=${encodeURIComponent(clientIdKey)}`)).status;

  // What follows from the documents is in openapi/refusals.test.ts.
  it('refuses what no schema of one member tells, says why, and changes nothing', async () => {
    const { status, body } = await shop.ask('POST', 'outcomes', { ...OUTCOME, cause: 'DECLINED' });
    expect([status, body.detail]).to.deep.equal([400, '/cause goes only with UNPAID.']);
    expect((await shop.client('malformed')).status).to.equal(404);
    expect((await shop.bind('😀'.repeat(256))).status).to.equal(200);
  });

  it('records an outcome once for an order', async () => {
    const { status, body } = await shop.outcome('once', 'order-1', 'PAID');
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ clientIdKey: 'once', orderRef: 'order-1', result: 'recorded' });
    expect((await shop.outcome('once', 'order-1', 'PAID')).body.result).to.equal('unchanged');
    expect((await shop.client('once')).body.outcomes).to.deep.include({ paidCount: 1, unpaidCount: 0 });
  });

  it('binds a client for a method and for a time, until it is bound anew or no more', async () => {
    const expiresAt = service.clock.now() + 60_000;
    const { body } = await shop.bind('bound', {
      method: 'transfer',
      expiresAt: new Date(expiresAt).toISOString(),
    });
    const binding = { requisiteRef: 'requisite-7', acceptorKeys: ['acceptor-1', 'acceptor-2'] };
    expect(body).to.deep.equal({ ...binding, method: 'transfer', expiresAt });
    expect((await shop.client('bound')).body.binding).to.deep.equal(body);
    expect(await answered('bound', 'card')).to.equal('GET_NEW');
    service.clock.moveSeconds(60);
    expect(await group('bound')).to.equal('NEW');
    expect((await shop.client('bound')).body.binding).to.equal(null);
    await shop.bind('bound-anew', { requisiteRef: 'old', method: 'card' });
    await shop.bind('bound-anew', { requisiteRef: 'new', method: 'transfer' });
    const { body: sticky } = await shop.verdict({ clientIdKey: 'bound-anew', method: 'transfer' });
    expect(sticky).to.deep.include({ verdict: 'GET_SAME_STICKY', stickyRequisiteRef: 'new' });
    expect(await remove('/binding', 'bound-anew')).to.equal(204);
    expect(await group('bound-anew')).to.equal('NEW');
  });

  it('overrides rules, also signals of a bot, for a time, and leaves the ladder as it is', async () => {
    const clientIdKey = 'overridden';
    await shop.verdict({ clientIdKey });
    const expiresAt = service.clock.now() + 3_600_000;
    const { body } = await shop.override(clientIdKey, 'BLOCKED', { expiresAt });
    const override = { group: 'BLOCKED', reason: 'looked at by hand', at: service.clock.now() };
    expect(body).to.deep.include({ ...override, expiresAt });
    expect((await shop.client(clientIdKey)).body.override).to.deep.equal(body);
    service.clock.moveSeconds(3599);
    expect(await answered(clientIdKey)).to.equal('BLOCK');
    service.clock.moveSeconds(1);
    expect((await shop.client(clientIdKey)).body.override).to.equal(null);
    expect((await shop.verdict({ clientIdKey })).body.waitSeconds).to.equal(30);
    for (let order = 0; order < 5; order++) await shop.outcome('vouched', `order-${order}`, 'UNPAID');
    await shop.score({ clientIdKey: 'vouched', clientHints: { honeypotTriggered: true } });
    expect(await answered('vouched')).to.equal('BLOCK');
    await shop.override('vouched', 'TRUSTED');
    expect(await answered('vouched')).to.equal('GET_NEW');
    expect(await remove('/override', 'vouched')).to.equal(204);
    expect(await group('vouched')).to.equal('BLOCKED');
  });

  it('shows state, facts and the last decisions of a client, and changes nothing by it', async () => {
    const clientIdKey = 'viewed';
    const device = { fingerprint: 'finger-91', ip: '203.0.113.91', userAgent: 'Opera/9.91' };
    await shop.score({ clientIdKey, ...device });
    await shop.verdict({ clientIdKey, orderRef: 'viewed-1' });
    await shop.verdict({ clientIdKey, orderRef: 'viewed-2' });
    await shop.outcome(clientIdKey, 'viewed-0', 'PAID');
    const { status, body } = await shop.client(clientIdKey);
    expect(status).to.equal(200);
    expect(body).to.deep.include({
      clientIdKey,
      ruleVersion: 'p2.v10',
      clientGroup: 'PAYING',
      paymentScore: '0.8571',
      isBot: false,
      ...{
        signals: ['automated-user-agent'],
        decisionCount: 2,
        ladder: { level: 0, attemptOpen: false, waitUntil: null },
      },
      binding: null,
      override: null,
    });
    expect(body.decisions.map(({ orderRef }) => orderRef)).to.deep.equal(['viewed-2', 'viewed-1']);
    expect((await shop.client(clientIdKey)).body).to.deep.equal(body);
    expect(JSON.stringify(body)).to.include('clientsOnFingerprint');
    expectHidden(JSON.stringify(body), device);
    const unknown = await shop.ask('GET', 'client?clientIdKey=nobody');
    expect([unknown.status, unknown.body.detail]).to.deep.equal([404, 'Nothing is known of this client.']);
  });

  it('keeps in journal and audit which key bound and overrode a client', async () => {
    const clientIdKey = 'audited';
    const keys = service.application.keys;
    const { key, record } = await keys.issue(toPlatformName('shop'), ['clients'], KEY_LIFETIME_MS, 'desk');
    const desk = new Tenant(service.application, key);
    await desk.bind(clientIdKey, { requisiteRef: 'requisite-9' });
    await desk.override(clientIdKey, 'BLOCKED', { reason: 'chargebacks' });
    await desk.ask('DELETE', `client/override?clientIdKey=${clientIdKey}`);
    const who = `key ${record.id} of desk`;
    const journal = (await store().readJournal(null, 10_000)).entries;
    const told = journal.filter((entry) => entry.kind === 'override' && entry.clientIdKey === clientIdKey);
    expect(told.map((entry) => 'who' in entry && entry.who)).to.deep.equal([who, who]);
    const { entries } = await new Audit(store().auditLog, Date.now).read(null, 1000);
    const mine = entries.filter(({ subject }) => subject === clientIdKey);
    expect(mine.map((entry) => [entry.platform, entry.who, entry.action, entry.reason])).to.deep.equal([
      ['shop', who, 'binding', null],
      ['shop', who, 'override', 'chargebacks'],
      ['shop', who, 'override', null],
    ]);
    expect([mine[0]?.before, mine[2]?.after]).to.deep.equal([null, null]);
    expect(mine[0]?.after).to.include({ requisiteRef: 'requisite-9' });
    expect(mine[2]?.before).to.include({ group: 'BLOCKED', reason: 'chargebacks' });
  });

  it('erases a client everywhere, which may be repeated', async () => {
    const fingerprint = 'shared-then-erased';
    for (const clientIdKey of ['erased', 'sharer']) {
      await shop.score({ clientIdKey, fingerprint });
      await shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1` });
    }
    await shop.outcome('erased', 'erased-1', 'UNPAID');
    expect((await shop.score({ clientIdKey: 'sharer', fingerprint })).body.isBot).to.equal(true);
    const [decision] = await shop.decisions({ orderRef: 'erased-1' });
    expect([await remove('', 'erased'), await remove('', 'erased')]).to.deep.equal([204, 204]);
    expect((await shop.score({ clientIdKey: 'sharer', fingerprint })).body.isBot).to.equal(false);
    for (const what of ['client', 'client/history'])
      expect((await shop.ask('GET', `${what}?clientIdKey=erased`)).status, what).to.equal(404);
    expect(await shop.decisions({ orderRef: 'erased-1' })).to.deep.equal([]);
    expect(await shop.decisions({ clientIdKey: 'erased' })).to.deep.equal([]);
    expect((await shop.ask('GET', `decisions/${decision?.decisionId}`)).status).to.equal(404);
    const score = (await shop.score({ clientIdKey: 'erased' })).body;
    expect(score).to.deep.include({ clientGroup: 'NEW', paymentScore: '0.5000' });
    expect(await answered('erased')).to.equal('GET_NEW');
    expect((await shop.client('erased')).body.decisionCount).to.equal(1);
  });

  it('finds decisions by order, by client and without a filter, newest first, and each by its id', async () => {
    const fresh = await service.tenant('fresh');
    for (let ask = 0; ask < 5; ask++) {
      await fresh.verdict({ clientIdKey: 'chained', orderRef: 'order/😀' });
      service.clock.moveSeconds(1);
    }
    const { headers } = await fresh.verdict({ clientIdKey: 'single', orderRef: 'single-1' });
    const seqs = async (query: Readonly<Record<string, string>>) =>
      (await fresh.decisions(query)).map(({ clientIdKey, seq }) => `${clientIdKey} ${seq}`);
    const chained = [5, 4, 3, 2, 1].map((seq) => `chained ${seq}`);
    expect(await seqs({ orderRef: 'order/😀' })).to.deep.equal(chained);
    expect(await seqs({ orderRef: 'order/' })).to.deep.equal([]);
    expect(await seqs({ clientIdKey: 'chained', limit: '2' })).to.deep.equal(chained.slice(0, 2));
    expect(await seqs({})).to.deep.equal(['single 1', ...chained]);
    const steps = (await fresh.decisions({ clientIdKey: 'chained' })).toReversed();
    expect(steps.map(({ ladderAfter }) => ladderAfter.level)).to.deep.equal([0, 1, 2, 3, 3]);
    for (const [index, { ladderBefore }] of steps.slice(1).entries())
      expect(ladderBefore).to.deep.equal(steps[index]?.ladderAfter);
    const decisionId = headers.get('X-Decision-Id');
    const { body } = await fresh.ask('GET', `decisions/${decisionId}`);
    expect(body).to.deep.include({ decisionId, clientIdKey: 'single' });
    for (const other of ['nonsense', `${decisionId}0`, 'A'.repeat(22)])
      expect((await fresh.ask('GET', `decisions/${other}`)).status, other).to.equal(404);
  });

  it('shows another platform nothing of a client, its orders, decisions and devices, and lets it change nothing', async () => {
    const other = await service.tenant('other');
    const clientIdKey = 'private';
    const device = { fingerprint: 'one-phone', ip: '198.51.100.4' };
    await shop.score({ clientIdKey, ...device });
    const { headers } = await shop.verdict({ clientIdKey, orderRef: 'private-1' });
    for (const what of ['client', 'client/history', 'client/links'])
      expect((await other.ask('GET', `${what}?clientIdKey=${clientIdKey}`)).status, what).to.equal(404);
    for (const query of [{ orderRef: 'private-1' }, { clientIdKey }, {}])
      expect(await other.decisions(query)).to.deep.equal([]);
    for (const what of ['', '/explanation']) {
      const { status, body } = await other.ask('GET', `decisions/${headers.get('X-Decision-Id')}${what}`);
      expect([status, body.detail]).to.deep.equal([
        404,
        'There is no such decision, or it is past its retention.',
      ]);
    }
    await other.score({ clientIdKey: 'theirs', ...device });
    await other.verdict({ clientIdKey: 'theirs' });
    expect((await other.score({ clientIdKey: 'theirs', ...device })).body.isBot).to.equal(false);
    await other.override(clientIdKey, 'BLOCKED');
    await other.outcome(clientIdKey, 'private-1', 'PAID');
    await other.ask('DELETE', `client?clientIdKey=${clientIdKey}`);
    const { body } = await shop.client(clientIdKey);
    expect(body).to.deep.include({ decisionCount: 1, clientGroup: 'NEW', override: null });
  });

  it('shows liveness, readiness and metrics without a key', async () => {
    const get = (path: string) => call<string>('GET', `${shop.platformUrl}${path}`, {});
    expect((await get('/livez')).body).to.deep.equal({ status: 'live' });
    expect((await get('/readyz')).body).to.deep.equal({ status: 'ready' });
    await shop.verdict({ clientIdKey: 'measured' });
    const metrics = await get('/metrics');
    expect(metrics.headers.get('Content-Type')).to.match(/^text\/plain/);
    expect(metrics.body).to.match(/^scoring_verdicts_total\{verdict="GET_NEW",rule_version="p2\.v10"/m);
  });
});

const DAY_MS = 24 * 3_600_000;

describe('the settings over HTTP', () => {
  const rateLimit = { ratePerSecond: 7, burst: 9, trustedProxies: 0 };
  const { shop } = serviceOfSuite(() => ({ basePath: '/scoring', rateLimit }));

  it('are those that this node was started with', async () => {
    expect((await shop.ask('GET', 'settings')).body).to.deep.equal({
      platform: 'shop',
      approvals: 'off',
      limits: { perSecond: 7, burst: 9, atOnce: 128 },
      keptMs: { clients: 400 * DAY_MS, decisions: 90 * DAY_MS, archive: null, audit: 400 * DAY_MS },
      repeatsErasures: false,
      callers: { port: 0, tls: false, basePath: '/scoring' },
    });
  });
});
