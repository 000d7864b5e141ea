import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Arm, TrialDraw } from '#decision/decision.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import type { RuleSet, RuleVersion } from '#decision/rules/rule-set.ts';
import { noteRolledBack } from '#state/rule-folders/rolled-back.ts';
import { type RuleReader, ThreadedRuleReader } from '#state/rule-folders/rule-reader.ts';
import type { Store } from '#state/store.ts';
import { Fleet, type NodeView, type OwnNodeReport, type StoredRollout } from './fleet.ts';
import { explainCandidateGuardBreach, getTrialStage } from './guard.ts';
import {
  type CountedOutcome,
  type CountedVerdict,
  findNewestOutcomeTimes,
  LoadedRules,
  type NewestOutcomeTimes,
  NoUsableRuleSet,
  type RuleChoice,
  type RuleSource,
} from './loaded-rules.ts';
import { type Candidate, createRolledBackRollout, drawArm, type Rollout } from './rollout.ts';
import { rememberRollout } from './rollout-memory.ts';
import { chooseStartingRollout } from './starting-rollout.ts';
import {
  type ClientPaymentStatus,
  CountsOfUnconfirmedVerdicts,
  computeTrialStageFigures,
  readTrialCounts,
  TrialTally,
} from './trial-counts.ts';

/** The settings of a node. */
interface NodeSettings {
  readonly store: Pick<
    Store,
    'installation' | 'registers' | 'documents' | 'auditLog' | 'decision' | 'load' | 'tallies'
  >;
  readonly rulesDir: string;
  readonly dataDir: string;
  /** Reads RULES_DIR. The default reads it in a thread of this node. */
  readonly reader?: RuleReader;
  /** Converts the constants in rules to the pseudonyms under which this node stores values. */
  readonly attributeHmacs: AttributePseudonymizer;
  /** The version for the very first start. Null for the newest released version. */
  readonly firstVersion: RuleVersion | null;
  readonly clock: () => number;
  readonly onTrouble: (message: string, error?: unknown) => void;
  /** Called for every revision that this node adopts after its start. */
  readonly onFollow?: (rollout: Rollout) => void;
}

interface NodeParts extends NodeSettings {
  readonly fleet: Fleet;
}

/**
 * The interval between two reads of the shared rollout. A change reaches every node within 2 s, which is two
 * intervals and the time for two reads.
 */
const LOOK_MS = 750;

/** A revision of the rollout with the rule sets with which this node decides. */
interface LoadedRollout {
  readonly rollout: Rollout;
  readonly active: RuleSet;
  /** The candidates' rule sets, in the sequence of the rollout. */
  readonly candidates: readonly RuleSet[];
}

/** The part of a node that follows the shared rollout, reports the node to the fleet, and checks the guards. */
export class RolloutNode implements RuleSource {
  readonly nodeId = randomUUID();
  readonly rules: LoadedRules;
  readonly #parts: NodeParts;
  readonly #startedAt: number;
  #following: LoadedRollout;
  #trouble: string | null = null;
  /** Whether the store has lost the rollout that this node follows, or holds an older one. */
  #hasLost = false;
  /** The stored rollout that was last found equal to the followed one. */
  #compared: StoredRollout | null = null;
  #isUnread = false;
  /** One tally for each candidate, in the sequence of the rollout. */
  #tallies: readonly TrialTally[] = [];
  readonly #unsure = new CountsOfUnconfirmedVerdicts();
  #hasStaleLists: () => boolean = () => false;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();
  #refreshing: Promise<void> | null = null;
  #stopped = false;

  private constructor(parts: NodeParts, rules: LoadedRules, following: LoadedRollout) {
    this.#parts = parts;
    this.rules = rules;
    this.#startedAt = parts.clock();
    this.#following = following;
    this.#follow(following);
  }

