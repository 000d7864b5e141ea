import { appendFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { ArchivedRuleSets } from '#history/archive/ship/archived-rule-sets.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { RULES_DIR, SOUND_VERSION } from '../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { currentRules } from '../../service/current-rules.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { verdictBody } from '../../service/request-bodies.ts';
import { scoringService } from '../../service/scoring-service.ts';
import { scoring } from './scoring.ts';
import { itPrints } from './transcript.ts';

const dataDir = temporaryDirectory();
const { digest } = currentRules();

const REQUEST = verdictBody();

/** A folder of rule sets for one test, in which the ladder of one may be edited. */
function rulesFolder(version: string | null, isEdited = false): string {
  const directory = temporaryDirectory();
  if (version !== null) cpSync(join(RULES_DIR, SOUND_VERSION), join(directory, version), { recursive: true });
  if (isEdited) appendFileSync(join(directory, SOUND_VERSION, 'ladder.yaml'), '# edited\n');
  return directory;
}

describe('the decisions commands', () => {
  /** Ids of the decisions about one payer who asked at once, after 10 s, and 1 s too early. */
  let ids: readonly string[];

  before(async () => {
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    const clock = new MovableClock();
    const service = scoringService(store, clock.now);
    const platform = toPlatformName('shop');
    // Without a platform's name, decisions are searched at platforms with keys.
    await new AccessKeys(store.documents, clock.now).issue(platform, ['verdict'], KEY_LIFETIME_MS);
    for (const seconds of [0, 10, 29]) {
      clock.moveSeconds(seconds);
      await service.verdict(platform, REQUEST, { requestId: 'request', idempotencyKey: null });
    }
    const { clientIdKey } = REQUEST;
    const decisions = await store.decisionsOfClient(store.clientKeys.of(platform, clientIdKey), 3);
    ids = decisions.map(({ decisionId }) => decisionId).toReversed();
    await store.close();
  });

  const RULES: Readonly<Record<string, () => string>> = {
    '- another version': () => rulesFolder('p3.v1'),
    '- nothing': () => rulesFolder(null),
    '- a changed release': () => rulesFolder(SOUND_VERSION, true),
    '- a changed draft': () => {
      const folder = rulesFolder(SOUND_VERSION, true);
      rmSync(join(folder, SOUND_VERSION, 'release.json'));
      return folder;
    },
  };

  itPrints(new URL('decisions.txt', import.meta.url), ([given = '']) => {
    const rulesDir = RULES[given]?.() ?? RULES_DIR;
    const [FIRST = '', SECOND = '', THIRD = ''] = ids;
    return {
      run: (args) => scoring(args, { DATA_DIR: dataDir, RULES_DIR: rulesDir }),
      named: {
        FIRST,
        SECOND,
        THIRD,
        HASH: THIRD.split('.')[0] ?? '',
        DIGEST: digest.slice(0, 12),
        DIR: rulesDir,
      },
    };
  });

  const explained = async (env: NodeJS.ProcessEnv) => {
    const { exitCode, stdout } = await scoring(['decisions', 'explain', ids[2] ?? '', '--json'], {
      DATA_DIR: dataDir,
      ...env,
    });
    return { exitCode, ...JSON.parse(stdout) };
  };

  it('explain --json: gives the explanation as one object', async () => {
    const { exitCode, reproduced, decision, rules } = await explained({ RULES_DIR });
    expect({ exitCode, reproduced }).to.deep.equal({ exitCode: 0, reproduced: true });
    expect(decision).to.include({ decisionId: ids[2], digest });
    expect(rules.verdicts).to.include({ verdict: 'WAIT', rule: 'asked-too-early' });
    expect(rules.signals.rules).to.have.length(14);
  });

  it('explain: uses the rule set in the archive when its folder is gone', async () => {
    const archiveDir = temporaryDirectory();
    new ArchivedRuleSets(archiveDir, RULES_DIR).keep(currentRules().version, digest);
    const archived = await explained({ ARCHIVE_DIR: archiveDir, RULES_DIR: rulesFolder(null) });
    expect(archived).to.include({ exitCode: 0, reproduced: true });
  });

  it('find: gives decisions as JSON on request', async () => {
    const { stdout } = await scoring(['decisions', 'find', '--order', 'order-1', '--json'], {
      DATA_DIR: dataDir,
    });
    const found: readonly { readonly decisionId: string }[] = JSON.parse(stdout);
    expect(found.map(({ decisionId }) => decisionId)).to.deep.equal(ids.toReversed());
  });
});
