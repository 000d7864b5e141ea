import { expect } from 'chai';
import { runCases } from '../../src/authoring/cases/cases.ts';
import { examine } from '../../src/authoring/desk/examine.ts';
import { brokenPromises } from '../../src/authoring/promises.ts';
import { listRuleVersions, loadRuleSet, readRuleFiles } from '../../src/rules/folder/rule-folder.ts';
import { formatProblem } from '../../src/rules/problem.ts';
import { BREACH_MEANINGS, PROMISE_BREACHES } from '../../src/rules/promises.ts';
import { formatExample } from '../../src/rules/proof/example.ts';
import { editsOf } from '../rule-fixtures/rule-edits.ts';
import { edited, editedFiles, problemsOf, swap } from '../rule-fixtures/sound-rules.ts';
import { itTells, paragraphsOf } from '../rule-fixtures/told.ts';

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

  it('the examples keep them, or say why not', () => {
    const examples = new URL('../../rules/examples', import.meta.url).pathname;
    for (const folder of ['bank-transfers', 'cards', 'digital-goods'])
      for (const version of listRuleVersions(`${examples}/${folder}`)) {
        const path = `${examples}/${folder}/${version}`;
        const loaded = loadRuleSet(path);
        if (!loaded.ok) throw new Error(`${path} is not sound`);
        const { notes } = examine(loaded.ruleSet, readRuleFiles(path, []) ?? new Map(), null);
        const unexplained = notes.filter(({ message }) => message.includes('say in ruleset.yaml why'));
        expect(unexplained.map(formatProblem), path).to.deep.equal([]);
      }
  });
});
