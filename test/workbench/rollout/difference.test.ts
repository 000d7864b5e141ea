import { expect } from 'chai';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { Metrics } from '#checkout/metrics/metrics.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import type { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import { ScoringService } from '#checkout/scoring/scoring.ts';
import { createHoldoutDraw } from '#decision/holdout.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { Audit } from '#workbench/access/audit.ts';
import type { RolloutGoal } from '#workbench/rollout/advance.ts';
import { RolloutRefused, readRolloutStatus, rollBack, rollOut } from '#workbench/rollout/change-rollout.ts';
import type { ReadRecentDecisions } from '#workbench/rollout/difference.ts';
import {
  addVersion,
  BLOCK_OTHERWISE,
  LONGER_FIRST_WAIT,
  rulesDirectory,
  startQuietNode,
} from '../../checkout/rollout/rule-folders.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { newPlatform } from '../../state/clients.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const ACTIVE: RolloutGoal = { mode: 'active' };

/** A rule before all others that blocks large amounts. */
const BLOCK_ALL = {
  file: 'verdicts.yaml',
  from: 'rules:',
  to: `rules:
  - name: everybody
    description: A mistake
    priority: 9999
    conditions: { all: [{ fact: amount, operator: greaterThan, value: 0 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "A mistake." } }`,
};

/** The same, of which half of the payers are held out. */
const BLOCK_HALF = {
  ...BLOCK_ALL,
  to: BLOCK_ALL.to.replace('priority: 9999', 'priority: 9999\n    holdout: 50%'),
};

describeOnStores('what a version would have answered', (store) => {
  let node: RolloutNode;
  let fleet: Fleet;
  let past: ArchiveReader;
  let service: ScoringService;
  const clock = Date.now;
  const change = (acceptDifference = false) => ({
    who: 'ann',
    at: clock(),
    reason: 'a test',
    revision: null,
    acceptDifference,
  });

  async function refusalOf(version: string, goal: RolloutGoal): Promise<string> {
    try {
      await toGoal(version, goal);
    } catch (error) {
      if (error instanceof RolloutRefused) return error.message;
      throw error;
    }
    throw new Error('nothing was refused');
  }

  async function toGoal(version: string, goal: RolloutGoal, acceptDifference = false) {
    if (!isRuleVersion(version)) throw new Error('no version');
    const decidedLately: ReadRecentDecisions = async (platform, from, limit) =>
      (await past.findDecisions(platform, { from }, limit)).decisions;
    const parts = { fleet, rules: node.rules, store: store(), decidedLately };
    return rollOut(parts, version, goal, change(acceptDifference));
  }

  /** Payers of a platform who ask once each. */
  async function payersAsk(platform: PlatformName, count: number, first = 0): Promise<void> {
    await new AccessKeys(store().documents, clock).issue(platform, ['verdict'], KEY_LIFETIME_MS);
    for (let payer = first; payer < count; payer += 1) {
      const body = { sellPointKey: 'shop-1', method: 'card', amountRequested: '25.00', orderRef: 'order-1' };
      const context = { requestId: 'r', idempotencyKey: null };
      await service.verdict(platform, { ...body, clientIdKey: `payer-${payer}` }, context);
    }
  }

  before(async () => {
    const rulesDir = rulesDirectory();
    addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
    addVersion(rulesDir, 'p2.v12', [BLOCK_OTHERWISE]);
    addVersion(rulesDir, 'p2.v13', [BLOCK_ALL]);
    addVersion(rulesDir, 'p2.v14', [BLOCK_HALF]);
    addVersion(rulesDir, 'p2.v15', [BLOCK_HALF]);
    fleet = new Fleet(store());
    past = ArchiveReader.withoutArchive(store());
    node = await startQuietNode(store(), rulesDir, clock);
    service = new ScoringService({
      store: store(),
      ruleSource: node,
      clock,
      pseudonym: (_kind, text) => text,
      holdoutDraw: createHoldoutDraw('secret'),
      metrics: new Metrics(),
    });
  });
  after(async () => {
    await node?.stop();
    await past?.close();
  });

  it('is unknown before anybody has asked', async () => {
    const { compared } = await toGoal('p2.v11', ACTIVE);
    expect(compared).to.equal('nobody, because no payer asked for a verdict in the last day');
    await rollBack(fleet, node.rules.rulesDir, change());
  });

  it('is refused when it blocks clients that match no rule, although nobody has asked yet', async () => {
    expect(await refusalOf('p2.v12', ACTIVE)).to.equal(
      'p2.v12 answers very differently from the active version: its verdicts end with otherwise: BLOCK, unlike those of the active version. Look at "rules diff", and begin with a canary of up to 20 %; if you intend this, pass --accept-difference (acceptDifference: true), which the audit notes',
    );
  });

  it('is refused for more than 20 % with the figures of the platform that it would block', async () => {
    const platform = newPlatform();
    await payersAsk(platform, 19);
    // Fewer than 20 payers say nothing, even if all are turned away.
    await toGoal('p2.v13', ACTIVE);
    await rollBack(fleet, node.rules.rulesDir, change());
    await payersAsk(platform, 24, 19);
    const figures = `it would BLOCK 24 of 24 recent payers of ${platform} whom the active version let pay`;
    expect(await refusalOf('p2.v13', ACTIVE)).to.contain(figures);
    expect(await refusalOf('p2.v13', { mode: 'canary', percent: 21, guardPoints: null })).to.contain(figures);
    const { compared } = await toGoal('p2.v13', { mode: 'canary', percent: 20, guardPoints: null });
    expect(compared).to.equal(null);
    await rollBack(fleet, node.rules.rulesDir, change());
  });

  it('becomes active when it gives the same answers, and says how many payers were compared', async () => {
    const { compared } = await toGoal('p2.v11', ACTIVE);
    expect(compared).to.equal(
      '24 payers of the last day, of whom 0 would be let through or held back differently',
    );
    await rollBack(fleet, node.rules.rulesDir, change());
  });

  it('becomes active all the same when the difference is accepted, as history and audit say', async () => {
    const { rollout } = await toGoal('p2.v13', ACTIVE, true);
    const { acceptedDifference } = rollout.history.at(-1) ?? {};
    expect(acceptedDifference).to.match(/^it would BLOCK 24 of 24 recent payers/);
    const shown = await readRolloutStatus(fleet, store().tallies, {
      platform: newPlatform(),
      decisionOf: async () => null,
    });
    expect(shown.rollout).to.deep.include({ active: rollout.active, revision: rollout.revision });
    expect(shown.rollout?.history.at(-1)).not.to.have.property('acceptedDifference');
    const { entries } = await new Audit(store().auditLog, clock).read(null, 100);
    expect(entries.at(-1)?.after).to.include({ active: 'p2.v13', acceptedDifference });
    await rollBack(fleet, node.rules.rulesDir, change());
  });

  it('is the same for payers whom both versions hold out of a rule', async () => {
    await toGoal('p2.v14', ACTIVE, true);
    await node.refresh();
    const platform = newPlatform();
    await payersAsk(platform, 40);
    expect(await refusalOf('p2.v15', ACTIVE)).not.to.contain(platform);
  });
});
