import { expect } from 'chai';
import { pino } from 'pino';
import { RefusalLines } from '../../../src/http/server/request-log.ts';
import { until } from '../../servers/until.ts';

describe('log lines about failed requests', () => {
  it('are limited to ten of a kind within ten seconds, and one with the number of the others', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
    const refusals = new RefusalLines(log, 50);
    for (let n = 0; n < 1000; n++) refusals.write({ operation: 'verdict', status: 503 });
    refusals.write({ operation: 'verdict', status: 500 });
    refusals.write({ operation: 'score', status: 503 });
    expect(lines.map(({ operation, status }) => `${operation} ${status}`)).to.deep.equal([
      ...Array.from({ length: 10 }, () => 'verdict 503'),
      'verdict 500',
      'score 503',
    ]);
    await until('the window is over', async () => lines.length > 12);
    expect(lines.at(-1)).to.deep.equal({
      level: 40,
      operation: 'verdict',
      status: 503,
      more: 990,
      seconds: 0.05,
      msg: 'more requests failed',
    });
    refusals.write({ operation: 'verdict', status: 503 });
    expect(lines.at(-1)).to.include({ msg: 'request failed' });
  });
});
