import { randomBytes } from 'node:crypto';
import { Type } from '#base/json-schema.ts';
import { NamedError } from '#base/named-error.ts';
import {
  count,
  describedChoice,
  epochMs,
  list,
  named,
  nullable,
  plainText,
  shape,
  type ValueOf,
} from '#base/shapes.ts';
import { type AccessKey, INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import type { Actor } from '#checkout/access/caller.ts';
import type { ClientKey, ClientKeys, PlatformName } from '#decision/payer/client-key.ts';
import { type RuleVersion, ruleVersionSchema } from '#decision/rules/rule-set.ts';
import type { Registers } from '#state/store.ts';
import type { Audit, AuditAction } from '#workbench/access/audit.ts';

/** A draft that a platform keeps, as it is at a revision. */
export interface DraftRevisionRef {
  readonly platform: PlatformName;
  readonly revision: number;
}

/** A change that may need another person's approval, with everything that is needed to carry it out. */
export type ProposedChange =
  | {
      readonly what: 'rollout';
      readonly version: RuleVersion;
      readonly goal:
        | { readonly mode: 'shadow' | 'active' }
        | {
            readonly mode: 'canary';
            readonly percent: number;
            readonly guardPoints: number | null;
            readonly objective?: string;
            readonly also?: readonly { readonly version: RuleVersion; readonly percent: number }[];
          };
      readonly reason: string;
      readonly revision: number | null;
      readonly acceptDifference: boolean;
      readonly emergency: boolean;
    }
  | {
      readonly what: 'release';
      readonly version: RuleVersion;
      readonly digest: string;
      readonly reason: string;
      /** The draft to release, at the proposed revision. If missing, the files in RULES_DIR are released. */
      readonly draft?: DraftRevisionRef;
    }
  | {
      readonly what: 'override';
      readonly clientIdKey: string;
      readonly group: 'BLOCKED' | 'TRUSTED';
      readonly reason: string;
      readonly expiresAt: number | null;
    }
  | { readonly what: 'key'; readonly record: AccessKey };

/** The effect of a change if it were made now. */
export interface ForeseenChange {
  readonly subject: string;
  /**
   * Identifies the state for which the effect was foreseen. If the state is another one at the approval, the change
   * would have another effect than the proposed one.
   */
  readonly basis: string;
  readonly lines: readonly string[];
  /** Versions whose differences are shown with the proposal. */
  readonly versions: { readonly before: RuleVersion; readonly after: RuleVersion } | null;
}

export const PROPOSAL_STATE_DESCRIPTIONS = {
  open: 'waits for approval',
  approved: 'was approved and carried out',
  failed: 'was approved and could not be carried out',
  rejected: 'was rejected',
  expired: 'expired without a decision',
  replaced: 'was replaced by a later proposal about the same draft',
} as const;

export type ProposalState = keyof typeof PROPOSAL_STATE_DESCRIPTIONS;

export const ProposalSchema = named(
  'Proposal',
  shape('A change that somebody else approves or rejects', {
    proposalId: plainText('Names it', '5f0c1d2e3a4b'),
    what: describedChoice(
      {
        rollout: 'a version for more than 20 % of the clients',
        release: 'a version is fixed for good',
        override: 'a client is trusted',
        key: 'a key with operate, approve, outcomes or keys',
      },
      'What would change',
    ),
    subject: plainText('The version, client or key', 'p2.v11'),
    lines: list(Type.String(), 'What it would do, and what is known about it'),
    versions: nullable(
      shape('Versions to compare', {
        before: Type.Unsafe<RuleVersion>(ruleVersionSchema),
        after: Type.Unsafe<RuleVersion>(ruleVersionSchema),
      }),
    ),
    draft: nullable(
      shape('The draft of a platform that would be released; until then RULES_DIR does not have it', {
        platform: plainText('Whose it is', 'shop'),
        revision: count('As it was proposed'),
      }),
    ),
    proposedBy: plainText('Who', 'key 3f9a0c51d2e7 of ann'),
    proposedAt: epochMs('When'),
    expiresAt: epochMs('Until when it can be approved'),
    state: describedChoice<ProposalState>(PROPOSAL_STATE_DESCRIPTIONS, 'How it stands'),
    decidedBy: nullable(plainText('Who approved or rejected it')),
    decidedAt: nullable(epochMs('When')),
    note: nullable(plainText('Why, or why it could not be carried out')),
  }),
);

export type Proposal = ValueOf<typeof ProposalSchema>;

export interface StoredProposal extends Omit<Proposal, 'draft'> {
  readonly change: ProposedChange;
  readonly basis: string;
  /**
   * The proposer's owner; another owner must approve. Null if the proposal is of a draft and anybody may approve
   * it.
   */
  readonly owner: string | null;
}

/** The request was refused, and nothing was changed. The message says why, and what to do. */
export class ProposalRefused extends NamedError {}

/** The platform has no such proposal. */
export class UnknownProposal extends NamedError {}

const LIFETIME_MS = 7 * 24 * 3600_000;
/** The most open proposals of a platform, and of one proposer, so that nobody uses up the room of the others. */
const OPEN_MAX = 50;
const OPEN_OF_PROPOSER_MAX = 20;
/**
 * The most open proposals of drafts, of one platform and of all platforms together. The installation's own proposals
 * have a separate limit.
 */
const OPEN_DRAFTS_MAX = 10;
const ALL_OPEN_DRAFTS_MAX = 100;
const DECIDED_KEPT_MAX = 50;
const DECIDED_DRAFTS_KEPT_MAX = 10;
/** How often a change is tried. Each further try means that somebody else changed one of the platform's proposals. */
const TRIES_MAX = 20;

/** The proposals of each platform, kept in one text that changes by compare-and-set. */
export class Proposals {
  readonly #registers: Registers;
  readonly #audit: Audit;
  readonly #clientKeys: ClientKeys;
  readonly #now: () => number;

  constructor(registers: Registers, audit: Audit, clientKeys: ClientKeys, now: () => number) {
    this.#registers = registers;
    this.#clientKeys = clientKeys;
    this.#audit = audit;
    this.#now = now;
  }

  /** Lists the proposals of a platform, newest first. */
  async list(platform: PlatformName): Promise<readonly StoredProposal[]> {
    return this.#read(await this.#registers.read(getRegisterName(platform)));
  }

  /** Lists the drafts with the name of this version whose release is proposed and not yet decided. */
  async listOpenDrafts(version: RuleVersion): Promise<readonly DraftRevisionRef[]> {
    return (await this.list(INSTALLATION_PLATFORM)).flatMap(({ state, subject, change }) => {
      const draft = findReleasedDraft(change);
      return state === 'open' && subject === version && draft !== undefined ? [draft] : [];
    });
  }

  /** Finds a proposal. Throws `UnknownProposal`. */
  async get(platform: PlatformName, proposalId: string): Promise<StoredProposal> {
    const found = (await this.list(platform)).find((one) => one.proposalId === proposalId);
    if (found !== undefined) return found;
    const named = JSON.stringify(proposalId.slice(0, 100));
    throw new UnknownProposal(`There is no proposal ${named} here; the list of proposals has the ids.`);
  }

  /**
   * Adds a proposal. If the same proposal is open already, returns that one. A new proposal for a draft replaces the
   * open one before it. Throws `ProposalRefused` if there is no room.
   */
  async add(
    platform: PlatformName,
    change: ProposedChange,
    { subject, basis, lines, versions }: ForeseenChange,
    { text, owner }: Pick<Actor, 'text' | 'owner'>,
  ): Promise<StoredProposal> {
    const proposedAt = this.#now();
    const proposal: StoredProposal = {
      proposalId: randomBytes(6).toString('hex'),
      what: change.what,
      subject,
      lines,
      versions,
      proposedBy: text,
      proposedAt,
      expiresAt: proposedAt + LIFETIME_MS,
      state: 'open',
      decidedBy: null,
      decidedAt: null,
      note: null,
      change,
      basis,
      owner,
    };
    const all = await this.#write(platform, (before) => {
      if (before.some((one) => isSame(one, proposal))) return before;
      const others = before.map((one) => (isReplaced(one, proposal) ? markReplaced(one, proposal) : one));
      requirePlace(others, proposal);
      return [proposal, ...selectKept(others)];
    });
    if (!all.some(({ proposalId }) => proposalId === proposal.proposalId))
      return all.find((one) => isSame(one, proposal)) ?? proposal;
    await this.#note(platform, 'proposal', text, proposal, change.what === 'key' ? null : change.reason);
    return proposal;
  }

  /**
   * Approves or rejects an open proposal. The caller must have checked who may do that. Throws `UnknownProposal`.
   * Throws `ProposalRefused` if the proposal is not open.
   */
  async decide(
    platform: PlatformName,
    proposalId: string,
    state: 'approved' | 'rejected',
    { text }: Pick<Actor, 'text'>,
    note: string,
  ): Promise<StoredProposal> {
    const decided = await this.#change(platform, proposalId, (proposal) => {
      if (proposal.state !== 'open') {
        const by = proposal.decidedBy === null ? '' : ` by ${proposal.decidedBy}`;
        throw new ProposalRefused(`the proposal ${proposalId} is ${proposal.state}${by} already`);
      }
      return { ...proposal, state, decidedBy: text, decidedAt: this.#now(), note };
    });
    await this.#note(
      platform,
      state === 'approved' ? 'proposal approved' : 'proposal rejected',
      text,
      decided,
      note,
    );
    return decided;
  }

  /** Notes that an approved proposal could not be carried out. The change is not tried again. */
  async markFailed(platform: PlatformName, proposalId: string, why: string): Promise<void> {
    await this.#change(platform, proposalId, (proposal) => ({ ...proposal, state: 'failed', note: why }));
  }

  async listAbout(client: Pick<ClientKey, 'platform' | 'hash'>): Promise<readonly StoredProposal[]> {
    return (await this.list(client.platform)).filter(this.#isAbout(client));
  }

  #isAbout({ platform, hash }: Pick<ClientKey, 'platform' | 'hash'>) {
    return ({ change }: StoredProposal) =>
      change.what === 'override' && this.#clientKeys.of(platform, change.clientIdKey).hash === hash;
  }

  async forgetClient(client: Pick<ClientKey, 'platform' | 'hash'>): Promise<void> {
    const { platform } = client;
    const isAbout = this.#isAbout(client);
    if (!(await this.list(platform)).some(isAbout)) return;
    await this.#write(platform, (all) => all.filter((one) => !isAbout(one)));
  }

  async #change(
    platform: PlatformName,
    proposalId: string,
    change: (proposal: StoredProposal) => StoredProposal,
  ): Promise<StoredProposal> {
    await this.get(platform, proposalId);
    const all = await this.#write(platform, (proposals) =>
      proposals.map((one) => (one.proposalId === proposalId ? change(one) : one)),
    );
    return all.find((one) => one.proposalId === proposalId) ?? this.get(platform, proposalId);
  }

  async #write(
    platform: PlatformName,
    change: (proposals: readonly StoredProposal[]) => readonly StoredProposal[],
  ): Promise<readonly StoredProposal[]> {
    const name = getRegisterName(platform);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const raw = await this.#registers.read(name);
      const next = change(this.#read(raw));
      if (await this.#registers.compareAndSet(name, raw, JSON.stringify(next))) return next;
    }
    throw new ProposalRefused('the proposals were changed by others at the same time; try again');
  }

  #read(raw: string | null): readonly StoredProposal[] {
    const stored: readonly StoredProposal[] = raw === null ? [] : JSON.parse(raw);
    const now = this.#now();
    return stored.map((one) =>
      one.state === 'open' && one.expiresAt <= now ? { ...one, state: 'expired' } : one,
    );
  }

  #note(
    platform: PlatformName,
    action: AuditAction,
    who: string,
    proposal: StoredProposal,
    reason: string | null,
  ) {
    const { proposalId, what, subject, lines, proposedBy, change } = proposal;
    const client = change.what === 'override' ? this.#clientKeys.of(platform, change.clientIdKey) : null;
    const after = { what, subject, lines, proposedBy };
    return this.#audit.note({ who, action, platform, subject: proposalId, after, reason }, client);
  }
}

