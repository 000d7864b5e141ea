import { expect } from 'chai';
import { account, firstVerdictMs } from '../../../scripts/chaos/accidents/disk-full.ts';
import { differences, requisitesAtOnce } from '../../../scripts/chaos/accidents/fleet.ts';
import { flatness, type Look, lookOf } from '../../../scripts/chaos/endurance/soak.ts';
import { allPass, atLeast, atMost, never, reported } from '../../../scripts/chaos/figure.ts';
import type { Sample } from '../../../scripts/chaos/traffic/load.ts';
import { causesOf, type Round, turnFigures } from '../../../scripts/chaos/traffic/taking-turns.ts';

describe('a figure', () => {
  it('passes at its limit and misses beyond it', () => {
    expect(atMost('slowest', 300, 300, 'ms').judgement).to.equal('pass');
    expect(atMost('slowest', 300.4, 300, 'ms').judgement).to.equal('miss');
    expect(atLeast('goodput', 90, 90, '%').judgement).to.equal('pass');
    expect(atLeast('goodput', 89, 90, '%').judgement).to.equal('miss');
    expect(never('lost', 0).judgement).to.equal('pass');
    expect(never('lost', 1).judgement).to.equal('miss');
  });

  it('misses when it could not be measured', () => {
    expect(atMost('slowest', Number.NaN, 300).judgement).to.equal('miss');
    expect(atLeast('goodput', Number.NaN, 90).judgement).to.equal('miss');
    expect(atMost('slowest', Number.POSITIVE_INFINITY, 300).judgement).to.equal('miss');
  });
});

describe('the table of a run', () => {
  it('passes only when every figure does and every scenario ran to its end', () => {
    const good = { scenario: 'a', figures: [never('lost', 0), reported('kills', '50')], trouble: null };
    expect(allPass([good])).to.equal(true);
    expect(allPass([good, { ...good, figures: [never('lost', 1)] }])).to.equal(false);
    expect(allPass([good, { ...good, trouble: 'no' }])).to.equal(false);
  });
});

function sample(orderRef: string, status: number | null, sentAtMs = 0): Sample {
  return {
    clientIdKey: 'payer-1',
    orderRef,
    status,
    sentAtMs,
    answeredAtMs: sentAtMs + 5,
    decisionId: null,
    refusal: null,
  };
}

describe('a full disk', () => {
  it('shows a 200 that nobody saved', () => {
    const kept = account([sample('a', 200)], new Map([['a', []]]));
    expect(kept).to.deep.equal({ acknowledged: 1, lost: 1, refused: 0, refusedButTaken: 0, otherAnswers: 0 });
  });

  it('distinguishes refusals from broken connections and other answers', () => {
    const kept = account([sample('a', 503), sample('b', null), sample('c', 500)], new Map());
    expect(kept).to.deep.equal({ acknowledged: 0, lost: 0, refused: 1, refusedButTaken: 0, otherAnswers: 2 });
  });

  it('is over with the first verdict that was requested after there was space', () => {
    const samples = [sample('a', 200, 10), sample('b', 503, 25), sample('c', 200, 30), sample('d', 200, 40)];
    expect(firstVerdictMs(samples, 20)).to.equal(35);
    expect(firstVerdictMs(samples, 50)).to.equal(null);
  });
});

const WAIT_MS = 30_000;

function shown(clientIdKey: string, at: number, verdict = 'GET_NEW') {
  return { clientIdKey, at, verdict };
}

describe('a drill of a fleet', () => {
  it('names payers who were shown a second requisite before a wait was over, in any order of decisions', () => {
    const decisions = [shown('a', 29_999), shown('b', 1), shown('a', 0), shown('c', 5)];
    expect(requisitesAtOnce(decisions, WAIT_MS)).to.deep.equal(['a']);
  });

  it('accepts a second one after the wait, waits, and other payers', () => {
    const decisions = [shown('a', 0), shown('a', 10, 'WAIT'), shown('a', 30_000), shown('b', 30_001)];
    expect(requisitesAtOnce(decisions, WAIT_MS)).to.deep.equal([]);
  });

  it('shows where answers differ, also after a long common beginning', () => {
    const answer = (paid: number) => `${'same'.repeat(100)} "paidCount":${paid}`;
    expect(differences([answer(1), answer(1), answer(2)])).to.deep.equal(
      [1, 1, 2].map((paid) => `${answer(paid).slice(-61)}`),
    );
  });
});

