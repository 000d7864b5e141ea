import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { RULES_DIR, SOUND_VERSION, swap } from '../../rule-fixtures/sound-rules.ts';
import { scoring } from '../scoring.ts';

describe('rules test', () => {
  let rulesDir: string;
  let folder: string;
  beforeEach(() => {
    rulesDir = mkdtempSync(join(tmpdir(), 'scoring-rules-'));
    folder = join(rulesDir, 'p9.v1');
    cpSync(join(RULES_DIR, SOUND_VERSION), folder, { recursive: true });
    rmSync(join(folder, 'release.json'));
    rmSync(join(folder, 'cases'), { recursive: true });
    edit('ruleset.yaml', 'ruleVersion: p2.v10', 'ruleVersion: p9.v1');
    cases('{ name: first, steps: [{ verdict: {}, expect: { verdict: GET_NEW } }] }');
  });
  afterEach(() => rmSync(rulesDir, { recursive: true }));

  function edit(file: string, from: string, to: string): void {
    const path = join(folder, file);
    writeFileSync(path, swap(from, to)(readFileSync(path, 'utf8')) ?? '');
  }

  function cases(...written: readonly string[]): void {
    mkdirSync(join(folder, 'cases'), { recursive: true });
    const text = ['cases:', ...written.map((ruleCase) => `  - ${ruleCase}`)].join('\n');
    writeFileSync(join(folder, 'cases', 'it.yaml'), text);
  }

  const run = (...args: readonly string[]) =>
    scoring(['rules', 'test', ...args], { RULES_DIR: rulesDir, DATA_DIR: join(rulesDir, 'data') });

  it('updates cases where only the seconds of the ladder changed, and shows that', async () => {
    cases('{ name: waits, steps: [{ verdict: {} }, { verdict: {}, expect: { waitSeconds: 30 } }] }');
    edit('ladder.yaml', '[30s, 5m, 30m]', '[45s, 5m, 30m]');
    expect((await run()).exitCode).to.equal(1);
    const { exitCode, stdout } = await run('--update');
    expect(exitCode).to.equal(0);
    expect(stdout.split('\n').slice(0, 6)).to.deep.equal([
      `${join(folder, 'cases', 'it.yaml')}:2`,
      '- - { name: waits, steps: [{ verdict: {} }, { verdict: {}, expect: { waitSeconds: 30 } }] }',
      '+ - { name: waits, steps: [{ verdict: {} }, { verdict: {}, expect: { waitSeconds: 45 } }] }',
      '',
      `${folder}: 1 case rewritten`,
      '',
    ]);
    const again = JSON.parse((await run('--update', '--json')).stdout);
    expect(again.updated).to.deep.equal([]);
    expect(again.reports[0]).to.include({ passed: 1, failed: 0 });
  });

  it('says how many cases it left unchanged, and why', async () => {
    cases(
      '{ name: one, steps: [{ verdict: {}, expect: { verdict: WAIT } }] }',
      '{ name: two, steps: [{ verdict: {}, expect: { isBot: true } }] }',
    );
    const { exitCode, stdout } = await run('--update');
    expect(exitCode).to.equal(1);
    expect(stdout.split('\n')[0]).to.equal(
      `${folder}: no case rewritten; 2 cases left alone, because more than the length of a wait differs`,
    );
  });

  it('says how much of the rules passing cases have tested, and what they have not', async () => {
    const { exitCode, stdout, stderr } = await run();
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines.slice(0, 5)).to.deep.equal([
      `${folder}: 1 case passed, 0 failed`,
      '  rules         7 %   2 of 28  decided in a case',
      '  conditions    0 %   0 of 46  were seen both true and false',
      '  Rules without a test:',
      '    blocked-by-decision      was asked and never decided  groups.yaml:5',
    ]);
    expect(lines).to.include('  Conditions seen only one way:');
    const oneWay = lines.find((line) => line.endsWith('verdicts.yaml:31'));
    expect(oneWay).to.match(/^ {2,}asked-too-early {2,}waitRemainingSeconds > 0 {2,}never true {2,}v/);
    const oneSided = lines.slice(lines.indexOf('  Conditions seen only one way:') + 1, -1);
    expect(new Set(oneSided.map((line) => line.search(/never (true|false|asked)/))).size).to.equal(1);
  });

  it('shows a failing step with expected and actual values, and its rules with their values', async () => {
    cases(
      '{ name: second, steps: [{ verdict: {} }, { after: 10s, verdict: {}, expect: { verdict: GET_NEW, isBot: false } }] }',
    );
    const { exitCode, stdout } = await run('p9.v1');
    expect(exitCode).to.equal(1);
    expect(stdout.split('\n').slice(0, 15)).to.deep.equal([
      '✗ second',
      `  ${join(folder, 'cases', 'it.yaml')}:2  step 2: verdict of payer-1, 10s after the case began`,
      '    verdict  expected GET_NEW, seen WAIT  cases/it.yaml:2',
      '  Client group: no rule matched, "otherwise" answered',
      '  Bot signals: none matched',
      '  Verdict: attempt-unpaid gave WAIT',
      '    ✗ client-blocked   did not match              verdicts.yaml:5',
      '        ✗ clientGroup is NEW, not BLOCKED         verdicts.yaml:10',
      '    ✗ bot-blocked      did not match              verdicts.yaml:15',
      '        ✗ isBot is false, not true                verdicts.yaml:21',
      '    ✗ asked-too-early  did not match              verdicts.yaml:26',
      '        ✗ waitRemainingSeconds is 0, not above 0  verdicts.yaml:31',
      '    ✓ attempt-unpaid   matched: WAIT              verdicts.yaml:38',
      '        ✓ attemptOpen is true                     verdicts.yaml:43',
      '    2 more were not asked',
    ]);
    expect(stdout).to.contain(`\n${folder}: 0 cases passed, 1 failed\n`);
  });

  it('shows the signals that matched and those that were expected, with their weights', async () => {
    cases(
      '{ name: new, steps: [{ score: { clientHints: { honeypotTriggered: true } }, expect: { isBot: true, signals: [honeypot, no-javascript] } }] }',
    );
    const { stdout } = await run();
    expect(stdout.split('\n').slice(2, 12)).to.deep.equal([
      '    isBot    expected true, seen false  cases/it.yaml:2',
      '    signals  expected honeypot, no-javascript, seen honeypot  cases/it.yaml:2',
      '  Client group: no rule matched, "otherwise" answered',
      '  Bot signals: honeypot (4); weight 4, but a new client is never a bot',
      '    ✓ honeypot       matched: weight 4        bot-signals.yaml:15',
      '        ✓ overrideGroup is NONE, not TRUSTED  bot-signals.yaml:19',
      '        ✓ honeypotTriggered is true           bot-signals.yaml:20',
      '    ✗ no-javascript  did not match            bot-signals.yaml:71',
      '        ✓ overrideGroup is NONE, not TRUSTED  bot-signals.yaml:75',
      '        ✗ jsOk is true, not false             bot-signals.yaml:76',
    ]);
  });

  it('shows the platform, the time and the repetition of a step', async () => {
    cases(
      '{ name: far, platform: sandbox, steps: [{ client: "p-{n}", verdict: {}, times: 3, every: 11h, expect: { rule: wait-served } }] }',
    );
    expect((await run()).stdout.split('\n')[1]).to.equal(
      `  ${join(folder, 'cases', 'it.yaml')}:2  step 1: verdict of p-3 on platform sandbox, 22h after the case began, time 3 of 3`,
    );
  });

  for (const [title, least, exitCode, told] of [
    ['fails below', '8', 1, '  Too few: --min-coverage wants 8 % of the rules to decide in a case.'],
    ['passes at', '7', 0, '  Enough for --min-coverage, which counts the rules and not the conditions.'],
    [
      'refuses no percentage for',
      '101',
      2,
      'error: --min-coverage must be a percentage from 0 to 100, like 90, not "101"',
    ],
  ] as const)
    it(`${title} --min-coverage`, async () => {
      const { exitCode: ended, stdout, stderr } = await run('--min-coverage', least);
      expect([ended, (stdout + stderr).trimEnd().split('\n').at(-1)]).to.deep.equal([exitCode, told]);
    });

  it('gives the failing step, its facts, its trace and the coverage as JSON', async () => {
    cases('{ name: second, steps: [{ verdict: {}, expect: { verdict: WAIT } }] }');
    const { exitCode, stdout } = await run('--json');
    expect(exitCode).to.equal(1);
    const { reports } = JSON.parse(stdout);
    expect(reports).to.have.length(1);
    const [{ failures, coverage, ...counts }] = reports;
    expect(counts).to.include({ folder, passed: 0, failed: 1 });
    expect(coverage.rules).to.deep.equal({ tested: 2, total: 28, percent: 7 });
    const [{ differences, facts, trace, ...failure }] = failures;
    expect(failure).to.deep.include({ caseName: 'second', step: 1 });
    expect(differences[0]).to.deep.include({ member: 'verdict', expected: 'WAIT', seen: 'GET_NEW' });
    expect(facts).to.include({ isNewClient: false, 'verdicts(1m)': 1, clientGroup: 'NEW' });
    expect(trace.verdicts[0]).to.deep.include({ name: 'client-blocked', asked: true, matched: false });
  });

  it('says what is wrong with a case file, with its place', async () => {
    cases('{ name: second, steps: [{ verdict: {}, expect: { verdict: WIAT } }] }');
    const { exitCode, stdout } = await run('--min-coverage', '0');
    expect(exitCode).to.equal(1);
    expect(stdout).to.equal(
      `${join(folder, 'cases', 'it.yaml')}:2:63  unknown verdict "WIAT"; allowed: GET_NEW, GET_SAME_STICKY, WAIT, BLOCK\n`,
    );
  });

  it('passes all cases of the released version', async () => {
    const { exitCode, stdout } = await scoring(['rules', 'test', SOUND_VERSION], {
      RULES_DIR,
      DATA_DIR: join(rulesDir, 'data'),
    });
    expect(stdout).to.match(/: \d+ cases passed, 0 failed\n/);
    expect(exitCode).to.equal(0);
  });
});
