import { expect } from 'chai';
import fc from 'fast-check';
import { type BucketSettings, TokenLeases, takeToken } from '#state/rate-buckets.ts';

const AS_PROMISED: BucketSettings = { ratePerSecond: 20, burst: 20, delayMsMax: 2000 };
const TOKEN_MS = 1000 / AS_PROMISED.ratePerSecond;

/** Nodes that share one bucket, in simulated time. The store's tests check that Redis's bucket does the same. */
class Fleet {
  nowMs = 0;
  calls = 0;
  #fullAtMs = 0;
  readonly #nodes: readonly TokenLeases[];

  constructor(nodes: number) {
    this.#nodes = Array.from({ length: nodes }, () => new TokenLeases(() => this.nowMs));
  }

  /** How long the request waits; null when it is refused. */
  ask(node: number): number | null {
    const leases = this.#nodes[node % this.#nodes.length];
    const wanted = leases?.ask('10.0.0.1', AS_PROMISED) ?? 0;
    if (wanted === 'leased') return 0;
    this.calls++;
    const { admission, fullAtMs } = takeToken(this.#fullAtMs, this.nowMs, AS_PROMISED);
    if (!admission.admitted) {
      leases?.grant('10.0.0.1', 0, this.nowMs);
      return null;
    }
    const there = Math.floor((AS_PROMISED.burst * TOKEN_MS - (fullAtMs - this.nowMs)) / TOKEN_MS + 0.001);
    const more = Math.max(0, Math.min(wanted, there));
    this.#fullAtMs = fullAtMs + more * TOKEN_MS;
    if (wanted > 0) leases?.grant('10.0.0.1', more, this.nowMs);
    return admission.delayMs;
  }
}

const SECONDS = 60;

/** A minute of evenly spaced requests with jitter: when each comes, and how long it waits. */
function minute(
  fleet: Fleet,
  perSecond: number,
  jitters: readonly number[],
  nodeOf: (index: number) => number,
) {
  const times = Array.from({ length: perSecond * SECONDS }, (_, index) => {
    const jitter = jitters[index % jitters.length] ?? 0;
    return ((index + jitter) * 1000) / perSecond;
  });
  return times
    .toSorted((a, b) => a - b)
    .map((atMs, index) => {
      fleet.nowMs = atMs;
      return { atMs, delayMs: fleet.ask(nodeOf(index)) };
    });
}

const jitters = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 1, maxLength: 40 });
const nodes = fc.array(fc.nat(9), { minLength: 1, maxLength: 40 });

describe('leases of tokens', () => {
  it('never delay a caller at 15 a second, whichever of ten nodes it asks', () => {
    fc.assert(
      fc.property(jitters, nodes, (jitters, nodes) => {
        const asked = minute(new Fleet(10), 15, jitters, (index) => nodes[index % nodes.length] ?? 0);
        expect(asked.filter(({ delayMs }) => delayMs !== 0)).to.deep.equal([]);
      }),
    );
  });

  it('let a caller who asks ten nodes 40 times a second have at most 20 a second and a tenth', () => {
    fc.assert(
      fc.property(jitters, nodes, (jitters, nodes) => {
        const asked = minute(new Fleet(10), 40, jitters, (index) => nodes[index % nodes.length] ?? 0);
        const wentOn = asked.filter(
          ({ atMs, delayMs }) => delayMs !== null && atMs + delayMs <= SECONDS * 1000,
        );
        expect(wentOn.length).to.be.at.most(20 * SECONDS * 1.1);
      }),
    );
  });

  it('do not delay a caller that sends five at once three times a second', () => {
    const fleet = new Fleet(1);
    const delays: (number | null)[] = [];
    for (let time = 0; time < SECONDS * 1000; time += 1000 / 3) {
      fleet.nowMs = time;
      for (let one = 0; one < 5; one++) delays.push(fleet.ask(0));
    }
    expect(delays.filter((delayMs) => delayMs !== 0)).to.deep.equal([]);
  });

  it('save most calls of a busy address, and ask for each request of a quiet one', () => {
    const busy = new Fleet(1);
    minute(busy, 15, [0], () => 0);
    expect(busy.calls / SECONDS).to.be.at.most(6);
    const calm = new Fleet(1);
    minute(calm, 2, [0], () => 0);
    expect(calm.calls).to.equal(2 * SECONDS);
  });

  it('end after a quarter of a second', () => {
    const fleet = new Fleet(1);
    for (let one = 0; one < 4; one++) fleet.ask(0);
    const { calls } = fleet;
    expect(calls).to.equal(3);
    for (let one = 0; one < 2; one++) fleet.ask(0);
    expect(fleet.calls).to.equal(4);
    fleet.nowMs = 250;
    fleet.ask(0);
    expect(fleet.calls).to.equal(5);
  });
});
