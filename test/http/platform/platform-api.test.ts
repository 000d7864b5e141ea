import { expect } from 'chai';
import { OPERATIONS, type Operation } from '../../../src/access/access-keys.ts';
import { Audit } from '../../../src/access/audit.ts';
import { platformName } from '../../../src/client/client-key.ts';
import { type Answer, call, type Problem } from '../../service/http-call.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';
import { expectHidden } from '../hidden-device.ts';

/** The routes of the platform's listener by operation. */
const REQUESTS: readonly { readonly operation: Operation; readonly method: string; readonly path: string }[] =
  [
    { operation: 'outcomes', method: 'POST', path: 'outcomes' },
    { operation: 'clients:read', method: 'GET', path: 'client?clientIdKey=a' },
    { operation: 'clients:read', method: 'GET', path: 'client/history?clientIdKey=a' },
    { operation: 'clients:read', method: 'GET', path: 'client/export?clientIdKey=a' },
    { operation: 'erase', method: 'DELETE', path: 'client?clientIdKey=a' },
    { operation: 'clients', method: 'PUT', path: 'client/binding?clientIdKey=a' },
    { operation: 'clients', method: 'DELETE', path: 'client/binding?clientIdKey=a' },
    { operation: 'clients', method: 'PUT', path: 'client/override?clientIdKey=a' },
    { operation: 'clients', method: 'DELETE', path: 'client/override?clientIdKey=a' },
    { operation: 'lists:read', method: 'GET', path: 'lists' },
    { operation: 'lists:read', method: 'GET', path: 'lists/some/entries' },
    { operation: 'lists', method: 'PUT', path: 'lists/some/entries?value=a' },
    { operation: 'lists', method: 'DELETE', path: 'lists/some/entries?value=a' },
    { operation: 'keys', method: 'GET', path: 'keys' },
    { operation: 'keys', method: 'POST', path: 'keys' },
    { operation: 'keys', method: 'DELETE', path: 'keys/a' },
    { operation: 'audit', method: 'GET', path: 'audit' },
    { operation: 'audit', method: 'GET', path: 'audit/check' },
    { operation: 'decisions', method: 'GET', path: 'decisions' },
    { operation: 'decisions', method: 'GET', path: 'decisions/a' },
  ];

