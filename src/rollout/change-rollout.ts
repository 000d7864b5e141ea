import { setTimeout as sleep } from 'node:timers/promises';
import type { RuleVersion } from '../rules/rule-set.ts';
import type { Fleet, NodeReport, StoredRollout } from './fleet.ts';
import type { LoadedRules } from './loaded-rules.ts';
import {
  advance,
  type Change,
  type Goal,
  previousActive,
  type Rollout,
  takeBack,
  type VersionRef,
} from './rollout.ts';
import { sumTrialCounts, type TrialCounts } from './trial-counts.ts';

/** A rollout was asked for that must not happen; nothing was changed. The message says why. */
export class RolloutRefused extends Error {
  override readonly name = 'RolloutRefused';
}

export interface RolloutStatus {
  /** Null before the first node ever started. */
  readonly rollout: Rollout | null;
  readonly nodes: readonly NodeReport[];
  /** What all nodes saw of the trial under way; null without one. */
  readonly trial: TrialCounts | null;
}

/** Who follows a change, and who does not yet. */
export interface FollowReport {
  readonly rollout: Rollout;
  readonly following: readonly NodeReport[];
  readonly lagging: readonly NodeReport[];
}

/** Nodes follow within 2 s; this leaves room for a slow one. */
const FOLLOW_TIMEOUT_MS = 6_000;
const FOLLOW_POLL_MS = 100;

export async function rolloutStatus(fleet: Fleet): Promise<RolloutStatus> {
  const [stored, nodes] = await Promise.all([fleet.read(), fleet.nodes()]);
  const candidate = stored?.rollout.candidate ?? null;
  const parts = nodes.map(({ counts }) => counts).filter((counts) => counts !== null);
  const trial = candidate === null ? null : sumTrialCounts(`${candidate.trial}/${candidate.mode}`, parts);
  return { rollout: stored?.rollout ?? null, nodes, trial };
}

/** Brings a version to the goal and waits until every node follows. Throws RolloutRefused. */
export async function rollOut(
  fleet: Fleet,
  rules: LoadedRules,
  version: RuleVersion,
  goal: Goal,
  change: Change,
): Promise<FollowReport> {
  const ruleSet = rules.get(version);
  if (ruleSet === null) throw new RolloutRefused(whyNotLoaded(version, rules));
  if (goal.mode !== 'shadow' && !ruleSet.released) {
    throw new RolloutRefused(
      `${version} is a draft, which may only be shadowed; run "rules release ${version}" first`,
    );
  }
  const stored = await running(fleet);
  const { active } = stored.rollout;
  if (active.version === version) throw new RolloutRefused(`${version} is active already`);
  const to = { version, digest: ruleSet.digest };
  await requireOnEveryNode(fleet, to);
  return write(fleet, stored, advance(stored.rollout, to, goal, change));
}

/** Takes the candidate back, or without one returns to the version before. Throws RolloutRefused. */
export async function rollBack(fleet: Fleet, change: Change): Promise<FollowReport> {
  const stored = await running(fleet);
  if (stored.rollout.candidate === null) {
    const before = previousActive(stored.rollout);
    if (before === null)
      throw new RolloutRefused('there is no candidate and no earlier version to return to');
    await requireOnEveryNode(fleet, before);
  }
  const next = takeBack(stored.rollout, change);
  if (next === null) throw new RolloutRefused('there is no candidate and no earlier version to return to');
  return write(fleet, stored, next);
}

async function running(fleet: Fleet): Promise<StoredRollout> {
  const stored = await fleet.read();
  if (stored !== null) return stored;
  throw new RolloutRefused(
    'no node has ever started on this store; the first start chooses the first version',
  );
}

async function requireOnEveryNode(fleet: Fleet, { version, digest }: VersionRef): Promise<void> {
  const problems = (await fleet.nodes()).map((node) => {
    const loaded = node.versions.find((candidate) => candidate.version === version);
    if (loaded?.digest === digest) return null;
    if (loaded !== undefined)
      return `${nodeName(node)} has ${version} with digest ${loaded.digest.slice(0, 12)} instead of ${digest.slice(0, 12)}`;
    const refused = node.refused.some((candidate) => candidate.version === version);
    return `${nodeName(node)} ${refused ? 'refuses' : 'lacks'} ${version}`;
  });
  const lacking = problems.filter((problem) => problem !== null);
  if (lacking.length > 0) {
    throw new RolloutRefused(`${lacking.join('; ')}; deploy the same files to every node's RULES_DIR first`);
  }
}

async function write(fleet: Fleet, stored: StoredRollout, next: Rollout): Promise<FollowReport> {
  if (!(await fleet.write(stored, next))) {
    throw new RolloutRefused(
      'somebody else changed the rollout at the same time; look at "rules status" and try again',
    );
  }
  return awaitNodes(fleet, next);
}

/** Resolves when every live node follows the revision, or after a while with those that do not. */
async function awaitNodes(fleet: Fleet, rollout: Rollout): Promise<FollowReport> {
  const deadline = performance.now() + FOLLOW_TIMEOUT_MS;
  for (;;) {
    const nodes = await fleet.nodes();
    const lagging = nodes.filter(({ revision }) => revision < rollout.revision);
    if (lagging.length === 0 || performance.now() > deadline) {
      return { rollout, following: nodes.filter((node) => !lagging.includes(node)), lagging };
    }
    await sleep(FOLLOW_POLL_MS);
  }
}

/** How people tell nodes apart. */
export function nodeName({ host, pid, nodeId }: NodeReport): string {
  return `node ${host}/${pid} (${nodeId.slice(0, 8)})`;
}

function whyNotLoaded(version: RuleVersion, rules: LoadedRules): string {
  const refused = rules.refused().find((folder) => folder.version === version);
  if (refused !== undefined) return `${version} is not sound:\n${refused.problems.join('\n')}`;
  const there = rules.all().map((ruleSet) => ruleSet.version);
  return `there is no rule set ${version}; there are: ${there.join(', ')}`;
}
