import { expect } from 'chai';
import fc from 'fast-check';
import { FACTS } from '../../../src/facts/catalogue.ts';
import { parse } from '../../../src/rules/parse/parse.ts';
import { formatProblem } from '../../../src/rules/problem.ts';
import {
  BAD_CONDITIONS,
  BAD_FILES,
  BAD_RULES,
  BAD_SETTINGS,
  condition,
} from '../../rule-fixtures/bad-rules.ts';
import {
  type Edit,
  edited,
  edits,
  problemsOf,
  SOUND_FILES,
  SOUND_VERSION,
  swap,
  whole,
} from '../../rule-fixtures/sound-rules.ts';
import { itTells } from '../../rule-fixtures/told.ts';

/** What stands near to something that is refused, and is sound. */
const ACCEPTED: Readonly<Record<string, Readonly<Record<string, Edit>>>> = {
  'two rules of equal priority that no payer can match both': {
    'groups.yaml': swap('priority: 90', 'priority: 100'),
  },
  'the highest value that a fact can have': { 'bot-signals.yaml': swap('value: 60 }', 'value: 64 }') },
  'a whole number written with a fraction of zero': {
    'bot-signals.yaml': swap('value: 60 }', 'value: 60.0 }'),
  },
  '"in" with a list of one': {
    'groups.yaml': swap(
      'fact: overrideGroup, operator: equal, value: BLOCKED',
      'fact: overrideGroup, operator: in, value: [BLOCKED]',
    ),
  },
  'the longest window': {
    'bot-signals.yaml': swap(
      'fact: earlyRequests, params: { window: 10m }',
      'fact: earlyRequests, params: { window: 24h }',
    ),
  },
  'the client group in bot-signals.yaml': {
    'bot-signals.yaml': swap(
      'fact: jsOk, operator: equal, value: false',
      'fact: clientGroup, operator: equal, value: NEW',
    ),
  },
  'a text for the payer with words that are also names of facts': {
    'verdicts.yaml': swap(
      'reason: "The client is blocked."',
      'reason: "The client is blocked.", payerText: "Please choose another method, amount or device."',
    ),
  },
  'a threshold that only all signals together reach': {
    'bot-signals.yaml': swap('threshold: 4', 'threshold: 33'),
  },
  'weights of 0.7 and 0.1 for a threshold of 0.8, which doubles miss by a hair': {
    'bot-signals.yaml': whole(
      [
        'threshold: 0.8',
        'rules:',
        '  - name: first',
        '    conditions: { all: [{ fact: jsOk, operator: equal, value: false }] }',
        '    event: { type: signal, params: { weight: 0.7 } }',
        '  - name: second',
        '    conditions: { all: [{ fact: jsOk, operator: equal, value: false }] }',
        '    event: { type: signal, params: { weight: 0.1 } }',
        '',
      ].join('\n'),
    ),
  },
  'GET_SAME_STICKY with the binding demanded on both ways of an "any"': {
    'verdicts.yaml': swap(
      '      all:\n        - { fact: bindingFitsMethod, operator: equal, value: true }',
      '      any:\n        - all: [{ fact: bindingFitsMethod, operator: equal, value: true }]\n        - { fact: hasBinding, operator: equal, value: true }',
    ),
  },
  'GET_SAME_STICKY with the binding demanded by a named condition': {
    'verdicts.yaml': edits(
      swap(
        'rules:\n',
        'conditions:\n  bound: { all: [{ fact: hasBinding, operator: equal, value: true }] }\nrules:\n',
      ),
      swap(
        '      all:\n        - { fact: bindingFitsMethod, operator: equal, value: true }',
        '      condition: bound',
      ),
    ),
  },
  'a named condition used twice, and one that names another': {
    'groups.yaml': edits(
      swap(
        'rules:\n',
        'conditions:\n  paid: { not: { condition: unpaid } }\n  unpaid: { all: [{ fact: paidCount, operator: equal, value: 0 }] }\nrules:\n',
      ),
      swap(
        '        - { fact: hasBinding, operator: equal, value: true }',
        '        - condition: paid\n        - condition: paid',
      ),
    ),
  },
  'smoothing that leaves the score as it is with the first payment': {
    'ruleset.yaml': swap('{ prior: 0.5, weight: 0.4 }', '{ prior: 0.25, weight: 2 }'),
  },
  'a resetAfter one second longer than the longest wait': {
    'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 1801s'),
  },
  'a rule without a description': { 'groups.yaml': swap('    description: At least one paid order.\n', '') },
  'no limits file where no platform enables scoring limits': {
    'limits.yaml': () => null,
    'ruleset.yaml': swap('scoringLimits: true', 'scoringLimits: false'),
  },
  'a document marker at the start': { 'ladder.yaml': (sound) => `---\n${sound}` },
  'lines that end as on Windows': { 'groups.yaml': (sound) => sound.replaceAll('\n', '\r\n') },
};

