import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { runCases } from '../../src/authoring/cases/cases.ts';
import { examine } from '../../src/authoring/desk/examine.ts';
import { draftOf, renamed } from '../../src/rules/folder/draft.ts';
import { readRuleFiles } from '../../src/rules/folder/rule-folder.ts';
import { isRuleVersion } from '../../src/rules/rule-set.ts';
import { blocksOf, section } from '../guide-blocks.ts';
import { RULES_FOLDER } from '../service/current-rules.ts';

const GUIDE = readFileSync(join(import.meta.dirname, '..', '..', 'rules', 'TUTORIAL.md'), 'utf8');

describe('the guide for analysts', () => {
  it('leads from the complaint to rules that may be released: valid, nothing found, every case passed', () => {
    const story = section(GUIDE, 'From a complaint to a released change, all in the page');
    const [rules = '', cases = ''] = blocksOf(story).map(({ text }) => text);
    const files = new Map(readRuleFiles(RULES_FOLDER, []) ?? []);
    const groups = files.get('groups.yaml') ?? '';
    const from = groups.indexOf('  - name: blocked-by-unpaid-chain');
    const to = groups.indexOf('  - name: bound-to-requisite');
    files.set('groups.yaml', `${groups.slice(0, from)}${rules.trimEnd()}\n\n${groups.slice(to)}`);
    files.set('cases/groups.yaml', `${files.get('cases/groups.yaml')}\n${cases.trimEnd()}\n`);
    const version = 'p2.v11';
    if (isRuleVersion(version)) files.set('ruleset.yaml', renamed(files, version) ?? '');
    const made = draftOf(version, files);
    if (!made.ok) throw new Error(JSON.stringify(made.problems));
    const { failures, coverage } = runCases(made.ruleSet, files);
    expect(examine(made.ruleSet, files, null).problems).to.deep.equal([]);
    expect([failures, coverage.rules.percent, coverage.conditions.percent]).to.deep.equal([[], 100, 100]);
  });
});
