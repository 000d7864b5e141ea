import { JobTimeOrMemoryExceeded } from '#base/work/background-work.ts';
import {
  type AccessKeys,
  type GrantableOperation,
  INSTALLATION_PLATFORM,
  isInstallation,
  KeyRefused,
} from '#checkout/access/access-keys.ts';
import type { Actor } from '#checkout/access/caller.ts';
import type { Fleet } from '#checkout/rollout/fleet.ts';
import type { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import type { Rollout, VersionRef, VersionShare } from '#checkout/rollout/rollout.ts';
import type { BeforeAndAfter, ScoringService } from '#checkout/scoring/scoring.ts';
import type { ClientKeys, PlatformName } from '#decision/payer/client-key.ts';
import { type Override, OverrideSchema } from '#decision/payer/client-state.ts';
import { hasDraftName, type RuleVersion } from '#decision/rules/rule-set.ts';
import type { Store } from '#state/store.ts';
import { type Audit, toAuditedValue } from '#workbench/access/audit.ts';
import { createKeyAuditNote } from '#workbench/access/key-views.ts';
import type { ReleaseCheck } from '#workbench/authoring/desk/desk-thread.ts';
import {
  findProblemOrCaseObstacle,
  formatLostCases,
  type LostCases,
  listBrokenPromiseMessages,
} from '#workbench/authoring/desk/examine.ts';
import { formatObstacle, type RuleDesk } from '#workbench/authoring/desk/rule-desk.ts';
import { DraftRefused } from '#workbench/authoring/draft.ts';
import { Drafts, type OpenedDraft } from '#workbench/authoring/drafts.ts';
import {
  type FollowReport,
  foreseeChange,
  isFarReaching,
  RolloutRefused,
  rollOut,
} from '#workbench/rollout/change-rollout.ts';
import type { ReadRecentDecisions } from '#workbench/rollout/difference.ts';
import { waitUntilLoaded } from '#workbench/rollout/wait-for-nodes.ts';
import {
  type DraftRevisionRef,
  type ForeseenChange,
  findReleasedDraft,
  ProposalRefused,
  type Proposals,
  type ProposedChange,
  requireKnownOwner,
  requireOtherOwner,
  type StoredProposal,
} from './proposals.ts';
import { ProposedDrafts } from './proposed-drafts.ts';

/** The parts that carry out approved changes. The parts about rules are null if there are no rule sets to change. */
interface ApprovalParts {
  readonly isRequired: boolean;
  readonly proposals: Proposals;
  readonly store: Pick<Store, 'load' | 'documents' | 'registers' | 'tallies'>;
  readonly decidedLately: ReadRecentDecisions;
  readonly service: Pick<ScoringService, 'setOverride'>;
  readonly keys: AccessKeys;
  readonly audit: Audit;
  readonly fleet: Fleet | null;
  readonly loadedRules: LoadedRules | null;
  readonly desk: RuleDesk | null;
  readonly clientKeys: ClientKeys;
  readonly clock: () => number;
}

type ChangeOf<What extends ProposedChange['what']> = Extract<ProposedChange, { readonly what: What }>;

/** The maker of a change, and the platform whose clients and keys the change may concern. */
interface Maker {
  readonly platform: PlatformName;
  readonly who: string;
}

/**
 * Carries out changes, and decides which changes need the approval of another person if approvals are required. An
 * approval is needed to release a version, to let a version decide for more than a small share of the clients, to
 * trust a payer, or to issue a key that can do such things.
 */
export class Approvals {
  readonly #parts: ApprovalParts;
  readonly #drafts: ProposedDrafts;

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
    this.#drafts = new ProposedDrafts(new Drafts(parts.store, parts.clock), () => this.#rules().desk);
  }

  get isRequired(): boolean {
    return this.#parts.isRequired;
  }

  /**
   * Lists proposals, newest first. The list of a platform also has the proposals to release its drafts, which the
   * installation approves or rejects.
   */
  async list(platform: PlatformName): Promise<readonly StoredProposal[]> {
    const own = await this.#parts.proposals.list(platform);
    if (isInstallation(platform)) return own;
    const ofDrafts = (await this.#parts.proposals.list(INSTALLATION_PLATFORM)).filter(
      ({ change }) => findReleasedDraft(change)?.platform === platform,
    );
    return [...ofDrafts, ...own].toSorted((one, other) => other.proposedAt - one.proposedAt);
  }

  /** Proposes to the installation that it releases one revision of a platform's draft. Throws `ProposalRefused`. */
  async proposeDraft(
    {
      version,
      platform,
      revision,
      reason,
    }: DraftRevisionRef & Pick<ChangeOf<'release'>, 'version' | 'reason'>,
    actor: Pick<Actor, 'text' | 'owner'>,
  ): Promise<StoredProposal> {
    if (this.isRequired) requireKnownOwner(actor);
    const draft = { platform, revision };
    return refuseKnownErrors(async () => {
      const { digest, ...prospect } = await this.#prospectOfDraft(version, draft, reason);
      const change = { what: 'release', version, digest, reason, draft } as const;
      return this.#parts.proposals.add(INSTALLATION_PLATFORM, change, prospect, actor);
    });
  }

  /** Creates a proposal for a change. Returns null if the change needs no approval. Throws `ProposalRefused`. */
  async propose(
    platform: PlatformName,
    change: ProposedChange,
    actor: Pick<Actor, 'text' | 'owner'>,
  ): Promise<StoredProposal | null> {
    if (!this.isRequired) return null;
    const prospect = await refuseKnownErrors(() => this.#prospect(platform, change));
    if (prospect === null) return null;
    requireKnownOwner(actor);
    return this.#parts.proposals.add(platform, change, prospect, actor);
  }

  /**
   * Approves a proposal and carries it out, at most once. Refuses if the basis of the proposal (a revision or a
   * digest, for example) has changed since it was proposed. Throws `ProposalRefused` or `UnknownProposal`.
   */
  async approve(
    platform: PlatformName,
    proposalId: string,
    actor: Pick<Actor, 'text' | 'owner'>,
    note: string,
  ): Promise<StoredProposal> {
    const { proposals } = this.#parts;
    const proposal = await proposals.get(platform, proposalId);
    if (this.isRequired || findReleasedDraft(proposal.change) === undefined)
      requireOtherOwner(proposal, actor);
    if (proposal.state === 'open') {
      const basis = await refuseKnownErrors(() => this.#basisNow(platform, proposal.change));
      if (basis !== proposal.basis) {
        throw new ProposalRefused(
          `it was proposed on ${proposal.basis}, but now there is ${basis ?? 'nothing to approve'}; reject it, and let it be proposed again`,
        );
      }
    }
    const approved = await proposals.decide(platform, proposalId, 'approved', actor, note);
    const who = `${approved.proposedBy}, approved by ${actor.text}`;
    try {
      await refuseKnownErrors(() => this.#carryOut({ platform, who }, approved.change));
    } catch (error) {
      await proposals.markFailed(
        platform,
        proposalId,
        error instanceof Error ? error.message : String(error),
      );
      throw error;
    }
    return approved;
  }

  reject(
    platform: PlatformName,
    proposalId: string,
    actor: Pick<Actor, 'text' | 'owner'>,
    note: string,
  ): Promise<StoredProposal> {
    return this.#parts.proposals.decide(platform, proposalId, 'rejected', actor, note);
  }

  /** Carries out a rollout change. Throws `RolloutRefused`. */
  rollOut({ who }: Maker, change: ChangeOf<'rollout'>): Promise<FollowReport> {
    const { version, goal, ...how } = change;
    return rollOut(this.#changeParts(), version, goal, { ...how, who, at: this.#parts.clock() });
  }

  /**
   * Releases a version. Returns the cases that the previous release has and this version lacks. Returns null if it
   * lacks none. Throws `ProposalRefused` or `DraftRefused`.
   */
  async release(
    { platform, who }: Maker,
    { version, digest, reason, draft }: ChangeOf<'release'>,
  ): Promise<LostCases | null> {
    const { desk, loadedRules } = this.#rules();
    if (draft !== undefined) await this.#drafts.putIntoRulesDir(platform, version, draft);
    const { lost } = requireUnobstructed(version, await desk.release(platform, version, digest));
    await this.#parts.audit.note({ who, action: 'release', subject: version, after: { digest }, reason });
    await waitUntilLoaded(() => loadedRules.findByVersion(version)?.released === true);
    if (draft !== undefined) await this.#drafts.discard(version, draft);
    return lost;
  }

  /**
   * Opens a draft that a platform has proposed, with the files that would be released. These files include sections
   * and cases of other platforms. If `platform` is null, the draft may be of any platform. Returns null if there is
   * no open proposal for such a draft. Throws `ProposalRefused`, also when several platforms propose drafts of this
   * name.
   */
  async openProposedDraft(platform: PlatformName | null, version: RuleVersion): Promise<OpenedDraft | null> {
    const drafts = await this.#parts.proposals.listOpenDrafts(version);
    const [place, other] = drafts.filter((draft) => [null, draft.platform].includes(platform));
    if (place === undefined) return null;
    if (other !== undefined)
      throw new ProposalRefused(
        `${place.platform} and ${other.platform} propose drafts named ${version}; reject one of the proposals first`,
      );
    return refuseKnownErrors(async () => {
      const { draft } = await this.#drafts.open(version, place);
      const { files } = await this.#drafts.complete(INSTALLATION_PLATFORM, version, place);
      return { draft, files: Object.fromEntries(files) };
    });
  }

  async setOverride(
    { platform, who }: Maker,
    { clientIdKey, group, reason, expiresAt }: ChangeOf<'override'>,
  ): Promise<BeforeAndAfter<Override>> {
    const { service, audit } = this.#parts;
    // The limit on the number of changes does not apply to blocking a payer.
    if (group !== 'BLOCKED') audit.admit(who, 'override');
    const override = { group, reason, by: who, expiresAt };
    const made = await service.setOverride(platform, clientIdKey, override, who);
    const noted = {
      before: toAuditedValue(OverrideSchema, made.before),
      after: toAuditedValue(OverrideSchema, made.after),
    };
    const entry = { who, action: 'override', platform, subject: clientIdKey, ...noted, reason } as const;
    await audit.note(entry, this.#parts.clientKeys.of(platform, clientIdKey));
    return made;
  }

  async keepKey({ who }: Maker, { record }: ChangeOf<'key'>): Promise<void> {
    await this.#parts.keys.storeKey(record);
    await this.#parts.audit.note({
      ...createKeyAuditNote('key issued', null, record, this.#parts.clock()),
      who,
    });
  }

  async #carryOut(maker: Maker, change: ProposedChange): Promise<void> {
    switch (change.what) {
      case 'rollout':
        await this.rollOut(maker, change);
        return;
      case 'release':
        await this.release(maker, change);
        return;
      case 'override':
        await this.setOverride(maker, change);
        return;
      case 'key':
        return this.keepKey(maker, change);
      default:
        return change satisfies never;
    }
  }

  /**
   * Returns the basis that a proposal of this change would have if it were made now. Returns null if there is nothing
   * to approve.
   */
  async #basisNow(platform: PlatformName, change: ProposedChange): Promise<string | null> {
    const draft = findReleasedDraft(change);
    if (change.what !== 'release' || draft === undefined)
      return (await this.#prospect(platform, change))?.basis ?? null;
    const { digest } = await this.#drafts.complete(platform, change.version, draft);
    return formatReleaseBasis(change.version, digest);
  }

  /** Foresees the effect of a change. Returns null if the change needs no approval. */
  async #prospect(platform: PlatformName, change: ProposedChange): Promise<ForeseenChange | null> {
    switch (change.what) {
      case 'rollout':
        return this.#prospectOfRollout(change);
      case 'release':
        return this.#prospectOfRelease(platform, change);
      case 'override':
        return change.group === 'TRUSTED' ? this.#prospectOfOverride(platform, change) : null;
      case 'key':
        return foreseeKey(change);
      default:
        return change satisfies never;
    }
  }

  async #prospectOfRollout(change: ChangeOf<'rollout'>): Promise<ForeseenChange | null> {
    const { version, goal, reason } = change;
    if (!isFarReaching(goal) || change.emergency) return null;
    const asked = { ...change, who: '', at: this.#parts.clock() };
    const { rollout, to, also, differences } = await foreseeChange(this.#changeParts(), version, goal, asked);
    const shares = goal.mode === 'canary' ? [{ ...to, percent: goal.percent }, ...also] : [];
    if (goal.mode === 'canary' && shares.every((share) => hasAsMuch(rollout, share))) return null;
    const far =
      goal.mode === 'canary'
        ? shares.map((one) => `${one.version} decides for ${one.percent} % of the clients`).join(', ')
        : `${version} decides for all clients`;
    const files = [to, ...also].map((one) => `${one.version} sha256:${one.digest}`).join(', ');
    return {
      subject: version,
      basis: `revision ${rollout.revision} of the rollout with ${files}`,
      lines: [
        `${far} of all platforms, instead of ${rollout.active.version}`,
        ...differences.flatMap(({ comparison, largeDifferences }) => [
          `compared on ${comparison}`,
          ...largeDifferences,
        ]),
        `reason: ${reason}`,
      ],
      versions: { before: rollout.active.version, after: version },
    };
  }

  async #prospectOfRelease(platform: PlatformName, asked: ChangeOf<'release'>): Promise<ForeseenChange> {
    const { version, digest, reason } = asked;
    const { desk, fleet } = this.#rules();
    const { lost, breaches } = requireUnobstructed(
      version,
      await desk.checkReleasable(platform, version, digest),
    );
    const active = (await fleet.read())?.rollout?.active.version;
    return {
      subject: version,
      basis: formatReleaseBasis(version, digest),
      lines: [
        `${version} is released: its files never change again, and it may be rolled out`,
        'it has no findings, and all its cases pass',
        ...breaches,
        ...(lost === null ? [] : [formatLostCases(lost)]),
        `reason: ${reason}`,
      ],
      versions: active === undefined ? null : { before: active, after: version },
    };
  }

  /**
   * Foresees the release of a draft. The work runs in the name of the draft's platform, which reads the answer. So
   * the answer holds only what this platform may read, and the work waits in the queue of this platform.
   */
  async #prospectOfDraft(
    version: RuleVersion,
    draft: DraftRevisionRef,
    reason: string,
  ): Promise<ForeseenChange & { readonly digest: string }> {
    const { desk, fleet } = this.#rules();
    const { platform } = draft;
    if (hasDraftName(version)) throw new ProposalRefused(formatObstacle(version, { is: 'draft name' }));
    const begun = await this.#drafts.openAsBegun(version, draft);
    const checked = await desk.check(platform, begun, null);
    const { digest: soundDigest, problems, notes, coverage, lostCases } = checked;
    const obstacle = findProblemOrCaseObstacle(problems, () => coverage ?? { passed: 0, failed: 0 });
    if (soundDigest === null || obstacle !== null)
      throw new ProposalRefused(formatObstacle(version, obstacle ?? { is: 'findings', problems }));
    const { digest } = await this.#drafts.complete(platform, version, draft);
    const active = (await fleet.read())?.rollout?.active.version;
    const diff = active === undefined ? null : await desk.compare(platform, active, begun);
    return {
      digest,
      subject: version,
      basis: formatReleaseBasis(version, digest),
      lines: [
        `the draft ${version} of ${platform} is released: its files never change again, and it may be rolled out`,
        ...listBrokenPromiseMessages(notes),
        ...(lostCases === null ? [] : [formatLostCases(lostCases)]),
        ...(diff?.differences ?? []).slice(0, DIFFERENCES_MAX).map((one) => `against ${active}: ${one.text}`),
        `reason: ${reason}`,
      ],
      versions: active === undefined ? null : { before: active, after: version },
    };
  }

  async #prospectOfOverride(platform: PlatformName, asked: ChangeOf<'override'>): Promise<ForeseenChange> {
    const { clientIdKey, reason, expiresAt } = asked;
    const { state } = await this.#parts.store.load(this.#parts.clientKeys.of(platform, clientIdKey));
    const { override } = state;
    const now =
      override === null ? 'no override' : `${override.group} of ${new Date(override.at).toISOString()}`;
    const end = expiresAt === null ? 'that is lifted' : new Date(expiresAt).toISOString();
    return {
      subject: clientIdKey,
      basis: `${now} on the client`,
      lines: [
        `${clientIdKey} is TRUSTED until ${end}; now: ${now}`,
        `reason: ${reason}`,
        `${state.outcomes.paidCount} orders paid, ${state.outcomes.unpaidCount} unpaid`,
      ],
      versions: null,
    };
  }

  #changeParts() {
    const { store, decidedLately } = this.#parts;
    const { fleet, loadedRules: rules } = this.#rules();
    return { fleet, rules, store, decidedLately };
  }

  #rules() {
    const { fleet, loadedRules, desk } = this.#parts;
    if (fleet !== null && loadedRules !== null && desk !== null) return { fleet, loadedRules, desk };
    throw new ProposalRefused('this process has no rule sets; set RULES_DIR to their folder');
  }
}