/** Texts that break things in the wrong place. */
const TROUBLE = [
  '*a',
  '&a ',
  '<<: ',
  '!!binary ',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '\t',
  '\0',
  '\uFEFF',
  '\uD800',
  '"',
  "'",
  '{',
  '}',
  '[',
  ']',
  '? ',
  ': ',
  '- ',
  '\n',
  '#',
  '|',
  '>',
  'null',
  '~',
  '0777',
  '1e400',
  '.nan',
  '__proto__: ',
  'constructor',
  '[[[[[[[[[[',
  '{ not: { not: { not: ',
  'conditions:\n  a: { condition: a }\n',
  '{fact}',
  '\r',
] as const;

const spot = fc.double({ min: 0, max: 1, noNaN: true });

/** One careless edit: something deleted, doubled, moved or put in. */
const careless = fc
  .record({
    kind: fc.constantFrom('delete', 'double', 'move', 'insert', 'character'),
    at: spot,
    length: fc.integer({ min: 1, max: 40 }),
    to: spot,
    trouble: fc.constantFrom(...TROUBLE),
    character: fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }),
  })
  .map(({ kind, at, length, to, trouble, character }) => (text: string) => {
    const start = Math.floor(at * text.length);
    const piece = text.slice(start, start + length);
    const without = text.slice(0, start) + text.slice(start + length);
    const target = Math.floor(to * without.length);
    switch (kind) {
      case 'delete':
        return without;
      case 'double':
        return text.slice(0, start) + piece + text.slice(start);
      case 'move':
        return without.slice(0, target) + piece + without.slice(target);
      case 'insert':
        return text.slice(0, start) + trouble + text.slice(start);
      case 'character':
        return text.slice(0, start) + character + text.slice(start + 1);
      default:
        return kind satisfies never;
    }
  });

const RULE_FILES = [...SOUND_FILES.keys()].filter((path) => !path.startsWith('cases/'));

