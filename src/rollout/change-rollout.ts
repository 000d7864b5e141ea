import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlatformName } from '../client/client-key.ts';
import type { Decision } from '../decision/decision.ts';
import { forgetRolledBack, noteRolledBack } from '../rules/folder/rolled-back.ts';
import type { RuleVersion } from '../rules/rule-set.ts';
import { list, named, nullable, type Shape, shape, word, yesNo } from '../shapes.ts';
import { differenceOf } from './difference.ts';
import { type Fleet, NodeSchema, type NodeView, type StoredRollout } from './fleet.ts';
import { isTakenUp, type LoadedRules } from './loaded-rules.ts';
import {
  advance,
  type Goal,
  previousActive,
  type Rollout,
  type RolloutChange,
  RolloutSchema,
  repaired,
  takeBack,
  type VersionRef,
  versionRef,
} from './rollout.ts';
import { stageOf } from './stage.ts';
import { sharedCounts } from './trial-tally.ts';
import { TrialSchema, viewOfTrial } from './trial-view.ts';

/** A rollout was asked for that must not happen; nothing was changed. The message says why. */
export class RolloutRefused extends Error {
  override readonly name = 'RolloutRefused';
}

export const RolloutStatusSchema = named(
  'RolloutStatus',
  shape('The rollout and the fleet', {
    rollout: nullable(RolloutSchema),
    unreadable: yesNo('What is stored as the rollout is damaged; nodes continue, and a rollback rewrites it'),
    nodes: nullable(list(NodeSchema, 'Those heard of in the last 10 s; null for a key of one platform')),
    trial: nullable(TrialSchema),
    previous: nullable(versionRef('Where a rollback leads when nothing is on trial; null: nowhere')),
  }),
);

export type RolloutStatus = Shape<typeof RolloutStatusSchema>;

export const FollowingSchema = named(
  'Following',
  shape('A change of the rollout, and who follows it', {
    rollout: RolloutSchema,
    following: list(NodeSchema, 'Nodes that follow it'),
    lagging: list(NodeSchema, 'Nodes that do not yet'),
    compared: nullable(
      word('How a version that now decides for more than 20 % would have answered lately; null otherwise'),
    ),
  }),
);

/** Who follows a change, and who does not yet. */
export type FollowReport = Shape<typeof FollowingSchema>;

/** Nodes follow within 2 s; this leaves room for a slow one. */
const FOLLOW_TIMEOUT_MS = 6_000;
const FOLLOW_POLL_MS = 100;

/** Who looks at the rollout: a platform sees its own figures and orders, the owner of the installation all. */
export interface Viewer {
  /** Null for the owner of the installation. */
  readonly platform: PlatformName | null;
  readonly decisionOf: (decisionId: string) => Promise<Decision | null>;
}

export async function rolloutStatus(fleet: Fleet, { platform, decisionOf }: Viewer): Promise<RolloutStatus> {
  const [stored, nodes] = await Promise.all([fleet.read(), fleet.nodes()]);
  const rollout = stored?.rollout ?? null;
  const candidate = rollout?.candidate ?? null;
  return {
    rollout,
    unreadable: stored !== null && rollout === null,
    nodes: platform === null ? nodes : null,
    trial:
      candidate === null
        ? null
        : await viewOfTrial(
            candidate,
            await sharedCounts(fleet.tallies, stageOf(candidate).trial),
            platform,
            decisionOf,
          ),
    previous: rollout === null ? null : previousActive(rollout),
  };
}

/** A change as somebody asks for it. */
export interface AskedChange extends RolloutChange {
  /** The revision that they looked at: what another one by now would make of it, nobody has seen. Null: whatever it is. */
  readonly revision: number | null;
  /** It may decide for more than LITTLE_PERCENT although it answers much otherwise than the active one. */
  readonly acceptDifference?: boolean;
}

/** What a version may decide for without a look at how it would have answered. */
const LITTLE_PERCENT = 20;

/** Whether a version is to decide for so many that a mistake in it would be felt by most. */
export function isFar(goal: Goal): boolean {
  return goal.mode === 'active' || (goal.mode === 'canary' && goal.percent > LITTLE_PERCENT);
}

/** Brings a version to the goal and waits until every node follows. Throws RolloutRefused. */
export async function rollOut(
  fleet: Fleet,
  rules: LoadedRules,
  version: RuleVersion,
  goal: Goal,
  { revision, acceptDifference = false, ...change }: AskedChange,
): Promise<FollowReport> {
  // Somebody may have made or released it a moment ago, past this node.
  await isTakenUp(() => rules.isAsOnDisk(version));
  const ruleSet = rules.get(version);
  if (ruleSet === null) throw new RolloutRefused(whyNotLoaded(version, rules));
  if (goal.mode !== 'shadow' && !ruleSet.released) {
    throw new RolloutRefused(
      `${version} is a draft, which may only be shadowed; run "rules release ${version}" first`,
    );
  }
  const stored = await running(fleet);
  const { rollout } = stored;
  if (rollout === null) throw new RolloutRefused(UNREADABLE);
  requireRevision(rollout, revision);
  const { active } = rollout;
  if (active.version === version) throw new RolloutRefused(`${version} is active already`);
  const to = { version, digest: ruleSet.digest };
  await requireOnEveryNode(fleet, to);
  const difference = isFar(goal)
    ? await differenceOf(fleet, ruleSet, rules.withDigest(active.digest), rollout.candidate, change.at)
    : null;
  const much = difference?.much.join('; ') ?? '';
  if (much !== '' && !acceptDifference) throw new RolloutRefused(tooDifferent(version, much));
  const made = much === '' ? change : { ...change, acceptedDifference: much };
  const report = await write(fleet, stored, advance(rollout, to, goal, made), difference?.compared);
  if (goal.mode !== 'shadow') forgetRolledBack(join(rules.rulesDir, version));
  return report;
}