/** Returns the draft that a change releases. Returns undefined if the change does not release a draft. */
export function findReleasedDraft(change: ProposedChange): DraftRevisionRef | undefined {
  return change.what === 'release' ? change.draft : undefined;
}

/** Tells whether an open proposal makes the same change, whoever proposed it and for whatever reason. */
function isSame(one: StoredProposal, proposal: StoredProposal): boolean {
  const textOf = ({ change, basis }: StoredProposal) => JSON.stringify([{ ...change, reason: '' }, basis]);
  return one.state === 'open' && textOf(one) === textOf(proposal);
}

function isReplaced(one: StoredProposal, proposal: StoredProposal): boolean {
  const [before, after] = [findReleasedDraft(one.change), findReleasedDraft(proposal.change)];
  const isAboutOne = before?.platform === after?.platform && one.subject === proposal.subject;
  return one.state === 'open' && before !== undefined && after !== undefined && isAboutOne;
}

function markReplaced(
  one: StoredProposal,
  { proposalId, proposedBy, proposedAt }: StoredProposal,
): StoredProposal {
  const note = `replaced by the proposal ${proposalId}`;
  return { ...one, state: 'replaced', decidedBy: proposedBy, decidedAt: proposedAt, note };
}

function requirePlace(all: readonly StoredProposal[], proposal: StoredProposal): void {
  const open = all.filter(({ state }) => state === 'open');
  const draft = findReleasedDraft(proposal.change);
  if (draft !== undefined) {
    const drafts = open.filter(({ change }) => findReleasedDraft(change) !== undefined);
    const own = drafts.filter(({ change }) => findReleasedDraft(change)?.platform === draft.platform);
    const isFull = own.length >= OPEN_DRAFTS_MAX;
    if (!isFull && drafts.length < ALL_OPEN_DRAFTS_MAX) return;
    throw new ProposalRefused(
      `${isFull ? `${draft.platform} has ${own.length}` : `all platforms have ${drafts.length}`} open proposals to release drafts, the most that are allowed; an operator of the installation must approve or reject some of them first`,
    );
  }
  const places = open.filter(({ change }) => findReleasedDraft(change) === undefined);
  const own = places.filter((one) => getProposer(one) === getProposer(proposal));
  if (places.length < OPEN_MAX && own.length < OPEN_OF_PROPOSER_MAX) return;
  throw new ProposalRefused(
    `${own.length} of the ${places.length} open proposals are of ${proposal.owner ?? proposal.proposedBy}; let some of them be approved or rejected first`,
  );
}

