import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { call, type Problem } from '../../service/http-call.ts';
import { scoreBody, verdictBody } from '../../service/request-bodies.ts';
import { type RunningService, serviceOfSuite, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { rawExchange, rawStatus } from '../http/raw-exchange.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('the API for callers', () => {
  const { service, shop } = serviceOfSuite();

  const url = (path: string) => `${shop.callerUrl}${path}`;

  /** Asks with headers that a client library would not send twice. */
  const rawVerdict = (clientIdKey: string, ...headers: readonly string[]) => {
    const text = JSON.stringify(verdictBody({ clientIdKey }));
    const head = [
      'POST /v1/client/verdict HTTP/1.1',
      'Host: localhost',
      'Connection: close',
      'Content-Type: application/json',
      `X-KA-Access-Key: ${shop.key}`,
      ...headers,
      `Content-Length: ${text.length}`,
    ];
    return rawExchange(shop.callerUrl, [...head, '', text].join('\r\n'));
  };

  describe('the access key (interface, section 5)', () => {
    it('is read from this header alone', async () => {
      const bearer = { Authorization: `Bearer ${shop.key}` };
      const answer = await call<Problem>('POST', url('/v1/client/verdict'), bearer, verdictBody());
      expect([answer.status, answer.body.detail]).to.deep.equal([
        401,
        'The header X-KA-Access-Key is missing.',
      ]);
    });

    it('must not come twice, even twice the same', async () => {
      const answer = await rawVerdict('twice', `x-ka-access-key: ${shop.key}`);
      expect(rawStatus(answer)).to.equal(401);
      expect(answer).to.include('The header X-KA-Access-Key came more than once.');
      expect((await shop.client('twice')).status).to.equal(404);
    });
  });

  it('makes an X-Request-Id, or takes one that is safe to repeat, also in refusals', async () => {
    const idOf = async (given: string | null) => {
      const headers = given === null ? {} : { 'X-Request-Id': given };
      return (await shop.score({}, headers)).headers.get('X-Request-Id') ?? '';
    };
    expect(await idOf(null)).to.match(UUID);
    expect(await idOf(null)).not.to.equal(await idOf(null));
    for (const id of ['checkout-17', 'A.b_c~d:e/f+g=h', 'x'.repeat(128)]) expect(await idOf(id)).to.equal(id);
    for (const id of ['', 'with blank', 'x'.repeat(129), '<script>', '"quoted"', 'a;b', 'é', '{}'])
      expect(await idOf(id), id).to.match(UUID);
    const refused = await shop.post('score', '{', { 'X-Request-Id': 'bad-1' });
    expect([refused.headers.get('X-Request-Id'), refused.body.requestId]).to.deep.equal(['bad-1', 'bad-1']);
  });

  describe('Idempotency-Key', () => {
    const keyed = (key: string) => ({ 'Idempotency-Key': key });

    it('gives the stored answer to the same request, without a second step', async () => {
      const members = { clientIdKey: 'retried', orderRef: 'retried-1' };
      const first = await shop.verdict(members, keyed('retry-1'));
      service.clock.moveSeconds(3600);
      const again = await shop.verdict(members, keyed('retry-1'));
      expect(first.headers.has('Idempotent-Replayed')).to.equal(false);
      expect(again.headers.get('Idempotent-Replayed')).to.equal('true');
      expect(again.status).to.equal(200);
      expect(again.body).to.deep.equal(first.body);
      expect(again.headers.get('X-Decision-Id')).to.equal(first.headers.get('X-Decision-Id'));
      expect((await shop.client('retried')).body.decisionCount).to.equal(1);
    });

    it('treats requests as equal however their members are ordered', async () => {
      const members = Object.entries(verdictBody({ clientIdKey: 'reordered' }));
      const texts = [members, members.toReversed()].map((entries) =>
        JSON.stringify(Object.fromEntries(entries)),
      );
      const statuses: number[] = [];
      for (const text of texts) statuses.push((await shop.post('verdict', text, keyed('order'))).status);
      expect(statuses).to.deep.equal([200, 200]);
      expect((await shop.client('reordered')).body.decisionCount).to.equal(1);
    });

    it('refuses another request with 422, without a step', async () => {
      const clientIdKey = 'reused';
      await shop.verdict({ clientIdKey }, keyed('reuse'));
      const others = [
        { clientIdKey, amountRequested: '26.00' },
        { clientIdKey, orderRef: 'order-2' },
        { clientIdKey, toPayCurrency: 'EUR' },
        { clientIdKey: 'reused-by-another' },
      ];
      for (const other of others) {
        const answer = await shop.post('verdict', verdictBody(other), keyed('reuse'));
        expect(answer.status).to.equal(422);
        expect(answer.body).to.deep.include({
          title: 'Idempotency-Key reused',
          detail:
            'This Idempotency-Key was used with another request before; use a new key for every new verdict.',
        });
      }
      expect((await shop.client(clientIdKey)).body.decisionCount).to.equal(1);
      expect((await shop.client('reused-by-another')).status).to.equal(404);
    });

    it('belongs to its platform', async () => {
      const other = await service.tenant('other');
      await shop.verdict({ clientIdKey: 'mine' }, keyed('common'));
      const answer = await other.verdict({ clientIdKey: 'theirs' }, keyed('common'));
      expect(answer.status).to.equal(200);
      expect(answer.headers.has('Idempotent-Replayed')).to.equal(false);
    });

    it('is not used up by a refused request', async () => {
      expect((await shop.post('verdict', '{}', keyed('after-refusal'))).status).to.equal(400);
      const answer = await shop.verdict({ clientIdKey: 'after-refusal' }, keyed('after-refusal'));
      expect([answer.status, answer.headers.has('Idempotent-Replayed')]).to.deep.equal([200, false]);
    });

    it('may have 255 characters, and a refusal names the header and what it may be', async () => {
      expect((await shop.verdict({ clientIdKey: 'long' }, keyed('k'.repeat(255)))).status).to.equal(200);
      const { body } = await shop.post('verdict', verdictBody(), keyed('two words'));
      expect(body.detail).to.equal('Idempotency-Key must come once, with 1 to 255 visible ASCII characters.');
      expect([body.title, body.errors]).to.deep.equal([
        'bad request',
        [{ header: 'Idempotency-Key', detail: 'must come once, with 1 to 255 visible ASCII characters' }],
      ]);
    });

    it('must not come twice', async () => {
      const answer = await rawVerdict('key-twice', 'Idempotency-Key: one', 'Idempotency-Key: one');
      expect(rawStatus(answer)).to.equal(400);
      expect((await shop.client('key-twice')).status).to.equal(404);
    });
  });
});

