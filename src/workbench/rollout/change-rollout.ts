import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NamedError } from '#base/named-error.ts';
import { list, named, nullable, plainText, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import { type Fleet, NodeSchema, type NodeView, type StoredRollout } from '#checkout/rollout/fleet.ts';
import { getTrialStage } from '#checkout/rollout/guard.ts';
import type { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import {
  type Candidate,
  createRolledBackRollout,
  createVersionRefSchema,
  findPreviousActive,
  type Rollout,
  type RolloutChangeOrigin,
  RolloutSchema,
  sumPercent,
  type VersionRef,
} from '#checkout/rollout/rollout.ts';
import { readTrialCounts } from '#checkout/rollout/trial-counts.ts';
import type { Decision } from '#decision/decision.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { RuleVersion } from '#decision/rules/rule-set.ts';
import { forgetRolledBack, noteRolledBack } from '#state/rule-folders/rolled-back.ts';
import type { Tallies } from '#state/store.ts';
import { createAdvancedRollout, createRolloutReplacingUnreadable, type RolloutGoal } from './advance.ts';
import { type AnswerComparisonTexts, type ComparisonSources, compareWithActive } from './difference.ts';
import { TrialSchema, toTrialView } from './trial-view.ts';
import { waitUntilLoaded } from './wait-for-nodes.ts';

/** The change was refused, and nothing was changed. The message says why. */
export class RolloutRefused extends NamedError {}

export const RolloutStatusSchema = named(
  'RolloutStatus',
  shape('The rollout and the fleet', {
    rollout: nullable(RolloutSchema),
    unreadable: yesNo(
      'The stored rollout cannot be read; nodes go on with theirs, and a rollback writes it again',
    ),
    nodes: nullable(list(NodeSchema, 'Nodes that reported in the last 10 s; null for a key of one platform')),
    trials: list(TrialSchema, 'The trial of each candidate'),
    previous: nullable(
      createVersionRefSchema('The version that a rollback returns to when nothing is on trial; null: none'),
    ),
  }),
);

export type RolloutStatus = ValueOf<typeof RolloutStatusSchema>;

export const FollowReportSchema = named(
  'Following',
  shape('A change of the rollout, and the nodes that follow it', {
    rollout: RolloutSchema,
    following: list(NodeSchema, 'Nodes that follow it'),
    lagging: list(NodeSchema, 'Nodes that do not yet'),
    compared: nullable(
      plainText(
        'How a version that now decides for more than 20 % compares with the active one on the payers of the last day; null otherwise',
      ),
    ),
  }),
);

export type FollowReport = ValueOf<typeof FollowReportSchema>;

/** Nodes follow within 2 s. This time allows for a slow node. */
const FOLLOW_TIMEOUT_MS = 6_000;
const FOLLOW_POLL_MS = 100;

/**
 * The viewer of the rollout. A platform sees its own figures and orders, and the owner of the installation sees all.
 */
interface Viewer {
  /** The platform. Null for the owner of the installation. */
  readonly platform: PlatformName | null;
  readonly decisionOf: (decisionId: string) => Promise<Decision | null>;
}

export async function readRolloutStatus(
  fleet: Fleet,
  tallies: Tallies,
  { platform, decisionOf }: Viewer,
): Promise<RolloutStatus> {
  const [stored, nodes] = await Promise.all([fleet.read(), fleet.listNodes()]);
  const rollout = stored?.rollout ?? null;
  const view = async (of: Rollout, candidate: Candidate) => {
    const counts = await readTrialCounts(tallies, getTrialStage(candidate).trial);
    return toTrialView(of, candidate, counts, platform, decisionOf);
  };
  return {
    rollout: rollout === null || platform === null ? rollout : hideOtherPlatforms(rollout),
    unreadable: stored !== null && rollout === null,
    nodes: platform === null ? nodes : null,
    trials: rollout === null ? [] : await Promise.all(rollout.candidates.map((one) => view(rollout, one))),
    previous: rollout === null ? null : findPreviousActive(rollout),
  };
}

/** Removes the names and figures of other platforms, which a platform must not see. */
function hideOtherPlatforms(rollout: Rollout): Rollout {
  const history = rollout.history.map(({ acceptedDifference: _, ...entry }) =>
    entry.action === 'guard' ? { ...entry, reason: 'By the clients of all platforms.' } : entry,
  );
  return { ...rollout, history };
}

interface AskedChange extends RolloutChangeOrigin {
  /**
   * The revision that the person saw. The change is refused if the rollout has a newer one. Null if any revision is
   * allowed.
   */
  readonly revision: number | null;
  /**
   * Whether the version may decide for more than LITTLE_PERCENT although it answers very differently from the active
   * one.
   */
  readonly acceptDifference?: boolean;
  /**
   * Whether the change is an emergency: a return to a version that was active before, which one person may do alone.
   */
  readonly emergency?: boolean;
}

/** The percentage of clients for which all versions on trial together may decide before their answers are compared. */
const LITTLE_PERCENT = 20;

/** Tells whether a version would decide for so many clients that most would feel a mistake in it. */
export function isFarReaching(goal: RolloutGoal): boolean {
  if (goal.mode !== 'canary') return goal.mode === 'active';
  return sumPercent([goal, ...(goal.also ?? [])]) > LITTLE_PERCENT;
}

interface ChangeParts extends ComparisonSources {
  readonly fleet: Fleet;
  readonly rules: LoadedRules;
}

/**
 * Foresees the effect of a change of the rollout if nothing else changes. The result says for each version how its
 * answers differ from those of the active version. Nothing is compared if the change is for few clients or is an
 * emergency. Throws `RolloutRefused` if the change may not be made now.
 */
export async function foreseeChange(
  parts: ChangeParts,
  version: RuleVersion,
  goal: RolloutGoal,
  { revision, acceptDifference = false, emergency = false, at }: AskedChange,
) {
  const { fleet, rules } = parts;
  const to = await requireEligible(rules, version, goal);
  const shares = goal.mode === 'canary' ? (goal.also ?? []) : [];
  const also = await Promise.all(
    shares.map(async (one) => ({
      ...(await requireEligible(rules, one.version, goal)),
      percent: one.percent,
    })),
  );
  const stored = await readRunningRollout(fleet);
  const { rollout } = stored;
  if (rollout === null) throw new RolloutRefused(UNREADABLE);
  requireRevision(rollout, revision);
  const all = [to, ...also];
  const isActive = all.some((one) => one.version === rollout.active.version);
  if (isActive) throw new RolloutRefused(`${rollout.active.version} is active already`);
  if (emergency) requireReturn(rollout, to, goal);
  for (const one of all) await requireOnEveryNode(fleet, one);
  const isNew = isFarReaching(goal) && !emergency;
  const differences = isNew ? await compareVersions(parts, rollout, all, at) : [];
  requireAccepted(differences, acceptDifference);
  return { stored, rollout, to, also, differences };
}

/**
 * Brings a version to the goal, and waits until every node follows. Throws `RolloutRefused` if the change may not be
 * made now.
 */
export async function rollOut(
  parts: ChangeParts,
  version: RuleVersion,
  goal: RolloutGoal,
  change: AskedChange,
): Promise<FollowReport> {
  const foreseen = await foreseeChange(parts, version, goal, change);
  const { stored, rollout, to, also, differences } = foreseen;
  const { who, at, reason, emergency = false } = change;
  const accepted = differences.flatMap(({ largeDifferences }) => largeDifferences).join('; ');
  const made = {
    who,
    at,
    reason,
    ...(accepted === '' ? {} : { acceptedDifference: accepted }),
    ...(emergency ? { emergency } : {}),
  };
  const wanted = goal.mode === 'canary' ? { ...goal, also } : goal;
  const compared = differences.map((one) => one.comparison).join('; ');
  const next = createAdvancedRollout(rollout, to, wanted, made);
  const report = await writeRollout(parts.fleet, stored, next, compared === '' ? null : compared);
  if (goal.mode !== 'shadow')
    for (const one of [to, ...also]) forgetRolledBack(join(parts.rules.rulesDir, one.version));
  return report;
}

/** Requires that an emergency returns to a version that was active before. Throws `RolloutRefused` otherwise. */
function requireReturn({ history }: Rollout, { version, digest }: VersionRef, goal: RolloutGoal): void {
  const wasActive = history.some(
    ({ action, to, digest: then }) =>
      (action === 'start' || action === 'active' || action === 'repair') && to === version && then === digest,
  );
  if (goal.mode === 'active' && wasActive) return;
  throw new RolloutRefused(
    `an emergency can only return to a version that was active before, with the same files; ${version} was not`,
  );
}

type VersionDifference = AnswerComparisonTexts & Pick<VersionRef, 'version'>;

async function compareVersions(
  { rules, ...on }: ChangeParts,
  { active, candidates }: Rollout,
  versions: readonly VersionRef[],
  at: number,
): Promise<readonly VersionDifference[]> {
  const found: VersionDifference[] = [];
  for (const { version, digest } of versions) {
    const ruleSet = rules.findByDigest(digest);
    const candidate = candidates.find((one) => one.version === version) ?? null;
    if (ruleSet !== null)
      found.push({
        version,
        ...(await compareWithActive(on, ruleSet, rules.findByDigest(active.digest), candidate, at)),
      });
  }
  return found;
}

/** Requires that versions which answer very differently are accepted. Throws `RolloutRefused` otherwise. */
function requireAccepted(differences: readonly VersionDifference[], acceptDifference: boolean): void {
  const others = differences.filter(({ largeDifferences }) => largeDifferences.length > 0);
  if (others.length === 0 || acceptDifference) return;
  const each = others.map(
    ({ version, largeDifferences }) =>
      `${version} answers very differently from the active version: ${largeDifferences.join('; ')}`,
  );
  throw new RolloutRefused(
    `${each.join('. ')}. Look at "rules diff", and begin with a canary of up to ${LITTLE_PERCENT} %; if you intend this, pass --accept-difference (acceptDifference: true), which the audit notes`,
  );
}

/** Returns the version on this node's disk. Throws `RolloutRefused` if the version may not be brought to the goal. */
async function requireEligible(
  rules: LoadedRules,
  version: RuleVersion,
  { mode }: RolloutGoal,
): Promise<VersionRef> {
  // Somebody may have created or released the version a moment ago through another node.
  await waitUntilLoaded(() => rules.isAsOnDisk(version));
  const ruleSet = rules.findByVersion(version);
  if (ruleSet === null) throw new RolloutRefused(explainNotLoaded(version, rules));
  if (mode === 'shadow' || ruleSet.released) return { version, digest: ruleSet.digest };
  throw new RolloutRefused(
    `${version} is a draft, which may only be shadowed; run "rules release ${version}" first`,
  );
}

const UNREADABLE =
  'the rollout in the store cannot be read, and the nodes go on with the rollout that they have; run "rules rollback", which writes it again, before you roll out a version';

/**
 * Ends the trial of the candidate `version`, or of all candidates if `version` is null. If there is no candidate,
 * returns to the previous version. A stored rollout that cannot be read is rewritten from the rollout that the nodes
 * follow, without candidates. A version that was rolled back is marked in RULES_DIR of this machine, so that the
 * first node of an empty store does not choose it. Throws `RolloutRefused` if nothing can be rolled back.
 */
export async function rollBack(
  fleet: Fleet,
  rulesDir: string,
  { revision, who, at, reason }: AskedChange,
  version: RuleVersion | null = null,
): Promise<FollowReport> {
  const change = { who, at, reason };
  const stored = await readRunningRollout(fleet);
  const { rollout } = stored;
  if (rollout === null) return writeRollout(fleet, stored, await repairFromNodes(fleet, change));
  requireRevision(rollout, revision);
  const { active, candidates } = rollout;
  const next = createRolledBackRollout(rollout, change, { version });
  if (next === null)
    throw new RolloutRefused(
      version === null
        ? 'there is nothing to roll back: no candidate, and no earlier version to return to'
        : `${version} is not on trial; ${formatOnTrial(candidates)}`,
    );
  if (candidates.length === 0) await requireOnEveryNode(fleet, next.active);
  const report = await writeRollout(fleet, stored, next);
  const deciding = candidates.length === 0 ? [active] : candidates.filter(({ mode }) => mode === 'canary');
  for (const back of deciding)
    if (version === null || back.version === version) noteRolledBack(join(rulesDir, back.version), change);
  return report;
}

function formatOnTrial(candidates: readonly Candidate[]): string {
  if (candidates.length === 0)
    return 'no version is; "rules rollback" without a version returns to the one before';
  return `on trial: ${candidates.map(({ version }) => version).join(', ')}`;
}

function requireRevision({ revision, history }: Rollout, seen: number | null): void {
  if (seen === null || seen === revision) return;
  const last = history.at(-1);
  const why = last === undefined ? '' : `: ${last.action} to ${last.to} by ${last.who} (${last.reason})`;
  throw new RolloutRefused(
    `the rollout is at revision ${revision} by now, not at ${seen}${why}; look at it again`,
  );
}

/** Returns a rollout with the version by which the node with the newest revision decides. */
async function repairFromNodes(fleet: Fleet, change: RolloutChangeOrigin): Promise<Rollout> {
  const [newest] = (await fleet.listNodes()).toSorted((a, b) => b.revision - a.revision);
  if (newest === undefined) throw new RolloutRefused(NO_NODE);
  return createRolloutReplacingUnreadable(newest.revision, newest.active, change);
}

const NO_NODE =
  'no node is running on this store; start a node, and check that this command uses the same store';

async function readRunningRollout(fleet: Fleet): Promise<StoredRollout> {
  // The nodes are read first, because no node follows a revision before it is stored.
  const [newest] = (await fleet.listNodes()).toSorted((a, b) => b.revision - a.revision);
  const stored = await fleet.read();
  if (stored === null && newest === undefined)
    throw new RolloutRefused(
      'no node has ever started on this store; the first start chooses the first version',
    );
  const held = stored?.rollout ?? null;
  const isBehind = newest !== undefined && held !== null && held.revision < newest.revision;
  if (stored !== null && !isBehind) return stored;
  const what = held === null ? 'has lost the rollout' : `holds revision ${held.revision} of the rollout`;
  throw new RolloutRefused(
    `the store ${what}, but the nodes follow revision ${newest?.revision}; run "rules restore-rollout --reason TEXT" first, which writes theirs back`,
  );
}

async function requireOnEveryNode(fleet: Fleet, to: VersionRef): Promise<void> {
  let problems: readonly string[] = [];
  // A node reports a newly deployed folder with its next heartbeat.
  const isEverywhere = await waitUntilLoaded(async () => {
    problems = listLackingNodes(await fleet.listNodes(), to);
    return problems.length === 0;
  });
  if (!isEverywhere) {
    throw new RolloutRefused(`${problems.join('; ')}; deploy the same files to every node's RULES_DIR first`);
  }
}

/** Says why nodes cannot follow a version, with one text for each such node. */
function listLackingNodes(nodes: readonly NodeView[], { version, digest }: VersionRef): readonly string[] {
  const problems = nodes.map((node) => {
    const loaded = node.versions.find((candidate) => candidate.version === version);
    if (loaded?.digest === digest) return null;
    if (loaded !== undefined)
      return `${formatNodeName(node)} has ${version} with digest ${loaded.digest.slice(0, 12)} instead of ${digest.slice(0, 12)}`;
    const refused = node.refused.some((candidate) => candidate.version === version);
    return `${formatNodeName(node)} ${refused ? 'refuses' : 'lacks'} ${version}`;
  });
  return problems.filter((problem) => problem !== null);
}

/**
 * Writes `next` in place of `stored`, and waits until every node follows it. Throws `RolloutRefused` if no node is
 * running or somebody else changed the rollout.
 */
export async function writeRollout(
  fleet: Fleet,
  stored: StoredRollout | null,
  next: Rollout,
  compared: string | null = null,
): Promise<FollowReport> {
  if ((await fleet.listNodes()).length === 0) throw new RolloutRefused(NO_NODE);
  if (!(await fleet.write(stored, next))) {
    throw new RolloutRefused(
      'somebody else changed the rollout at the same time; look at "rules status" and try again',
    );
  }
  return { ...(await awaitNodes(fleet, next)), compared };
}

/**
 * Waits until every live node follows the revision, but at most 6 s. Returns the nodes that follow it and the nodes
 * that do not.
 */
async function awaitNodes(fleet: Fleet, rollout: Rollout): Promise<Omit<FollowReport, 'compared'>> {
  const deadline = performance.now() + FOLLOW_TIMEOUT_MS;
  for (;;) {
    const nodes = await fleet.listNodes();
    const lagging = nodes.filter(({ revision }) => revision < rollout.revision);
    if (lagging.length === 0 || performance.now() > deadline) {
      const following = nodes.filter((node) => !lagging.includes(node));
      return { rollout, following, lagging };
    }
    await sleep(FOLLOW_POLL_MS);
  }
}

export function formatNodeName({ host, pid, nodeId }: Pick<NodeView, 'host' | 'pid' | 'nodeId'>): string {
  return `node ${host}/${pid} (${nodeId.slice(0, 8)})`;
}

function explainNotLoaded(version: RuleVersion, rules: LoadedRules): string {
  const refused = rules.listRefused().find((folder) => folder.version === version);
  if (refused !== undefined) return `${version} has problems:\n${refused.problems.join('\n')}`;
  const there = rules.listAll().map((ruleSet) => ruleSet.version);
  return `there is no rule set ${version}; there are: ${there.join(', ')}`;
}
