import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { formatProblem } from '#decision/rules/problem.ts';
import { BREACH_DESCRIPTIONS, PROMISE_BREACHES, type PromiseBreach } from '#decision/rules/promises.ts';
import { formatExampleFacts } from '#decision/rules/proof/example.ts';
import { loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { runCases } from '#workbench/authoring/cases/cases.ts';
import { findBrokenPromises } from '#workbench/authoring/promises.ts';
import {
  anyLife,
  anyScoreRequest,
  anySightings,
  anyVerdictRequest,
  type Life,
  live,
  type SimulatedVerdict,
} from '../../rule-fixtures/random-life.ts';
import { editsOf } from '../../rule-fixtures/rule-edits.ts';
import {
  type Edit,
  edited,
  editedFiles,
  edits,
  problemsOf,
  RULES_DIR,
  swap,
} from '../../rule-fixtures/sound-rules.ts';
import { itTells, paragraphsOf } from '../../rule-fixtures/told.ts';

const EXAMPLES_DIR = join(RULES_DIR, 'examples');

/** The folders of the rule sets to start from. */
const EXAMPLES = readdirSync(EXAMPLES_DIR, { recursive: true, encoding: 'utf8' })
  .filter((path) => basename(path) === 'ruleset.yaml')
  .map((path) => join(EXAMPLES_DIR, dirname(path)));

const FILE = new URL('promises.txt', import.meta.url);

/** The notes on broken promises, each with its payer, and what comes of the steps of a case that shows it. */
function told(lines: readonly string[]): readonly string[] {
  const given = lines.filter((line) => line.startsWith('- '));
  const steps = lines.filter((line) => line.startsWith('> '));
  const changes = editsOf(given);
  const rules = edited(changes);
  const notes = findBrokenPromises(rules, editedFiles(changes)).flatMap((note) => {
    const example =
      'example' in note && note.example !== null ? [`  ${formatExampleFacts(note.example)}`] : [];
    return [formatProblem(note), ...example];
  });
  return [...given, ...steps, ...notes, ...shownBy(steps, rules)];
}

function shownBy(steps: readonly string[], rules: ReturnType<typeof edited>): readonly string[] {
  if (steps.length === 0) return [];
  const text = ['cases:', '  - name: own', '    steps:', ...steps.map((step) => `      - ${step.slice(2)}`)];
  const { problems, failures } = runCases(rules, new Map([['cases/own.yaml', `${text.join('\n')}\n`]]));
  expect(problems.map(formatProblem)).to.deep.equal([]);
  return failures.length === 0
    ? ['and a case shows it']
    : failures.flatMap(({ step, differences }) =>
        differences.map((one) => `step ${step}: ${one.member} is ${JSON.stringify(one.seen)}`),
      );
}

/** What breaks a promise whatever the order of the rules. */
const FAULTS = {
  none: (text: string) => text,
  early: swap(
    'waitRemainingSeconds, operator: greaterThan, value: 0',
    'waitRemainingSeconds, operator: greaterThan, value: 60',
  ),
  first: swap('otherwise: { verdict: GET_NEW', 'otherwise: { verdict: WAIT'),
} as const;

/** Two priorities of a file that change places. */
const anyOrder = fc
  .record({
    file: fc.constantFrom('verdicts.yaml', 'groups.yaml'),
    swapped: fc.uniqueArray(fc.constantFrom(100, 90, 80, 70, 60, 50), { minLength: 2, maxLength: 2 }),
    exempt: fc.boolean(),
    fault: fc.constantFrom('none', 'early', 'first'),
  })
  .map(({ file, swapped: [one = 0, other = 0], exempt, fault }) => {
    const ranks = new Map([
      [one, other],
      [other, one],
    ]);
    const inFile: Edit = (text) =>
      text.replaceAll(/(?<=priority: )\d+/g, (rank) => `${ranks.get(Number(rank)) ?? rank}`);
    const nobodyExempt = swap(
      'exempt:\n  any:\n    - { fact: overrideGroup, operator: equal, value: TRUSTED }\n',
      '',
    );
    const changes = {
      'verdicts.yaml': edits(FAULTS[fault], ...(file === 'verdicts.yaml' ? [inFile] : [])),
      ...(file === 'groups.yaml' ? { 'groups.yaml': inFile } : {}),
      ...(exempt ? {} : { 'bot-signals.yaml': nobodyExempt }),
    };
    return { name: `${file} ${one} ${other} ${exempt} ${fault}`, changes };
  });

/** What makes a payer a bot, trusted or blocked, which few lives have. */
const anyHistory: fc.Arbitrary<Life['happenings']> = fc.array(
  fc.oneof(
    fc.record({
      gapMs: fc.constant(1000),
      kind: fc.constant('score'),
      request: anyScoreRequest.map((request) => ({ ...request, honeypotTriggered: true })),
      sightings: anySightings,
    }),
    fc.record({
      gapMs: fc.constantFrom(1000, 31_000),
      kind: fc.constant('verdict'),
      request: anyVerdictRequest,
      sightings: anySightings,
    }),
    fc.record({
      gapMs: fc.constant(1000),
      kind: fc.constant('outcome'),
      order: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      outcome: fc.constant({ outcome: 'UNPAID', cause: null }),
    }),
    fc.record({
      gapMs: fc.constant(1000),
      kind: fc.constant('override'),
      group: fc.constantFrom('TRUSTED', 'BLOCKED'),
    }),
  ),
  { minLength: 4, maxLength: 20 },
);

/** What a verdict broke, by what had happened to the payer. */
function breachesBy({ before, decision }: SimulatedVerdict, isFirst: boolean): readonly PromiseBreach[] {
  const { verdict, isBot, clientGroup, at } = decision;
  const isTrusted = before.override?.group === 'TRUSTED';
  const isEarly = before.ladder.waitUntil !== null && before.ladder.waitUntil > at;
  const breaches: Readonly<Record<PromiseBreach, boolean>> = {
    firstRequestWaits: isFirst && verdict === 'WAIT',
    botPasses: isBot && verdict !== 'BLOCK',
    blockedPasses: clientGroup === 'BLOCKED' && verdict !== 'BLOCK',
    trustedIsFlagged: isTrusted && isBot,
    trustedIsRefused: isTrusted && !isBot && verdict === 'BLOCK',
    earlyRequestIsGranted: isEarly && !isTrusted && verdict.startsWith('GET_'),
    firstLevelIsShort: false,
  };
  return PROMISE_BREACHES.filter((name) => breaches[name]);
}

describe('the promises of a rule set:', () => {
  itTells(
    FILE,
    Object.fromEntries([...paragraphsOf(FILE)].map(([title, lines]) => [title, () => told(lines)])),
  );

  it('each breach is told of some edited rule set', () => {
    const all = [...paragraphsOf(FILE).values()].map((lines) => {
      const changes = editsOf(lines.filter((line) => line.startsWith('- ')));
      return findBrokenPromises(edited(changes), editedFiles(changes));
    });
    const names = all.flat().flatMap((note) => ('promise' in note ? [note.promise] : []));
    expect(new Set(names)).to.deep.equal(new Set(PROMISE_BREACHES));
    expect(Object.keys(BREACH_DESCRIPTIONS)).to.deep.equal([...PROMISE_BREACHES]);
  });

  it('a breach that nobody knows is refused with the nearest name, and one without a reason', () => {
    const meaning = (text: string) =>
      problemsOf({ 'ruleset.yaml': swap('\nsettings:\n', `\nmeant: ${text}\nsettings:\n`) });
    expect(meaning('{ firstRequestWait: "why" }')).to.deep.equal([
      'ruleset.yaml:9:10  unknown member "firstRequestWait" of meant; did you mean "firstRequestWaits"?',
    ]);
    expect(meaning('{ botPasses: true, blockedPasses: "" }')).to.deep.equal([
      'ruleset.yaml:9:21  botPasses must be a text, not true',
      'ruleset.yaml:9:42  blockedPasses must not be empty',
    ]);
  });

  it('no life breaks one that is not told, whatever the order of the rules', () => {
    const toldOf = new Map<string, ReadonlySet<string>>();
    const property = fc.property(anyOrder, anyHistory, anyLife, (order, history, life) => {
      const rules = edited(order.changes);
      const told = toldOf.getOrInsertComputed(order.name, () => {
        const notes = findBrokenPromises(rules, editedFiles(order.changes));
        return new Set(notes.flatMap((note) => ('promise' in note ? [note.promise] : [])));
      });
      const { verdicts } = live({ ...life, rules, happenings: [...history, ...life.happenings] });
      for (const [index, verdict] of verdicts.entries())
        for (const breach of breachesBy(verdict, index === 0))
          expect([...told], order.name).to.include(breach);
    });
    fc.assert(property, { numRuns: 150 });
  });

  for (const folder of EXAMPLES)
    it(`${basename(dirname(folder))} keeps them, or says why not`, () => {
      const loaded = loadRuleSet(folder);
      if (!loaded.ok) throw new Error(loaded.problems.map(formatProblem).join('\n'));
      const files = readRuleFiles(folder, []) ?? new Map<string, string>();
      const { meant } = loaded.ruleSet;
      const unexplained = findBrokenPromises(loaded.ruleSet, files).filter(
        (note) => !('promise' in note && meant[note.promise] !== undefined),
      );
      expect(unexplained.map(formatProblem)).to.deep.equal([]);
    });
});
