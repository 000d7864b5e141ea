import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { CircuitBreaker } from '#state/redis/connection/server-calls.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { usableMsSince, watchStandstills } from '../../../servers/standstill.ts';

const LIMIT_MS = 60;

describe('the circuit breaker', () => {
  const never = () => new Promise<never>(() => {});
  let breaker: CircuitBreaker;
  beforeEach(() => {
    breaker = new CircuitBreaker('the server', () => LIMIT_MS, never);
  });

  it('returns the result of the call', async () => {
    expect(await breaker.run(async () => 7)).to.equal(7);
  });

  it('turns every failure into StoreUnavailable and names the cause', async () => {
    const cause = new Error('refused');
    const failure = await failureOf(breaker.run(() => Promise.reject(cause)));
    expect(failure)
      .to.be.instanceOf(StoreUnavailable)
      .with.property('message', 'the server could not answer: refused');
    expect(failure.cause).to.equal(cause);
  });

  it('catches a call that throws before it starts', async () => {
    const call = (): Promise<number> => {
      throw new Error('at once');
    };
    expect(await failureOf(breaker.run(call))).to.be.instanceOf(StoreUnavailable);
  });

  it('gives up a call after its limit and not before', async () => {
    watchStandstills();
    const started = performance.now();
    const failure = await failureOf(breaker.run(never));
    expect(failure).to.be.instanceOf(StoreUnavailable);
    expect(failure.message).to.equal('the server did not answer within 60 ms');
    expect(performance.now() - started).to.be.at.least(LIMIT_MS - 1);
    expect(usableMsSince(started)).to.be.at.most(1000);
  });

  it('refuses new calls at once while an overdue one still waits, without starting them', async () => {
    await failureOf(breaker.run(never));
    let started = 0;
    const call = async () => {
      started += 1;
    };
    const failure = await failureOf(breaker.run(call));
    expect(failure.message).to.equal('the server does not answer');
    expect(started).to.equal(0);
  });

  it('gives up reads once another call is overdue, and gives a change all of its time', async () => {
    const overdue = failureOf(breaker.run(never));
    await delay(LIMIT_MS / 2);
    const fates: string[] = [];
    const change = failureOf(breaker.run(never)).then(({ message }) => fates.push(message));
    const read = failureOf(breaker.read(never)).then(({ message }) => fates.push(message));
    await Promise.all([overdue, change, read]);
    expect(fates).to.deep.equal(['the server does not answer', 'the server did not answer within 60 ms']);
  });

  for (const [title, end] of [
    ['as soon as the late answer arrives', ({ resolve }: PromiseWithResolvers<string>) => resolve('late')],
    [
      'when the overdue call is rejected by a disconnect',
      ({ reject }: PromiseWithResolvers<string>) => reject(new Error('disconnected')),
    ],
  ] as const)
    it(`lets calls through ${title}`, async () => {
      const overdue = Promise.withResolvers<string>();
      await failureOf(breaker.run(() => overdue.promise));
      expect(breaker.stalled).to.equal(true);
      end(overdue);
      await delay(1);
      expect(await breaker.run(async () => 'next')).to.equal('next');
    });

  it('lets calls through when a probe is answered although an answer is lost for good', async () => {
    let away = true;
    let probes = 0;
    const probe = async () => {
      probes += 1;
      if (away) throw new Error('still away');
    };
    breaker = new CircuitBreaker('the server', () => LIMIT_MS, probe);
    await failureOf(breaker.run(never));
    await delay(250);
    expect(breaker.stalled).to.equal(true);
    expect(probes).to.be.within(1, 6);
    away = false;
    for (let waited = 0; breaker.stalled && waited < 3000; waited += 20) await delay(20);
    expect(await breaker.run(async () => 'next')).to.equal('next');
  });

  for (const [title, pauses, pauseMs] of [
    ['for a pause of this process', 1, 3 * LIMIT_MS],
    ['while this process gets its core only now and then', 6, LIMIT_MS / 2],
  ] as const)
    it(`does not blame the server ${title}`, async () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      const answer = breaker.run(() => promise);
      for (let pause = 0; pause < pauses; pause++) {
        if (pause > 0) await new Promise((go) => setTimeout(go));
        const until = performance.now() + pauseMs;
        while (performance.now() < until) {
          // Blocks this process.
        }
      }
      setImmediate(resolve, 'in time');
      expect(await answer).to.equal('in time');
    });
});

async function failureOf(call: Promise<unknown>): Promise<Error> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('it did not fail');
}
