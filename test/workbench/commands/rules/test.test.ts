import { expect } from 'chai';
import { editsOf } from '../../../rule-fixtures/rule-edits.ts';
import { editedCopy, TemporaryRules } from '../../../rule-fixtures/rule-folders.ts';
import { RULES_DIR, SOUND_FILES, SOUND_VERSION } from '../../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { scoring } from '../scoring.ts';
import { itPrints } from '../transcript.ts';

const CASE = '- case: ';

const withoutCases = Object.fromEntries(
  [...SOUND_FILES.keys()].filter((path) => path.startsWith('cases/')).map((path) => [path, () => null]),
);

describe('rules test', () => {
  const rules = new TemporaryRules();
  const stageOf = (given: readonly string[]) => {
    rules.create();
    const cases = given.filter((line) => line.startsWith(CASE));
    const text = ['cases:', ...cases.map((line) => `  - ${line.slice(CASE.length)}`)].join('\n');
    editedCopy(rules, 'p9.v1', {
      ...withoutCases,
      ...editsOf(given.filter((line) => !line.startsWith(CASE))),
      'cases/it.yaml': () => text,
    });
    const named = { DIR: rules.folder };
    const env = { RULES_DIR: rules.folder, DATA_DIR: rules.folder };
    return { run: (args: readonly string[]) => scoring(args, env), named, end: () => rules.remove() };
  };
  itPrints(new URL('test.txt', import.meta.url), stageOf);

  it('gives the failing step, its facts, its trace and the coverage as JSON', async () => {
    const { run, end } = stageOf([
      `${CASE}{ name: second, steps: [{ verdict: {}, expect: { verdict: WAIT } }] }`,
    ]);
    const { exitCode, stdout } = await run(['rules', 'test', '--json']);
    end();
    const [{ failures, coverage, ...counts }, ...others] = JSON.parse(stdout).reports;
    expect([exitCode, others]).to.deep.equal([1, []]);
    expect(counts).to.include({ passed: 0, failed: 1 });
    expect(coverage.rules).to.deep.equal({ tested: 2, total: 29, percent: 6 });
    const [{ differences, facts, trace, ...failure }] = failures;
    expect(failure).to.deep.include({ caseName: 'second', step: 1 });
    expect(differences[0]).to.deep.include({ member: 'verdict', expected: 'WAIT', seen: 'GET_NEW' });
    expect(facts).to.include({ isNewClient: false, 'verdicts(1m)': 1, clientGroup: 'NEW' });
    expect(trace.verdicts[0]).to.deep.include({ name: 'client-blocked', asked: true, matched: false });
  });

  it('passes all cases of the released version, which reach the highest --min-coverage exactly', async () => {
    const env = { RULES_DIR, DATA_DIR: temporaryDirectory() };
    const { exitCode, stdout } = await scoring(
      ['rules', 'test', SOUND_VERSION, '--min-coverage', '100'],
      env,
    );
    expect(stdout).to.match(/: \d+ cases passed, 0 failed\n/);
    expect(exitCode).to.equal(0);
  });
});