describeOnStores('the API for the platform', (store) => {
  let service: RunningService;
  let shop: Tenant;
  before(async () => {
    service = await startService({ store: store() });
    shop = await service.tenant();
  });
  after(() => service?.stop());

  describe('outcomes', () => {
    it('are recorded once for an order', async () => {
      const answer = await shop.outcome('once', 'order-1', 'PAID');
      expect(answer.status).to.equal(200);
      expect(answer.body).to.deep.equal({ clientIdKey: 'once', orderRef: 'order-1', result: 'recorded' });
      expect((await shop.outcome('once', 'order-1', 'PAID')).body.result).to.equal('unchanged');
      const { outcomes } = (await shop.client('once')).body;
      expect([outcomes.paidCount, outcomes.unpaidCount]).to.deep.equal([1, 0]);
    });

    it('that are malformed are refused, and change nothing', async () => {
      const good = { clientIdKey: 'bad-outcome', orderRef: 'order-1', outcome: 'PAID' };
      const refusals: readonly (readonly [object, string])[] = [
        [{ ...good, outcome: 'LOST' }, '/outcome must be one of PAID, UNPAID.'],
        [{ ...good, outcome: undefined }, '/outcome is required.'],
        [{ ...good, orderRef: 7 }, '/orderRef must be a JSON string.'],
        [{ ...good, orderRef: 'x'.repeat(257) }, '/orderRef must have at most 256 characters.'],
        [
          { ...good, outcome: 'UNPAID', cause: 'BORED' },
          '/cause must be one of DECLINED, EXPIRED, CANCELLED, TECHNICAL, REVERSED.',
        ],
        [{ ...good, cause: 'DECLINED' }, '/cause goes only with UNPAID.'],
      ];
      for (const [body, detail] of refusals) {
        const answer = await shop.ask('POST', 'outcomes', body);
        expect(answer.status, detail).to.equal(400);
        expect(answer.body.detail).to.equal(detail);
      }
      expect((await shop.client('bad-outcome')).status).to.equal(404);
    });
  });

  describe('a binding', () => {
    const verdict = async (clientIdKey: string, method = 'card') =>
      (await shop.verdict({ clientIdKey, method })).body.verdict;

    it('is answered as it was understood', async () => {
      const answer = await shop.bind('bound', { method: 'card', expiresAt: '2026-12-31T00:00:00Z' });
      expect(answer.status).to.equal(200);
      expect(answer.body).to.deep.equal({
        requisiteRef: 'requisite-7',
        acceptorKeys: ['acceptor-1', 'acceptor-2'],
        method: 'card',
        expiresAt: Date.UTC(2026, 11, 31),
      });
      expect((await shop.client('bound')).body.binding).to.deep.equal(answer.body);
    });

    it('with a method fits only that method', async () => {
      await shop.bind('by-method', { method: 'transfer' });
      expect(await verdict('by-method', 'card')).to.equal('GET_NEW');
      await shop.bind('by-method-2', { method: 'transfer' });
      expect(await verdict('by-method-2', 'transfer')).to.equal('GET_SAME_STICKY');
    });

    it('ends when it expires', async () => {
      await shop.bind('expiring', { expiresAt: service.clock.now() + 60_000 });
      expect((await shop.score({ clientIdKey: 'expiring' })).body.clientGroup).to.equal('STICKY');
      service.clock.moveSeconds(60);
      const { body } = await shop.score({ clientIdKey: 'expiring' });
      expect(body.clientGroup).to.equal('NEW');
      expect(body).not.to.have.property('preferredAcceptorKey');
      expect(await verdict('expiring')).to.equal('GET_NEW');
      expect((await shop.client('expiring')).body.binding).to.equal(null);
    });

    it('ends when it is deleted', async () => {
      await shop.bind('unbound');
      expect((await shop.ask('DELETE', 'client/binding?clientIdKey=unbound')).status).to.equal(204);
      expect(await verdict('unbound')).to.equal('GET_NEW');
    });

    it('is replaced by the next one', async () => {
      await shop.bind('rebound', { requisiteRef: 'old' });
      await shop.bind('rebound', { requisiteRef: 'new' });
      const { body } = await shop.verdict({ clientIdKey: 'rebound' });
      expect(body.stickyRequisiteRef).to.equal('new');
    });

    it('that is malformed is refused, and changes nothing', async () => {
      const refusals: readonly (readonly [object, string])[] = [
        [{ requisiteRef: undefined }, '/requisiteRef is required.'],
        [{ requisiteRef: '' }, '/requisiteRef must not be empty.'],
        [{ acceptorKeys: 'a' }, '/acceptorKeys must be a JSON array.'],
        [{ acceptorKeys: ['a', 7] }, '/acceptorKeys/1 must be a JSON string.'],
        [{ acceptorKeys: [] }, '/acceptorKeys must have at least 1 item.'],
        [{ acceptorKeys: Array.from({ length: 21 }, String) }, '/acceptorKeys must have at most 20 items.'],
        [{ method: 7 }, '/method must be a JSON string.'],
      ];
      for (const [members, detail] of refusals) {
        const answer: Answer<Problem> = await shop.ask('PUT', 'client/binding?clientIdKey=bad-binding', {
          requisiteRef: 'r',
          acceptorKeys: ['a'],
          ...members,
        });
        expect(answer.status, detail).to.equal(400);
        expect(answer.body.detail).to.equal(detail);
      }
      expect((await shop.client('bad-binding')).status).to.equal(404);
    });
  });

  describe('an override', () => {
    const group = async (clientIdKey: string) => (await shop.score({ clientIdKey })).body.clientGroup;

    it('is answered with its time', async () => {
      const answer = await shop.override('overridden', 'BLOCKED');
      expect(answer.body).to.deep.equal({
        group: 'BLOCKED',
        reason: 'looked at by hand',
        by: 'ann',
        at: service.clock.now(),
        expiresAt: null,
      });
      expect((await shop.client('overridden')).body.override).to.deep.equal(answer.body);
    });

    it('TRUSTED outweighs an unpaid chain and bot signals', async () => {
      const clientIdKey = 'vouched';
      for (let order = 0; order < 5; order++) await shop.outcome(clientIdKey, `order-${order}`, 'UNPAID');
      await shop.score({ clientIdKey, clientHints: { honeypotTriggered: true } });
      expect((await shop.verdict({ clientIdKey })).body.verdict).to.equal('BLOCK');
      await shop.override(clientIdKey, 'TRUSTED');
      expect((await shop.verdict({ clientIdKey })).body.verdict).to.equal('GET_NEW');
    });

    it('ends when it expires', async () => {
      await shop.override('for-an-hour', 'BLOCKED', { expiresAt: service.clock.now() + 3600_000 });
      service.clock.moveSeconds(3599);
      expect(await group('for-an-hour')).to.equal('BLOCKED');
      service.clock.moveSeconds(1);
      expect(await group('for-an-hour')).to.equal('NEW');
      expect((await shop.client('for-an-hour')).body.override).to.equal(null);
    });

    it('ends when it is deleted', async () => {
      await shop.override('lifted', 'BLOCKED');
      expect((await shop.ask('DELETE', 'client/override?clientIdKey=lifted')).status).to.equal(204);
      expect(await group('lifted')).to.equal('NEW');
    });

    it('BLOCKED leaves the ladder as it is', async () => {
      const ask = async () => (await shop.verdict({ clientIdKey: 'paused' })).body;
      await ask();
      await shop.override('paused', 'BLOCKED');
      expect((await ask()).verdict).to.equal('BLOCK');
      await shop.ask('DELETE', 'client/override?clientIdKey=paused');
      expect((await ask()).waitSeconds).to.equal(30);
    });

    it('that is malformed is refused, and changes nothing', async () => {
      const good = { group: 'BLOCKED', reason: 'r', by: 'ann' };
      const refusals: readonly (readonly [object, string])[] = [
        [{ ...good, group: 'PAYING' }, '/group must be one of BLOCKED, TRUSTED.'],
        [{ ...good, reason: undefined }, '/reason is required.'],
        [{ ...good, by: '' }, '/by must not be empty.'],
        [
          { ...good, expiresAt: 'tomorrow' },
          '/expiresAt must be a moment like "2026-11-21T10:00:00Z", or milliseconds since 1970 (13 digits; seconds have 10).',
        ],
      ];
      for (const [body, detail] of refusals) {
        const answer = await shop.ask('PUT', 'client/override?clientIdKey=bad-override', body);
        expect(answer.status, detail).to.equal(400);
        expect(answer.body.detail).to.equal(detail);
      }
      expect((await shop.client('bad-override')).status).to.equal(404);
    });
  });

  describe('the view of a client', () => {
    it('shows state, facts and the last decisions', async () => {
      const clientIdKey = 'viewed';
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
        signals: [],
        decisionCount: 2,
        ladder: { level: 0, attemptOpen: false, waitUntil: null },
        binding: null,
        override: null,
      });
      expect(body.decisions.map(({ orderRef }) => orderRef)).to.deep.equal(['viewed-2', 'viewed-1']);
    });

    it('shows neither fingerprint nor IP, not even as HMACs', async () => {
      const clientIdKey = 'masked';
      const device = { fingerprint: 'finger-91', ip: '203.0.113.91', userAgent: 'Opera/9.91' };
      await shop.score({ clientIdKey, ...device });
      await shop.verdict({ clientIdKey });
      const text = JSON.stringify((await shop.client(clientIdKey)).body);
      expect(text).to.include('clientsOnFingerprint');
      expectHidden(text, device);
    });

    it('is 404 for an unknown client', async () => {
      const { status, body } = await shop.ask('GET', 'client?clientIdKey=nobody');
      expect(status).to.equal(404);
      expect(body.detail).to.equal('Nothing is known of this client.');
    });

    it('changes nothing', async () => {
      await shop.verdict({ clientIdKey: 'looked-at' });
      const first = (await shop.client('looked-at')).body;
      expect((await shop.client('looked-at')).body).to.deep.equal(first);
    });
  });

  describe('a clientIdKey in the query', () => {
    for (const clientIdKey of [
      'a/b',
      '100%',
      '%2F',
      '😀',
      'a b',
      '?a=1#b',
      '../up',
      'ü',
      '+',
      '"\\',
      'x'.repeat(256),
    ]) {
      it(`may be ${JSON.stringify(clientIdKey.slice(0, 12))}`, async () => {
        const odd = await service.tenant('odd-names');
        await odd.verdict({ clientIdKey });
        await odd.bind(clientIdKey);
        const { status, body } = await odd.client(clientIdKey);
        expect(status).to.equal(200);
        expect(body.clientIdKey).to.equal(clientIdKey);
        expect(body.decisionCount).to.equal(1);
        expect(await odd.decisions({ clientIdKey })).to.have.length(1);
        const path = `client?clientIdKey=${encodeURIComponent(clientIdKey)}`;
        expect((await odd.ask('DELETE', path)).status).to.equal(204);
        expect((await odd.client(clientIdKey)).status).to.equal(404);
      });
    }

    it('of 256 emoji fits, of 257 does not', async () => {
      expect((await shop.bind('😀'.repeat(256))).status).to.equal(200);
      const { status, body } = await shop.ask(
        'GET',
        `client?clientIdKey=${encodeURIComponent('😀'.repeat(257))}`,
      );
      expect(status).to.equal(400);
      expect(body.detail).to.equal('clientIdKey must have 1 to 256 characters of well-formed Unicode.');
    });

    it('must be percent-encoded UTF-8', async () => {
      for (const id of ['%', '%ff', '%ed%a0%80', '100%']) {
        const { status, body } = await shop.ask('GET', `client?clientIdKey=${id}`);
        expect(status, id).to.equal(400);
        expect(body.detail).to.equal('The query is not percent-encoded UTF-8; encode the clientIdKey in it.');
      }
    });
  });

  it('keeps in the journal the key that overrode a client, whatever `by` says', async () => {
    const { key, record } = await service.application.keys.issue(
      platformName('shop'),
      ['clients'],
      null,
      'desk',
    );
    const desk = new Tenant(service.application, key);
    await desk.override('journaled', 'BLOCKED', { by: 'somebody else' });
    const { entries } = await store().readJournal(null, 10_000);
    const mine = entries.filter((entry) => entry.kind === 'override' && entry.clientIdKey === 'journaled');
    expect(mine).to.have.length(1);
    expect(mine[0]).to.deep.include({ who: `key ${record.id} of desk` });
  });

  describe('the audit log', () => {
    const noted = async () => (await new Audit(store().auditLog, Date.now).read(null, 1000)).entries;

    it('says who bound and overrode a client, what was there before and after, and why', async () => {
      const clientIdKey = 'audited';
      const risk = await service.application.keys.issue(platformName('shop'), ['clients'], null, 'risk-team');
      const desk = new Tenant(service.application, risk.key);
      await desk.bind(clientIdKey, { requisiteRef: 'requisite-9' });
      await desk.override(clientIdKey, 'BLOCKED', { reason: 'chargebacks' });
      await desk.ask('DELETE', `client/override?clientIdKey=${clientIdKey}`);
      const mine = (await noted()).filter(({ subject }) => subject === clientIdKey);
      const who = `key ${risk.record.id} of risk-team`;
      expect(mine.map((entry) => [entry.who, entry.action, entry.reason])).to.deep.equal([
        [who, 'binding', null],
        [who, 'override', 'chargebacks'],
        [who, 'override', null],
      ]);
      expect(mine[0]).to.deep.include({ platform: 'shop', before: null });
      expect(mine[0]?.after).to.include({ requisiteRef: 'requisite-9' });
      expect(mine[2]?.before).to.include({ group: 'BLOCKED', reason: 'chargebacks' });
      expect(mine[2]?.after).to.equal(null);
    });

    it('forgets an erased client, but keeps that somebody erased one', async () => {
      const clientIdKey = 'audited-and-erased';
      await shop.override(clientIdKey, 'BLOCKED', { reason: 'his name is Carl' });
      await shop.ask('DELETE', `client?clientIdKey=${clientIdKey}`);
      const entries = await noted();
      expect(JSON.stringify(entries)).not.to.match(/audited-and-erased|Carl/);
      expect(entries.at(-1)).to.deep.include({
        action: 'client erased',
        platform: 'shop',
        subject: null,
        before: null,
        after: null,
      });
    });
  });

  describe('erasure', () => {
    it('makes the client unknown, without decisions, and new again', async () => {
      const clientIdKey = 'erased';
      await shop.verdict({ clientIdKey, orderRef: 'erased-1' });
      await shop.outcome(clientIdKey, 'erased-1', 'PAID');
      const [decision] = await shop.decisions({ orderRef: 'erased-1' });
      expect((await shop.ask('DELETE', `client?clientIdKey=${clientIdKey}`)).status).to.equal(204);
      expect((await shop.client(clientIdKey)).status).to.equal(404);
      expect(await shop.decisions({ orderRef: 'erased-1' })).to.deep.equal([]);
      expect(await shop.decisions({ clientIdKey })).to.deep.equal([]);
      expect((await shop.ask('GET', `decisions/${decision?.decisionId}`)).status).to.equal(404);
      expect((await shop.score({ clientIdKey })).body).to.deep.include({
        clientGroup: 'NEW',
        paymentScore: '0.5000',
      });
      expect((await shop.verdict({ clientIdKey })).body.verdict).to.equal('GET_NEW');
      expect((await shop.client(clientIdKey)).body.decisionCount).to.equal(1);
    });

    it('removes the client from the devices where it was seen', async () => {
      const fingerprint = 'shared-then-erased';
      for (const clientIdKey of ['sharer-1', 'sharer-2']) {
        await shop.score({ clientIdKey, fingerprint });
        await shop.verdict({ clientIdKey });
      }
      expect((await shop.score({ clientIdKey: 'sharer-2', fingerprint })).body.isBot).to.equal(true);
      await shop.ask('DELETE', 'client?clientIdKey=sharer-1');
      expect((await shop.score({ clientIdKey: 'sharer-2', fingerprint })).body.isBot).to.equal(false);
    });

    it('of an unknown client succeeds, also twice', async () => {
      expect((await shop.ask('DELETE', 'client?clientIdKey=never-seen')).status).to.equal(204);
      expect((await shop.ask('DELETE', 'client?clientIdKey=never-seen')).status).to.equal(204);
    });
  });

  describe('decisions', () => {
    it('are found by orderRef, newest first', async () => {
      for (let ask = 0; ask < 3; ask++) {
        await shop.verdict({ clientIdKey: 'by-order', orderRef: 'order/😀' });
        service.clock.moveSeconds(1);
      }
      const found = await shop.decisions({ orderRef: 'order/😀' });
      expect(found.map(({ seq }) => seq)).to.deep.equal([3, 2, 1]);
      expect(await shop.decisions({ orderRef: 'order/' })).to.deep.equal([]);
    });

    it('are found by clientIdKey, as many as wanted', async () => {
      for (let ask = 0; ask < 4; ask++) await shop.verdict({ clientIdKey: 'by-client' });
      const seqs = async (query: Readonly<Record<string, string>>) =>
        (await shop.decisions({ clientIdKey: 'by-client', ...query })).map(({ seq }) => seq);
      expect(await seqs({})).to.deep.equal([4, 3, 2, 1]);
      expect(await seqs({ limit: '2' })).to.deep.equal([4, 3]);
    });

    it('are listed newest first without a filter', async () => {
      const fresh = await service.tenant('fresh');
      for (const orderRef of ['first', 'second', 'third']) {
        await fresh.verdict({ clientIdKey: orderRef, orderRef });
        service.clock.moveSeconds(1);
      }
      const orders = (await fresh.decisions()).map(({ orderRef }) => orderRef);
      expect(orders).to.deep.equal(['third', 'second', 'first']);
      expect(await fresh.decisions({ limit: '1' })).to.have.length(1);
    });

    it('explain each step: the ladder after one is the ladder before the next', async () => {
      for (let ask = 0; ask < 5; ask++) await shop.verdict({ clientIdKey: 'chained' });
      const steps = (await shop.decisions({ clientIdKey: 'chained' })).toReversed();
      expect(steps.map(({ ladderAfter }) => ladderAfter.level)).to.deep.equal([0, 1, 2, 3, 3]);
      for (const [index, step] of steps.entries()) {
        if (index > 0) expect(step.ladderBefore).to.deep.equal(steps[index - 1]?.ladderAfter);
      }
    });

    it('are read one by one by decisionId', async () => {
      const { headers } = await shop.verdict({ clientIdKey: 'single' });
      const decisionId = headers.get('X-Decision-Id');
      const { status, body } = await shop.ask('GET', `decisions/${decisionId}`);
      expect(status).to.equal(200);
      expect(body).to.deep.include({ decisionId, clientIdKey: 'single' });
      for (const other of ['nonsense', `${decisionId}0`, 'A'.repeat(22)]) {
        expect((await shop.ask('GET', `decisions/${other}`)).status, other).to.equal(404);
      }
    });

    it('need a valid query', async () => {
      const refusals: readonly (readonly [string, string])[] = [
        ['limit=0', 'The parameter limit must be a whole number from 1 to 500.'],
        ['limit=501', 'The parameter limit must be a whole number from 1 to 500.'],
        ['limit=ten', 'The parameter limit must be a whole number from 1 to 500.'],
        ['limit=1e2', 'The parameter limit must be a whole number from 1 to 500.'],
        ['orderRef=a&orderRef=b', 'The parameter orderRef must come once.'],
        ['orderRef=', 'orderRef must have 1 to 256 characters of well-formed Unicode.'],
        [
          `clientIdKey=${'x'.repeat(257)}`,
          'clientIdKey must have 1 to 256 characters of well-formed Unicode.',
        ],
      ];
      for (const [query, detail] of refusals) {
        const { status, body } = await shop.ask('GET', `decisions?${query}`);
        expect(status, query).to.equal(400);
        expect(body).to.deep.include({ title: 'bad request', detail });
      }
    });
  });

  describe('another platform', () => {
    it('sees nothing of a client, its orders and its decisions, and changes nothing of them', async () => {
      const other = await service.tenant('other');
      const clientIdKey = 'private';
      const { headers } = await shop.verdict({ clientIdKey, orderRef: 'private-1' });
      expect((await other.client(clientIdKey)).status).to.equal(404);
      expect(await other.decisions({ orderRef: 'private-1' })).to.deep.equal([]);
      expect(await other.decisions({ clientIdKey })).to.deep.equal([]);
      expect(await other.decisions()).to.deep.equal([]);
      expect((await other.ask('GET', `decisions/${headers.get('X-Decision-Id')}`)).status).to.equal(404);
      await other.override(clientIdKey, 'BLOCKED');
      await other.outcome(clientIdKey, 'private-1', 'PAID');
      await other.ask('DELETE', `client?clientIdKey=${clientIdKey}`);
      const { body } = await shop.client(clientIdKey);
      expect(body).to.deep.include({ decisionCount: 1, clientGroup: 'NEW', override: null });
    });

    it('does not share devices', async () => {
      const other = await service.tenant('other-devices');
      const device = { fingerprint: 'one-phone', ip: '198.51.100.4' };
      for (const tenant of [shop, other]) {
        await tenant.score({ clientIdKey: `on-${tenant === shop ? 1 : 2}`, ...device });
        await tenant.verdict({ clientIdKey: `on-${tenant === shop ? 1 : 2}` });
      }
      expect((await other.score({ clientIdKey: 'on-2', ...device })).body.isBot).to.equal(false);
    });
  });

  describe('the scope of a key', () => {
    for (const { operation, method, path } of REQUESTS) {
      it(`${method} ${path} needs ${operation}`, async () => {
        const body = method === 'POST' || method === 'PUT' ? {} : undefined;
        const without = await service.tenant(
          'shop',
          OPERATIONS.filter((other) => other !== operation && `${other}:read` !== operation),
        );
        const refused = await without.ask(method, path, body);
        expect(refused.status).to.equal(403);
        expect(refused.body).to.deep.include({
          title: 'not provisioned',
          detail: `The access key was not issued for the operation "${operation}"; the platform owner grants operations.`,
        });
        const only = await service.tenant('shop', [operation]);
        expect([200, 204, 400, 404]).to.include((await only.ask(method, path, body)).status);
        const nobody = await call(method, `${shop.platformUrl}/v1/platform/${path}`, {}, body);
        expect(nobody.status).to.equal(401);
      });
    }
  });

  it('answers 405 with Allow to another method', async () => {
    const allowed: readonly (readonly [string, string])[] = [
      ['outcomes', 'POST'],
      ['client?clientIdKey=a', 'HEAD, GET, DELETE'],
      ['client/history?clientIdKey=a', 'HEAD, GET'],
      ['client/binding?clientIdKey=a', 'PUT, DELETE'],
      ['decisions', 'HEAD, GET'],
    ];
    for (const [path, allow] of allowed) {
      const { status, headers } = await shop.ask('PATCH', path);
      expect(status, path).to.equal(405);
      expect(headers.get('Allow'), path).to.equal(allow);
    }
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
