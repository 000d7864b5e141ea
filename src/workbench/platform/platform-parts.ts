import { PerOwnerCounter } from '#base/work/fair-queue.ts';
import { LocalRateBuckets } from '#state/rate-buckets.ts';
import { Approvals } from '#workbench/approvals/approvals.ts';
import { Proposals } from '#workbench/approvals/proposals.ts';
import { RuleDesk } from '#workbench/authoring/desk/rule-desk.ts';
import { Drafts } from '#workbench/authoring/drafts.ts';
import { BrowserSessions } from './browser-sessions.ts';
import type {
  EvidenceParts,
  PlatformApiParts,
  PlatformOperationParts,
  RolloutParts,
  RuleParts,
} from './parts.ts';

/** What the operations of the platform API work with, by the groups of `PLATFORM_OPERATIONS`. */
interface PartsOfGroups {
  readonly always: PlatformOperationParts;
  /** Null if the rule set is fixed. */
  readonly withRollout: RolloutParts | null;
  /** Null if there is no RULES_DIR. */
  readonly withRuleFolders: RuleParts | null;
  /** Null if the node computes no evidence. */
  readonly withEvidence: EvidenceParts | null;
}

type GivenParts = Omit<PlatformApiParts, 'callerDocument'>;

export function createOperationDependencies(parts: GivenParts): PartsOfGroups {
  const { rollout, rulesDir, evidence, consoleUrl = null, provider = null } = parts;
  const desk = rulesDir === undefined || rollout === null ? null : new RuleDesk(rulesDir, parts.deskLimits);
  const always: PlatformOperationParts = {
    ...parts,
    approvals: createApprovals(parts, desk),
    browsers: new BrowserSessions(parts.sessions, consoleUrl),
    waiting: new PerOwnerCounter(),
    refusedSignIns: new LocalRateBuckets(() => performance.now()),
    providerHost: provider?.issuer.host ?? null,
  };
  const withRollout = rollout === null ? null : { ...always, ...rollout };
  const withRuleFolders =
    withRollout === null || desk === null
      ? null
      : { ...withRollout, desk, drafts: new Drafts(parts.store, parts.clock) };
  const withEvidence =
    withRuleFolders === null || evidence === undefined ? null : { ...withRuleFolders, evidence };
  return { always, withRollout, withRuleFolders, withEvidence };
}

function createApprovals(parts: GivenParts, desk: RuleDesk | null): Approvals {
  const { store, records, audit, clientKeys, clock, rollout, requiresApproval = false } = parts;
  return new Approvals({
    ...parts,
    isRequired: requiresApproval,
    proposals: new Proposals(store.registers, audit, clientKeys, clock),
    fleet: rollout?.fleet ?? null,
    loadedRules: rollout?.loadedRules ?? null,
    desk,
    decidedLately: async (platform, from, limit) =>
      (await records.decisions.find(platform, { from }, limit)).decisions,
  });
}
