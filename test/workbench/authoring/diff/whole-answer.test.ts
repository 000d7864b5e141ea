import { expect } from 'chai';
import fc from 'fast-check';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { findDiffExamples } from '#workbench/authoring/diff/examples.ts';
import { computeRuleDiff } from '#workbench/authoring/diff/rule-diff.ts';
import type { ComparedAnswerPart } from '#workbench/authoring/diff/ways-to-differ.ts';
import { anyLife, type Life, live } from '../../../rule-fixtures/random-life.ts';
import { type Edit, edited, edits, swap } from '../../../rule-fixtures/sound-rules.ts';

type Edits = Readonly<Record<string, Edit>>;

const waitsOnPatient = (priority: number): Edits => ({
  'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [2m, 10m, 30m] }'),
  'verdicts.yaml': swap(
    'rules:\n',
    `rules:
  - name: transfers-wait
    priority: ${priority}
    conditions:
      all:
        - { fact: method, operator: equal, value: transfer }
        - { fact: attemptOpen, operator: equal, value: true }
    event: { type: verdict, params: { verdict: WAIT, ladder: patient, reason: "Wait {waitSeconds} s." } }
`,
  ),
});

const newcomersBlocked: Edits = {
  'groups.yaml': swap(
    'rules:\n',
    `rules:
  - name: newcomers
    priority: 40
    conditions: { all: [{ fact: isNewClient, operator: equal, value: true }] }
    event: { type: group, params: { group: PAYING } }
`,
  ),
};

const held = (share: string): Edits => ({
  'groups.yaml': swap('    priority: 80\n', `    priority: 80\n    holdout: ${share}\n`),
});

/** A change of each part of the answer, with the place and both values. */
const PLANTED: readonly (readonly [ComparedAnswerPart, string, Edits, Edits, readonly [string, string]])[] = [
  [
    'wait',
    'another priority of a WAIT rule with another ladder',
    waitsOnPatient(65),
    waitsOnPatient(75),
    [
      'WAIT 30 s by attempt-unpaid, NEW, no bot, level 1',
      'WAIT 120 s by transfers-wait, NEW, no bot, level 1 of the ladder patient',
    ],
  ],
  [
    'wait',
    'another ladder of one platform',
    {},
    { 'ruleset.yaml': swap('[10s, 1m, 10m]', '[10s, 2m, 10m]') },
    ['WAIT 60 s by attempt-unpaid, NEW, no bot', 'WAIT 120 s by attempt-unpaid, NEW, no bot'],
  ],
  [
    'ladder',
    'how long an absence is forgiven',
    {},
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 48h') },
    [
      'GET_NEW by otherwise, NEW, no bot, level 0 with an attempt open',
      'GET_NEW by wait-served, NEW, no bot, level 1 with an attempt open',
    ],
  ],
  [
    'requisite',
    'no requisite for who is bound',
    {},
    {
      'verdicts.yaml': swap(
        'verdict: GET_SAME_STICKY, reason: "The client is bound',
        'verdict: GET_NEW, reason: "The client is bound',
      ),
    },
    [
      'GET_SAME_STICKY by show-bound-requisite, STICKY, no bot',
      'GET_NEW by show-bound-requisite, STICKY, no bot',
    ],
  ],
  [
    'group',
    'a group of who is new, which only a score shows',
    {},
    newcomersBlocked,
    ['NEW, no bot', 'PAYING, no bot'],
  ],
  [
    'bot flag',
    'a bot that no verdict minds',
    {
      'verdicts.yaml': swap(
        'fact: isBot, operator: equal, value: true',
        'fact: amount, operator: equal, value: 0',
      ),
    },
    {
      'verdicts.yaml': swap(
        'fact: isBot, operator: equal, value: true',
        'fact: amount, operator: equal, value: 0',
      ),
      'bot-signals.yaml': swap('threshold: 4', 'threshold: 3'),
    },
    ['GET_NEW by otherwise, NEW, no bot', 'GET_NEW by otherwise, NEW, a bot'],
  ],
  [
    'score',
    'a smoothing of one platform that changes no group',
    {},
    {
      'ruleset.yaml': swap(
        '    scoringLimits: true\n',
        '    scoringLimits: true\n    smoothing: { prior: 0.5, weight: 0.5 }\n',
      ),
    },
    ['PAYING, no bot, score 0.8571', 'PAYING, no bot, score 0.8333'],
  ],
  [
    'limits',
    'the limit of a group, where one platform shows limits',
    {},
    { 'limits.yaml': swap('NEW: { EUR: "250.00"', 'NEW: { EUR: "300.00"') },
    ['NEW, no bot, limits EUR:250.00 USD:250.00', 'NEW, no bot, limits EUR:300.00 USD:250.00'],
  ],
  [
    'limits',
    'whether limits are shown',
    {},
    { 'ruleset.yaml': swap('scoringLimits: false', 'scoringLimits: true') },
    ['NEW, no bot, no limits', 'NEW, no bot, limits EUR:250.00 USD:250.00'],
  ],
  [
    'held out',
    'a share that is held out',
    held('2%'),
    held('4%'),
    [
      'BLOCK by client-blocked, BLOCKED, no bot, not held out',
      'GET_NEW by otherwise, NEW, no bot, held out of groups/blocked-by-unpaid-chain (4%)',
    ],
  ],
];

