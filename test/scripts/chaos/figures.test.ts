import { expect } from 'chai';
import type { Verdict } from '#decision/rules/rule-set.ts';
import { decideSampleVerdict } from '../../../scripts/bench/sample.ts';
import { countKeptVerdicts, findFirstVerdictMs } from '../../../scripts/chaos/accidents/disk-full.ts';
import {
  cutAroundDifference,
  excludeNextVerdictMember,
  listPayersShownTwo,
} from '../../../scripts/chaos/accidents/fleet.ts';
import { toOverloadFigures } from '../../../scripts/chaos/attacks/overload.ts';
import { computeSoakFigures, parseHeapAndHandles } from '../../../scripts/chaos/attacks/soak.ts';
import { allPass, atLeast, atMost, never, reported } from '../../../scripts/chaos/figure.ts';
import { computePercentile, type Sample } from '../../../scripts/chaos/traffic/load.ts';
import {
  type DecisionsByOrder,
  listDoubledOrders,
  selectLostVerdicts,
} from '../../../scripts/chaos/traffic/records.ts';
import {
  countRefusalCauses,
  createTurnFigures,
  type TurnRound,
} from '../../../scripts/chaos/traffic/taking-turns.ts';

describe('a figure', () => {
  it('passes at its limit and misses beyond it', () => {
    expect(atMost('slowest', 300, 300, 'ms').judgement).to.equal('pass');
    expect(atMost('slowest', 300.4, 300, 'ms').judgement).to.equal('MISS');
    expect(atLeast('goodput', 90, 90, '%').judgement).to.equal('pass');
    expect(atLeast('goodput', 89, 90, '%').judgement).to.equal('MISS');
    expect(never('lost', 0).judgement).to.equal('pass');
    expect(never('lost', 1).judgement).to.equal('MISS');
  });

  it('misses when it could not be measured', () => {
    expect(atMost('slowest', Number.NaN, 300).judgement).to.equal('MISS');
    expect(atLeast('goodput', Number.NaN, 90).judgement).to.equal('MISS');
    expect(atMost('slowest', Number.POSITIVE_INFINITY, 300).judgement).to.equal('MISS');
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

/** Sent at 100 ms unless it says otherwise. */
function sample(orderRef: string, status: number | null, more: Partial<Sample> = {}): Sample {
  const times = { sentAtMs: 100, answeredAtMs: 101 };
  return { clientIdKey: 'payer-1', orderRef, status, decisionId: null, refusal: null, ...times, ...more };
}

describe('a full disk', () => {
  it('shows a 200 that nobody saved', () => {
    const kept = countKeptVerdicts([sample('a', 200)], new Map([['a', []]]));
    expect(kept).to.deep.equal({ acknowledged: 1, lost: 1, refused: 0, refusedButTaken: 0, otherAnswers: 0 });
  });

  it('distinguishes refusals from broken connections and other answers', () => {
    const kept = countKeptVerdicts([sample('a', 503), sample('b', null), sample('c', 500)], new Map());
    expect(kept).to.deep.equal({ acknowledged: 0, lost: 0, refused: 1, refusedButTaken: 0, otherAnswers: 2 });
  });

  it('is over with the first verdict that was requested after there was space', () => {
    const at = (orderRef: string, status: number, sentAtMs: number) =>
      sample(orderRef, status, { sentAtMs, answeredAtMs: sentAtMs + 5 });
    const samples = [at('a', 200, 10), at('b', 503, 25), at('c', 200, 30), at('d', 200, 40)];
    expect(findFirstVerdictMs(samples, 20)).to.equal(35);
    expect(findFirstVerdictMs(samples, 50)).to.equal(null);
  });
});

const WAIT_MS = 30_000;

function shown(clientIdKey: string, at: number, verdict: Verdict = 'GET_NEW') {
  return { clientIdKey, at, verdict };
}

describe('a drill of a fleet', () => {
  it('names payers who were shown a second requisite before a wait was over, in any order of decisions', () => {
    const decisions = [shown('a', 29_999), shown('b', 1), shown('a', 0), shown('c', 5)];
    expect(listPayersShownTwo(decisions, WAIT_MS)).to.deep.equal(['a']);
  });

  it('accepts a second one after the wait, waits, and other payers', () => {
    const decisions = [shown('a', 0), shown('a', 10, 'WAIT'), shown('a', 30_000), shown('b', 30_001)];
    expect(listPayersShownTwo(decisions, WAIT_MS)).to.deep.equal([]);
  });

  it('compares no verdict that a payer would get at the moment of the question', () => {
    const answer = (at: number) => ({ decisionCount: 1, nextVerdict: { now: { at, verdict: 'WAIT' } } });
    expect(excludeNextVerdictMember(answer(1))).to.deep.equal(excludeNextVerdictMember(answer(2)));
    expect(excludeNextVerdictMember(answer(1))).to.deep.equal({ decisionCount: 1 });
    expect(excludeNextVerdictMember({ next: 'cursor' })).to.deep.equal({ next: 'cursor' });
  });

  it('shows where answers differ, also after a long common beginning', () => {
    const answer = (paid: number) => `${'same'.repeat(100)} "paidCount":${paid}`;
    expect(cutAroundDifference([answer(1), answer(1), answer(2)])).to.deep.equal(
      [1, 1, 2].map((paid) => `${answer(paid).slice(-61)}`),
    );
  });
});

describe('a soak', () => {
  const looks = (heapMib: (n: number) => number, handles = (_n: number) => 10) =>
    Array.from({ length: 60 }, (_, n) => ({ heapMib: heapMib(n), handles: handles(n) }));

  for (const [what, some, judged] of [
    ['a heap that falls back to the same floor', looks((n) => 40 + (n % 5) * 8), ['pass', 'pass']],
    ['the growth of the warm-up', looks((n) => (n < 12 ? 10 : 60)), ['pass', 'pass']],
    ['a heap that leaks', looks((n) => 40 + n + (n % 5) * 8), ['MISS', 'pass']],
    ['handles that leak', looks(() => 40, Number), ['pass', 'MISS']],
    ['a service that reported nothing', [], ['MISS', 'MISS']],
  ] as const)
    it(`judges ${what}`, () => {
      const figures = computeSoakFigures(some).slice(0, 2);
      expect(figures.map(({ judgement }) => judgement)).to.deep.equal(judged);
    });

  it('reads the gauges of Prometheus', () => {
    const text = 'nodejs_heap_size_used_bytes 1048576\nnodejs_active_handles_total 7\n';
    expect(parseHeapAndHandles(text)).to.deep.equal({ heapMib: 1, handles: 7 });
    expect(parseHeapAndHandles('').heapMib).to.be.NaN;
  });
});

describe('too many callers', () => {
  it('are compared with the mean of the peak loads around them', () => {
    const load = (verdictsASecond: number) => ({ verdictsASecond, p99Ms: 1, memoryMib: 100 });
    const figures = toOverloadFigures({ over: load(95), normal: load(89), peaks: [load(80), load(120)] });
    expect(figures.map(({ figure, seen, judgement }) => `${figure}: ${seen} ${judgement}`)).to.deep.equal([
      'verdicts a second: peak load before, overload, peak load after: 80, 95, 120 ',
      'p99: peak load before, overload, peak load after: 1.0, 1.0, 1.0 ms ',
      'goodput against the peak load: 95 % pass',
      'p99 of accepted requests against the peak load: 100 % pass',
      'goodput against the peak load, within 5 s after: 89 % MISS',
      'p99 against the peak load, within 5 s after: 100 % pass',
    ]);
  });
});

describe('windows that take turns', () => {
  it('are compared by their medians, so that one stalled window decides nothing', () => {
    const rounds: readonly TurnRound<null>[] = [
      [10, 12],
      [900, 12],
      [10, 12],
      [10, 14],
      [10, 5_000],
    ].map(([aloneMs = 0, besideMs = 0]) => ({
      alone: [sample('a', 200, { answeredAtMs: 100 + aloneMs })],
      beside: [sample('b', 200, { answeredAtMs: 100 + besideMs })],
      result: null,
    }));
    const figures = createTurnFigures('a storm', rounds, 1.5, '');
    expect(figures.find(({ figure }) => figure.includes('against'))).to.deep.equal({
      figure: 'p99 beside a storm against that without',
      seen: '1.20 x',
      target: '<= 1.50 x',
      judgement: 'pass',
    });
  });

  it('say why verdicts were refused, by the log or else by the answer', () => {
    const log = [
      '{"requestId":"order-1","why":"Redis did not answer within 200 ms","msg":"request failed"}',
      'something else',
      '{"requestId":"order-3","msg":"request failed"}',
    ].join('\n');
    const samples = [
      sample('order-1', 503, { refusal: 'The service cannot reach its store right now.' }),
      sample('order-2', 503, { refusal: 'More than it can.' }),
      sample('order-3', 503, { refusal: 'More than it can.' }),
      sample('order-4', null),
      sample('order-5', 200),
    ];
    expect(countRefusalCauses(samples, log)).to.deep.equal([
      ['Redis did not answer within 200 ms', 1],
      ['More than it can.', 2],
      ['status null', 1],
    ]);
  });
});

describe('the checks of a load', () => {
  const recorded = (decisions: Readonly<Record<string, number>>): DecisionsByOrder =>
    new Map(
      Object.entries(decisions).map(([orderRef, count]) => [
        orderRef,
        Array(count).fill(decideSampleVerdict().decision),
      ]),
    );

  it('finds an acknowledged verdict that is not recorded, or under another number', () => {
    const { decisionId } = decideSampleVerdict().decision;
    const samples = [
      ...['a', 'b'].map((orderRef) => sample(orderRef, 200, { decisionId })),
      sample('c', 200, { decisionId: 'other.1' }),
      sample('d', 503),
    ];
    const found = selectLostVerdicts(samples, recorded({ a: 1, c: 1 }));
    expect(found.map(({ orderRef }) => orderRef)).to.deep.equal(['b', 'c']);
  });

  it('finds an order with more than one step', () => {
    expect(listDoubledOrders(recorded({ a: 1, b: 2, c: 0 }))).to.deep.equal(['b']);
  });

  it('takes percentiles of what there is', () => {
    expect([computePercentile([3, 1, 2], 50), computePercentile([3, 1, 2], 100)]).to.deep.equal([2, 3]);
    expect(computePercentile([], 50)).to.be.NaN;
  });
});
