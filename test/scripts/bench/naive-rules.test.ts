import { expect } from 'chai';
import { SAMPLE_CLIENT, SAMPLE_REQUEST, sampleVerdict } from '../../../scripts/bench/sample.ts';
import { factsOf, naiveVerdictRule } from '../../../scripts/bench/servers/naive-rules.ts';
import { decideVerdict } from '../../../src/decision/decide.ts';
import { NO_SIGHTINGS } from '../../../src/facts/fact.ts';
import { currentRules } from '../../service/current-rules.ts';

const rules = currentRules();
const { decision: first, nextState } = sampleVerdict();

/** The same client asks again at once, so that a rule decides. */
const { decision: again } = decideVerdict(
  rules,
  { client: SAMPLE_CLIENT, state: nextState, sightings: NO_SIGHTINGS, now: first.at + 1000 },
  SAMPLE_REQUEST,
);

describe('the naive peer of the bench', () => {
  it('finds the rule by which the service decides the sample', async () => {
    expect(await naiveVerdictRule(rules, factsOf(rules, first))).to.equal(first.rule);
  });

  it('finds the rule that makes a client wait', async () => {
    expect(again.verdict).to.equal('WAIT');
    expect(await naiveVerdictRule(rules, factsOf(rules, again))).to.equal(again.rule);
  });

  it('finds it in overlapping requests, too', async () => {
    const found = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        // A shared engine loses rules in runs that begin during another, so they begin at different times.
        for (let turns = 0; turns < 20 * index; turns++) await Promise.resolve();
        return naiveVerdictRule(rules, factsOf(rules, again));
      }),
    );
    expect(new Set(found)).to.deep.equal(new Set([again.rule]));
  });

  it('is not measured with a missing fact', () => {
    const { paidCount: _, ...facts } = first.facts;
    expect(() => factsOf(rules, { ...first, facts })).to.throw('no value for paidCount');
  });
});
