import type { IncomingMessage, RequestListener } from 'node:http';
import { expect } from 'chai';
import Koa from 'koa';
import { pino } from 'pino';
import { QueueFull } from '#base/work/fair-queue.ts';
import {
  createErrorMiddleware,
  NOT_FOUND,
  OVERLOADED,
  TOO_MANY_AT_ONCE,
} from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { countWork, delayOverloadRefusals, shedOverload } from '#checkout/http/server/overload.ts';
import { WorkLimit } from '#checkout/http/server/work-limit.ts';
import { Metrics } from '#checkout/metrics/metrics.ts';
import type { Store } from '#state/store.ts';
import { serving } from '../../../servers/listening.ts';
import { until } from '../../../servers/until.ts';
import { call, type Problem } from '../../../service/http-call.ts';
import { startService } from '../../../service/running-service.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';

type Full = ReadonlySet<'score' | 'verdict'>;

/** A server that is full for these operations and answers the others with an empty object. */
function fullServer(full: Full, metrics = new Metrics()) {
  const limit = {
    isFull: (operation: 'score' | 'verdict') => full.has(operation),
    hasShare: () => false,
    isContended: false,
    begin: () => expect.fail('nobody else has work'),
  };
  const answer: RequestListener = (_req, res) => res.writeHead(200).end('{}');
  return askedAt(shedOverload(limit, metrics, '/scoring', answer, () => null));
}

async function askedAt(answer: RequestListener) {
  const { url, stop } = await serving(answer);
  const ask = (path: string, headers = {}) =>
    call<Problem>('POST', `${url}/scoring/v1/client/${path}`, headers, '{ not json');
  return { ask, close: stop };
}

describe('an overloaded service', () => {
  it('refuses with 503 and Retry-After before it looks at key or body', async () => {
    const metrics = new Metrics();
    const { ask, close } = await fullServer(new Set(['score', 'verdict'] as const), metrics);
    const { status, headers, body } = await ask('verdict', { 'X-Request-Id': 'mine-1' });
    expect(status).to.equal(503);
    expect(headers.get('Retry-After')).to.equal('1');
    expect(headers.get('Content-Length')).to.equal('195');
    expect(headers.get('Content-Type')).to.equal('application/problem+json');
    expect(headers.get('Cache-Control')).to.equal('no-store');
    expect(headers.get('X-Request-Id')).to.equal('mine-1');
    expect(body).to.deep.equal({
      title: 'temporarily unavailable',
      status: 503,
      code: 'overloaded',
      retryable: true,
      detail: 'The service is overloaded; nothing was decided or changed. Try again shortly.',
      requestId: 'mine-1',
    });
    expect(await metrics.registry.metrics()).to.include('scoring_shed_total{operation="verdict"} 1');
    close();
  });

  it('still gives verdicts when it refuses scores', async () => {
    const { ask, close } = await fullServer(new Set(['score'] as const));
    const statuses = await Promise.all(
      ['score', 'verdict', 'verdict?from=here', 'verdicts'].map(async (path) => (await ask(path)).status),
    );
    expect(statuses).to.deep.equal([503, 200, 200, 503]);
    close();
  });

  it('lets a platform begin in its turn while several have work', async () => {
    const begun: string[] = [];
    const begin = (owner: string, start: () => void) => {
      begun.push(owner);
      start();
    };
    const limit = { isFull: () => false, hasShare: () => false, isContended: true, begin };
    const answer: RequestListener = (_req, res) => res.writeHead(200).end('{}');
    const ownerOf = ({ headers }: IncomingMessage) =>
      headers['x-ka-access-key'] === 'known' ? 'shop' : null;
    const { ask, close } = await askedAt(shedOverload(limit, new Metrics(), '/scoring', answer, ownerOf));
    expect((await ask('verdict', { 'X-KA-Access-Key': 'known' })).status).to.equal(200);
    expect((await ask('verdict', { 'X-KA-Access-Key': 'unknown' })).status).to.equal(200);
    expect(begun).to.deep.equal(['shop', '']);
    close();
  });

  it('answers again as soon as there is room', async () => {
    const limit = new WorkLimit();
    const app = new Koa<RequestState>();
    app.use(countWork(limit));
    app.use((ctx) => {
      expect(limit.underWay).to.equal(1);
      ctx.body = {};
    });
    const { ask, close } = await askedAt(
      shedOverload(limit, new Metrics(), '/scoring', app.callback(), () => null),
    );
    const { promise: freed, resolve: free } = Promise.withResolvers<void>();
    for (let n = 0; n < 256; n++) limit.run(() => freed);
    expect((await ask('verdict')).status).to.equal(503);
    free();
    await freed;
    expect((await ask('verdict')).status).to.equal(200);
    expect(limit.underWay).to.equal(0);
    close();
  });

  it('delays the refusal of a caller who asked for too much, and no other refusal', async () => {
    const refusals: Readonly<Record<string, Error>> = {
      key: TOO_MANY_AT_ONCE.problem('access key'),
      listener: OVERLOADED.problem(),
      turns: new QueueFull('2 of shop are under way'),
      nothing: NOT_FOUND.problem('nothing'),
    };
    const pauses: number[] = [];
    const app = new Koa<RequestState>();
    app.use(createErrorMiddleware(pino({ enabled: false })));
    app.use(delayOverloadRefusals(async (ms) => pauses.push(ms)));
    app.use(({ path }) => {
      throw refusals[path.split('/').at(-1) ?? ''] ?? new Error(path);
    });
    const { ask, close } = await askedAt(app.callback());
    const statuses: number[] = [];
    for (const name of Object.keys(refusals)) statuses.push((await ask(name)).status);
    expect(statuses).to.deep.equal([429, 503, 429, 404]);
    expect(pauses).to.have.length(3);
    for (const ms of pauses) expect(ms).to.be.within(70, 130);
    close();
  });
});

describeOnStores('a platform that keeps the service full from 500 addresses', (store) => {
  it('costs its neighbour no verdict, and is refused beyond its share', async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    let refused = 0;
    const slowForOne = new Proxy(store(), {
      get: (target, name) => {
        const load: Store['load'] = async (client, also) => {
          if (client.platform === 'hostile') await gate;
          return target.load(client, also);
        };
        if (name === 'load') return load;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const rateLimit = { ratePerSecond: 10, burst: 20, trustedProxies: 1 };
    const service = await startService({ store: slowForOne, rateLimit });
    const [hostile, neighbour] = [await service.tenant('hostile'), await service.tenant('neighbour')];
    const ask = (tenant: typeof hostile, net: string, count: number) =>
      Array.from({ length: count }, (_, index) =>
        tenant.verdict(
          { clientIdKey: `payer-${index}`, orderRef: `order-${index}` },
          { 'X-Forwarded-For': `10.${net}.${index >> 8}.${index & 255}` },
        ),
      );
    await Promise.all(ask(neighbour, '1', 1));
    const flood = ask(hostile, '2', 500).map(async (asked) => {
      const { status } = await asked;
      if (status === 503) refused += 1;
      return status;
    });
    await until('it is full', async () => refused > 0);
    // Fewer than half of the least that may be under way, which is what is left where the machine is busy.
    const answers = await Promise.all(ask(neighbour, '3', 20));
    release();
    await Promise.all(flood);
    await service.stop();
    expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
  }).timeout(60_000);
});