/** Names the proposer. A key without an owner counts as a proposer of its own. */
function getProposer({ owner, proposedBy }: StoredProposal): string {
  return normalizeName(owner ?? proposedBy);
}

/** Keeps all open proposals, and the newest decided ones. No platform displaces the proposals of others. */
function selectKept(all: readonly StoredProposal[]): readonly StoredProposal[] {
  const open = all.filter(({ state }) => state === 'open');
  const decided = all.filter(({ state }) => state !== 'open');
  const drafts = Map.groupBy(
    decided.filter(({ change }) => findReleasedDraft(change) !== undefined),
    ({ change }) => findReleasedDraft(change)?.platform,
  );
  const kept = new Set([
    ...decided.filter(({ change }) => findReleasedDraft(change) === undefined).slice(0, DECIDED_KEPT_MAX),
    ...[...drafts.values()]
      .flatMap((own) => own.slice(0, DECIDED_DRAFTS_KEPT_MAX))
      .slice(0, ALL_OPEN_DRAFTS_MAX),
  ]);
  return [...open, ...decided.filter((one) => kept.has(one))];
}

export function toProposalView({ change, basis: _, owner: __, ...shown }: StoredProposal): Proposal {
  return { ...shown, draft: findReleasedDraft(change) ?? null };
}

