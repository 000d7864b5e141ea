import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { expect } from 'chai';
import fc from 'fast-check';
import { parse as parseYaml } from 'yaml';
import {
  type RuleFileKind,
  ruleSchemas,
  schemaFileName,
  schemaText,
} from '../../../src/authoring/schema/rule-schema.ts';
import { FACTS } from '../../../src/facts/catalogue.ts';
import { randomVerdicts } from '../../rule-fixtures/random-rules.ts';
import {
  type Edit,
  editedFiles,
  problemsOf,
  RULES_DIR,
  SOUND_FILES,
  swap,
  whole,
} from '../../rule-fixtures/sound-rules.ts';

const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false });
// For editors: what each name of an enum means.
ajv.addVocabulary(['enumDescriptions']);
const VALIDATORS = new Map<string, ValidateFunction>(
  [...ruleSchemas()].map(([kind, schema]) => [kind, ajv.compile(schema)]),
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
  return isValid(path, editedFiles({ [path]: edit }).get(path) ?? '');
}

const BLOCKED = '{ fact: clientGroup, operator: equal, value: BLOCKED }';
const condition = (text: string): readonly [string, Edit] => ['verdicts.yaml', swap(BLOCKED, text)];

describe('the schemas of rule files', () => {
  for (const [kind, schema] of ruleSchemas()) {
    it(`for ${kind} are committed as they are generated; run "rules schema" after a change`, () => {
      const committed = readFileSync(join(RULES_DIR, 'schema', schemaFileName(kind)), 'utf8');
      expect(committed === schemaText(schema), `${schemaFileName(kind)} is stale`).to.equal(true);
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
      const kinds: readonly RuleFileKind[] = [...ruleSchemas().keys()];
      const kind = kinds.find((one) => one === kindOf(path));
      expect(text.split('\n')[0]).to.equal(
        `# yaml-language-server: $schema=../schema/${kind === undefined ? '' : schemaFileName(kind)}`,
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

  for (const [title, [path, edit]] of [
    ['an unknown fact', condition('{ fact: clientGruop, operator: equal, value: BLOCKED }')],
    ['an unknown operator', condition('{ fact: clientGroup, operator: equals, value: BLOCKED }')],
    ['an operator that does not fit the fact', condition('{ fact: isBot, operator: lessThan, value: true }')],
    ['an order of texts', condition('{ fact: method, operator: greaterThan, value: card }')],
    ['a value that the fact never has', condition('{ fact: clientGroup, operator: equal, value: OLD }')],
    ['a value of another type', condition('{ fact: paidCount, operator: equal, value: "3" }')],
    ['a fraction for a count', condition('{ fact: paidCount, operator: equal, value: 1.5 }')],
    ['a value out of range', condition('{ fact: unpaidChain, operator: equal, value: 21 }')],
    ['"in" with a text', condition('{ fact: clientGroup, operator: in, value: BLOCKED }')],
    ['"in" with an empty list', condition('{ fact: clientGroup, operator: in, value: [] }')],
    ['"equal" with a list', condition('{ fact: clientGroup, operator: equal, value: [BLOCKED] }')],
    ['a missing window', condition('{ fact: verdicts, operator: equal, value: 3 }')],
    [
      'a window that is no duration',
      condition('{ fact: verdicts, params: { window: 10 min }, operator: equal, value: 3 }'),
    ],
    [
      'a window for a fact without one',
      condition('{ fact: isBot, params: { window: 10m }, operator: equal, value: true }'),
    ],
    ['a comparison without a value', condition('{ fact: isBot, operator: equal }')],
    [
      'an unknown member of a comparison',
      condition('{ fact: isBot, operator: equal, value: true, path: $.x }'),
    ],
    [
      '"all" beside "any"',
      condition(
        '{ all: [{ fact: isBot, operator: equal, value: true }], any: [{ fact: isBot, operator: equal, value: true }] }',
      ),
    ],
    ['an empty "all"', condition('{ all: [] }')],
    [
      'a bare comparison on top',
      ['verdicts.yaml', swap(`\n      all:\n        - ${BLOCKED}`, ` ${BLOCKED}`)],
    ],
    ['an unknown member of a rule', ['verdicts.yaml', swap('    priority: 100', '    prioritty: 100')]],
    ['a missing priority', ['verdicts.yaml', swap('    priority: 100\n', '')]],
    ['a priority of 0', ['verdicts.yaml', swap('priority: 100', 'priority: 0')]],
    [
      'a priority for a signal',
      ['bot-signals.yaml', swap('  - name: honeypot\n', '  - name: honeypot\n    priority: 3\n')],
    ],
    ['a rule named otherwise', ['verdicts.yaml', swap('name: client-blocked', 'name: otherwise')]],
    ['a name in capitals', ['verdicts.yaml', swap('name: client-blocked', 'name: ClientBlocked')]],
    [
      'an event of another file',
      [
        'groups.yaml',
        swap('{ type: group, params: { group: STICKY } }', '{ type: verdict, params: { group: STICKY } }'),
      ],
    ],
    [
      'an unknown verdict',
      ['verdicts.yaml', swap('otherwise: { verdict: GET_NEW', 'otherwise: { verdict: GET_OLD')],
    ],
    ['a missing otherwise', ['groups.yaml', swap('\notherwise: NEW', '')]],
    [
      'a fact that is not known yet',
      [
        'groups.yaml',
        swap(
          '{ fact: hasBinding, operator: equal, value: true }',
          '{ fact: isBot, operator: equal, value: true }',
        ),
      ],
    ],
    ['a weight of 0', ['bot-signals.yaml', swap('threshold: 4', 'threshold: 0')]],
    ['a version of another form', ['ruleset.yaml', swap('ruleVersion: p2.v10', 'ruleVersion: v10')]],
    ['an unknown setting', ['ruleset.yaml', swap('  currency: EUR', '  curency: EUR')]],
    ['a prior above 1', ['ruleset.yaml', swap('prior: 0.5', 'prior: 1.5')]],
    ['a level that is no duration', ['ladder.yaml', swap('[30s, 5m, 30m]', '[30, 5m, 30m]')]],
    ['a ladder without a reset', ['ladder.yaml', swap('resetAfter: 24h', '')]],
    ['a limit that is a number', ['limits.yaml', swap('NEW: { EUR: "250.00"', 'NEW: { EUR: 250.00')]],
    ['a missing group in the limits', ['limits.yaml', swap('  NEW: { EUR: "250.00", USD: "250.00" }\n', '')]],
  ] as const) {
    it(`refuse ${title}, as "rules check" does`, () => {
      expect(validates(path, edit)).to.equal(false);
      expect(problemsOf({ [path]: edit })).to.not.deep.equal([]);
    });
  }

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
    const text = JSON.stringify(ruleSchemas().get('verdicts'));
    for (const [name, { description }] of FACTS) {
      expect(text, name).to.contain(JSON.stringify(name));
      expect(text, name).to.contain(JSON.stringify(description).slice(1, -1));
    }
  });
});