function formatReleaseBasis(version: RuleVersion, digest: string): string {
  return `${version} sha256:${digest}`;
}

/** The most differences that a proposal shows. Nobody reads more. */
const DIFFERENCES_MAX = 30;

/** Tells whether the version already decides for at least this share of the clients. */
function hasAsMuch({ candidates }: Rollout, { digest, percent }: VersionRef & VersionShare): boolean {
  return candidates.some((one) => one.mode === 'canary' && one.digest === digest && one.percent >= percent);
}

/**
 * A new key with one of these operations needs approval. `outcomes` is one of them, because reports of payments make
 * payers TRUSTED. `keys` is one of them, because a key that issues keys can grant the other operations.
 */
const GATED: readonly GrantableOperation[] = ['operate', 'approve', 'outcomes', 'keys'];

/** Foresees a new key. Returns null unless the key gets an operation that needs approval. */
function foreseeKey({ record }: ChangeOf<'key'>): ForeseenChange | null {
  const { id, platform, owner, operations, expiresAt } = record;
  const may = operations.filter((one) => GATED.includes(one));
  if (may.length === 0) return null;
  if (owner === undefined) {
    throw new ProposalRefused(
      `a key with ${may.join(', ')} needs an owner; pass --owner, or use a key that has one`,
    );
  }
  const end = expiresAt === null ? 'for ever' : `until ${expiresAt}`;
  return {
    subject: id,
    basis: `the key ${id}`,
    lines: [`the key ${id} of ${owner} may ${operations.join(', ')} on ${platform} ${end}`],
    versions: null,
  };
}

function requireUnobstructed(version: RuleVersion, asked: ReleaseCheck): ReleaseCheck {
  if (asked.obstacle !== null) throw new ProposalRefused(formatObstacle(version, asked.obstacle));
  return asked;
}

async function refuseKnownErrors<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const isRefusal = [RolloutRefused, DraftRefused, KeyRefused, JobTimeOrMemoryExceeded].some(
      (kind) => error instanceof kind,
    );
    throw isRefusal && error instanceof Error ? new ProposalRefused(error.message) : error;
  }
}