describe('the API for callers under a BASE_PATH', () => {
  it('answers below it and nowhere else, and does not move the API of the platform', async () => {
    const service = await startService({ basePath: '/pay/scoring.v2' });
    const shop = await service.tenant();
    try {
      expect(shop.callerUrl).to.match(/^http:\/\/127\.0\.0\.1:\d+\/pay\/scoring\.v2$/);
      expect((await shop.score()).status).to.equal(200);
      const { origin } = new URL(shop.callerUrl);
      for (const below of ['', '/pay/scoringXv2', '/PAY/scoring.v2']) {
        const path = `${below}/v1/client/score`;
        const { status } = await call('POST', origin + path, { 'X-KA-Access-Key': shop.key }, {});
        expect(status, path).to.equal(404);
      }
      expect((await shop.ask('GET', 'decisions')).status).to.equal(200);
    } finally {
      await service.stop();
    }
  });
});

const expectUnavailable = ({ status, headers, body }: Awaited<ReturnType<Tenant['post']>>) => {
  expect(status).to.equal(503);
  expect(headers.get('Retry-After')).to.equal('1');
  expect(headers.get('Content-Type')).to.equal('application/problem+json');
  expect(body).to.deep.equal({
    title: 'temporarily unavailable',
    status: 503,
    code: 'store-away',
    retryable: true,
    detail:
      'The service cannot reach its store right now. Send the same request again shortly; repeat a verdict with the same Idempotency-Key.',
    requestId: headers.get('X-Request-Id'),
  });
};

describe('the API when state cannot be written', () => {
  const directory = temporaryDirectory();
  const store = openSqliteStore(directory, { salt: TEST_SALT });
  const { shop } = serviceOfSuite(() => ({ store }));
  after(() => store.close());

  const whileLocked = async (work: () => Promise<void>) => {
    const lock = new DatabaseSync(join(directory, 'scoring.sqlite'));
    lock.exec('BEGIN IMMEDIATE');
    await work().finally(() => lock.close());
  };

  it('answers 503 with Retry-After, and the step was not taken', async () => {
    await whileLocked(async () => {
      expectUnavailable(await shop.post('verdict', verdictBody()));
      expectUnavailable(await shop.post('verdict', verdictBody(), { 'Idempotency-Key': 'locked' }));
      expectUnavailable(await shop.post('score', scoreBody()));
      expectUnavailable(
        await shop.ask('POST', 'outcomes', { clientIdKey: 'payer-1', orderRef: 'order-1', outcome: 'PAID' }),
      );
    });
    expect((await shop.client('payer-1')).status).to.equal(404);
    expect(await shop.decisions()).to.deep.equal([]);
  });

  it('takes the step when the caller tries again', async () => {
    const members = { clientIdKey: 'tries-again' };
    const key = { 'Idempotency-Key': 'tries-again' };
    await whileLocked(async () => expectUnavailable(await shop.post('verdict', verdictBody(members), key)));
    expect((await shop.verdict(members, key)).body.verdict).to.equal('GET_NEW');
    expect((await shop.client('tries-again')).body.decisionCount).to.equal(1);
  });
});

describe('the API when state cannot be read', () => {
  let service: RunningService;
  let shop: Tenant;
  before(async () => {
    service = await startService();
    shop = await service.tenant();
    await service.store.close();
  });
  after(() => service.application.drain());

  it('is live but not ready', async () => {
    expect((await call('GET', `${shop.platformUrl}/livez`, {})).body).to.deep.equal({ status: 'live' });
    const { status, body } = await call('GET', `${shop.platformUrl}/readyz`, {});
    expect(status).to.equal(503);
    const why = `The clients on ${service.store.name} get 503: database is not open.`;
    expect(body).to.deep.equal({ status: 'not ready', why });
  });
});

const ROOT = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(ROOT, 'src', 'checkout', 'caller', 'README.md'), 'utf8');

/** A citation of a section of the interface: where it is, and the section's number. */
function citations(folder: string): readonly (readonly [place: string, section: string])[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|js|yaml|json|md)$/.test(entry.name))
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const text = readFileSync(path, 'utf8');
      return [...text.matchAll(/\binterface(?:'s)?,? (?:\()?section (\d+(?:\.\d+)?)/gi)].map(
        ([, section = '']) => [path.slice(ROOT.length + 1), section] as const,
      );
    });
}

describe('the page about the interface', () => {
  it('has every section that the code and the rules cite', () => {
    const sections = [...page.matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number);
    const cited = ['src', 'scripts', 'test', 'rules', 'packaging'].flatMap(citations);
    expect(cited.length).to.be.above(20);
    expect(cited.filter(([, section]) => !sections.includes(section))).to.deep.equal([]);
  });
});
