import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import { runCases } from '../../src/authoring/cases/cases.ts';
import { brokenPromises } from '../../src/authoring/promises.ts';
import { loadRuleSet, readRuleFiles } from '../../src/rules/folder/rule-folder.ts';
import { formatProblem } from '../../src/rules/problem.ts';
import { BREACH_MEANINGS, PROMISE_BREACHES } from '../../src/rules/promises.ts';
import { formatExample } from '../../src/rules/proof/example.ts';
import { editsOf } from '../rule-fixtures/rule-edits.ts';
import { edited, editedFiles, problemsOf, swap } from '../rule-fixtures/sound-rules.ts';
import { itTells, paragraphsOf } from '../rule-fixtures/told.ts';

const RULES = new URL('../../rules/examples', import.meta.url).pathname;

/** The folders of the rule sets to start from. */
const EXAMPLES = readdirSync(RULES, { recursive: true, encoding: 'utf8' })
  .filter((path) => basename(path) === 'ruleset.yaml')
  .map((path) => join(RULES, dirname(path)));

const FILE = new URL('promises.txt', import.meta.url);

/** The notes on broken promises, each with its payer, and what comes of the steps of a case that shows it. */
function told(lines: readonly string[]): readonly string[] {
  const given = lines.filter((line) => line.startsWith('- '));
  const steps = lines.filter((line) => line.startsWith('> '));
  const changes = editsOf(given);
  const rules = edited(changes);
  const notes = brokenPromises(rules, editedFiles(changes)).flatMap((note) => {
    const example = 'example' in note && note.example !== null ? [`  ${formatExample(note.example)}`] : [];
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

describe('the promises of a rule set:', () => {
  itTells(
    FILE,
    Object.fromEntries([...paragraphsOf(FILE)].map(([title, lines]) => [title, () => told(lines)])),
  );

  it('each breach is told of some edited rule set', () => {
    const all = [...paragraphsOf(FILE).values()].map((lines) => {
      const changes = editsOf(lines.filter((line) => line.startsWith('- ')));
      return brokenPromises(edited(changes), editedFiles(changes));
    });
    const names = all.flat().flatMap((note) => ('promise' in note ? [note.promise] : []));
    expect(new Set(names)).to.deep.equal(new Set(PROMISE_BREACHES));
    expect(Object.keys(BREACH_MEANINGS)).to.deep.equal([...PROMISE_BREACHES]);
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

  for (const folder of EXAMPLES)
    it(`${basename(dirname(folder))} keeps them, or says why not`, () => {
      const loaded = loadRuleSet(folder);
      if (!loaded.ok) throw new Error(loaded.problems.map(formatProblem).join('\n'));
      const files = readRuleFiles(folder, []) ?? new Map<string, string>();
      const { meant } = loaded.ruleSet;
      const unexplained = brokenPromises(loaded.ruleSet, files).filter(
        (note) => !('promise' in note && meant[note.promise] !== undefined),
      );
      expect(unexplained.map(formatProblem)).to.deep.equal([]);
    });
});
