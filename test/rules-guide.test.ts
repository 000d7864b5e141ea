import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { formatProblem } from '#decision/rules/problem.ts';
import { runCases } from '#workbench/authoring/cases/cases.ts';
import { createExpectationForms, STEP_KINDS } from '#workbench/authoring/cases/expectations.ts';
import { caseFileForm } from '#workbench/authoring/cases/parse-cases.ts';
import { examineRuleSet } from '#workbench/authoring/desk/examine.ts';
import { blocksOf, section } from './guide-blocks.ts';
import { type Edit, edited, editedFiles, SOUND_FILES, swap, whole } from './rule-fixtures/sound-rules.ts';

const README = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8');
const GUIDE = readFileSync(join(import.meta.dirname, '..', 'rules', 'README.md'), 'utf8');
const CASES = section(GUIDE, 'A case');

/** The names of all members that a schema has, also of those within its members. */
function membersIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const names = 'properties' in schema ? Object.keys(schema.properties ?? {}) : [];
  return [...names, ...Object.values(schema).flatMap(membersIn)];
}

const withoutCases = Object.fromEntries(
  [...SOUND_FILES.keys()]
    .filter((path) => path.startsWith('cases/'))
    .map((path) => [path, whole('cases: []')]),
);

/** What `rules check` tells of p2.v10 with these changes, and what became of the cases. */
function tried(changes: Readonly<Record<string, Edit>>, cases: string) {
  const only = { ...changes, 'cases/ladder.yaml': whole(cases) };
  const files = new Map(
    [...editedFiles({ ...withoutCases, ...only })].filter(
      ([path]) => !path.startsWith('cases/') || path === 'cases/ladder.yaml',
    ),
  );
  const rules = edited(changes);
  const { problems, notes } = examineRuleSet(rules, files, null);
  const { failures, passed } = runCases(rules, files);
  return { told: [...problems, ...notes].map(formatProblem), failed: failures.length, passed };
}

describe('README.md', () => {
  it('shows a rule that p2.v10 can take, and that refuses whom it describes', () => {
    const [shown = ''] = blocksOf(section(README, 'How it decides')).map(({ text }) => text);
    const asked = (amount: string) => `verdict: { amountRequested: "${amount}", toPayCurrency: EUR }`;
    const cases = `cases:
  - name: refuses a large first payment and no other
    steps:
      - { ${asked('900.00')}, expect: { verdict: BLOCK, rule: large-first-payment } }
      - { client: b, ${asked('100.00')}, expect: { verdict: GET_NEW } }
      - { client: b, outcome: { outcome: PAID } }
      - { after: 1m, client: b, ${asked('900.00')}, expect: { verdict: GET_NEW } }
`;
    const changes = { 'verdicts.yaml': swap('rules:\n', `rules:\n${shown.replace(/^(?=.)/gm, '  ')}`) };
    expect(tried(changes, cases)).to.deep.equal({ told: [], failed: 0, passed: 1 });
  });
});

describe('the guide of rules', () => {
  it('names every member of a case, of its steps, and of what may be expected', () => {
    const expected = STEP_KINDS.flatMap((kind) => Object.keys(createExpectationForms(null)[kind]));
    const names = new Set([...membersIn(caseFileForm(null).schema), ...expected]);
    const unnamed = [...names].filter((name) => !new RegExp(`\\b${name}\\b`).test(CASES));
    expect(names.size).to.be.above(40);
    expect(unnamed).to.deep.equal([]);
  });

  it('shows cases that pass', () => {
    const [first = '', steps = ''] = blocksOf(CASES)
      .filter(({ language }) => language === 'yaml')
      .map(({ text }) => text);
    const second = `  - name: what happens\n    steps:\n${steps}`;
    expect(tried({}, first + second)).to.deep.equal({ told: [], failed: 0, passed: 2 });
  });

  const rule = (priority: number, condition: string, event: string) =>
    swap(
      'rules:\n',
      `rules:\n  - { name: new, priority: ${priority}, conditions: { all: [${condition}] }, event: ${event} }\n`,
    );
  const BLOCK = '{ type: verdict, params: { verdict: BLOCK, reason: "." } }';
  const TRANSFER = '{ fact: method, operator: equal, value: transfer }';
  const NOT_TRUSTED = '{ fact: overrideGroup, operator: notEqual, value: TRUSTED }';

  it('has a priority for a rule that refuses a request, before a wait that is due', () => {
    const cases = `cases:
  - name: refused while a wait is due, and without climbing
    steps:
      - { verdict: { method: card } }
      - { after: 1s, verdict: { method: transfer }, expect: { verdict: BLOCK, rule: new } }
      - { after: 1s, verdict: { method: card }, expect: { verdict: WAIT, waitSeconds: 30 } }
  - name: not refused by it when blocked anyhow, or trusted by a person
    steps:
      - { override: BLOCKED }
      - { verdict: { method: transfer }, expect: { rule: client-blocked } }
      - { client: b, override: TRUSTED }
      - { client: b, verdict: { method: transfer }, expect: { verdict: GET_NEW } }
`;
    for (const priority of [81, 89]) {
      const changes = { 'verdicts.yaml': rule(priority, `${TRANSFER}, ${NOT_TRUSTED}`, BLOCK) };
      expect(tried(changes, cases), `${priority}`).to.deep.equal({ told: [], failed: 0, passed: 2 });
    }
    const { told } = tried({ 'verdicts.yaml': rule(85, TRANSFER, BLOCK) }, cases);
    expect(told.join('\n')).to.contain('meant: { trustedIsRefused: "why" }');
  });

  it('has a priority for a rule that refuses a payer, whom trust of a person spares and a binding does not', () => {
    const cases = `cases:
  - name: refused
    steps:
      - { binding: { requisiteRef: r, acceptorKeys: [a] } }
      - { verdict: { method: transfer }, expect: { clientGroup: BLOCKED, rule: client-blocked } }
      - { client: b, override: TRUSTED }
      - { client: b, verdict: { method: transfer }, expect: { clientGroup: TRUSTED, verdict: GET_NEW } }
`;
    for (const priority of [81, 89]) {
      const event = '{ type: group, params: { group: BLOCKED } }';
      const changes = { 'groups.yaml': rule(priority, TRANSFER, event) };
      expect(tried(changes, cases), `${priority}`).to.deep.equal({ told: [], failed: 0, passed: 1 });
    }
  });

  it('has a priority for a rule that lets wait, which a served wait ends', () => {
    const cases = `cases:
  - name: waits once
    steps:
      - { verdict: { method: transfer }, expect: { verdict: WAIT, waitSeconds: 30, rule: new } }
      - { after: 10s, verdict: { method: transfer }, expect: { verdict: WAIT, rule: asked-too-early } }
      - { after: 10m, verdict: { method: transfer }, expect: { verdict: GET_NEW, rule: wait-served } }
`;
    const served = '{ fact: waitServed, operator: equal, value: false }';
    const event = '{ type: verdict, params: { verdict: WAIT, reason: "." } }';
    for (const priority of [71, 79]) {
      const changes = { 'verdicts.yaml': rule(priority, `${TRANSFER}, ${served}`, event) };
      const { told, ...ran } = tried(changes, cases);
      expect(ran, `${priority}`).to.deep.equal({ failed: 0, passed: 1 });
      expect(told.filter((line) => !line.includes('firstRequestWaits'))).to.deep.equal([]);
    }
    const { failed } = tried({ 'verdicts.yaml': rule(75, TRANSFER, event) }, cases);
    expect(failed).to.equal(1);
  });
});
