import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import { NOBODY_HELD_OUT } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { redecide } from '#decision/redecision.ts';
import type { VerdictRequest } from '#decision/requests.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { Simulation } from '#decision/simulation.ts';
import { readRuleSet } from '#state/rule-folders/rule-folder.ts';
import { analyzeRules } from '#workbench/authoring/analyze-rules.ts';
import { runCases } from '#workbench/authoring/cases/cases.ts';
import { computeRuleDiff } from '#workbench/authoring/diff/rule-diff.ts';
import { FLAGS } from '../rule-fixtures/flags.ts';
import { type Edit, edited, editedFiles, problemsOf, swap, whole } from '../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../rule-fixtures/verdict-request.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { currentRules } from '../service/current-rules.ts';

const NOON = Date.UTC(2026, 6, 1, 12);

const RULES = edited({ 'flags.yaml': whole(FLAGS) });

/** Problems of `flags.yaml` with one edit. */
function problemsWith(edit: Edit): readonly string[] {
  return problemsOf({ 'flags.yaml': () => edit(FLAGS) });
}

/** Findings of a rule set with these rules of flags. */
function findingsOf(text: string): readonly string[] {
  const changes = { 'flags.yaml': whole(text) };
  return analyzeRules(edited(changes), editedFiles(changes)).findings.map(({ message }) => message);
}

function decided(members: Partial<VerdictRequest>, rules: RuleSet = RULES): Decision {
  return new Simulation(rules, toPlatformName('demo')).verdict('payer-1', { ...REQUEST, ...members }, NOON);
}

describe('the flags of a rule set', () => {
  it('are recorded beside the verdict, each once, in the order of their rules', () => {
    expect(decided({ amount: '500.01', method: 'crypto' }).flags).to.deep.equal([
      'large-first-order',
      'risky-method',
    ]);
    expect(decided({ amount: '500.00', method: 'voucher' }).flags).to.deep.equal(['risky-method']);
    expect(decided({ amount: '500.00', method: 'card' })).not.to.have.property('flags');
  });

  it('change no verdict: the same decision falls without them', () => {
    const { flags, facts, digest, ...rest } = decided({ amount: '900.00' });
    const without = decided({ amount: '900.00' }, { ...currentRules(), digest });
    expect(flags).to.deep.equal(['large-first-order']);
    expect({ ...without, facts }).to.deep.equal({ ...rest, digest, facts });
  });

  it('leave a record answered that lacks the facts that only they ask for', () => {
    const newer = edited({
      'flags.yaml': whole(
        'rules: [{ name: weekly, conditions: { all: [{ fact: verdicts, params: { window: 3h }, operator: greaterThan, value: 2 }] }, event: { type: flag, params: { flag: weekly } } }]',
      ),
    });
    const again = redecide({ ...newer, digest: 'another' }, decided({}), NOBODY_HELD_OUT);
    expect(again.kind).to.equal('decided');
  });

  it('may be expected by cases, and count in their coverage', () => {
    const expecting = (flags: string) =>
      runCases(
        RULES,
        editedFiles({
          'flags.yaml': whole(FLAGS),
          'cases/flags.yaml': whole(
            [
              'cases:',
              '  - name: a large first order',
              '    steps:',
              `      - { verdict: { amountRequested: "600.00", method: crypto }, expect: { flags: ${flags} } }`,
            ].join('\n'),
          ),
        }),
      );
    const right = expecting('[risky-method, large-first-order]');
    expect([right.problems, right.failures]).to.deep.equal([[], []]);
    expect(right.coverage.untestedRules).to.deep.equal([]);
    const [wrong] = expecting('[risky-method]').failures;
    expect(wrong?.differences.map(({ seen }) => seen)).to.deep.equal([['large-first-order', 'risky-method']]);
    expect(expecting('[risky]').problems.map(({ message }) => message)).to.deep.equal([
      'unknown flag "risky"; did you mean "risky-method"?',
    ]);
  });

  it('are refused with words where they are no flags', () => {
    expect(problemsWith(swap('flag: large-first-order }', 'flag: Large order }'))).to.deep.equal([
      'flags.yaml:10:42  flag must be lower-case words joined by "-", at most 64 characters, like large-first-order, not "Large order"',
    ]);
    expect(problemsWith(swap('    description: A', '    holdout: 2%\n    description: A'))).to.deep.equal([
      'flags.yaml:5:5  unknown member "holdout" of a rule; allowed: name, conditions, event, description',
    ]);
    expect(problemsWith(swap('    description: A', '    priority: 7\n    description: A'))).to.deep.equal([
      'flags.yaml:5:5  unknown member "priority" of a rule; allowed: name, conditions, event, description',
    ]);
  });

  it('count among the comparisons that a node takes up', () => {
    const part = '{ fact: verdicts, params: { window: 1h }, operator: greaterThan, value: 2 }';
    const rule = (n: number) =>
      `  - { name: f${n}, conditions: { any: [${Array(501).fill(part).join(', ')}] }, event: { type: flag, params: { flag: f } } }`;
    const folder = join(temporaryDirectory(), 'p2.v11');
    for (const [path, text] of editedFiles({
      'flags.yaml': whole(`rules:\n${Array.from({ length: 10 }, (_, n) => rule(n)).join('\n')}`),
    })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text.replaceAll('p2.v10', 'p2.v11'));
    }
    const read = readRuleSet(folder);
    expect(read.ok ? '' : read.problems.map(({ message }) => message).join()).to.match(
      /^the rule set has 50\d\d comparisons; a node loads at most 5000$/,
    );
  });

  it('that can never be raised are found', () => {
    const never = FLAGS.replace('greaterThan, value: 500 }', 'lessThan, value: 0 }');
    expect(findingsOf(FLAGS)).to.deep.equal([]);
    expect(findingsOf(never)).to.deep.equal([
      '"large-first-order" can never match: amount < 0 (line 9) never holds',
    ]);
  });

  it('are compared between versions, and change no answer', () => {
    const changed = edited({ 'flags.yaml': whole(FLAGS.replace('value: 500 }', 'value: 900 }')) });
    const { differences, examples, note } = computeRuleDiff(RULES, changed);
    expect(differences.map(({ part, text }) => `${part}  ${text}`)).to.deep.equal([
      'flags  large-first-order: amount > 500 -> > 900',
    ]);
    expect([examples, note]).to.deep.equal([
      [],
      'No payer is answered differently; names of rules, reasons, texts for payers and flags are not compared.',
    ]);
  });
});
