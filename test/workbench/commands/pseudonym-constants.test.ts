import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { BacktestReport } from '#history/evidence/backtest/backtest-report.ts';
import { loadRuleSet } from '#state/rule-folders/rule-folder.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { placeVersion } from '../../checkout/rollout/rule-folders.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { ArchivedStore } from '../../history/archive/archived-store.ts';
import { REFUSING_BINS } from '../../rule-fixtures/pseudonym-constants.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { startService } from '../../service/running-service.ts';
import { scoring } from './scoring.ts';

const SECRET = 'the secret of this service, long enough';
const OTHER = 'another secret than the service has, long';

const UNKNOWN =
  'The rules compare attribute(cardBin) with constants, and the record keeps it as an HMAC under another SIGNAL_SECRET than the one here. Set SIGNAL_SECRET to that of the service, or SIGNAL_SECRET_PREVIOUS to the one before.';

describe('commands on rules that compare a pseudonym with constants', () => {
  const rulesDir = temporaryDirectory();
  const dataDir = temporaryDirectory();
  let place: ArchivedStore;
  let decisionId = '';

  before(async () => {
    placeVersion(rulesDir, 'p2.v11', REFUSING_BINS);
    const loaded = loadRuleSet(join(rulesDir, 'p2.v11'));
    if (!loaded.ok) throw new Error('p2.v11 is not sound');
    place = await ArchivedStore.open(openSqliteStore(dataDir, { salt: TEST_SALT }));
    const { store } = place;
    const service = await startService({ store, rules: loaded.ruleSet, signalSecret: SECRET });
    const shop = await service.tenant('shop');
    for (const cardBin of ['510000', '600000'])
      await shop.verdict({ clientIdKey: `has-${cardBin}`, attributes: { cardBin } });
    await shop.verdict({ clientIdKey: 'has-none' });
    decisionId = (await shop.decisions({ clientIdKey: 'has-510000' }))[0]?.decisionId ?? '';
    await service.stop();
    await place.shipAll();
  });
  after(() => place.close());

  const run = (args: readonly string[], env: NodeJS.ProcessEnv) =>
    scoring(args, { DATA_DIR: dataDir, RULES_DIR: rulesDir, ...env });

  const explained = async (env: NodeJS.ProcessEnv) => {
    const { exitCode, stdout } = await run(['decisions', 'explain', decisionId], env);
    return { exitCode, lines: stdout.split('\n').map((line) => line.trim()) };
  };

  it('explain a decision with the secret of then, present or former', async () => {
    for (const env of [{ SIGNAL_SECRET: SECRET }, { SIGNAL_SECRET: OTHER, SIGNAL_SECRET_PREVIOUS: SECRET }]) {
      const { exitCode, lines } = await explained(env);
      expect(exitCode).to.equal(0);
      expect(lines).to.include('Reproduced: yes');
      expect(lines).to.include(
        'own-bin matched, because attribute(cardBin) is 510000; the rule before it did not.',
      );
    }
  });

  it('cannot say why it fell without that secret, and say which setting is missing', async () => {
    for (const env of [{}, { SIGNAL_SECRET: OTHER }]) {
      const { exitCode, lines } = await explained(env);
      expect(exitCode).to.equal(1);
      expect(lines).to.include('Reproduced: no').and.to.include(UNKNOWN);
    }
  });

  const verified = (env: NodeJS.ProcessEnv) =>
    run(['archive', 'verify'], { ARCHIVE_DIR: place.archive.folder, ...env });

  it('verify archived decisions with that secret, and count apart what nobody can say', async () => {
    expect(await verified({ SIGNAL_SECRET: SECRET })).to.deep.equal({
      exitCode: 0,
      stdout: '3 decisions: 3 reproduced, 0 not reproduced.\n',
      stderr: '',
    });
    const { exitCode, stdout } = await verified({});
    expect({ exitCode, stdout }).to.deep.equal({
      exitCode: 1,
      stdout: [
        '3 decisions: 1 reproduced, 0 not reproduced.',
        '2 decisions cannot be checked: rules compare pseudonyms with constants, and these pseudonyms were made with another SIGNAL_SECRET. Set SIGNAL_SECRET to that of the service, or SIGNAL_SECRET_PREVIOUS to the one before.\n',
      ].join('\n'),
    });
  });

  it('backtest other constants with the secret of then, present or former', async () => {
    const vary = ['--vary', 'verdicts.own-bin.attribute=600000', '--json'];
    const backtested = async (env: NodeJS.ProcessEnv) => {
      const archive = { ARCHIVE_DIR: place.archive.folder, ...env };
      const { stdout, stderr } = await run(['rules', 'backtest', 'p2.v11', ...vary], archive);
      expect(stderr).to.equal('');
      const { reproduced, undecidable, candidates }: BacktestReport = JSON.parse(stdout);
      return {
        reproduced,
        undecidable: undecidable.count,
        changed: candidates.map(({ changed }) => changed),
      };
    };
    const known = { reproduced: 3, undecidable: 0, changed: [0, 2] };
    expect(await backtested({ SIGNAL_SECRET: SECRET })).to.deep.equal(known);
    expect(await backtested({ SIGNAL_SECRET: OTHER, SIGNAL_SECRET_PREVIOUS: SECRET })).to.deep.equal(known);
    expect(await backtested({ SIGNAL_SECRET: OTHER })).to.deep.equal({
      reproduced: 1,
      undecidable: 2,
      changed: [0, 0],
    });
  });

  it('find the secret that a node made for itself', async () => {
    writeFileSync(join(dataDir, 'signal-secret'), `${SECRET}\n`);
    expect((await explained({})).lines).to.include('Reproduced: yes');
    expect((await verified({})).exitCode).to.equal(0);
  });
});