  /** Starts a node. Throws NoUsableRuleSet if no sound released rule set can decide. */
  static async start(settings: NodeSettings): Promise<RolloutNode> {
    const parts = { ...settings, fleet: new Fleet(settings.store) };
    const { rulesDir, reader = new ThreadedRuleReader(rulesDir), attributeHmacs } = parts;
    const rules = await LoadedRules.read(rulesDir, reader, attributeHmacs);
    try {
      const rollout = await chooseStartingRollout(parts, rules);
      const following = resolveRollout(rollout, rules);
      if (typeof following === 'string') throw new NoUsableRuleSet(following);
      const node = new RolloutNode(parts, rules, following);
      await node.syncWithFleet();
      node.#timer = setInterval(() => {
        void node.refresh();
        node.#looking = node.syncWithFleet();
      }, LOOK_MS).unref();
      return node;
    } catch (error) {
      await rules.close();
      throw error;
    }
  }

  get rollout(): Rollout {
    return this.#following.rollout;
  }

  get active(): RuleSet {
    return this.#following.active;
  }

  choose(client: ClientKey): RuleChoice {
    const { rollout, active, candidates } = this.#following;
    const [first] = rollout.candidates;
    if (first?.mode === 'shadow') return { rules: active, arm: 'active', shadow: candidates[0] ?? active };
    const drawn = drawArm(rollout, client.hash);
    if (drawn === null) return { rules: active, arm: 'active' };
    const { draw, candidate } = drawn;
    const rules = candidate === null ? undefined : candidates[rollout.candidates.indexOf(candidate)];
    const alongside = [active, ...candidates];
    if (rules === undefined) return { rules: active, arm: 'active', draw, alongside };
    return { rules, arm: 'candidate', draw, fallback: active, alongside };
  }

  countVerdict(seen: CountedVerdict, isRecorded: boolean): void {
    const count = () => this.#countVerdict(seen);
    if (isRecorded) count();
    else this.#unsure.add(count, () => this.#hasVerdict(seen));
  }

  countOutcome(seen: CountedOutcome, isRecorded: boolean): void {
    const count = () => this.#countOutcome(seen);
    if (isRecorded) count();
    else this.#unsure.add(count, () => this.#hasOutcome(seen));
  }

  async #hasVerdict({ decision: { decisionId, requestId, at } }: CountedVerdict): Promise<boolean> {
    const recorded = await this.#parts.store.decision(decisionId);
    // Another request may have been recorded under this decision's id.
    return recorded?.requestId === requestId && recorded.at === at;
  }

  /**
   * Whether the store recorded an outcome whose caller got an error. The client's newest outcome times in the store
   * must equal those that this outcome would have made. Besides, the client must have the change count that this
   * outcome would have made, or one of the times must be the arrival time of this outcome. Otherwise the times may
   * come from the caller's next try, which is counted by itself.
   */
  async #hasOutcome({ client, after, at, changes }: CountedOutcome): Promise<boolean> {
    const { state } = await this.#parts.store.load(client);
    const isThis = state.changes === changes || [after.lastPaidAt, after.lastUnpaidAt].includes(at);
    return isThis && isDeepStrictEqual(findNewestOutcomeTimes(state), after);
  }

  #countVerdict({ decision, shadowed, stageBefore }: CountedVerdict): void {
    this.#countInTrials(decision.draw ?? null, (tally, arm) => {
      tally.countVerdict(decision, arm, stageBefore);
      if (shadowed === null) tally.countCandidateError(decision.platform);
      else if (shadowed !== undefined) tally.countShadow(decision, shadowed);
    });
  }

  /**
   * Counts an outcome if its client got a verdict since the stage of the trial began. The counts say whether the
   * client has paid since then, or has only failed to pay.
   */
  #countOutcome({ client, before, after, lastVerdictAt }: CountedOutcome): void {
    const drawn = drawArm(this.#following.rollout, client.hash);
    if (drawn === null || (lastVerdictAt ?? 0) < drawn.draw.since) return;
    this.#countInTrials(drawn.draw, (tally, arm, since) =>
      tally.countStatus(client.platform, arm, findStatusSince(before, since), findStatusSince(after, since)),
    );
  }

  /** Counts a client in the trials in which it is compared. A client of the active version is counted in all trials. */
  #countInTrials(draw: TrialDraw | null, count: (tally: TrialTally, arm: Arm, since: number) => void): void {
    const { active, candidates } = this.#following.rollout;
    for (const [place, candidate] of candidates.entries()) {
      // A client who was drawn before this stage began is not counted in the stage.
      if (candidate.mode === 'canary' && draw?.since !== candidate.stageSince) continue;
      const isActive = draw === null || draw.version === active.version;
      if (!isActive && draw.version !== candidate.version) continue;
      const tally = this.#tallies[place];
      if (tally !== undefined)
        count(tally, isActive ? 'active' : 'candidate', getTrialStage(candidate).since);
    }
  }

  countCandidateError(version: RuleVersion, error: unknown): void {
    const place = this.#following.rollout.candidates.findIndex((one) => one.version === version);
    this.#tallies[place]?.countCandidateError(null);
    this.#parts.onTrouble('the candidate rule set threw; the active one decided', error);
  }

  findRuleSetByDigest(digest: string): RuleSet | null {
    return this.rules.findByDigest(digest);
  }

  report(): OwnNodeReport {
    const emergency = this.rollout.history.findLast((entry) => entry.emergency === true);
    const counts = this.#tallies.map((tally) => tally.counts);
    return { ...this.#view(), counts, emergencyAt: emergency?.at ?? null, hasLostRollout: this.#hasLost };
  }

  #view(): NodeView {
    return {
      nodeId: this.nodeId,
      host: hostname(),
      pid: process.pid,
      startedAt: this.#startedAt,
      seenAt: this.#parts.clock(),
      revision: this.#following.rollout.revision,
      active: this.#following.rollout.active,
      versions: this.rules.listAll().map(({ version, digest, released }) => ({ version, digest, released })),
      refused: this.rules.listRefused(),
      trouble: this.#trouble,
      hasStaleLists: this.#hasStaleLists(),
    };
  }

  /** Makes the reports of this node say from now on whether its copy of the shared lists is stale. */
  watchLists(isStale: () => boolean): void {
    this.#hasStaleLists = isStale;
  }

  /**
   * Loads new and changed folders. Loading may take long, and meanwhile the node still follows the rollout and
   * reports.
   */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  /**
   * Reads the shared rollout and follows a new revision. Then sends the counts, reports this node, and checks the
   * guards.
   */
  async syncWithFleet(): Promise<void> {
    try {
      await this.#look();
      this.#isUnread = false;
    } catch (error) {
      // If the rollout cannot be read, this node continues with the rollout that it has.
      if (!this.#isUnread) this.#parts.onTrouble('the rollout could not be read', error);
      this.#isUnread = true;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#looking;
    await this.rules.close();
    await this.#refreshing;
    await this.#sendTallies().catch((error: unknown) => {
      this.#parts.onTrouble('the newest counts of the trial could not be stored, and are lost', error);
    });
    await this.#parts.fleet.leave(this.nodeId).catch(() => {
      // The report expires by itself.
    });
  }

  async #look(): Promise<void> {
    const stored = await this.#parts.fleet.follow();
    this.#followStored(stored);
    await this.#sendTallies();
    await this.#parts.fleet.report(this.#view());
    await this.#runGuards();
  }

  async #sendTallies(): Promise<void> {
    await this.#unsure.settle();
    for (const tally of this.#tallies) await tally.send(this.#parts.store.tallies);
  }

  async #refresh(): Promise<void> {
    try {
      await this.rules.refresh();
    } catch (error) {
      if (!this.#stopped) this.#parts.onTrouble('RULES_DIR could not be read', error);
    }
  }

  #followStored(stored: StoredRollout | null): void {
    const { revision } = this.#following.rollout;
    const held = stored?.rollout ?? null;
    if (stored === null) this.#continueAfterLoss('the store has lost the rollout');
    else if (held === null) this.#continueInTrouble(UNREADABLE);
    else if (held.revision > revision) this.#adopt(held);
    else if (held.revision < revision)
      this.#continueAfterLoss(`the store holds revision ${held.revision} of the rollout`);
    else if (!this.#isFollowed(stored))
      this.#continueAfterLoss(`the store holds another revision ${held.revision} of the rollout`);
    else this.#clearTrouble();
  }

  /** Whether the stored rollout equals the followed one. A text that was found equal is not compared again. */
  #isFollowed(stored: StoredRollout): boolean {
    if (stored === this.#compared) return true;
    const isSame = JSON.stringify(stored.rollout) === JSON.stringify(this.#following.rollout);
    if (isSame) this.#compared = stored;
    return isSame;
  }

  /**
   * Continues with the followed rollout after the store lost it, for example because a replica without the last
   * writes took over. Only a person knows whether the followed or the stored rollout is right.
   */
  #continueAfterLoss(what: string): void {
    const { revision, active } = this.#following.rollout;
    this.#continueInTrouble(
      `${what}; this node goes on with revision ${revision}, in which ${active.version} is active, and "rules restore-rollout --reason TEXT" writes it back`,
    );
    this.#hasLost = true;
  }

  #adopt(rollout: Rollout): void {
    const following = resolveRollout(rollout, this.rules);
    if (typeof following === 'string') this.#continueInTrouble(following);
    else {
      this.#follow(following);
      this.#parts.onFollow?.(rollout);
    }
  }

  /** Continues with the followed rollout and reports the trouble. */
  #continueInTrouble(trouble: string): void {
    if (this.#trouble !== trouble) this.#parts.onTrouble(trouble);
    this.#trouble = trouble;
    this.#hasLost = false;
  }

  #clearTrouble(): void {
    this.#trouble = null;
    this.#hasLost = false;
  }

  #follow(following: LoadedRollout): void {
    this.#clearTrouble();
    const keys = following.rollout.candidates.map((one) => getTrialStage(one).trial);
    this.#tallies = keys.map(
      (key) => this.#tallies.find(({ trial }) => trial === key) ?? new TrialTally(key),
    );
    this.#following = following;
    const { dataDir, store } = this.#parts;
    const installation = store.installation.id;
    const trouble = rememberRollout(dataDir, { installation, rollout: following.rollout });
    if (trouble !== null) this.#parts.onTrouble(trouble);
  }

  /**
   * Checks the guard of every candidate. Every node does so, and the compare-and-set lets only one node take a canary
   * back.
   */
  async #runGuards(): Promise<void> {
    for (const candidate of this.#following.rollout.candidates) await this.#runGuard(candidate);
  }

  async #runGuard(candidate: Candidate): Promise<void> {
    // A lost rollout must be written back by a person before the guard acts.
    if (candidate.mode !== 'canary' || candidate.guardPoints === null || this.#hasLost) return;
    const { rollout } = this.#following;
    const counts = await readTrialCounts(this.#parts.store.tallies, getTrialStage(candidate).trial);
    const breach = explainCandidateGuardBreach(
      rollout,
      candidate,
      computeTrialStageFigures(counts, null).arms,
    );
    const stored = breach === null ? null : await this.#parts.fleet.read();
    const stage = getTrialStage(candidate).trial;
    const isOnTrial = stored?.rollout?.candidates.some((one) => getTrialStage(one).trial === stage) ?? false;
    if (breach === null || !isOnTrial || !stored?.rollout) return;
    const change = { who: 'guard', at: this.#parts.clock(), reason: breach };
    const without = createRolledBackRollout(stored.rollout, change, {
      action: 'guard',
      version: candidate.version,
    });
    if (without === null || !(await this.#parts.fleet.write(stored, without))) return;
    noteRolledBack(join(this.rules.rulesDir, candidate.version), change);
    this.#adopt(without);
  }
}

const UNREADABLE =
  'the rollout in the store cannot be read; this node goes on with the rollout that it has, and "rules rollback" writes it again';

/** Finds the rule sets that a rollout names. If this node cannot follow the rollout, returns why. */
function resolveRollout(rollout: Rollout, rules: LoadedRules): LoadedRollout | string {
  const active = rules.findByDigest(rollout.active.digest);
  if (active === null) return explainMissingRules(rollout.active.version, rollout.active.digest, rules);
  const candidates: RuleSet[] = [];
  for (const { version, digest } of rollout.candidates) {
    const candidate = rules.findByDigest(digest);
    if (candidate === null) return explainMissingRules(version, digest, rules);
    candidates.push(candidate);
  }
  return { rollout, active, candidates };
}

function explainMissingRules(version: string, digest: string, rules: LoadedRules): string {
  const here = rules.findByVersion(version);
  const wanted = `${version} sha256:${digest.slice(0, 12)}`;
  if (here !== null)
    return `the rollout wants ${wanted}, but this node has ${version} with digest ${here.digest.slice(0, 12)}; deploy the same files to every node`;
  const refused = rules.listRefused().find((folder) => folder.version === version);
  if (refused !== undefined)
    return `the rollout wants ${wanted}, which this node refuses:\n${refused.problems.join('\n')}`;
  return `the rollout wants ${wanted}, but there is no folder ${join(rules.rulesDir, version)} on this node; deploy it there, or set RULES_DIR to the folder that has it`;
}

function findStatusSince(
  { lastPaidAt, lastUnpaidAt }: NewestOutcomeTimes,
  since: number,
): ClientPaymentStatus {
  if (lastPaidAt !== null && lastPaidAt >= since) return 'paid';
  return lastUnpaidAt !== null && lastUnpaidAt >= since ? 'unpaid' : 'unknown';
}
