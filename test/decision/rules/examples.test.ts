import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { FactValue } from '#decision/facts/fact.ts';
import type { Condition } from '#decision/rules/condition.ts';
import { formatProblems } from '#decision/rules/problem.ts';
import { createComparison } from '#decision/rules/proof/built-conditions.ts';
import { type AssumedRequestKind, collectKnowledge } from '#decision/rules/proof/knowledge.ts';
import { Reasoner, type ReasonerAnswer } from '#decision/rules/proof/reasoner.ts';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { compileDraft } from '#decision/rules/text/draft-text.ts';
import { renameVersion } from '#decision/rules/text/edited-text.ts';
import { loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { analyzeRules } from '#workbench/authoring/analyze-rules.ts';
import { runCases } from '#workbench/authoring/cases/cases.ts';
import { examineRuleSet } from '#workbench/authoring/desk/examine.ts';
import { blocksOf, section } from '../../guide-blocks.ts';
import { edited, RULES_DIR, SOUND_VERSION } from '../../rule-fixtures/sound-rules.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';

const EXAMPLES = join(RULES_DIR, 'examples');

const TO_START_FROM = ['bank-transfers', 'cards', 'digital-goods'];

describe('the rule sets to start from', () => {
  it('are those named in the guide', () => {
    expect(readdirSync(EXAMPLES).toSorted()).to.deep.equal([...TO_START_FROM, 'published']);
  });

  for (const name of TO_START_FROM) {
    const folder = join(EXAMPLES, name, 'p3.v1');
    const files = readRuleFiles(folder, []) ?? new Map<string, string>();
    const loaded = loadRuleSet(folder);
    if (!loaded.ok) throw new Error(formatProblems(folder, loaded.problems));
    const { ruleSet } = loaded;

    it(`${name}: pass all their cases, which reach every rule and condition`, () => {
      const { problems, failures, coverage } = runCases(ruleSet, files);
      expect({ problems, failures }).to.deep.equal({ problems: [], failures: [] });
      expect([coverage.rules.percent, coverage.conditions.percent]).to.deep.equal([100, 100]);
    });

    it(`${name}: have nothing that a check would find or note`, () => {
      expect(analyzeRules(ruleSet, files)).to.deep.equal({ findings: [], notes: [] });
    });

    it(`${name}: show a named ladder, a time of day, amounts and a holdout`, () => {
      const { rules } = ruleSet.verdicts;
      expect(rules.some(({ params }) => params.ladder !== null)).to.equal(true);
      expect([...ruleSet.groups.rules, ...rules].some(({ holdout }) => holdout !== undefined)).to.equal(true);
      const facts = ruleSet.facts.map((fact) => fact.name);
      expect(facts).to.include('hourOfDay');
      expect(facts).to.include('paidOrders');
    });
  }
});

const PUBLISHED = join(EXAMPLES, 'published');

describe('the rule sets that others published', () => {
  const page = readFileSync(join(PUBLISHED, 'README.md'), 'utf8');
  const rows = [...page.matchAll(/^\| ([A-D]\d+) \| (.*?) \| .*? \| (as meant|clumsy|not)\b.* \|$/gm)];
  const sets = readdirSync(PUBLISHED).filter((name) => name !== 'README.md');

  for (const name of sets)
    it(`${name}: are sound, and every rule decides in a case and leaves another payer alone`, () => {
      const folder = join(PUBLISHED, name, 'p1.v1');
      const files = readRuleFiles(folder, []) ?? new Map<string, string>();
      const loaded = loadRuleSet(folder);
      if (!loaded.ok) throw new Error(formatProblems(folder, loaded.problems));
      const { problems, failures, coverage } = runCases(loaded.ruleSet, files);
      expect({ problems, failures, untested: coverage.untestedRules }).to.deep.equal({
        problems: [],
        failures: [],
        untested: [],
      });
      expect(analyzeRules(loaded.ruleSet, files)).to.deep.equal({ findings: [], notes: [] });
    });

  it('have all 66 rules, each with the words of its row, and the page counts them', () => {
    const rules = sets.flatMap((name) => {
      const loaded = loadRuleSet(join(PUBLISHED, name, 'p1.v1'));
      if (!loaded.ok) throw new Error(name);
      const { signals, verdicts, flags } = loaded.ruleSet;
      return [...signals.rules, ...verdicts.rules, ...flags.rules].map(({ description }) => description);
    });
    expect(rows).to.have.length(66);
    for (const [, id, meaning] of rows) if (id !== 'A4') expect(rules, id).to.include(`${id}: ${meaning}`);
    const counted = (reading: string) => rows.filter(([, , , read]) => read === reading).length;
    expect(page).to.include(
      `| all | 66 | 10, 18, 38 | ${['as meant', 'clumsy', 'not'].map(counted).join(' | ')} |`,
    );
  });
});

const RULES = edited({});

function is(name: string, value: FactValue): Condition {
  const fact = RULES.facts.find((ref) => ref.name === name);
  if (fact === undefined) throw new Error(`there is no fact ${name}`);
  return createComparison(fact, 'equal', value);
}

/** Whether there is a payer like this whose verdict is none of those. */
function withoutVerdict(verdict: string, ...like: readonly Condition[]): ReasonerAnswer {
  const { rules } = RULES.verdicts;
  const others = rules.filter(({ params }) => params.verdict === verdict).map(({ condition }) => condition);
  return new Reasoner(collectKnowledge(RULES, 'a verdict')).find(like, others);
}

function possible(moment: AssumedRequestKind, ...conditions: readonly Condition[]): ReasonerAnswer {
  return new Reasoner(collectKnowledge(RULES, moment)).find(conditions);
}

describe(`an answer of ${SOUND_VERSION}`, () => {
  it('never flags a bot and lets it through', () => {
    expect(withoutVerdict('BLOCK', is('isBot', true)).kind).to.equal('none');
  });

  it('never says that a client is blocked and lets it through', () => {
    expect(withoutVerdict('BLOCK', is('clientGroup', 'BLOCKED')).kind).to.equal('none');
  });

  it('never flags a client as a bot whom a person trusts, in a score or in a verdict', () => {
    expect(possible('any request', is('isBot', true), is('overrideGroup', 'TRUSTED')).kind).to.equal('none');
    expect(possible('any request', is('isBot', true), is('overrideGroup', 'NONE')).kind).to.equal('witness');
  });

  it('never calls a client blocked whom a person trusts', () => {
    expect(
      possible('any request', is('clientGroup', 'BLOCKED'), is('overrideGroup', 'TRUSTED')).kind,
    ).to.equal('none');
  });
});

const GUIDE = readFileSync(join(import.meta.dirname, '..', '..', '..', 'rules', 'TUTORIAL.md'), 'utf8');

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
    if (isRuleVersion(version)) files.set('ruleset.yaml', renameVersion(files, version) ?? '');
    const made = compileDraft(version, files);
    if (!made.ok) throw new Error(JSON.stringify(made.problems));
    const { failures, coverage } = runCases(made.ruleSet, files);
    expect(examineRuleSet(made.ruleSet, files, null).problems).to.deep.equal([]);
    expect([failures, coverage.rules.percent, coverage.conditions.percent]).to.deep.equal([[], 100, 100]);
  });
});
