import { setTimeout as delay } from 'node:timers/promises';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { RuleVersion } from '#decision/rules/rule-set.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import type { Store } from '#state/store.ts';
import { Audit } from '#workbench/access/audit.ts';
import type { RolloutGoal } from '#workbench/rollout/advance.ts';
import { RolloutRefused, readRolloutStatus, rollBack, rollOut } from '#workbench/rollout/change-rollout.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { versionOf } from './rule-folders.ts';

export const FIRST_VERSION = versionOf('p2.v10');

/** A fleet of nodes on one store, each with its own RULES_DIR. */
export class TestFleet {
  readonly nodes: RolloutNode[] = [];
  readonly troubles: string[] = [];
  readonly #open: () => Promise<Store>;
  readonly #stores: Store[] = [];

  constructor(open: () => Promise<Store>) {
    this.#open = open;
  }

  async start(rulesDir: string, dataDir = temporaryDirectory()): Promise<RolloutNode> {
    const node = await RolloutNode.start({
      store: await this.#opened(),
      attributeHmacs: NO_ATTRIBUTE_PSEUDONYMIZER,
      rulesDir,
      // A thread for each of a hundred nodes would take most of the time of these tests.
      reader: createDirectRuleReader(rulesDir),
      dataDir,
      firstVersion: FIRST_VERSION,
      clock: Date.now,
      onTrouble: (message) => this.troubles.push(message),
    });
    this.nodes.push(node);
    return node;
  }

  async fleet(): Promise<Fleet> {
    return new Fleet(await this.#opened());
  }

  async #opened(): Promise<Store> {
    const store = await this.#open();
    this.#stores.push(store);
    return store;
  }

  async rollOut(rulesDir: string, version: string, goal: RolloutGoal, revision: number | null = null) {
    const change = { who: 'ann', at: Date.now(), reason: 'a test', revision, acceptDifference: true };
    const [store, rules] = [
      await this.#opened(),
      await LoadedRules.read(rulesDir, createDirectRuleReader(rulesDir)),
    ];
    const parts = { fleet: new Fleet(store), rules, store, decidedLately: async () => [] };
    return rollOut(parts, versionOf(version), goal, change);
  }

  /** Writes something into the place of the rollout. */
  async damage(text: string): Promise<void> {
    const store = await this.#opened();
    await store.registers.compareAndSet('rollout', await store.registers.read('rollout'), text);
    // A node that has just read does not ask again.
    await delay(500);
  }

  async audit() {
    const store = await this.#opened();
    return (await new Audit(store.auditLog, Date.now).read(null, 100)).entries;
  }

  async status(platform: PlatformName | null = null) {
    const store = await this.#opened();
    return readRolloutStatus(new Fleet(store), store.tallies, { platform, decisionOf: async () => null });
  }

  async rollBack(revision: number | null = null, version: RuleVersion | null = null) {
    const change = { who: 'ann', at: Date.now(), reason: 'a test', revision };
    return rollBack(await this.fleet(), this.nodes[0]?.rules.rulesDir ?? '', change, version);
  }

  /** Every node reads its folders and reports. */
  async look(): Promise<void> {
    for (const node of this.nodes) {
      await node.refresh();
      await node.syncWithFleet();
    }
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.stop();
    for (const store of this.#stores) await store.close();
  }
}

/** Why a change was refused, without the names of nodes. */
export async function refusal(change: Promise<unknown>): Promise<string> {
  try {
    await change;
  } catch (error) {
    if (error instanceof RolloutRefused) return error.message.replace(/node \S+ \(\w+\)/g, 'NODE');
    throw error;
  }
  return 'nothing was refused';
}
