import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ruleSchemas, schemaFileName, schemaText } from '../../../src/authoring/schema/rule-schema.ts';
import type { EndedProcess } from '../../processes/node-process.ts';
import { editedCopy, TemporaryRules } from '../../rule-fixtures/rule-folders.ts';
import { swap } from '../../rule-fixtures/sound-rules.ts';
import { scoring } from '../scoring.ts';

const EARLY = '{ fact: waitRemainingSeconds, operator: greaterThan, value: 60 }';
const COVERED = `  - { name: added, priority: 40, conditions: { all: [${EARLY}] }, event: { type: verdict, params: { verdict: WAIT, reason: "Wait." } } }\n`;
const FINDING =
  '"added" can never be first: whenever it matches, "asked-too-early" (line 26) matches before it';
const EXAMPLE = { waitRemainingSeconds: 61 };

const added = (rule: string) => ({ 'verdicts.yaml': swap('\notherwise:', `\n${rule}otherwise:`) });
const coveredRule = added(COVERED);
const twoTypos = {
  'verdicts.yaml': swap('fact: isBot', 'fact: isBott'),
  'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 30s, 30m]'),
};
const badCase = {
  'cases/ladder.yaml': swap('  - name: the top level repeats', '  - nam: the top level repeats'),
};

describe('rules check', () => {
  const rules = new TemporaryRules();
  beforeEach(() => rules.create());
  afterEach(() => rules.remove());

  const check = (...options: readonly string[]): Promise<EndedProcess> =>
    scoring(
      ['rules', 'check', ...options],
      { RULES_DIR: rules.folder, DATA_DIR: rules.folder },
      rules.folder,
    );

  const sound = 'p1.v1: sound, 26 rules\n';
  const always = COVERED.replace(EARLY, '{ fact: amount, operator: greaterThanInclusive, value: 0 }');
  const found = { file: 'p1.v1/verdicts.yaml', line: 70, column: 5, message: FINDING, example: EXAMPLE };
  const json = `${JSON.stringify({ problems: [found], notes: [] })}\n`;
  const cases: readonly (readonly [
    string,
    Parameters<typeof editedCopy>[2],
    readonly string[],
    number,
    string,
  ])[] = [
    ['says that a rule set is valid', {}, [], 0, sound],
    [
      'reports every problem of every file at once, with its place',
      twoTypos,
      ['p1.v1'],
      1,
      'p1.v1/ladder.yaml:6:15  level 2 (30s) must be longer than level 1 (30s)\n' +
        'p1.v1/verdicts.yaml:21:19  unknown fact "isBott"; did you mean "isBot"?\n' +
        'p1.v1: 2 problems; rules are compared with each other once these are solved\n',
    ],
    [
      'says what is proved, with an example',
      coveredRule,
      [],
      1,
      `p1.v1/verdicts.yaml:70:5  ${FINDING}\n    example: waitRemainingSeconds = 61\np1.v1: 1 problem in 27 rules\n`,
    ],
    [
      'prints notes without failing',
      added(always),
      [],
      0,
      'p1.v1/verdicts.yaml:71:1  note: "otherwise" is never reached: some rule always matches\np1.v1: sound, 27 rules\n',
    ],
    ['prints one object with --json', coveredRule, ['--json'], 1, json],
    ['prints one object with --format=json', coveredRule, ['--format=json'], 1, json],
    [
      'prints an object without problems when there are none',
      {},
      ['--json'],
      0,
      '{"problems":[],"notes":[]}\n',
    ],
    [
      'prints workflow commands, with the example on a line of its own',
      coveredRule,
      ['--format', 'github'],
      1,
      `::error file=p1.v1/verdicts.yaml,line=70,col=5::${FINDING}%0Aexample: waitRemainingSeconds = 61\n`,
    ],
    [
      'escapes what workflow commands would read as their own',
      { 'ladder.yaml': swap('[30s, 5m, 30m]', '["30%", 5m, 30m]') },
      ['--format', 'github'],
      1,
      '::error file=p1.v1/ladder.yaml,line=6,col=10::a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "30%25"\n',
    ],
    ['prints nothing for a valid rule set in a workflow', {}, ['--format', 'github'], 0, ''],
  ];
  for (const [title, edits, options, exitCode, stdout] of cases)
    it(title, async () => {
      editedCopy(rules, 'p1.v1', edits);
      expect(await check(...options)).to.deep.equal({ exitCode, stdout, stderr: '' });
    });

  it('reports problems of the cases, too', async () => {
    editedCopy(rules, 'p1.v1', badCase);
    const { exitCode, stdout } = await check();
    expect(exitCode).to.equal(1);
    expect(stdout).to.match(/^p1\.v1\/cases\/ladder\.yaml:\d+:5 {2}unknown member "nam" of a case/m);
  });

  it('checks on request in the store whether shared lists have entries', async () => {
    const onList = '{ fact: listed, params: { list: blocked }, operator: equal, value: true }';
    editedCopy(rules, 'p1.v1', added(COVERED.replace(EARLY, onList)));
    const note = (text: string) => `p1.v1/verdicts.yaml:70:54  note: ${text}\np1.v1: sound, 27 rules\n`;
    const unknown = 'whether anything is on the shared list "blocked" is not known without the store';
    expect((await check()).stdout).to.equal(note(`${unknown}; --lists looks there`));
    expect(await check('--lists')).to.deep.include({
      exitCode: 0,
      stdout: note('no platform has anything on the shared list "blocked"'),
    });
    const shop = ['--platform', 'shop'];
    for (const args of [['make', 'blocked', '--kind', 'client'], 'add blocked ann --reason ring'.split(' ')])
      await scoring(['lists', ...args, ...shop], { DATA_DIR: rules.folder });
    expect((await check('--lists')).stdout).to.equal('p1.v1: sound, 27 rules\n');
  });

  it('checks all versions, and one by the path of its folder', async () => {
    editedCopy(rules, 'p1.v1', {});
    editedCopy(rules, 'p1.v2', twoTypos);
    expect((await check()).exitCode).to.equal(1);
    expect((await check('./p1.v1')).stdout).to.equal(sound);
  });

  for (const [title, options, message] of [
    ['an unknown format', '--format xml', "'xml' is invalid. Allowed choices are text, json, github."],
    ['a folder that is not there', 'p9.v9', 'there is no rule set at p9.v9'],
    ['a folder that has no version for a name', 'rules', 'folder is named p<number>.v<number>'],
    ['a folder without any rule set', '', 'there is no rule set in RULES_DIR; name a folder to check'],
  ] as const) {
    it(`refuses ${title} as bad usage`, async () => {
      const { exitCode, stderr, stdout } = await check(...options.split(' ').filter(Boolean));
      expect([exitCode, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.contain(message);
    });
  }
});

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