function tooDifferent(version: RuleVersion, much: string): string {
  return `${version} answers much otherwise than the active version: ${much}. Look at "rules diff", and begin with a canary of up to ${LITTLE_PERCENT} %; when it is meant so, pass --accept-difference (acceptDifference: true), which the audit keeps`;
}

const UNREADABLE =
  'what the store holds as the rollout cannot be read; the nodes continue with what they have; "rules rollback" rewrites it from them, and then a version can be rolled out';

/**
 * Takes the candidate back, or without one returns to the version before. A stored rollout that cannot be
 * read is rewritten from what the nodes follow, without a candidate. The version that was taken back is
 * marked on the disk where it is done, so that no first start chooses it. Throws RolloutRefused.
 */
export async function rollBack(
  fleet: Fleet,
  rulesDir: string,
  { revision, ...change }: AskedChange,
): Promise<FollowReport> {
  const stored = await running(fleet);
  const { rollout } = stored;
  if (rollout === null) return write(fleet, stored, await rolloutOfNodes(fleet, change));
  requireRevision(rollout, revision);
  const next = takeBack(rollout, change);
  if (next === null) throw new RolloutRefused('there is no candidate and no earlier version to return to');
  if (rollout.candidate === null) await requireOnEveryNode(fleet, next.active);
  const report = await write(fleet, stored, next);
  const back = rollout.candidate ?? rollout.active;
  if (rollout.candidate?.mode !== 'shadow') noteRolledBack(join(rulesDir, back.version), change);
  return report;
}

function requireRevision({ revision, history }: Rollout, seen: number | null): void {
  if (seen === null || seen === revision) return;
  const last = history.at(-1);
  const why = last === undefined ? '' : `: ${last.action} to ${last.to} by ${last.who} (${last.reason})`;
  throw new RolloutRefused(
    `the rollout is at revision ${revision} by now, not at ${seen}${why}; look at it again`,
  );
}

/** What the node with the newest revision decides with. */
async function rolloutOfNodes(fleet: Fleet, change: RolloutChange): Promise<Rollout> {
  const [newest] = (await fleet.nodes()).toSorted((a, b) => b.revision - a.revision);
  if (newest === undefined) throw new RolloutRefused(NO_NODE);
  return repaired(newest.revision, newest.active, change);
}

const NO_NODE =
  'no node is running on this store, so nobody would follow; start a node, and check that this command uses its store';

async function running(fleet: Fleet): Promise<StoredRollout> {
  const stored = await fleet.read();
  if (stored !== null) return stored;
  throw new RolloutRefused(
    'no node has ever started on this store; the first start chooses the first version',
  );
}

async function requireOnEveryNode(fleet: Fleet, to: VersionRef): Promise<void> {
  let problems: readonly string[] = [];
  // A node tells of a folder that was deployed a moment ago with its next heartbeat.
  const isEverywhere = await isTakenUp(async () => {
    problems = lackedBy(await fleet.nodes(), to);
    return problems.length === 0;
  });
  if (!isEverywhere) {
    throw new RolloutRefused(`${problems.join('; ')}; deploy the same files to every node's RULES_DIR first`);
  }
}

/** What keeps nodes from following a version, a sentence each. */
function lackedBy(nodes: readonly NodeView[], { version, digest }: VersionRef): readonly string[] {
  const problems = nodes.map((node) => {
    const loaded = node.versions.find((candidate) => candidate.version === version);
    if (loaded?.digest === digest) return null;
    if (loaded !== undefined)
      return `${nodeName(node)} has ${version} with digest ${loaded.digest.slice(0, 12)} instead of ${digest.slice(0, 12)}`;
    const refused = node.refused.some((candidate) => candidate.version === version);
    return `${nodeName(node)} ${refused ? 'refuses' : 'lacks'} ${version}`;
  });
  return problems.filter((problem) => problem !== null);
}

async function write(
  fleet: Fleet,
  stored: StoredRollout,
  next: Rollout,
  compared: string | null = null,
): Promise<FollowReport> {
  if ((await fleet.nodes()).length === 0) throw new RolloutRefused(NO_NODE);
  if (!(await fleet.write(stored, next))) {
    throw new RolloutRefused(
      'somebody else changed the rollout at the same time; look at "rules status" and try again',
    );
  }
  return { ...(await awaitNodes(fleet, next)), compared };
}

/** Resolves when every live node follows the revision, or after a while with those that do not. */
async function awaitNodes(fleet: Fleet, rollout: Rollout): Promise<Omit<FollowReport, 'compared'>> {
  const deadline = performance.now() + FOLLOW_TIMEOUT_MS;
  for (;;) {
    const nodes = await fleet.nodes();
    const lagging = nodes.filter(({ revision }) => revision < rollout.revision);
    if (lagging.length === 0 || performance.now() > deadline) {
      const following = nodes.filter((node) => !lagging.includes(node));
      return { rollout, following, lagging };
    }
    await sleep(FOLLOW_POLL_MS);
  }
}

/** How people tell nodes apart. */
export function nodeName({ host, pid, nodeId }: Pick<NodeView, 'host' | 'pid' | 'nodeId'>): string {
  return `node ${host}/${pid} (${nodeId.slice(0, 8)})`;
}

function whyNotLoaded(version: RuleVersion, rules: LoadedRules): string {
  const refused = rules.refused().find((folder) => folder.version === version);
  if (refused !== undefined) return `${version} is not sound:\n${refused.problems.join('\n')}`;
  const there = rules.all().map((ruleSet) => ruleSet.version);
  return `there is no rule set ${version}; there are: ${there.join(', ')}`;
}
