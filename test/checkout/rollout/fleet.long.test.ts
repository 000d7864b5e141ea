import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import type { RolloutGoal } from '#workbench/rollout/advance.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { decisionFor, newClient } from '../../state/clients.ts';
import { emptyRedisUrl } from '../../stores/empty-redis.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { addVersion, BLOCK_OTHERWISE, LONGER_FIRST_WAIT, rulesDirectory, versionOf } from './rule-folders.ts';
import { FIRST_VERSION, refusal, TestFleet } from './test-fleet.ts';

const ACTIVE: RolloutGoal = { mode: 'active' };
const TENTH: RolloutGoal = { mode: 'canary', percent: 10, guardPoints: null };

const NOTHING_BEFORE = 'there is nothing to roll back: no candidate, and no earlier version to return to';

function describeFleet(open: () => Promise<Store>): void {
  let fleet: TestFleet;

  beforeEach(() => {
    fleet = new TestFleet(open);
  });

  afterEach(() => fleet.stop());

  /** A RULES_DIR with p2.v10 and a p2.v11 that waits longer, and two nodes that have it. */
  async function twoNodes(options: { draft?: boolean } = {}): Promise<string> {
    const rulesDir = rulesDirectory();
    addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT], { draft: true, ...options });
    await fleet.start(rulesDir);
    await fleet.start(rulesDir);
    return rulesDir;
  }

  const actives = () => fleet.nodes.map((node) => node.active.version);

  it('says which node has stale shared lists', async () => {
    await twoNodes();
    fleet.nodes[1]?.watchLists(() => true);
    await fleet.look();
    const { nodes } = await fleet.status();
    const stale = nodes?.filter(({ hasStaleLists }) => hasStaleLists).map(({ nodeId }) => nodeId);
    expect(stale).to.deep.equal([fleet.nodes[1]?.nodeId]);
  });

  it('has one active version, written by its first node', async () => {
    await twoNodes();
    expect(actives()).to.deep.equal(['p2.v10', 'p2.v10']);
    const { rollout, nodes } = await fleet.status();
    expect(rollout?.history).to.have.length(1);
    expect(nodes?.map(({ revision, trouble }) => ({ revision, trouble }))).to.deep.equal([
      { revision: 1, trouble: null },
      { revision: 1, trouble: null },
    ]);
  });

  it('follows a change on every node before the change returns', async () => {
    const rulesDir = await twoNodes({ draft: false });
    const { following, lagging } = await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    expect(following).to.have.length(2);
    expect(lagging).to.deep.equal([]);
    expect(actives()).to.deep.equal(['p2.v11', 'p2.v11']);
  });

  it('neither rolls back nor rolls out over a change that the person had not seen', async () => {
    const rulesDir = await twoNodes({ draft: false });
    await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE, 1);
    await fleet.rollOut(rulesDir, 'p2.v10', TENTH, 2);
    await fleet.rollBack(3);
    const late =
      'the rollout is at revision 4 by now, not at 3: rollback to p2.v11 by ann (a test); look at it again';
    expect(await refusal(fleet.rollBack(3))).to.equal(late);
    expect(await refusal(fleet.rollOut(rulesDir, 'p2.v10', TENTH, 3))).to.equal(late);
    expect(actives()).to.deep.equal(['p2.v11', 'p2.v11']);
  });

  it('does not return to a withdrawn version, however often somebody rolls back', async () => {
    const rulesDir = await twoNodes({ draft: false });
    await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    expect((await fleet.status()).previous?.version).to.equal('p2.v10');
    await fleet.rollBack();
    expect((await fleet.status()).previous).to.equal(null);
    expect(await refusal(fleet.rollBack())).to.equal(NOTHING_BEFORE);
    expect(actives()).to.deep.equal(['p2.v10', 'p2.v10']);
  });

  it('shadows a draft, but refuses to let it decide, as it refuses what is active or missing, and a rollback from the first version', async () => {
    const rulesDir = await twoNodes();
    await fleet.rollOut(rulesDir, 'p2.v11', { mode: 'shadow' });
    await fleet.rollBack();
    const draft = 'p2.v11 is a draft, which may only be shadowed; run "rules release p2.v11" first';
    for (const [version, goal, message] of [
      ['p2.v11', TENTH, draft],
      ['p2.v11', ACTIVE, draft],
      ['p2.v10', ACTIVE, 'p2.v10 is active already'],
      ['p2.v12', { mode: 'shadow' }, 'there is no rule set p2.v12; there are: p2.v10, p2.v11'],
    ] as const)
      expect(await refusal(fleet.rollOut(rulesDir, version, goal))).to.equal(message);
    expect(await refusal(fleet.rollBack())).to.equal(NOTHING_BEFORE);
  });

  it('refuses a version that a node lacks, or has with another digest, and names the node', async () => {
    const rulesDir = await twoNodes({ draft: false });
    const [without, other] = [rulesDirectory(), rulesDirectory()];
    addVersion(other, 'p2.v11', []);
    for (const folder of [without, other]) await fleet.start(folder);
    const message = await refusal(fleet.rollOut(rulesDir, 'p2.v11', { mode: 'shadow' }));
    expect(message.replaceAll(/\b[0-9a-f]{12}\b/g, 'DIGEST').split('; ')).to.have.members([
      'NODE lacks p2.v11',
      'NODE has p2.v11 with digest DIGEST instead of DIGEST',
      "deploy the same files to every node's RULES_DIR first",
    ]);
    expect(new Set(actives())).to.deep.equal(new Set(['p2.v10']));
  });

  it('lets one of two concurrent changes win', async () => {
    const rulesDir = await twoNodes({ draft: false });
    const results = await Promise.all([
      refusal(fleet.rollOut(rulesDir, 'p2.v11', { mode: 'shadow' })),
      refusal(fleet.rollOut(rulesDir, 'p2.v11', ACTIVE)),
    ]);
    expect(results).to.have.members([
      'nothing was refused',
      'somebody else changed the rollout at the same time; look at "rules status" and try again',
    ]);
  });

  it('keeps deciding with the loaded rules when a node loses the active files', async () => {
    const rulesDir = await twoNodes({ draft: false });
    await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    rmSync(join(rulesDir, 'p2.v11'), { recursive: true });
    await fleet.look();
    expect(actives()).to.deep.equal(['p2.v11', 'p2.v11']);
  });

  it('keeps following and reporting when a folder cannot be read, and refuses that folder by name', async () => {
    const rulesDir = await twoNodes({ draft: false });
    mkdirSync(join(rulesDir, 'p2.v99'));
    symlinkSync('cases', join(rulesDir, 'p2.v99', 'cases'));
    await fleet.look();
    const { lagging } = await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    expect(lagging).to.deep.equal([]);
    const { nodes } = await fleet.status();
    expect(nodes?.flatMap(({ refused }) => refused.map(({ version }) => version))).to.deep.equal([
      'p2.v99',
      'p2.v99',
    ]);
    const restarted = await fleet.start(rulesDir);
    expect(restarted.active.version).to.equal('p2.v11');
    expect(restarted.rules.listRefused()).to.deep.equal([
      {
        version: 'p2.v99',
        problems: ['p2.v99/cases:1:1  it cannot be read: its links lead in a circle (ELOOP)'],
      },
    ]);
  });

  it('refuses a rollout and a rollback that no live node would follow', async () => {
    const rulesDir = await twoNodes({ draft: false });
    await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    for (const node of fleet.nodes) await node.stop();
    const nobody =
      'no node is running on this store; start a node, and check that this command uses the same store';
    expect(await refusal(fleet.rollBack())).to.equal(nobody);
    expect(await refusal(fleet.rollOut(rulesDir, 'p2.v10', ACTIVE))).to.equal(nobody);
    expect((await fleet.status()).rollout?.active.version).to.equal('p2.v11');
  });

  it('keeps the counts of a trial when its nodes restart', async () => {
    const rulesDir = await twoNodes({ draft: false });
    await fleet.rollOut(rulesDir, 'p2.v11', TENTH);
    const client = newClient();
    const draw = fleet.nodes.map((node) => node.choose(client).draw)[0];
    if (draw === undefined) throw new Error('nothing was drawn');
    const decision = { ...decisionFor(client, 1, 'order-1'), draw };
    const seen = { decision, shadowed: undefined, stageBefore: null };
    for (const node of fleet.nodes) node.countVerdict(seen, true);
    for (const node of fleet.nodes) await node.stop();
    const restarted = await fleet.start(rulesDir);
    restarted.countVerdict(seen, true);
    await restarted.syncWithFleet();
    expect((await fleet.status()).trials[0]?.arms.active).to.deep.include({ verdicts: 3 });
  });

  describe('with several canaries', () => {
    /** Two nodes with p2.v11 at 40 % and p2.v12 at 30 % of the clients, under a guard. */
    async function twoCanaries(): Promise<string> {
      const rulesDir = await twoNodes({ draft: false });
      addVersion(rulesDir, 'p2.v12', [BLOCK_OTHERWISE]);
      await fleet.look();
      const also = [{ version: versionOf('p2.v12'), percent: 30 }];
      await fleet.rollOut(rulesDir, 'p2.v11', { mode: 'canary', percent: 40, guardPoints: 5, also });
      return rulesDir;
    }

    /** A client asks a node for the first time; p2.v12 blocks it. */
    function ask(node: RolloutNode): string {
      const client = newClient();
      const { draw, rules, arm } = node.choose(client);
      if (draw === undefined) throw new Error('nothing was drawn');
      const verdict = rules.version === 'p2.v12' ? 'BLOCK' : 'GET_NEW';
      const decision = { ...decisionFor(client, 1, 'order'), draw, arm, verdict } as const;
      node.countVerdict({ decision, shadowed: undefined, stageBefore: null }, true);
      return draw.version;
    }

    const clientsOf = async () =>
      (await fleet.status()).trials.map(({ version, arms }) => [
        version,
        arms.active.clients.seen,
        arms.candidate.clients.seen,
      ]);

    it('count each beside the active version, over both nodes and a restart', async () => {
      const rulesDir = await twoCanaries();
      const drawn = [...fleet.nodes, ...fleet.nodes, ...fleet.nodes].map(ask);
      const of = (version: string) => drawn.filter((one) => one === version).length;
      for (const node of fleet.nodes) await node.stop();
      await fleet.start(rulesDir);
      expect(await clientsOf()).to.deep.equal([
        ['p2.v11', of('p2.v10'), of('p2.v11')],
        ['p2.v12', of('p2.v10'), of('p2.v12')],
      ]);
    });

    it('lose only the one that strays to the guard', async () => {
      await twoCanaries();
      const [first, second] = fleet.nodes;
      if (first === undefined || second === undefined) throw new Error('there are no two nodes');
      for (let round = 0; round < 100; round++) for (const node of fleet.nodes) ask(node);
      await second.syncWithFleet();
      const [before] = await clientsOf();
      await first.syncWithFleet();
      const { rollout, trials } = await fleet.status();
      expect(rollout?.candidates.map(({ version }) => version)).to.deep.equal(['p2.v11']);
      expect(rollout?.history.at(-1)).to.include({ action: 'guard', from: 'p2.v12' });
      const { history } = (await fleet.status(toPlatformName('shop'))).rollout ?? { history: [] };
      expect(history.at(-1)?.reason).to.equal('By the clients of all platforms.');
      expect(trials[0]?.arms.candidate.clients.seen).to.be.at.least(Number(before?.[2]));
      await second.syncWithFleet();
      const drawn = Array.from({ length: 50 }, () => ask(second));
      expect(new Set(drawn)).to.include('p2.v12');
      const taken = newClient();
      expect(['p2.v10', 'p2.v11']).to.include(second.choose(taken).rules.version);
    });

    it('are refused together when a node lacks one of them, or it is a draft', async () => {
      const rulesDir = await twoNodes({ draft: false });
      const also = [{ version: versionOf('p2.v12'), percent: 30 }];
      const goal = { mode: 'canary', percent: 40, guardPoints: null, also } as const;
      expect(await refusal(fleet.rollOut(rulesDir, 'p2.v11', goal))).to.match(/^there is no rule set p2.v12/);
      addVersion(rulesDir, 'p2.v12', [], { draft: true });
      expect(await refusal(fleet.rollOut(rulesDir, 'p2.v11', goal))).to.match(/^p2.v12 is a draft/);
      const alone = rulesDirectory();
      for (const version of ['p2.v11', 'p2.v12']) addVersion(alone, version, [LONGER_FIRST_WAIT]);
      expect(await refusal(fleet.rollOut(alone, 'p2.v11', goal))).to.match(/NODE/);
      expect((await fleet.status()).rollout?.candidates).to.deep.equal([]);
    });

    it('are withdrawn by name', async () => {
      await twoCanaries();
      expect(await refusal(fleet.rollBack(null, versionOf('p2.v13')))).to.equal(
        'p2.v13 is not on trial; on trial: p2.v11, p2.v12',
      );
      await fleet.rollBack(null, versionOf('p2.v11'));
      expect((await fleet.status()).rollout?.candidates.map(({ version }) => version)).to.deep.equal([
        'p2.v12',
      ]);
    });
  });

  it('goes on with a damaged stored rollout, says so, and a rollback repairs it', async () => {
    const rulesDir = await twoNodes({ draft: false });
    await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    await fleet.damage('{"revision":7');
    await fleet.look();
    expect(actives()).to.deep.equal(['p2.v11', 'p2.v11']);
    const damaged = await fleet.status();
    expect(damaged).to.deep.include({ rollout: null, unreadable: true });
    expect(damaged.nodes?.map(({ trouble }) => trouble?.split(';')[0])).to.deep.equal([
      'the rollout in the store cannot be read',
      'the rollout in the store cannot be read',
    ]);
    expect((await fleet.start(rulesDir)).active.version).to.equal('p2.v11');
    expect(await refusal(fleet.rollOut(rulesDir, 'p2.v10', ACTIVE))).to.match(
      /^the rollout in the store cannot be read, .* run "rules rollback", which writes it again/,
    );
    const { rollout, following } = await fleet.rollBack();
    expect(rollout).to.deep.include({ candidates: [] });
    expect(rollout.active.version).to.equal('p2.v11');
    expect(rollout.history.map(({ action, who }) => ({ action, who }))).to.deep.equal([
      { action: 'repair', who: 'ann' },
    ]);
    expect(following).to.have.length(3);
    expect((await fleet.status()).nodes?.map(({ trouble }) => trouble)).to.deep.equal([null, null, null]);
  });

  it('does not start with a version that was rolled back, until it is rolled out again', async () => {
    const rulesDir = await twoNodes({ draft: false });
    await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    await fleet.rollBack();
    expect(
      (await LoadedRules.read(rulesDir, createDirectRuleReader(rulesDir))).requireReleased(null).version,
    ).to.equal('p2.v10');
    await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    expect(
      (await LoadedRules.read(rulesDir, createDirectRuleReader(rulesDir))).requireReleased(null).version,
    ).to.equal('p2.v11');
  });

  it('notes every change with who, before, after and reason', async () => {
    const rulesDir = await twoNodes({ draft: false });
    await fleet.rollOut(rulesDir, 'p2.v11', TENTH);
    await fleet.rollBack();
    const noted = await fleet.audit();
    expect(noted.map(({ who, action, reason }) => [who, action, reason])).to.deep.equal([
      ['service', 'rollout', 'first start'],
      ['ann', 'rollout', 'a test'],
      ['ann', 'rollout', 'a test'],
    ]);
    expect(noted[1]).to.deep.include({
      before: { revision: 1, active: 'p2.v10', candidates: [] },
      after: {
        revision: 2,
        active: 'p2.v10',
        candidates: [{ version: 'p2.v11', mode: 'canary', percent: 10 }],
      },
    });
  });

  it('says at the start that RULE_VERSION changes nothing of a store that has begun', async () => {
    const rulesDir = await twoNodes({ draft: false });
    expect(fleet.troubles).to.deep.equal([]);
    await fleet.rollOut(rulesDir, 'p2.v11', ACTIVE);
    await fleet.start(rulesDir);
    expect(fleet.troubles).to.deep.equal([
      'RULE_VERSION is p2.v10, but p2.v11 decides: RULE_VERSION counts only at the first start of a store; change what decides with "rules rollout", and remove RULE_VERSION',
    ]);
  });

  it('keeps the rollout on disk for a start with a store that lost it', async () => {
    const rulesDir = rulesDirectory();
    addVersion(rulesDir, 'p2.v11', []);
    const dataDir = join(temporaryDirectory(), 'not', 'made yet');
    await fleet.start(rulesDir, dataDir);
    expect(existsSync(join(dataDir, 'rollout.json'))).to.equal(true);
    const otherStore = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
    const node = await RolloutNode.start({
      store: otherStore,
      attributeHmacs: NO_ATTRIBUTE_PSEUDONYMIZER,
      rulesDir,
      dataDir,
      firstVersion: null,
      clock: Date.now,
      onTrouble: (message) => fleet.troubles.push(message),
    });
    expect(node.rollout).to.deep.equal(fleet.nodes[0]?.rollout);
    await node.stop();
    await otherStore.close();
  });
}

describe('a fleet on SQLite', () => {
  let directory = '';
  beforeEach(() => {
    directory = temporaryDirectory();
  });
  describeFleet(async () => openSqliteStore(directory, { salt: TEST_SALT }));

  it('says once that the rollout cannot be read, however often it looks', async () => {
    const store = openSqliteStore(directory, { salt: TEST_SALT });
    const rulesDir = rulesDirectory();
    const troubles: string[] = [];
    const node = await RolloutNode.start({
      store,
      attributeHmacs: NO_ATTRIBUTE_PSEUDONYMIZER,
      rulesDir,
      reader: createDirectRuleReader(rulesDir),
      dataDir: temporaryDirectory(),
      firstVersion: FIRST_VERSION,
      clock: Date.now,
      onTrouble: (message) => troubles.push(message),
    });
    await store.close();
    for (let count = 0; count < 3; count++) await node.syncWithFleet();
    await node.stop();
    expect(troubles).to.deep.equal(['the rollout could not be read']);
  });
});

describeWithServer('redis-server', 'a fleet on Redis', () => {
  let url = '';
  beforeEach(async () => {
    url = await emptyRedisUrl();
  });
  describeFleet(() => openPatiently(url));
});
