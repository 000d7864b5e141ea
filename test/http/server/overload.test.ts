import { expect } from 'chai';
import Koa from 'koa';
import type { RequestState } from '../../../src/http/request/request-state.ts';
import { countWork, shedOverload, WorkLimit } from '../../../src/http/server/overload.ts';
import { Metrics } from '../../../src/metrics.ts';
import { call, type Problem } from '../../service/http-call.ts';

/** A server whose every request waits until it is let go. */
async function blockedServer(limit: WorkLimit, metrics: Metrics) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const app = new Koa<RequestState>();
  app.use(shedOverload(limit, metrics, '/scoring'));
  app.use(countWork(limit));
  app.use(async (ctx) => {
    await released;
    ctx.body = {};
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  const server = app.listen(0, '127.0.0.1', resolve);
  await listening;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const ask = (operation: string, headers = {}) =>
    call<Problem>('POST', `http://127.0.0.1:${port}/scoring/v1/client/${operation}`, headers, '{ not json');
  return { ask, release, close: () => server.close() };
}

/** Takes so much of the limit until it is released. */
function occupy(limit: WorkLimit, count: number): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (let n = 0; n < count; n++) limit.run(() => promise);
  return resolve;
}

describe('the limit of work under way', () => {
  it('is full for a score before it is full for a verdict', () => {
    const limit = new WorkLimit();
    const full = () => [limit.isFull('score'), limit.isFull('verdict')];
    const releases = [occupy(limit, 191)];
    expect(full()).to.deep.equal([false, false]);
    releases.push(occupy(limit, 1));
    expect(full()).to.deep.equal([true, false]);
    releases.push(occupy(limit, 64));
    expect(full()).to.deep.equal([true, true]);
    for (const release of releases) release();
  });

  it('gives back what is done, also when it fails', async () => {
    const limit = new WorkLimit();
    await limit.run(async () => {
      expect(limit.underWay).to.equal(1);
    });
    const failed = await limit.run(() => Promise.reject(new Error('no'))).catch((error) => error.message);
    expect(failed).to.equal('no');
    expect(limit.underWay).to.equal(0);
  });

  it('shrinks while the event loop has no pause, down to 48', () => {
    const limit = new WorkLimit();
    limit.observe(0.96);
    expect(limit.limit).to.equal(192);
    for (let tick = 0; tick < 50; tick++) limit.observe(1);
    expect(limit.limit).to.equal(48);
  });

  it('grows again when it has, up to 256', () => {
    const limit = new WorkLimit();
    for (let tick = 0; tick < 50; tick++) limit.observe(1);
    limit.observe(0.95);
    expect(limit.limit).to.equal(56);
    for (let tick = 0; tick < 50; tick++) limit.observe(0);
    expect(limit.limit).to.equal(256);
  });
});

describe('an overloaded service', () => {
  it('refuses with 503 and Retry-After before it looks at key or body', async () => {
    const limit = new WorkLimit();
    const metrics = new Metrics();
    const { ask, release, close } = await blockedServer(limit, metrics);
    const free = occupy(limit, 256);
    const { status, headers, body } = await ask('verdict', { 'X-Request-Id': 'mine-1' });
    expect(status).to.equal(503);
    expect(headers.get('Retry-After')).to.equal('1');
    expect(headers.get('Content-Type')).to.equal('application/problem+json');
    expect(headers.get('X-Request-Id')).to.equal('mine-1');
    expect(body).to.deep.equal({
      title: 'temporarily unavailable',
      status: 503,
      detail: 'The service has more to do than it can; nothing was decided or changed. Try again shortly.',
      requestId: 'mine-1',
    });
    expect(await metrics.registry.metrics()).to.include('scoring_shed_total{operation="verdict"} 1');
    free();
    release();
    close();
  });

  it('still gives verdicts when it gives no more scores', async () => {
    const limit = new WorkLimit();
    const { ask, release, close } = await blockedServer(limit, new Metrics());
    const free = occupy(limit, 192);
    expect((await ask('score')).status).to.equal(503);
    release();
    expect((await ask('verdict')).status).to.equal(200);
    free();
    close();
  });

  it('answers again as soon as there is room', async () => {
    const limit = new WorkLimit();
    const { ask, release, close } = await blockedServer(limit, new Metrics());
    release();
    const free = occupy(limit, 256);
    expect((await ask('verdict')).status).to.equal(503);
    free();
    expect((await ask('verdict')).status).to.equal(200);
    expect(limit.underWay).to.equal(0);
    close();
  });
});