const NO_OWNER =
  'has no owner, so it cannot be known whether somebody else approves; use a key that was issued with --owner';

/** Throws `ProposalRefused` if it is not known who owns the key of an actor. */
export function requireKnownOwner({ text, owner }: Pick<Actor, 'text' | 'owner'>): void {
  if (owner === null) throw new ProposalRefused(`${text} ${NO_OWNER}`);
}

/** Throws `ProposalRefused` unless approver and proposer have different owners. */
export function requireOtherOwner(
  proposal: StoredProposal,
  { text, owner }: Pick<Actor, 'text' | 'owner'>,
): void {
  requireKnownOwner({ text, owner });
  requireKnownOwner({ text: proposal.proposedBy, owner: proposal.owner });
  if (!isProposedBy(proposal, { owner })) return;
  throw new ProposalRefused(`${owner} proposed it; somebody else approves it`);
}

/**
 * Tells whether an owner made the proposal. Spellings of a name that differ only in case or spaces are taken as one
 * person.
 */
export function isProposedBy(
  proposal: Pick<StoredProposal, 'owner'>,
  { owner }: Pick<Actor, 'owner'>,
): boolean {
  return owner !== null && proposal.owner !== null && normalizeName(proposal.owner) === normalizeName(owner);
}

function normalizeName(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

function getRegisterName(platform: PlatformName): string {
  return `proposals:${platform}`;
}
