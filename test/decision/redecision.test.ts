import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import { NOBODY_HELD_OUT, replayHoldouts } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { redecide } from '#decision/redecision.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { Simulation } from '#decision/simulation.ts';
import { type Edit, edited, swap } from '../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../rule-fixtures/verdict-request.ts';

const NOON = Date.UTC(2026, 6, 1, 12);

const AT_NOON = swap(
  'rules:\n',
  `rules:
  - name: at-noon
    description: Closed at noon.
    priority: 999
    holdout: 50%
    conditions: { all: [{ fact: hourOfDay, operator: equal, value: 12 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "Closed at {hourOfDay}; {verdicts(3m)} asked." } }
`,
);

function versionOf(digit: string, changes: Readonly<Record<string, Edit>>): RuleSet {
  return { ...edited(changes), digest: digit.repeat(64) };
}

const PLAIN = versionOf('1', {});
const LONDON = versionOf('2', {
  'verdicts.yaml': AT_NOON,
  'ruleset.yaml': swap('  currency: EUR\n', '  currency: EUR\n  timeZone: Europe/London\n'),
});
const UTC = versionOf('3', { 'verdicts.yaml': AT_NOON });

function decided(rules: RuleSet, at = NOON, isHeldOut = false): Decision {
  const simulation = new Simulation(rules, toPlatformName('demo'));
  simulation.holdOut(() => isHeldOut);
  return simulation.verdict('payer-1', REQUEST, at);
}

describe('a decision that is made again by another version', () => {
  it('reads the clock of that version, whatever hour was recorded', () => {
    const { facts } = decided(UTC);
    expect(facts['hourOfDay']).to.equal(12);
    // In July it is 13:00 in London.
    const again = redecide(LONDON, decided(UTC), NOBODY_HELD_OUT);
    expect(again.kind === 'decided' && [again.concluded.verdict, again.facts['hourOfDay']]).to.deep.equal([
      'GET_NEW',
      13,
    ]);
    const earlier = redecide(LONDON, decided(PLAIN, NOON - 3_600_000), NOBODY_HELD_OUT);
    expect(earlier.kind === 'decided' && earlier.concluded.rule).to.equal('at-noon');
  });

  it('keeps the hour that the very same version saw', () => {
    const decision = decided(UTC);
    const asked = { ...decision, facts: { ...decision.facts, hourOfDay: 3 } };
    const again = redecide(UTC, asked, NOBODY_HELD_OUT);
    expect(again.kind === 'decided' && again.facts['hourOfDay']).to.equal(3);
  });

  it('skips the rules that were skipped then, or none', () => {
    const decision = decided(UTC, NOON, true);
    expect(decision.verdict).to.equal('GET_NEW');
    const verdicts = [replayHoldouts(decision.holdout), NOBODY_HELD_OUT].map((isHeldOut) => {
      const again = redecide(UTC, decision, isHeldOut);
      return again.kind === 'decided' && again.concluded.verdict;
    });
    expect(verdicts).to.deep.equal(['GET_NEW', 'BLOCK']);
  });

  it('lacks the facts that its rules compare and nobody recorded, and those of another type', () => {
    const decision = decided(PLAIN);
    const { attemptOpen: _, ...facts } = decision.facts;
    const again = redecide(UTC, { ...decision, facts: { ...facts, paidCount: 'many' } }, NOBODY_HELD_OUT);
    expect(again.kind === 'lacking' && again.facts.map(({ label }) => label)).to.have.members([
      'attemptOpen',
      'paidCount',
    ]);
  });

  it('needs no fact that no rule compares, but says which ones its reason cannot quote', () => {
    const { sellPointKey: _, ...facts } = decided(PLAIN).facts;
    const again = redecide(UTC, { ...decided(PLAIN), facts }, NOBODY_HELD_OUT);
    expect(again.kind === 'decided' && again.missingQuotedFacts.map(({ label }) => label)).to.deep.equal([
      'verdicts(3m)',
    ]);
  });
});
