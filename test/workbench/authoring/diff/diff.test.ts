import { expect } from 'chai';
import { findDiffExamples, findDiffExamplesWithin } from '#workbench/authoring/diff/examples.ts';
import { listRuleSetDifferences } from '#workbench/authoring/diff/rule-diff.ts';
import { edited, edits, SOUND_FILES, swap } from '../../../rule-fixtures/sound-rules.ts';
import { itTells } from '../../../rule-fixtures/told.ts';

/** A replacement in one file of the released rule set. */
type Change = readonly [file: string, from: string, to: string];

const TOO_EARLY = '- { fact: waitRemainingSeconds, operator: greaterThan, value: 0 }';

const LATER: Change = ['verdicts.yaml', TOO_EARLY, TOO_EARLY.replace('value: 0', 'value: 2')];

const TRUSTED = '- { fact: overrideGroup, operator: equal, value: TRUSTED }';
const EXEMPT = `exempt:\n  any:\n    ${TRUSTED}\n`;
const BOUND = 'fact: hasBinding, operator: equal, value: true';

describe('the difference between two rule sets', () => {
  function compare(...changes: readonly Change[]) {
    const byFile = Map.groupBy(changes, ([file]) => file);
    const steps = [...byFile].map(
      ([file, some]) => [file, edits(...some.map(([, from, to]) => swap(from, to)))] as const,
    );
    return { before: edited({}), after: edited(Object.fromEntries(steps)) };
  }

  function texts(...edits: readonly Change[]): readonly string[] {
    const { before, after } = compare(...edits);
    return listRuleSetDifferences(before, after).map(({ part, text }) => `${part} | ${text}`);
  }

  const changed: Readonly<Record<string, readonly Change[]>> = {
    'nothing for a copy': [],
    'nothing for comments, descriptions and the order of members and conditions': [
      ['verdicts.yaml', 'rules:\n', '# a comment\nrules:\n'],
      ['verdicts.yaml', 'A request before waitSeconds elapsed', 'Whoever cannot wait'],
      [
        'bot-signals.yaml',
        '- { fact: scoredBefore, operator: equal, value: true }\n        - { fact: userAgentPresent, operator: equal, value: false }',
        '- { operator: equal, fact: userAgentPresent, value: false }\n        - { fact: scoredBefore, operator: equal, value: true }',
      ],
      ['ladder.yaml', '[30s, 5m, 30m]', '[30s, 300s, 30m]'],
    ],
    'a changed constant': [LATER],
    'a changed window': [
      ['bot-signals.yaml', 'clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 2h }'],
    ],
    'a condition added and one removed': [
      [
        'verdicts.yaml',
        TOO_EARLY,
        `${TOO_EARLY}\n        - { fact: amount, operator: greaterThan, value: 5 }`,
      ],
      ['bot-signals.yaml', '        - { fact: userAgentPresent, operator: equal, value: false }\n', ''],
    ],
    '"any" in the place of "all"': [
      [
        'groups.yaml',
        'priority: 60\n    conditions:\n      all:',
        'priority: 60\n    conditions:\n      any:',
      ],
    ],
    'a condition that became a "not", as it is written': [
      [
        'verdicts.yaml',
        TOO_EARLY,
        '        - not: { fact: waitRemainingSeconds, operator: lessThanInclusive, value: 0 }',
      ],
    ],
    'event params, threshold and weights': [
      ['bot-signals.yaml', 'threshold: 4', 'threshold: 5'],
      [
        'bot-signals.yaml',
        'honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 4',
        'honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 5',
      ],
      ['verdicts.yaml', 'The client is blocked.', 'Blocked.'],
      ['groups.yaml', 'otherwise: NEW', 'otherwise: PAYING'],
    ],
    'a new priority, and whether it changes the order': [
      ['verdicts.yaml', 'priority: 80', 'priority: 65'],
      ['groups.yaml', 'priority: 100', 'priority: 101'],
    ],
    'a priority that another rule has, too': [['verdicts.yaml', 'priority: 90', 'priority: 100']],
    'a text for the payer, which changes no answer': [
      [
        'verdicts.yaml',
        'reason: "The client is blocked."',
        'reason: "The client is blocked.", payerText: "Please write to us."',
      ],
    ],
    'what exempts from the signals': [['bot-signals.yaml', TRUSTED, `${TRUSTED}\n    - { ${BOUND} }`]],
    'nothing that exempts from the signals any more': [['bot-signals.yaml', EXEMPT, '']],
    'a renamed rule': [['verdicts.yaml', 'name: asked-too-early', 'name: impatient']],
    'settings, platforms, ladder and limits, and what a platform inherits only once': [
      ['ruleset.yaml', 'prior: 0.5, weight: 0.4', 'prior: 0.5, weight: 3'],
      ['ruleset.yaml', '[10s, 1m, 10m]', '[10s, 2m, 10m]'],
      ['ladder.yaml', '[30s, 5m, 30m]', '[30s, 10m, 30m, 1h]'],
      ['limits.yaml', 'EUR: "500.00"', 'EUR: "600.00"'],
    ],
  };
  const reported = Object.entries(changed).map(
    ([title, changes]) => [title, () => texts(...changes)] as const,
  );
  itTells(new URL('differences.txt', import.meta.url), Object.fromEntries(reported));

  it('reports a change of a named condition once, not rule by rule', () => {
    const shared = (limit: number): readonly Change[] => [
      [
        'verdicts.yaml',
        'rules:\n',
        `conditions:\n  large: { all: [{ fact: amount, operator: greaterThan, value: ${limit} }] }\nrules:\n`,
      ],
      ['verdicts.yaml', TOO_EARLY, `${TOO_EARLY}\n        - { condition: large }`],
      [
        'verdicts.yaml',
        '- { fact: attemptOpen, operator: equal, value: true }',
        '- { fact: attemptOpen, operator: equal, value: true }\n        - { condition: large }',
      ],
    ];
    const before = compare(...shared(5)).after;
    const after = compare(...shared(7)).after;
    expect(listRuleSetDifferences(before, after).map(({ text }) => text)).to.deep.equal([
      'condition "large": amount > 5 -> > 7',
    ]);
  });

  it('describes an added and a removed rule in words', () => {
    const rule = /\n {2}- name: wait-served[\s\S]*?was served\." \}\n/.exec(
      SOUND_FILES.get('verdicts.yaml') ?? '',
    )?.[0];
    const { before, after } = compare(['verdicts.yaml', rule ?? '?', '']);
    const words =
      'priority 50; when waitServed = true; verdict GET_NEW; reason "The wait of cooldown level {ladderLevel} was served."';
    expect(listRuleSetDifferences(before, after).map(({ text }) => text)).to.deep.equal([
      `wait-served: removed (${words})`,
    ]);
    expect(listRuleSetDifferences(after, before).map(({ text }) => text)).to.deep.equal([
      `wait-served: added (${words})`,
    ]);
  });

  it('finds the fact values at the moved threshold', () => {
    const { before, after } = compare(LATER);
    const [example] = findDiffExamples(before, after).examples;
    expect(example?.facts['waitRemainingSeconds']).to.be.oneOf([1, 2]);
    expect([example?.before.text, example?.after.text]).to.deep.equal([
      'WAIT 300 s by asked-too-early, NEW, no bot',
      'GET_NEW by otherwise, NEW, no bot',
    ]);
  });

  it('shows examples with counts that add up', () => {
    const { before, after } = compare(
      [
        'groups.yaml',
        'paymentScore, operator: greaterThanInclusive, value: 0.8',
        'paymentScore, operator: greaterThanInclusive, value: 0.85',
      ],
      [
        'groups.yaml',
        'unpaidChain, operator: greaterThanInclusive, value: 4',
        'unpaidChain, operator: greaterThanInclusive, value: 5',
      ],
    );
    const { examples } = findDiffExamples(before, after);
    const groups = examples.map((example) => `${example.before.clientGroup} -> ${example.after.clientGroup}`);
    expect(groups).to.include.members(['TRUSTED -> PAYING', 'BLOCKED -> NEW']);
    const trusted = examples.find((example) => example.before.clientGroup === 'TRUSTED');
    expect(trusted?.facts['paymentScore']).to.be.within(0.8, 0.8499);
    expect(trusted?.facts['paidCount']).to.be.greaterThan(2);
  });

  it('finds the same examples beside other work, which goes on meanwhile', async () => {
    const { before, after } = compare(LATER);
    let turns = 0;
    const turn = setInterval(() => turns++, 0);
    const found = await findDiffExamplesWithin(before, after, 60_000);
    clearInterval(turn);
    expect(found).to.deep.equal(findDiffExamples(before, after));
    expect(found.searched).to.equal(true);
    expect(turns).to.be.above(1);
  });

  it('stops the search when its time is up, and says so', async () => {
    const { before, after } = compare(LATER);
    expect(await findDiffExamplesWithin(before, after, 0)).to.deep.equal({ examples: [], searched: false });
  });

  it('proves that a change without effect has no example', () => {
    const { before, after } = compare(['verdicts.yaml', 'priority: 80', 'priority: 65']);
    expect(listRuleSetDifferences(before, after)).to.have.lengthOf(1);
    // A waiting client has no open attempt, so the order of the two rules makes no difference.
    expect(findDiffExamples(before, after)).to.deep.equal({ examples: [], searched: true });
  });

  it('shows payers whom only one version exempts from the signals', () => {
    const { before, after } = compare(['bot-signals.yaml', TRUSTED, `${TRUSTED}\n    - { ${BOUND} }`]);
    const { examples } = findDiffExamples(before, after);
    expect(examples.length).to.be.above(0);
    for (const { facts, before: was, after: is } of examples) {
      expect(facts).to.include({ hasBinding: true });
      expect([was.isBot, is.isBot]).to.deep.equal([true, false]);
    }
  });

  it('proves that a condition which every signal has may exempt from all of them instead', () => {
    const conditions = /conditions:\n {6}all:\n/g;
    const spelledOut = (text: string) =>
      text
        .replace(EXEMPT, '')
        .replaceAll(
          conditions,
          (start) => `${start}        - { fact: overrideGroup, operator: notEqual, value: TRUSTED }\n`,
        );
    const before = edited({ 'bot-signals.yaml': spelledOut });
    const found = findDiffExamples(before, edited({}));
    expect(found).to.deep.equal({ examples: [], searched: true });
  });

  it('shows a payer whose amount is the multiple that one version asks for', () => {
    const round = '{ fact: amount, operator: multipleOf, value: 1000 }';
    const isOver = '{ fact: amount, operator: greaterThan, value: 2500 }';
    const rule = (conditions: string) =>
      `rules:\n  - { name: round, priority: 95, conditions: { all: [${conditions}] }, event: { type: verdict, params: { verdict: BLOCK, reason: "r" } } }\n`;
    const { before, after } = compare(['verdicts.yaml', 'rules:\n', rule(`${round}, ${isOver}`)]);
    const { examples } = findDiffExamples(before, after);
    expect(examples.map(({ facts }) => facts['amount'])).to.include(3000);
    for (const { facts } of examples) expect(Number(facts['amount']) % 1000).to.equal(0);
  });

  it('lets each version compute its own values, such as the payment score', () => {
    const { before, after } = compare(['ruleset.yaml', 'prior: 0.5, weight: 0.4', 'prior: 0.5, weight: 3']);
    const { examples } = findDiffExamples(before, after);
    expect(
      examples.map((example) => [example.facts, example.before.text, example.after.text]),
    ).to.deep.include([
      { paidCount: 3, paymentScore: 0.9412, [`paymentScore in ${after.version}`]: 0.75 },
      'GET_NEW by otherwise, TRUSTED, no bot, score 0.9412',
      'GET_NEW by otherwise, PAYING, no bot, score 0.7500',
    ]);
  });

  it('shows a payer for each rule whose verdict a lower bot threshold changes', () => {
    const { before, after } = compare(['bot-signals.yaml', 'threshold: 4', 'threshold: 3']);
    const { examples, searched } = findDiffExamples(before, after);
    expect(searched).to.equal(true);
    for (const example of examples) {
      expect([example.before.isBot, example.after.isBot]).to.deep.equal([false, true]);
    }
    expect(examples.map((example) => example.before.rule)).to.include.members([
      'otherwise',
      'asked-too-early',
      'attempt-unpaid',
      'wait-served',
      'show-bound-requisite',
    ]);
  });
});