function looks(heapMib: (n: number) => number, handles = (_n: number) => 10): readonly Look[] {
  return Array.from({ length: 60 }, (_, n) => ({
    heapMib: heapMib(n),
    residentMib: 100,
    handles: handles(n),
  }));
}

describe('a soak', () => {
  it('is flat when the heap falls back to the same floor after each collection', () => {
    expect(judged(looks((n) => 40 + (n % 5) * 8))).to.deep.equal(['pass', 'pass']);
  });

  it('leaves out the growth of the warm-up', () => {
    expect(judged(looks((n) => (n < 12 ? 10 : 60)))).to.deep.equal(['pass', 'pass']);
  });

  it('catches a heap that leaks', () => {
    expect(judged(looks((n) => 40 + n + (n % 5) * 8))).to.deep.equal(['miss', 'pass']);
  });

  it('catches handles that leak', () => {
    expect(
      judged(
        looks(
          () => 40,
          (n) => n,
        ),
      ),
    ).to.deep.equal(['pass', 'miss']);
  });

  it('misses its target when the service reported nothing', () => {
    expect(judged([])).to.deep.equal(['miss', 'miss']);
    expect(lookOf('').heapMib).to.be.NaN;
  });

  it('reads the gauges of Prometheus', () => {
    const text = `nodejs_heap_size_used_bytes 1048576\nprocess_resident_memory_bytes 2097152\nnodejs_active_handles_total 7\n`;
    expect(lookOf(text)).to.deep.equal({ heapMib: 1, residentMib: 2, handles: 7 });
  });

  function judged(some: readonly Look[]): readonly string[] {
    return flatness(some)
      .slice(0, 2)
      .map(({ judgement }) => judgement);
  }
});

function sampleOf(tookMs: number, more: Partial<Sample> = {}): Sample {
  const [sentAtMs, answeredAtMs] = [100, 100 + tookMs];
  const answer = { status: 200, decisionId: 'd', refusal: null };
  return { clientIdKey: 'ann', orderRef: 'order-1', sentAtMs, answeredAtMs, ...answer, ...more };
}

describe('windows that take turns', () => {
  it('are compared by their medians, so that one stalled window decides nothing', () => {
    const rounds: readonly Round<null>[] = [
      [10, 12],
      [900, 12],
      [10, 12],
      [10, 14],
      [10, 5_000],
    ].map(([aloneMs = 0, besideMs = 0]) => ({
      alone: [sampleOf(aloneMs)],
      beside: [sampleOf(besideMs)],
      result: null,
      machineLoad: 4,
    }));
    const figures = turnFigures('a storm', rounds, 1.5, '');
    expect(figures.find(({ figure }) => figure.includes('against'))).to.deep.equal({
      figure: 'p99 beside a storm against that without',
      seen: '1.2 x',
      target: '<= 1.5 x',
      judgement: 'pass',
    });
  });

  it('say why verdicts were refused, by the log or else by the answer', () => {
    const refused = (orderRef: string, status: number | null, refusal: string | null) =>
      sampleOf(1, { orderRef, status, refusal });
    const log = [
      '{"requestId":"order-1","why":"Redis did not answer within 200 ms","msg":"request failed"}',
      'something else',
      '{"requestId":"order-3","msg":"request failed"}',
    ].join('\n');
    const samples = [
      refused('order-1', 503, 'State cannot be reached right now.'),
      refused('order-2', 503, 'More than it can.'),
      refused('order-3', 503, 'More than it can.'),
      refused('order-4', null, null),
      sampleOf(1),
    ];
    expect(causesOf(samples, log)).to.deep.equal([
      ['Redis did not answer within 200 ms', 1],
      ['More than it can.', 2],
      ['status null', 1],
    ]);
  });
});