/** Possible changes; many have no effect, alone or together. */
const CHANGES: readonly (readonly [file: string, edit: Edit])[] = Object.entries({
  'verdicts.yaml': [
    ['priority: 80', 'priority: 65'],
    ['priority: 90', 'priority: 110'],
    ['priority: 60', 'priority: 45'],
    [
      '- { fact: waitRemainingSeconds, operator: greaterThan, value: 0 }',
      '- { fact: waitRemainingSeconds, operator: greaterThanInclusive, value: 1 }',
    ],
    [
      '- { fact: waitServed, operator: equal, value: true }',
      '- { fact: ladderLevel, operator: greaterThan, value: 1 }',
    ],
    ['    priority: 70\n', '    priority: 70\n    holdout: 1%\n'],
    [
      '- { fact: clientGroup, operator: equal, value: BLOCKED }',
      '- { fact: overrideGroup, operator: equal, value: BLOCKED }',
    ],
  ],
  'groups.yaml': [
    ['priority: 100', 'priority: 75'],
    ['priority: 60', 'priority: 55'],
    ['paidCount, operator: greaterThanInclusive, value: 3', 'paidCount, operator: greaterThan, value: 2'],
    ['    priority: 50\n', '    priority: 50\n    holdout: 5%\n    holdoutMaxAmount: { EUR: "100.00" }\n'],
    [
      '- { fact: unpaidChain, operator: greaterThanInclusive, value: 4 }',
      '- { fact: unpaidCount, operator: greaterThanInclusive, value: 4 }',
    ],
  ],
  'bot-signals.yaml': [
    ['threshold: 4', 'threshold: 3'],
    ['name: no-javascript', 'name: without-javascript'],
    ['operator: equal, value: TRUSTED', 'operator: in, value: [TRUSTED, BLOCKED]'],
    [
      'distinctAmounts, params: { window: 10m }, operator: greaterThanInclusive, value: 6',
      'distinctAmounts, params: { window: 10m }, operator: greaterThanInclusive, value: 2',
    ],
  ],
  'ladder.yaml': [
    ['[30s, 5m, 30m]', '[30s, 5m]'],
    ['resetAfter: 24h', 'resetAfter: 2h'],
    ['[30s, 5m, 30m]', '[30s, 300s, 30m]'],
  ],
  'limits.yaml': [['PAYING: { EUR: "500.00"', 'PAYING: { EUR: "600.00"']],
  'ruleset.yaml': [
    ['currency: EUR', 'currency: USD'],
    ['currency: EUR', 'currency: EUR\n  timeZone: Europe/Berlin'],
    ['prior: 0.5, weight: 0.4', 'prior: 0.6, weight: 0.4'],
    ['[10s, 1m, 10m]', '[10s, 2m, 10m]'],
    ['    ladder: { levels', '    currency: USD\n    ladder: { levels'],
  ],
} as const).flatMap(([file, changes]) => changes.map(([from, to]) => [file, swap(from, to)] as const));

