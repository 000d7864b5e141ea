import { expect } from 'chai';
import { type Measured, mixFigures, overFigures } from '../../../../scripts/chaos/attacks/overload.ts';
import type { Sample } from '../../../../scripts/chaos/traffic/load.ts';

/** So many answers to each operation in one second: given, and refused. */
interface Counts {
  readonly scores: readonly [given: number, refused: number];
  readonly verdicts: readonly [given: number, refused: number];
}

function measured({ scores, verdicts }: Counts): Measured {
  const answered = [
    ...samples('score', 200, scores[0]),
    ...samples('score', 503, scores[1]),
    ...samples('verdict', 200, verdicts[0]),
    ...samples('verdict', 503, verdicts[1]),
  ];
  return { answered, seconds: 1, memoryMib: 100, cpuPercent: { service: 70, generator: 20 } };
}

function samples(operation: 'score' | 'verdict', status: number, count: number): readonly Sample[] {
  const sample: Sample = {
    clientIdKey: 'payer-1',
    orderRef: 'order-1',
    operation,
    sentAtMs: 0,
    answeredAtMs: 1,
    status,
    decisionId: null,
    refusal: null,
  };
  return Array.from({ length: count }, () => sample);
}

function judged(mix: Counts): readonly string[] {
  const before = measured({ scores: [120, 0], verdicts: [90, 0] });
  const after = measured({ scores: [80, 0], verdicts: [110, 0] });
  return mixFigures(measured(mix), [before, after]).map(({ seen, judgement }) => `${seen} ${judgement}`);
}

/** So many verdicts a second. */
const verdicts = (given: number, refused = 0) => measured({ scores: [0, 0], verdicts: [given, refused] });

describe('too many callers', () => {
  it('are compared with the mean of the peak loads around them', () => {
    const overload = {
      over: verdicts(95, 40),
      normal: verdicts(89),
      peaks: [verdicts(80), verdicts(120)],
    } as const;
    expect(
      overFigures(overload).map(({ figure, seen, judgement }) => `${figure}: ${seen} ${judgement}`),
    ).to.deep.equal([
      'verdicts a second at peak before, over, and at peak after: 80, 95, 120 report',
      'refused a second: 40 report',
      'CPU of service and load generator, of a core, at peak and over: 70 % and 20 %, then 70 % and 20 % report',
      'goodput of peak: 95 % pass',
      'p99 at peak before, over, and at peak after: 1.0, 1.0, 1.0 ms report',
      'accepted p99 of peak: 100 % pass',
      'longest time without an answer to anybody, over and within 5 s after: 0 and 0 ms report',
      'goodput of peak within 5 s after: 89 % miss',
      'p99 of peak within 5 s after: 100 % pass',
    ]);
  });
});

describe('overload with scores and verdicts', () => {
  it('is kept from verdicts when scores are refused instead', () => {
    expect(judged({ scores: [20, 180], verdicts: [120, 80] })).to.deep.equal([
      '90, 120, 110 report',
      '20 % report',
      '120 % pass',
      '90 % and 40 % report',
      '50 % pass',
    ]);
  });

  it('is not kept from verdicts when both are refused alike, or verdicts more', () => {
    expect(judged({ scores: [100, 100], verdicts: [100, 100] }).at(-1)).to.equal('0 % miss');
    expect(judged({ scores: [100, 50], verdicts: [100, 100] }).at(-1)).to.equal('-17 % miss');
  });

  it('is not kept from verdicts when fewer are given than before', () => {
    expect(judged({ scores: [0, 200], verdicts: [89, 11] })[2]).to.equal('89 % miss');
  });

  it('misses when one of them was never asked for', () => {
    expect(judged({ scores: [0, 0], verdicts: [100, 0] }).at(-1)).to.equal('NaN % miss');
  });
});