describe('parsing a rule set', () => {
  it('accepts the released rule set', () => {
    expect(problemsOf({})).to.deep.equal([]);
  });

  it('refuses a ruleVersion that is not the name of the folder', () => {
    expect(problemsOf({}, 'p2.v11')).to.deep.equal([
      'ruleset.yaml:2:14  ruleVersion "p2.v10" must equal the name of its folder, "p2.v11"',
    ]);
  });

  describe('refuses', () => {
    const bad = { ...BAD_CONDITIONS, ...BAD_RULES, ...BAD_SETTINGS, ...BAD_FILES };
    const told = Object.entries(bad).map(([title, files]) => [title, () => problemsOf(files)] as const);
    itTells(new URL('../../rule-fixtures/bad-rules.txt', import.meta.url), Object.fromEntries(told));
  });

  it('refuses an unknown fact that is near to none, a member of every object, with the names of all', () => {
    expect(problemsOf(condition('{ fact: constructor, operator: equal, value: true }'))).to.deep.equal([
      `verdicts.yaml:10:19  unknown fact "constructor"; allowed: ${[...FACTS.keys()].join(', ')}`,
    ]);
  });

  describe('accepts', () => {
    for (const [title, files] of Object.entries(ACCEPTED)) {
      it(title, () => {
        expect(problemsOf(files)).to.deep.equal([]);
      });
    }
  });

  it('refuses more than 500 files before it reads one of them', () => {
    const cases = Array.from({ length: 500 }, (_, n) => [`cases/case-${n}.yaml`, whole('[')] as const);
    expect(problemsOf(Object.fromEntries(cases))).to.deep.equal([
      'cases/case-489.yaml:1:1  a rule set has at most 500 files, its cases and lists among them; put some of them together',
    ]);
  });

  it('refuses a file with more than 500 rules at the first one too many', () => {
    const rules = Array.from({ length: 501 }, (_, n) => [
      `  - name: rule-${n}`,
      `    priority: ${n + 1}`,
      '    conditions: { all: [{ fact: paidCount, operator: equal, value: 1 }] }',
      '    event: { type: group, params: { group: NEW } }',
    ]);
    const text = `rules:\n${rules.flat().join('\n')}\notherwise: NEW\n`;
    expect(problemsOf({ 'groups.yaml': whole(text) })).to.deep.equal([
      'groups.yaml:2002:5  a file holds at most 500 rules',
    ]);
  });

  it('survives a long chain of named conditions', () => {
    const lines = Array.from({ length: 5000 }, (_, n) => `  c${n}: { condition: c${n + 1} }`);
    const last = '  c5000: { all: [{ fact: paidCount, operator: equal, value: 1 }] }';
    for (const order of [[...lines, last], [...lines, last].toReversed()]) {
      const problems = problemsOf({
        'groups.yaml': swap('rules:\n', `conditions:\n${order.join('\n')}\nrules:\n`),
      });
      expect(problems[0]).to.match(
        /^groups\.yaml:\d+:\d+ {2}conditions are nested deeper than 16 levels, named conditions included$/,
      );
    }
  });

  it('smooths by two outcomes at 0.5 where ruleset.yaml has no smoothing', () => {
    const { settings } = edited({ 'ruleset.yaml': swap('  smoothing: { prior: 0.5, weight: 0.4 }\n', '') });
    expect(settings.smoothing).to.deep.equal({ prior: 0.5, weight: 2 });
  });

  it('sorts the rules by priority, whatever their order in the file', () => {
    const { verdicts, groups } = edited({ 'groups.yaml': swap('priority: 50', 'priority: 95') });
    expect(groups.rules.map(({ name }) => name)).to.deep.equal([
      'blocked-by-decision',
      'has-paid',
      'trusted-by-decision',
      'blocked-by-unpaid-chain',
      'bound-to-requisite',
      'stable-history',
    ]);
    expect(verdicts.rules.map(({ priority }) => priority)).to.deep.equal([100, 90, 80, 70, 60, 50]);
  });

  it('gives a platform its own settings and otherwise those of the rule set', () => {
    const { settings, platforms } = edited({});
    expect(Object.fromEntries(platforms)).to.deep.equal({
      sandbox: {
        ...settings,
        scoringLimits: true,
        ladder: {
          levelsMs: [10_000, 60_000, 600_000],
          ladders: {},
          resetAfterMs: 3_600_000,
          levelsAt: { '': [24, 29, 33].map((column) => ({ file: 'ruleset.yaml', line: 20, column })) },
        },
      },
    });
  });

  it('records each fact once, and numbers them in their order', () => {
    const { facts } = edited({});
    expect(facts.map(({ index }) => index)).to.deep.equal(facts.map((_, place) => place));
    expect(new Set(facts.map(({ label }) => label)).size).to.equal(facts.length);
    expect(facts.map(({ label }) => label)).to.include.members([
      'paidCount',
      'verdicts(1m)',
      'clientsOnIp(1d)',
    ]);
  });

  it('keeps one fact for windows that are equally long', () => {
    const { facts } = edited({
      'bot-signals.yaml': swap(
        'clientsOnIp, params: { window: 1h }',
        'clientsOnIp, params: { window: 1440m }',
      ),
    });
    expect(facts.filter(({ name }) => name === 'clientsOnIp').map(({ label }) => label)).to.deep.equal([
      'clientsOnIp(1d)',
    ]);
  });

  it('never throws, and says what is wrong whenever it refuses', () => {
    let refused = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...RULE_FILES),
        fc.array(careless, { minLength: 1, maxLength: 4 }),
        (path, changes) => {
          const text = changes.reduce((edited, change) => change(edited), SOUND_FILES.get(path) ?? '');
          const result = parse(SOUND_VERSION, new Map(SOUND_FILES).set(path, text));
          if (result.ok) return;
          refused++;
          expect(result.problems).to.not.be.empty;
          for (const problem of result.problems) {
            expect(formatProblem(problem)).to.match(/^[a-z/-]+\.yaml:[1-9]\d*:[1-9]\d* {2}\S/);
          }
        },
      ),
      { numRuns: 100 },
    );
    expect(refused).to.be.above(60);
  });
});
