import { expect } from 'chai';
import { diffRuleSets } from '../../../src/analysis/diff/differences.ts';
import { diffExamples, diffExamplesWithin } from '../../../src/analysis/diff/examples.ts';
import { type Edit, Workplace } from '../../evidence/backtest/backtest-history.ts';

const TOO_EARLY = '- { fact: waitRemainingSeconds, operator: greaterThan, value: 0 }';

describe('the difference between two rule sets', () => {
  let place: Workplace;
  before(() => {
    place = new Workplace();
  });
  after(() => place.end());

  let number = 100;
  function compare(...edits: readonly Edit[]) {
    const version = `p2.v${number++}`;
    place.draft(version, ...edits);
    return { before: place.rules('p2.v10'), after: place.rules(version) };
  }

  function texts(...edits: readonly Edit[]): readonly string[] {
    const { before, after } = compare(...edits);
    return diffRuleSets(before, after).map(({ part, text }) => `${part} | ${text}`);
  }

  const expected: readonly (readonly [string, readonly Edit[], readonly string[]])[] = [
    ['nothing for a copy', [], []],
    [
      'nothing for comments, descriptions and the order of members and conditions',
      [
        { file: 'verdicts.yaml', from: 'rules:\n', to: '# a comment\nrules:\n' },
        { file: 'verdicts.yaml', from: 'A request before waitSeconds elapsed', to: 'Whoever cannot wait' },
        {
          file: 'bot-signals.yaml',
          from: '- { fact: scoredBefore, operator: equal, value: true }\n        - { fact: userAgentPresent, operator: equal, value: false }',
          to: '- { operator: equal, fact: userAgentPresent, value: false }\n        - { fact: scoredBefore, operator: equal, value: true }',
        },
        { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[30s, 300s, 30m]' },
      ],
      [],
    ],
    [
      'a changed constant',
      [{ file: 'verdicts.yaml', from: TOO_EARLY, to: TOO_EARLY.replace('value: 0', 'value: 2') }],
      ['verdicts | asked-too-early: waitRemainingSeconds > 0 -> > 2'],
    ],
    [
      'a changed window',
      [
        {
          file: 'bot-signals.yaml',
          from: 'clientsOnIp, params: { window: 1h }',
          to: 'clientsOnIp, params: { window: 2h }',
        },
      ],
      ['bot-signals | crowded-ip: clientsOnIp(1h) >= 4 -> clientsOnIp(2h) >= 4'],
    ],
    [
      'a condition added and one removed',
      [
        {
          file: 'verdicts.yaml',
          from: TOO_EARLY,
          to: `${TOO_EARLY}\n        - { fact: amount, operator: greaterThan, value: 5 }`,
        },
        {
          file: 'bot-signals.yaml',
          from: '        - { fact: userAgentPresent, operator: equal, value: false }\n',
          to: '',
        },
      ],
      [
        'bot-signals | missing-user-agent: condition removed: userAgentPresent = false',
        'verdicts | asked-too-early: condition added: amount > 5',
      ],
    ],
    [
      '"any" in the place of "all"',
      [
        {
          file: 'groups.yaml',
          from: 'priority: 60\n    conditions:\n      all:',
          to: 'priority: 60\n    conditions:\n      any:',
        },
      ],
      [
        'groups | stable-history: paidCount >= 3 and paymentScore >= 0.8 and unpaidChain <= 1 -> paidCount >= 3 or paymentScore >= 0.8 or unpaidChain <= 1',
      ],
    ],
    [
      'event params, threshold and weights',
      [
        { file: 'bot-signals.yaml', from: 'threshold: 4', to: 'threshold: 5' },
        { file: 'bot-signals.yaml', from: 'weight: 4', to: 'weight: 5' },
        { file: 'verdicts.yaml', from: 'The client is blocked.', to: 'Blocked.' },
        { file: 'groups.yaml', from: 'otherwise: NEW', to: 'otherwise: PAYING' },
      ],
      [
        'groups | otherwise: NEW -> PAYING',
        'bot-signals | threshold: 4 -> 5',
        'bot-signals | honeypot: weight 4 -> 5',
        'verdicts | client-blocked: reason "The client is blocked." -> "Blocked."',
      ],
    ],
    [
      'a new priority, and whether it changes the order',
      [
        { file: 'verdicts.yaml', from: 'priority: 80', to: 'priority: 65' },
        { file: 'groups.yaml', from: 'priority: 100', to: 'priority: 101' },
      ],
      [
        'groups | blocked-by-decision: priority 100 -> 101 (the order of the rules stays as it was)',
        'verdicts | asked-too-early: priority 80 -> 65',
      ],
    ],
    [
      'a renamed rule',
      [{ file: 'verdicts.yaml', from: 'name: asked-too-early', to: 'name: impatient' }],
      ['verdicts | asked-too-early is now named impatient'],
    ],
    [
      'settings, platforms, ladder and limits, and what a platform inherits only once',
      [
        { file: 'ruleset.yaml', from: 'prior: 0.5, weight: 0.4', to: 'prior: 0.5, weight: 3' },
        { file: 'ruleset.yaml', from: '[10s, 1m, 10m]', to: '[10s, 2m, 10m]' },
        { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[30s, 10m, 30m, 1h]' },
        { file: 'limits.yaml', from: 'EUR: "500.00"', to: 'EUR: "600.00"' },
      ],
      [
        'settings | smoothing weight: 0.4 -> 3',
        'ladder | ladder level 2: 5m -> 10m',
        'ladder | ladder level 4: added, 1h',
        'platforms | platform "sandbox" ladder level 2: 1m -> 2m',
        'limits | limit of PAYING in EUR: 500.00 -> 600.00',
      ],
    ],
  ];
  for (const [title, edits, changes] of expected) {
    it(`tells ${title}`, () => {
      expect(texts(...edits)).to.deep.equal(changes);
    });
  }

  it('tells a change of a named condition once, not rule by rule', () => {
    const shared = (limit: number): readonly Edit[] => [
      {
        file: 'verdicts.yaml',
        from: 'rules:\n',
        to: `conditions:\n  large: { all: [{ fact: amount, operator: greaterThan, value: ${limit} }] }\nrules:\n`,
      },
      { file: 'verdicts.yaml', from: TOO_EARLY, to: `${TOO_EARLY}\n        - { condition: large }` },
      {
        file: 'verdicts.yaml',
        from: '- { fact: attemptOpen, operator: equal, value: true }',
        to: '- { fact: attemptOpen, operator: equal, value: true }\n        - { condition: large }',
      },
    ];
    const before = compare(...shared(5)).after;
    const after = compare(...shared(7)).after;
    expect(diffRuleSets(before, after).map(({ text }) => text)).to.deep.equal([
      'condition "large": amount > 5 -> > 7',
    ]);
  });

  it('tells a rule that was added and one that was removed in words', () => {
    const rule = /\n {2}- name: wait-served[\s\S]*?was served\." \}\n/.exec(
      place.text('p2.v10', 'verdicts.yaml'),
    )?.[0];
    const { before, after } = compare({ file: 'verdicts.yaml', from: rule ?? '?', to: '' });
    const words =
      'priority 50; when waitServed = true; verdict GET_NEW; reason "The wait of cooldown level {ladderLevel} was served."';
    expect(diffRuleSets(before, after).map(({ text }) => text)).to.deep.equal([
      `wait-served: removed (${words})`,
    ]);
    expect(diffRuleSets(after, before).map(({ text }) => text)).to.deep.equal([
      `wait-served: added (${words})`,
    ]);
  });

  it('finds the fact values on the boundary that was moved', () => {
    const { before, after } = compare({
      file: 'verdicts.yaml',
      from: TOO_EARLY,
      to: TOO_EARLY.replace('value: 0', 'value: 2'),
    });
    const [example] = diffExamples(before, after).examples;
    expect(example?.facts['waitRemainingSeconds']).to.be.oneOf([1, 2]);
    expect([example?.before.text, example?.after.text]).to.deep.equal([
      'WAIT 300 s by asked-too-early, NEW, no bot',
      'GET_NEW by otherwise, NEW, no bot',
    ]);
  });

  it('shows examples whose counts add up', () => {
    const { before, after } = compare(
      {
        file: 'groups.yaml',
        from: 'paymentScore, operator: greaterThanInclusive, value: 0.8',
        to: 'paymentScore, operator: greaterThanInclusive, value: 0.85',
      },
      {
        file: 'groups.yaml',
        from: 'unpaidChain, operator: greaterThanInclusive, value: 4',
        to: 'unpaidChain, operator: greaterThanInclusive, value: 5',
      },
    );
    const { examples } = diffExamples(before, after);
    const groups = examples.map((example) => `${example.before.clientGroup} -> ${example.after.clientGroup}`);
    expect(groups).to.include.members(['TRUSTED -> PAYING', 'BLOCKED -> NEW']);
    const trusted = examples.find((example) => example.before.clientGroup === 'TRUSTED');
    expect(trusted?.facts['paymentScore']).to.be.within(0.8, 0.8499);
    expect(trusted?.facts['paidCount']).to.be.greaterThan(2);
  });

  it('finds the same examples beside other work, which goes on meanwhile', async () => {
    const { before, after } = compare({
      file: 'verdicts.yaml',
      from: TOO_EARLY,
      to: TOO_EARLY.replace('value: 0', 'value: 2'),
    });
    let turns = 0;
    const turn = setInterval(() => turns++, 0);
    const found = await diffExamplesWithin(before, after, 60_000);
    clearInterval(turn);
    expect(found).to.deep.equal(diffExamples(before, after));
    expect(found.searched).to.equal(true);
    expect(turns).to.be.above(1);
  });

  it('stops the search when its time is up, and says so', async () => {
    const { before, after } = compare({
      file: 'verdicts.yaml',
      from: TOO_EARLY,
      to: TOO_EARLY.replace('value: 0', 'value: 2'),
    });
    expect(await diffExamplesWithin(before, after, 0)).to.deep.equal({ examples: [], searched: false });
  });

  it('finds the same examples every time', () => {
    const { before, after } = compare({ file: 'bot-signals.yaml', from: 'threshold: 4', to: 'threshold: 3' });
    expect(diffExamples(before, after)).to.deep.equal(diffExamples(before, after));
  });

  it('finds no example where only the layout differs', () => {
    const { before, after } = compare({
      file: 'verdicts.yaml',
      from: 'rules:\n',
      to: '# a comment\nrules:\n',
    });
    expect(diffExamples(before, after)).to.deep.equal({ examples: [], searched: true });
  });

  it('proves that a change which no payer notices has no example', () => {
    const { before, after } = compare({ file: 'verdicts.yaml', from: 'priority: 80', to: 'priority: 65' });
    expect(diffRuleSets(before, after)).to.have.lengthOf(1);
    // Who waits has no open attempt, so which of the two rules is asked first makes no difference.
    expect(diffExamples(before, after)).to.deep.equal({ examples: [], searched: true });
  });

  it('lets each version compute what it computes otherwise, such as the payment score', () => {
    const { before, after } = compare({
      file: 'ruleset.yaml',
      from: 'prior: 0.5, weight: 0.4',
      to: 'prior: 0.5, weight: 3',
    });
    const { examples } = diffExamples(before, after);
    expect(
      examples.map((example) => [example.facts, example.before.text, example.after.text]),
    ).to.deep.include([
      { paidCount: 3, paymentScore: 0.9412, [`paymentScore in ${after.version}`]: 0.75 },
      'GET_NEW by otherwise, TRUSTED, no bot, score 0.9412',
      'GET_NEW by otherwise, PAYING, no bot, score 0.7500',
    ]);
  });

  it('shows for each rule that decided otherwise a payer whom a lower threshold turns into a bot', () => {
    const { before, after } = compare({ file: 'bot-signals.yaml', from: 'threshold: 4', to: 'threshold: 3' });
    const { examples, searched } = diffExamples(before, after);
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
