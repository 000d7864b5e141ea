import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ruleSchemas, schemaFileName, schemaText } from '../../../src/authoring/schema/rule-schema.ts';
import { TemporaryRules } from '../../rule-fixtures/rule-folders.ts';
import { scoring } from '../scoring.ts';

const NAMES = ['ruleset', 'groups', 'bot-signals', 'verdicts', 'ladder', 'limits', 'list', 'cases'];

describe('rules schema', () => {
  const rules = new TemporaryRules();
  beforeEach(() => rules.create());
  afterEach(() => rules.remove());

  const schema = (...options: readonly string[]) =>
    scoring(['rules', 'schema', ...options], { RULES_DIR: rules.folder }, rules.folder);
  const lines = (change: string) => NAMES.map((name) => `schema/${name}.schema.json: ${change}\n`).join('');

  it('writes a schema for each kind of rule file', async () => {
    expect(await schema()).to.deep.equal({ exitCode: 0, stdout: lines('written'), stderr: '' });
    for (const [kind, made] of ruleSchemas()) {
      const text = readFileSync(join(rules.folder, 'schema', schemaFileName(kind)), 'utf8');
      expect(text).to.equal(schemaText(made));
    }
  });

  it('says which files changed', async () => {
    await schema();
    writeFileSync(join(rules.folder, 'schema', 'limits.schema.json'), '{}\n');
    const { stdout } = await schema();
    expect(stdout).to.equal(
      lines('unchanged').replace('limits.schema.json: unchanged', 'limits.schema.json: changed'),
    );
  });

  it('prints one object with --json', async () => {
    const { stdout } = await schema('--json');
    expect(JSON.parse(stdout)).to.deep.equal({
      files: NAMES.map((name) => ({ file: `schema/${name}.schema.json`, change: 'written' })),
    });
  });
});
