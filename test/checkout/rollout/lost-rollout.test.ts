import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Rollout } from '#checkout/rollout/rollout.ts';
import { recallRollout } from '#checkout/rollout/rollout-memory.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { makeNodesFollowStoreRollout, restoreRolloutInStore } from '#workbench/rollout/restore-rollout.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { addVersion, LONGER_FIRST_WAIT, rulesDirectory } from './rule-folders.ts';
import { refusal, TestFleet } from './test-fleet.ts';

const WRITES_BACK = '"rules restore-rollout --reason TEXT" writes it back';

describe('a rollout that the store has lost', () => {
  let fleet: TestFleet;
  let store: Store;
  let rulesDir: string;
  let dataDir: string;
  let before: string;
  beforeEach(async () => {
    const directory = temporaryDirectory();
    dataDir = temporaryDirectory();
    store = openSqliteStore(directory, { salt: TEST_SALT });
    fleet = new TestFleet(async () => openSqliteStore(directory, { salt: TEST_SALT }));
    rulesDir = rulesDirectory();
    addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
    await fleet.start(rulesDir, dataDir);
    before = (await store.registers.read('rollout')) ?? '';
    await fleet.rollOut(rulesDir, 'p2.v11', { mode: 'active' });
  });
  afterEach(async () => {
    await fleet.stop();
    await store.close();
  });

  const [change, place] = [
    { who: 'ann', at: Date.now(), reason: 'a failover' },
    { kind: 'register', name: 'rollout' } as const,
  ];
  /** Puts something else, or nothing, where the rollout was, and has all nodes look. */
  const lose = async (next: string | null) => {
    const found = await store.texts.read(place);
    await store.texts.replace(place, found?.stamp ?? '', next);
    // A node that has just read does not ask again.
    await delay(500);
    await fleet.look();
  };
  const seen = () => fleet.nodes.map((node) => [node.active.version, node.report().trouble]);
  const restored = async (remembered: Rollout | null = recallRollout(dataDir)?.rollout ?? null) =>
    restoreRolloutInStore(await fleet.fleet(), remembered, change);

  const losses: readonly (readonly [what: string, text: () => string | null, trouble: string])[] = [
    ['is gone', () => null, 'the store has lost the rollout'],
    ['is an older revision', () => before, 'the store holds revision 1 of the rollout'],
    [
      'is another one of the same revision',
      () => JSON.stringify({ ...JSON.parse(before), revision: 2 }),
      'the store holds another revision 2 of the rollout',
    ],
  ];
  for (const [what, text, trouble] of losses)
    it(`and ${what}, is followed by its nodes, who say so until it is written back`, async () => {
      await lose(text());
      const told = `${trouble}; this node goes on with revision 2, in which p2.v11 is active, and ${WRITES_BACK}`;
      expect(seen()).to.deep.equal([['p2.v11', told]]);
      expect(fleet.nodes[0]?.report().hasLostRollout).to.equal(true);
      expect(fleet.troubles).to.include(told);
      const { rollout, lagging } = await restored();
      expect([rollout.revision, rollout.active.version, lagging]).to.deep.equal([3, 'p2.v11', []]);
      expect(rollout.history.at(-1)).to.deep.include({ who: 'ann', action: 'repair', reason: 'a failover' });
      await fleet.look();
      expect(seen()).to.deep.equal([['p2.v11', null]]);
      expect(fleet.nodes[0]?.report().hasLostRollout).to.equal(false);
    });

  it('is written back from what the nodes decide with, where no disk remembers it', async () => {
    await lose(null);
    const { rollout } = await restored(null);
    expect([rollout.revision, rollout.active.version, rollout.history.length]).to.deep.equal([
      3,
      'p2.v11',
      1,
    ]);
  });

  it('is not begun anew by a node that starts, with a disk that remembers it or without', async () => {
    await lose(null);
    for (const disk of [dataDir, temporaryDirectory()]) await fleet.start(rulesDir, disk);
    expect(seen().map(([version]) => version)).to.deep.equal(['p2.v11', 'p2.v11', 'p2.v11']);
    expect(await store.registers.read('rollout')).to.equal(null);
  });

  it('is followed by a node that starts and remembers a newer one than is stored', async () => {
    for (const node of fleet.nodes.splice(0)) await node.stop();
    const found = await store.texts.read(place);
    await store.texts.replace(place, found?.stamp ?? '', before);
    const node = await fleet.start(rulesDir, dataDir);
    expect([node.active.version, node.report().hasLostRollout]).to.deep.equal(['p2.v11', true]);
  });

  it('is not replaced by a change that begins at an older one', async () => {
    const text = (what: string) =>
      `the store ${what}, but the nodes follow revision 2; run "rules restore-rollout --reason TEXT" first, which writes theirs back`;
    await lose(before);
    const older = text('holds revision 1 of the rollout');
    expect(await refusal(fleet.rollOut(rulesDir, 'p2.v11', { mode: 'active' }))).to.equal(older);
    expect(await refusal(fleet.rollBack())).to.equal(older);
    await lose(null);
    expect(await refusal(fleet.rollBack())).to.equal(text('has lost the rollout'));
  });

  it('is written back only where something is lost', async () => {
    expect(await refusal(restored())).to.equal(
      'the store holds revision 2 of the rollout, and no node or DATA_DIR has a newer one: there is nothing to write back',
    );
  });

  it('is given up for an older one when somebody accepts the store', async () => {
    await lose(before);
    const remembered = recallRollout(dataDir)?.rollout ?? null;
    const accepted = await makeNodesFollowStoreRollout(await fleet.fleet(), remembered, change);
    expect([accepted?.revision, accepted?.active.version]).to.deep.equal([3, 'p2.v10']);
    await delay(500);
    await fleet.look();
    expect(seen()).to.deep.equal([['p2.v10', null]]);
  });
});