describe('payers with different answers of two versions', () => {
  for (const [member, change, before, after, texts] of PLANTED) {
    it(`are found by ${change}: ${member}`, () => {
      const { examples } = findDiffExamples(edited(before), edited(after));
      const shown = examples.filter(({ differsIn }) => differsIn.includes(member));
      expect(shown.map((example) => [example.before.text, example.after.text])).to.deep.include(texts);
    });
  }

  it('are named with their platform where only that one has another ladder', () => {
    const after = edited({ 'ruleset.yaml': swap('[10s, 1m, 10m]', '[10s, 2m, 10m]') });
    const { examples } = findDiffExamples(edited({}), after);
    expect(examples.map(({ facts }) => facts['platform'])).to.deep.equal(['sandbox', 'sandbox']);
  });

  it('are none where two rules of one priority are swapped, which is reported', () => {
    const waiting = (name: string, method: string) => `  - name: ${name}
    priority: 85
    conditions: { all: [{ fact: method, operator: equal, value: ${method} }] }
    event: { type: verdict, params: { verdict: WAIT, reason: "Wait." } }
`;
    const [cards, transfers] = [waiting('cards', 'card'), waiting('transfers', 'transfer')];
    const asking = (rules: string) => edited({ 'verdicts.yaml': swap('rules:\n', `rules:\n${rules}`) });
    const { differences, examples } = computeRuleDiff(asking(cards + transfers), asking(transfers + cards));
    expect(differences.map(({ text }) => text)).to.deep.equal(['cards: asked after transfers now']);
    expect(examples).to.deep.equal([]);
  });

  it('are none where only names and reasons differ', () => {
    const { note, differences } = computeRuleDiff(
      edited({}),
      edited({ 'verdicts.yaml': swap('The client is blocked.', 'Blocked.') }),
    );
    expect(differences).to.have.lengthOf(1);
    expect(note).to.equal(
      'No payer is answered differently; names of rules, reasons, texts for payers and flags are not compared.',
    );
  });

  const versions = (changesMax: number) =>
    fc.subarray([...CHANGES], { maxLength: changesMax }).map(versionWith);
  const draws = fc.constantFrom(0.005, 0.03, 0.2, 1);

  it('are none only where random requests to random versions have equal answers', () => {
    fc.assert(
      fc.property(
        versions(1),
        versions(2),
        fc.array(anyLife, { minLength: 20, maxLength: 20 }),
        draws,
        (before, after, lives, drawn) => {
          fc.pre(before !== null && after !== null);
          const { examples, searched } = findDiffExamples(before, after);
          fc.pre(examples.length === 0 && searched);
          const holdoutDraw = () => (_rule: string, share: number) => drawn < share;
          for (const life of lives) {
            const answers = (rules: RuleSet) => answersIn({ ...life, rules, holdoutDraw });
            expect(answers(after)).to.deep.equal(answers(before));
          }
        },
      ),
      { numRuns: 8 },
    );
  });
});

/** Null where both change the same place, or together make a bad rule set. */
function versionWith(chosen: typeof CHANGES): RuleSet | null {
  const byFile = Map.groupBy(chosen, ([file]) => file);
  const changes = [...byFile].map(([file, some]) => [file, edits(...some.map(([, edit]) => edit))] as const);
  try {
    return edited(Object.fromEntries(changes));
  } catch {
    return null;
  }
}

/** All of the answer and the record, except names of rules and reasons. */
function answersIn(life: Life) {
  const { verdicts, scores } = live(life);
  const decided = verdicts.map(({ decision }) => {
    const { verdict, waitSeconds, ladder, waitFloorMs, stickyRequisiteRef } = decision;
    const { clientGroup, isBot, paymentScore, holdout, ladderAfter } = decision;
    const asked = { verdict, waitSeconds, ladder, waitFloorMs, stickyRequisiteRef };
    return { ...asked, clientGroup, isBot, paymentScore, holdout, ladderAfter };
  });
  return { decided, scores };
}
