import { expect } from 'chai';
import fc from 'fast-check';
import { parseRuleSet } from '#decision/rules/parse/parse.ts';
import { formatProblem } from '#decision/rules/problem.ts';
import { editsOf, itTellsOfEdits } from '../../../rule-fixtures/rule-edits.ts';
import {
  edited,
  edits,
  problemsOf,
  SOUND_FILES,
  SOUND_VERSION,
  swap,
  whole,
} from '../../../rule-fixtures/sound-rules.ts';

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

  for (const file of ['bad-rules', 'bad-files', 'analyst-mistakes', 'accepted-rules'])
    describe(`tells what is wrong with ${file}.txt`, () =>
      itTellsOfEdits(new URL(`../../../rule-fixtures/${file}.txt`, import.meta.url)));

  it('refuses an unknown fact that is near to none, a member of every object, with where all are listed', () => {
    expect(
      problemsOf(editsOf(['- condition: { fact: constructor, operator: equal, value: true }'])),
    ).to.deep.equal([
      'verdicts.yaml:10:19  unknown fact "constructor"; "rules facts" lists all by question, and so does a running service at /docs/facts',
    ]);
  });

  it('tells a declaration of an attribute that is not sound, and nothing of what asks for it', () => {
    const asks =
      '{ fact: attribute, params: { name: cardCountry }, operator: in, value: { list: countries } }';
    const changes = (type: string) => ({
      'ruleset.yaml': (sound: string) => `${sound}\nattributes: { cardCountry: { type: ${type} } }\n`,
      'lists/countries.yaml': whole('entries: [DE, FR]'),
      'verdicts.yaml': edits(
        swap('{ fact: clientGroup, operator: equal, value: BLOCKED }', asks),
        swap('"The client is blocked."', '"A card of {attribute(cardCountry)}."'),
      ),
    });
    expect(problemsOf(changes('text'))).to.deep.equal([]);
    expect(problemsOf(changes('string'))).to.have.length(1);
    expect(problemsOf(changes('string'))[0]).to.match(/ruleset\.yaml:.*unknown type "string"/);
  });

  it('leads to the attribute whose name stands as the fact', () => {
    const changes = {
      'ruleset.yaml': (sound: string) => `${sound}\nattributes: { cardCountry: { type: text } }\n`,
      'verdicts.yaml': swap(
        'fact: clientGroup, operator: equal, value: BLOCKED',
        'fact: cardCountry, operator: equal, value: DE',
      ),
    };
    expect(problemsOf(changes)).to.deep.equal([
      'verdicts.yaml:10:19  "cardCountry" is an attribute; write fact: attribute, params: { name: cardCountry }',
    ]);
  });

  it('leads from a middle answer to flags', () => {
    expect(
      problemsOf({
        'verdicts.yaml': swap('verdict: BLOCK, reason: "The client', 'verdict: REVIEW, reason: "The client'),
      }),
    ).to.deep.equal([
      'verdicts.yaml:13:26  "REVIEW" is not a verdict; callers know GET_NEW, GET_SAME_STICKY, WAIT, BLOCK; to let a payer through and tell people, write the rule in flags.yaml',
    ]);
  });

  it('refuses the name of a file that a system may not take, or that looks like another one', () => {
    const message =
      'a file of cases or a list is named in letters, digits, points, hyphens and underscores, at most 100 before .yaml, and begins with a letter or a digit, like cases/ladder.yaml; rename it';
    const names = ['a b', 'a\0', 'a\u202eb', '.a', '😀', 'ä', 'a'.repeat(101)];
    const shown = ['a b', 'a\\u0000', 'a\\u202eb', '.a', '😀', 'ä', 'a'.repeat(101)];
    for (const [index, name] of names.entries()) {
      for (const folder of ['cases', 'lists'])
        expect(problemsOf({ [`${folder}/${name}.yaml`]: whole('cases: []') }), name).to.deep.equal([
          `${folder}/${shown[index]}.yaml:1:1  ${message}`,
        ]);
    }
    const sound = `cases/${'a'.repeat(100)}.yaml`;
    expect(
      problemsOf({ [sound]: whole('cases: []'), 'cases/B_2.x-1.yaml': whole('cases: []') }),
    ).to.deep.equal([]);
  });

  it('refuses more than 500 files before it reads one of them', () => {
    const cases = Array.from({ length: 500 }, (_, n) => [`cases/case-${n}.yaml`, whole('[')] as const);
    expect(problemsOf(Object.fromEntries(cases))).to.deep.equal([
      'cases/case-489.yaml:1:1  a rule set has at most 500 files, including cases and lists; join some of them',
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
      'groups.yaml:2002:5  a file may hold at most 500 rules',
    ]);
  });

  it('takes lines that end as on Windows', () => {
    expect(problemsOf({ 'groups.yaml': (sound) => sound.replaceAll('\n', '\r\n') })).to.deep.equal([]);
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
          resetsAfterMs: {},
          levelsAt: { '': [24, 29, 33].map((column) => ({ file: 'ruleset.yaml', line: 22, column })) },
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
          const result = parseRuleSet(SOUND_VERSION, new Map(SOUND_FILES).set(path, text));
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
