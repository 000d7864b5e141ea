import { expect } from 'chai';
import { decideVerdict } from '#decision/decide.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import {
  computeMedian,
  computeMedianRatio,
  createFailedFigure,
  type Figure,
  formatFigureTable,
  joinRuns,
  judge,
} from '../../scripts/bench/figure.ts';
import { parseWrkOutput } from '../../scripts/bench/load.ts';
import { countMonitoredCommands } from '../../scripts/bench/measures/round-trips.ts';
import { decideSampleVerdict, SAMPLE_CLIENT, SAMPLE_REQUEST } from '../../scripts/bench/sample.ts';
import {
  decideByJsonRulesEngine,
  requireRecordedFactValues,
} from '../../scripts/bench/servers/naive-rules.ts';
import { currentRules } from '../service/current-rules.ts';

const TIME: Figure = { part: 'rules', name: '30 rules', value: 1.234, unit: 'us', target: { atMost: 3 } };
const RATIO: Figure = { part: 'cost', name: 'service / floor', value: 5, unit: 'x', target: null };
const SPEED: Figure = {
  part: 'sqlite',
  name: 'verdicts',
  value: 4321.6,
  unit: '/s',
  target: { atLeast: 5000 },
};

describe('the bench', () => {
  it('judges a figure by its target', () => {
    expect(judge(TIME)).to.equal('pass');
    expect(judge({ ...TIME, value: 3 })).to.equal('pass');
    expect(judge({ ...TIME, value: 3.01 })).to.equal('MISS');
    expect(judge(SPEED)).to.equal('MISS');
    expect(judge({ ...SPEED, value: 5000 })).to.equal('pass');
    expect(judge(RATIO)).to.equal('');
  });

  it('never passes a figure that could not be measured', () => {
    expect(judge({ ...TIME, value: Number.NaN })).to.equal('MISS');
    expect(judge({ ...SPEED, value: Number.NaN })).to.equal('MISS');
  });

  it('has a row for a part that failed, also where it did so in one of several runs', () => {
    const failed = createFailedFigure('cost', new Error('no port is free\n  anywhere'));
    const table = ['part  figure                                         measured    target'];
    expect(formatFigureTable([failed])).to.equal(
      [...table, 'cost  could not be measured: Error: no port is free       n/a            FAILED'].join(
        '\n',
      ),
    );
    for (const runs of [
      [[failed], [RATIO]],
      [[RATIO], [failed]],
    ])
      expect(joinRuns(runs).map(({ name }) => name)).to.have.members([failed.name, RATIO.name]);
  });

  it('gives and judges the median of several runs, and shows their range', () => {
    const runs = [2, 4, 3].map((value) => [{ ...TIME, value }, RATIO]);
    expect(joinRuns(runs)[0]).to.deep.equal({ ...TIME, value: 3, runs: [2, 4, 3] });
    expect(formatFigureTable(joinRuns(runs))).to.equal(
      [
        'part   figure           measured      target        runs',
        'cost   service / floor         5  x                 5 to 5',
        'rules  30 rules                3  us    <= 3  pass  2 to 4',
      ].join('\n'),
    );
    expect(joinRuns([[TIME]])).to.deep.equal([TIME]);
  });

  it('takes the middle of an odd number, the mean of the middle two of an even one', () => {
    expect(computeMedian([3, 1, 2])).to.equal(2);
    expect(computeMedian([4, 1, 3, 2])).to.equal(2.5);
    expect(computeMedian([])).to.be.NaN;
  });

  it('compares round by round, so that a slow round does not change the ratio', () => {
    expect(computeMedianRatio([2, 20, 4], [1, 10, 2])).to.equal(2);
    expect(computeMedianRatio([2, 4], [1])).to.equal(2);
  });

  it('counts the commands of a client, not those of its scripts or its upkeep', () => {
    const lines = [
      '+OK',
      '+1795248033.1 [0 127.0.0.1:5000] "EVALSHA" "abc" "1" "rate:x"',
      '+1795248033.1 [0 lua] "GET" "rate:x"',
      '+1795248033.2 [0 127.0.0.1:5000] "PING"',
      '+1795248033.3 [0 127.0.0.1:5000] "EVALSHA" "def" "3" "s:{A}1"',
      '',
    ];
    expect(countMonitoredCommands(lines)).to.equal(2);
  });

  it('reads the line that wrk prints at the end', () => {
    expect(parseWrkOutput('Running 1s test\nRESULT 2000 1000000 500 12500 3\n')).to.deep.equal({
      requests: 2000,
      perSecond: 2000,
      p50Ms: 0.5,
      p99Ms: 12.5,
      failures: 3,
    });
    expect(() => parseWrkOutput('unable to connect')).to.throw('wrk printed no result:\nunable to connect');
  });
});

const rules = currentRules();
const { decision: first, nextState } = decideSampleVerdict();

/** The same client asks again at once, so that a rule decides. */
const { decision: again } = decideVerdict(
  rules,
  { client: SAMPLE_CLIENT, state: nextState, sightings: NO_SIGHTINGS, now: first.at + 1000 },
  SAMPLE_REQUEST,
);

describe('the naive peer of the bench', () => {
  it('finds the rule by which the service decides the sample', async () => {
    expect(await decideByJsonRulesEngine(rules, requireRecordedFactValues(rules, first))).to.equal(
      first.rule,
    );
  });

  it('finds the rule that makes a client wait', async () => {
    expect(again.verdict).to.equal('WAIT');
    expect(await decideByJsonRulesEngine(rules, requireRecordedFactValues(rules, again))).to.equal(
      again.rule,
    );
  });

  it('finds it in overlapping requests, too', async () => {
    const found = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        // A shared engine loses rules in runs that begin during another, so they begin at different times.
        for (let turns = 0; turns < 20 * index; turns++) await Promise.resolve();
        return decideByJsonRulesEngine(rules, requireRecordedFactValues(rules, again));
      }),
    );
    expect(new Set(found)).to.deep.equal(new Set([again.rule]));
  });

  it('is not measured with a missing fact', () => {
    const { paidCount: _, ...facts } = first.facts;
    expect(() => requireRecordedFactValues(rules, { ...first, facts })).to.throw('no value for paidCount');
  });
});
