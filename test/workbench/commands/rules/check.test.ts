import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  createRuleSchemas,
  formatSchema,
  getSchemaFileName,
  type RuleFileKind,
} from '#workbench/authoring/schema/rule-schema.ts';
import { editsOf } from '../../../rule-fixtures/rule-edits.ts';
import { editedCopy, TemporaryRules } from '../../../rule-fixtures/rule-folders.ts';
import { scoring } from '../scoring.ts';
import { itPrints } from '../transcript.ts';

describe('rules check and rules schema', () => {
  const rules = new TemporaryRules();
  beforeEach(() => rules.create());
  afterEach(() => rules.remove());

  const run = (args: readonly string[], folder = rules.folder) =>
    scoring(args, { RULES_DIR: folder, DATA_DIR: folder }, folder);

  itPrints(new URL('check.txt', import.meta.url), (given) => {
    const own = new TemporaryRules();
    own.create();
    editedCopy(own, 'p1.v1', editsOf(given));
    const named = { DIR: own.folder };
    return { run: (args) => run(args, own.folder), named, end: () => own.remove() };
  });

  it('check all versions, and end with findings where one of them has a problem', async () => {
    expect((await run(['rules', 'check'])).stderr).to.contain('there is no rule set in RULES_DIR');
    editedCopy(rules, 'p1.v1', editsOf(['- verdicts.yaml: fact: isBot -> fact: isBott']));
    editedCopy(rules, 'p1.v2', {});
    const { exitCode, stdout } = await run(['rules', 'check']);
    expect([exitCode, stdout.trimEnd().split('\n').at(-1)]).to.deep.equal([
      1,
      'p1.v2: sound, 29 rules, with "otherwise" twice and "exempt"',
    ]);
  });

  it('name the folders that they skip for their names', async () => {
    mkdirSync(join(rules.folder, 'p1.v2-ann-test'));
    writeFileSync(join(rules.folder, 'p1.v2-ann-test', 'ladder.yaml'), '');
    mkdirSync(join(rules.folder, 'notes'));
    const skipped =
      'the folder is skipped: "p1.v2-ann-test" is not a valid name of a version, which is p<number>.v<number>, like p2.v10; a draft may add one hyphen and one word of at most 16 small letters and digits, like p2.v11-night';
    expect((await run(['rules', 'check'])).stderr).to.contain(`\np1.v2-ann-test: ${skipped}`);
    editedCopy(rules, 'p1.v1', {});
    expect((await run(['rules', 'check'])).stdout).to.equal(
      `p1.v2-ann-test:1:1  note: ${skipped}\np1.v1: sound, 29 rules, with "otherwise" twice and "exempt"\n`,
    );
    const { exitCode, stdout } = await run(['rules', 'check', '--json']);
    const notes = [{ file: 'p1.v2-ann-test', line: 1, column: 1, message: skipped }];
    expect([exitCode ?? 0, JSON.parse(stdout)]).to.deep.equal([0, { problems: [], notes }]);
    expect((await run(['rules', 'check', 'p1.v1'])).stdout).to.equal(
      'p1.v1: sound, 29 rules, with "otherwise" twice and "exempt"\n',
    );
  });

  it('write a schema for each kind of rule file, and say which files changed', async () => {
    await run(['rules', 'schema']);
    const pathOf = (kind: RuleFileKind) => join(rules.folder, 'schema', getSchemaFileName(kind));
    for (const [kind, made] of createRuleSchemas())
      expect(readFileSync(pathOf(kind), 'utf8')).to.equal(formatSchema(made));
    writeFileSync(pathOf('limits'), '{}\n');
    const { stdout } = await run(['rules', 'schema']);
    expect(stdout).to.match(/^schema\/limits\.schema\.json: changed$/m);
    expect(stdout.match(/: unchanged$/gm)).to.have.length(8);
  });
});
