import { expect } from 'chai';
import { assessFromFactValues, chooseVerdictRule } from '#decision/assess.ts';
import { type Decision, toVerdictAnswer } from '#decision/decision.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { edited, edits, swap, whole } from '../rule-fixtures/sound-rules.ts';

/** Values of an unknown client, with some of them set by label. */
function values(
  rules: RuleSet,
  seen: Readonly<Record<string, NullableFactValue>>,
): readonly NullableFactValue[] {
  const calm: Readonly<Record<string, NullableFactValue>> = {
    jsOk: true,
    overrideGroup: 'NONE',
    scoredBefore: true,
    userAgentPresent: true,
  };
  return rules.facts.map(
    ({ label, fact }) => seen[label] ?? calm[label] ?? (fact.domain.type === 'number' ? 0 : false),
  );
}

/**
 * Signals like 0.1 and 0.2, which add up to 0.30000000000000004 as doubles, or 0.7 and 0.1, which give
 * 0.7999999999999999.
 */
function signals(first: number, second: number, threshold: number): RuleSet {
  const signal = (name: string, fact: string, weight: number) =>
    `  - name: ${name}\n    conditions: { all: [{ fact: ${fact}, operator: equal, value: true }] }\n    event: { type: signal, params: { weight: ${weight} } }\n`;
  return edited({
    'bot-signals.yaml': whole(
      `threshold: ${threshold}\nrules:\n${signal('a', 'honeypotTriggered', first)}${signal('b', 'userAgentIsAutomated', second)}`,
    ),
  });
}

describe('what a rule set concludes', () => {
  const both = { honeypotTriggered: true, userAgentIsAutomated: true };

  it('is a bot when the weights of the matching signals reach the threshold', () => {
    const rules = signals(1, 2, 3);
    expect(assessFromFactValues(rules, values(rules, both), false)).to.deep.include({
      isBot: true,
      signals: ['a', 'b'],
    });
    expect(assessFromFactValues(rules, values(rules, { honeypotTriggered: true }), false)).to.deep.include({
      isBot: false,
      signals: ['a'],
    });
  });

  it('is no bot whom the rule set exempts from all signals, of which it then names none', () => {
    const rules = edited({});
    const trapped = { honeypotTriggered: true };
    expect(assessFromFactValues(rules, values(rules, trapped), false)).to.deep.include({
      isBot: true,
      signals: ['honeypot'],
    });
    expect(
      assessFromFactValues(rules, values(rules, { ...trapped, overrideGroup: 'TRUSTED' }), false),
    ).to.deep.include({
      isBot: false,
      signals: [],
    });
  });

  it('asks the signals where what exempts from them is not known', () => {
    const rules = edited({
      'bot-signals.yaml': swap(
        'fact: overrideGroup, operator: equal, value: TRUSTED',
        'fact: secondsSinceLastPaid, operator: lessThan, value: 60',
      ),
    });
    const trapped = values(rules, { honeypotTriggered: true });
    const isPaid = (reading: NullableFactValue) =>
      trapped.map((value, index) => (rules.facts[index]?.name === 'secondsSinceLastPaid' ? reading : value));
    expect(assessFromFactValues(rules, isPaid(null), false).isBot).to.equal(true);
    expect(assessFromFactValues(rules, isPaid(59), false).isBot).to.equal(false);
    expect(assessFromFactValues(rules, isPaid(60), false).isBot).to.equal(true);
  });

  for (const [first, second, threshold] of [
    [0.1, 0.2, 0.3],
    [0.7, 0.1, 0.8],
  ] as const) {
    it(`is a bot for weights of ${first} and ${second} at a threshold of ${threshold}`, () => {
      const rules = signals(first, second, threshold);
      expect(assessFromFactValues(rules, values(rules, both), false).isBot).to.equal(true);
    });
  }

  it('is never a bot for a new client, whose signals are named all the same', () => {
    const rules = signals(1, 2, 3);
    expect(assessFromFactValues(rules, values(rules, both), true)).to.deep.include({
      isBot: false,
      signals: ['a', 'b'],
    });
  });

  it('is the group of the first rule by priority, or otherwise', () => {
    const rules = edited({});
    const group = (seen: Readonly<Record<string, NullableFactValue>>) =>
      assessFromFactValues(rules, values(rules, seen), false).clientGroup;
    expect(group({})).to.equal('NEW');
    expect(group({ paidCount: 1 })).to.equal('PAYING');
    expect(group({ paidCount: 1, hasBinding: true })).to.equal('STICKY');
    expect(group({ paidCount: 1, hasBinding: true, overrideGroup: 'BLOCKED' })).to.equal('BLOCKED');
  });

  it('is known to later rules: the group to signals, the weight and the flag to verdicts', () => {
    const rules = edited({
      'bot-signals.yaml': swap(
        'fact: jsOk, operator: equal, value: false',
        'fact: clientGroup, operator: equal, value: PAYING',
      ),
      'verdicts.yaml': edits(
        swap('fact: isBot, operator: equal, value: true', 'fact: botWeight, operator: equal, value: 3'),
      ),
    });
    const { values: concluded, signals: names } = assessFromFactValues(
      rules,
      values(rules, { paidCount: 1 }),
      false,
    );
    expect(names).to.deep.equal(['no-javascript']);
    expect(chooseVerdictRule(rules, concluded).rule).to.equal('bot-blocked');
  });

  it('does not change the given values', () => {
    const rules = edited({});
    const given = Object.freeze([...values(rules, {})]);
    expect(assessFromFactValues(rules, given, false).values).to.not.equal(given);
  });
});

describe("the caller's answer", () => {
  const record = {
    decisionId: 'x.1',
    seq: 1,
    at: 1,
    sellPointKey: 's',
    clientIdKey: 'c',
    verdict: 'WAIT',
    waitSeconds: 30,
    reason: 'Wait.',
    ruleVersion: 'p2.v10',
    isBot: false,
    facts: { paidCount: 0 },
  };

  it("has the interface's members and nothing else of the record", () => {
    const decision: Decision = JSON.parse(JSON.stringify(record));
    expect(toVerdictAnswer(decision)).to.deep.equal({
      verdict: 'WAIT',
      waitSeconds: 30,
      reason: 'Wait.',
      ruleVersion: 'p2.v10',
      isBot: false,
    });
    const { waitSeconds: _, ...granted } = record;
    const sticky: Decision = JSON.parse(
      JSON.stringify({ ...granted, verdict: 'GET_SAME_STICKY', stickyRequisiteRef: 'r' }),
    );
    expect(Object.keys(toVerdictAnswer(sticky))).to.deep.equal([
      'verdict',
      'stickyRequisiteRef',
      'reason',
      'ruleVersion',
      'isBot',
    ]);
  });
});
