import { appendFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { AccessKeys } from '../../../src/access/access-keys.ts';
import { ArchivedRuleSets } from '../../../src/archive/ship/archived-rule-sets.ts';
import { platformName } from '../../../src/client/client-key.ts';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { TEST_SALT } from '../../client/client-keys.ts';
import { RULES_DIR, SOUND_VERSION } from '../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { currentRules } from '../../service/current-rules.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { verdictBody } from '../../service/request-bodies.ts';
import { scoringService } from '../../service/scoring-service.ts';
import { scoring } from '../scoring.ts';

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
    const platform = platformName('shop');
    // Without a platform's name, decisions are searched at platforms with keys.
    await new AccessKeys(store.documents, clock.now).issue(platform, ['verdict'], null);
    for (const seconds of [0, 10, 29]) {
      clock.moveSeconds(seconds);
      await service.verdict(platform, REQUEST, { requestId: 'request', idempotencyKey: null });
    }
    const { clientIdKey } = REQUEST;
    const decisions = await store.decisionsOfClient(store.clientKeys.of(platform, clientIdKey), 3);
    ids = decisions.map(({ decisionId }) => decisionId).toReversed();
    await store.close();
  });

  const run = (args: readonly string[], rulesDir = RULES_DIR) =>
    scoring(['decisions', ...args], { DATA_DIR: dataDir, RULES_DIR: rulesDir });
  const id = () => ids[2] ?? '';

  it('explain: says why a verdict was given, without colour in a pipe, and that it is reproduced', async () => {
    const { exitCode, stdout, stderr } = await run(['explain', id()]);
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines.slice(0, 4)).to.deep.equal([
      `Decision ${id()}: WAIT 300 s`,
      '  On 2026-01-01 00:00:39.000 UTC client payer-1 of platform shop asked at shop-1 for order order-1.',
      '  The answer was WAIT 300 s: "Asked 1 s before the wait was over; wait 300 s, cooldown level 2."',
      `  It came from the rule asked-too-early in p2.v10 (digest ${digest.slice(0, 12)}).`,
    ]);
    expect(lines).to.include('      ✓ waitRemainingSeconds is 1, above 0               verdicts.yaml:31');
    expect(lines).to.include(
      '  asked-too-early matched, because waitRemainingSeconds is 1, above 0; the 2 rules before it did not. Its wait is level 2 of the ladder, 5m (ladder.yaml:6).',
    );
    expect(lines.slice(-3)).to.deep.equal([
      'Reproduced: yes',
      `  Asked again with the recorded facts, p2.v10 (digest ${digest.slice(0, 12)}) gives the same answer.`,
      '',
    ]);
    expect(stdout).not.to.contain('\u001b');
  });

  it('explain --json: gives the explanation as one object', async () => {
    const { exitCode, stdout } = await run(['explain', id(), '--json']);
    expect(exitCode).to.equal(0);
    const explanation = JSON.parse(stdout);
    expect(explanation).to.include({ reproduced: true });
    expect(explanation.decision).to.include({ decisionId: id(), digest });
    expect(explanation.rules.verdicts).to.include({ verdict: 'WAIT', rule: 'asked-too-early' });
    expect(explanation.rules.signals.rules).to.have.length(14);
  });

  it('explain: does not find an unknown decision', async () => {
    const unknown = `${id().split('.')[0]}.99`;
    for (const wrong of [unknown, 'nonsense']) {
      expect(await run(['explain', wrong])).to.deep.equal({
        exitCode: 1,
        stdout: '',
        stderr: `There is no decision "${wrong}", or it is past its retention; decisions find lists the ids by order or client.\n`,
      });
    }
    expect(await run(['explain', unknown, '--json'])).to.include({ exitCode: 1, stdout: 'null\n' });
  });

  it('explain: takes an id that begins with "-" for an id', async () => {
    const { exitCode, stdout } = await run(['explain', '-h34Vn1_j5uDKUPnKIBMzZ.2.mwzmwn2t', '--json']);
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 1, stdout: 'null\n' });
  });

  it('explain: says which versions there are when the one that decided is missing', async () => {
    const other = rulesFolder('p3.v1');
    const { exitCode, stdout } = await run(['explain', id()], other);
    expect(exitCode).to.equal(1);
    expect(stdout.trimEnd().split('\n').slice(-2)).to.deep.equal([
      'Reproduced: no',
      `  The rule set that decided, p2.v10 with digest ${digest.slice(0, 12)}, is not here: ${other} holds p3.v1. Bring its folder back from version control to see its rules.`,
    ]);
    expect((await run(['explain', id()], rulesFolder(null))).stdout).to.contain('holds no rule set.');
  });

  it('explain: uses the rule set in the archive when its folder is gone', async () => {
    const archiveDir = temporaryDirectory();
    new ArchivedRuleSets(archiveDir, RULES_DIR).keep(currentRules().version, digest);
    const env = { DATA_DIR: dataDir, ARCHIVE_DIR: archiveDir, RULES_DIR: rulesFolder(null), REDIS_URL: '' };
    const { exitCode, stdout } = await scoring(['decisions', 'explain', ids[2] ?? '', '--json'], env);
    expect([exitCode, JSON.parse(stdout).reproduced]).to.deep.equal([0, true]);
  });

  it('explain: does not use a draft of the same name instead of the version that decided', async () => {
    const drafts = rulesFolder(SOUND_VERSION, true);
    rmSync(join(drafts, SOUND_VERSION, 'release.json'));
    const { exitCode, stdout } = await run(['explain', id()], drafts);
    expect(exitCode).to.equal(1);
    expect(stdout).to.match(
      /, is not here: here is p2\.v10 with digest [0-9a-f]{12}\. Bring its folder back/,
    );
  });

  it('explain: says why a changed released version is refused', async () => {
    const changed = rulesFolder(SOUND_VERSION, true);
    const { exitCode, stdout } = await run(['explain', id()], changed);
    expect(exitCode).to.equal(1);
    expect(stdout).to.contain(
      `is not here: the folder is refused, ${join(changed, SOUND_VERSION, 'ladder.yaml')}:1:1  the file was changed after the release`,
    );
  });

  it('find: lists the decisions about an order, newest first', async () => {
    const { exitCode, stdout } = await run(['find', '--order', 'order-1']);
    expect(exitCode).to.equal(0);
    const rows = stdout.trimEnd().split('\n');
    expect(rows).to.have.length(4);
    expect(rows.slice(1).map((row) => row.split(/ {2,}/).at(-1))).to.deep.equal(ids.toReversed());
    expect(rows[1]).to.match(
      /^2026-01-01T00:00:39\.000Z {2}shop {6}payer-1 {2}WAIT 300 s {2}asked-too-early {2}/,
    );
  });

  it('find: lists the decisions about a payer, as many as are asked for', async () => {
    const found = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await run(['find', ...args, '--json']);
      const listed: readonly { readonly decisionId: string }[] = JSON.parse(stdout);
      return { exitCode, stderr, ids: listed.map(({ decisionId }) => decisionId) };
    };
    const all = { exitCode: 0, stderr: '', ids: ids.toReversed() };
    expect(await found('--client', 'payer-1')).to.deep.equal(all);
    expect(await found('--client', 'payer-1', '--order', 'order-1', '--limit', '3')).to.deep.equal(all);
    expect(await found('--client', 'payer-1', '--platform', 'shop', '--limit', '2')).to.deep.equal({
      exitCode: 0,
      stderr: 'There are older decisions about client "payer-1"; --limit N shows more than 2.\n',
      ids: ids.toReversed().slice(0, 2),
    });
  });

  for (const [title, args, exitCode, stderr] of [
    [
      'names what it did not find',
      '--order order-1 --client payer-2',
      1,
      'No decision about order "order-1" of client "payer-2" is kept.',
    ],
    [
      'says when nothing is kept about an order',
      '--order a\u001bb',
      1,
      'No decision about order "a\\u001bb" is kept.',
    ],
    ['names a missing argument', '', 2, 'error: name what to find: --order REF, --client KEY, or both'],
    [
      'refuses a bad limit',
      '--client payer-1 --limit 0',
      2,
      'error: --limit must be a whole number from 1 to 500, not "0"',
    ],
  ] as const)
    it(`find: ${title}`, async () => {
      const told = { exitCode, stdout: '', stderr: `${stderr}\n` };
      expect(await run(['find', ...args.split(' ').filter(Boolean)])).to.deep.equal(told);
    });
});
