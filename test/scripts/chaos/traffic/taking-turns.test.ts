import { expect } from 'chai';
import type { Sample } from '../../../../scripts/chaos/traffic/load.ts';
import { causesOf, type Round, turnFigures } from '../../../../scripts/chaos/traffic/taking-turns.ts';

function sample(tookMs: number, more: Partial<Sample> = {}): Sample {
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
      alone: [sample(aloneMs)],
      beside: [sample(besideMs)],
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
      sample(1, { orderRef, status, refusal });
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
      sample(1),
    ];
    expect(causesOf(samples, log)).to.deep.equal([
      ['Redis did not answer within 200 ms', 1],
      ['More than it can.', 2],
      ['status null', 1],
    ]);
  });
});
