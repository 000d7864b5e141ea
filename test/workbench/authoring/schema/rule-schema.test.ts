import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { expect } from 'chai';
import fc from 'fast-check';
import { parse as parseYaml } from 'yaml';
import { FACTS } from '#decision/facts/catalogue.ts';
import {
  createRuleSchemas,
  formatSchema,
  getSchemaFileName,
  type RuleFileKind,
} from '#workbench/authoring/schema/rule-schema.ts';
import { randomVerdicts } from '../../../rule-fixtures/random-rules.ts';
import { editedRulesIn } from '../../../rule-fixtures/rule-edits.ts';
import {
  type Edit,
  editedFiles,
  problemsOf,
  RULES_DIR,
  SOUND_FILES,
  swap,
  whole,
} from '../../../rule-fixtures/sound-rules.ts';
import { itTells } from '../../../rule-fixtures/told.ts';

const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false });
// For editors: what each name of an enum means.
ajv.addVocabulary(['enumDescriptions']);
const VALIDATORS = new Map<string, ValidateFunction>(
  [...createRuleSchemas()].map(([kind, schema]) => [kind, ajv.compile(schema)]),
);

function kindOf(path: string): string {
  return path.startsWith('cases/') ? 'cases' : path.replace(/\.yaml$/, '');
}

function isValid(path: string, text: string): boolean {
  const validate = VALIDATORS.get(kindOf(path));
  if (validate === undefined) throw new Error(`no schema for ${path}`);
  return validate(parseYaml(text)) === true;
}

function validates(path: string, edit: Edit): boolean {
  const text = editedFiles({ [path]: edit }).get(path);
  return text !== undefined && isValid(path, text);
}

const BLOCKED = '{ fact: clientGroup, operator: equal, value: BLOCKED }';
const condition = (text: string): readonly [string, Edit] => ['verdicts.yaml', swap(BLOCKED, text)];

describe('the schemas of rule files', () => {
  for (const [kind, schema] of createRuleSchemas()) {
    it(`for ${kind} are committed as they are generated; run "rules schema" after a change`, () => {
      const committed = readFileSync(join(RULES_DIR, 'schema', getSchemaFileName(kind)), 'utf8');
      expect(committed === formatSchema(schema), `${getSchemaFileName(kind)} is stale`).to.equal(true);
    });
  }

  for (const [path, text] of SOUND_FILES) {
    it(`accept ${path} of the released rule set`, () => {
      expect(isValid(path, text)).to.equal(true);
    });
  }

  for (const [path, text] of SOUND_FILES) {
    if (path.startsWith('cases/')) continue;
    it(`are named by the first line of ${path}`, () => {
      const kinds: readonly RuleFileKind[] = [...createRuleSchemas().keys()];
      const kind = kinds.find((one) => one === kindOf(path));
      expect(text.split('\n')[0]).to.equal(
        `# yaml-language-server: $schema=../schema/${kind === undefined ? '' : getSchemaFileName(kind)}`,
      );
    });
  }

  for (const [title, [path, edit]] of [
    [
      'a fact with a window',
      condition('{ fact: verdicts, params: { window: 10m }, operator: greaterThan, value: 3 }'),
    ],
    ['"in" with a list', condition('{ fact: clientGroup, operator: in, value: [NEW, BLOCKED] }')],
    ['nested conditions', condition('{ not: { any: [{ fact: isBot, operator: equal, value: true }] } }')],
    [
      'a rule without a description',
      [
        'verdicts.yaml',
        swap("    description: Blocked by a person's decision or by a chain of unpaid orders.\n", ''),
      ],
    ],
    ['a ladder of one level', ['ladder.yaml', swap('[30s, 5m, 30m]', '[30s]')]],
  ] as const) {
    it(`accept ${title}`, () => {
      expect(validates(path, edit)).to.equal(true);
      expect(problemsOf({ [path]: edit })).to.deep.equal([]);
    });
  }

  // Titles of bad-rules.txt.
  itTells(new URL('accepted.txt', import.meta.url), {
    'what a schema accepts, and "rules check" refuses': () =>
      [...editedRulesIn(new URL('../../../rule-fixtures/bad-rules.txt', import.meta.url))]
        .filter(([, files]) => Object.entries(files).every(([path, edit]) => validates(path, edit)))
        .map(([title]) => title),
  });

  for (const [title, text] of [
    ['a case without steps', 'cases: [{ name: a }]'],
    ['a step that does two things', 'cases: [{ name: a, steps: [{ score: {}, verdict: {} }] }]'],
    [
      'an expectation that the step has no answer for',
      'cases: [{ name: a, steps: [{ score: {}, expect: { waitSeconds: 3 } }] }]',
    ],
    [
      'an expectation of a binding',
      'cases: [{ name: a, steps: [{ binding: null, expect: { isBot: true } }] }]',
    ],
    ['an amount that is a number', 'cases: [{ name: a, steps: [{ verdict: { amountRequested: 25.00 } }] }]'],
    ['"every" without "times"', 'cases: [{ name: a, steps: [{ verdict: {}, every: 1s }] }]'],
  ] as const) {
    it(`refuse ${title}`, () => {
      expect(validates('cases/ladder.yaml', whole(text))).to.equal(false);
    });
  }

  it('accept all that the rule reader accepts', () => {
    const property = fc.property(randomVerdicts(5), (text) => {
      expect(isValid('verdicts.yaml', text), text).to.equal(true);
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('describe each fact', () => {
    const text = JSON.stringify(createRuleSchemas().get('verdicts'));
    for (const [name, { description }] of FACTS) {
      expect(text, name).to.contain(JSON.stringify(name));
      expect(text, name).to.contain(JSON.stringify(description).slice(1, -1));
    }
  });
});
