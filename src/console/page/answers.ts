import type { ProposalSchema } from '../../access/proposals.ts';
import type { Experiment as ExperimentData } from '../../evidence/experiment/experiment-report.ts';
import type { Presentation } from '../../evidence/presentation.ts';
import type { Report } from '../../evidence/report/rule-report.ts';
import type { AuditCheckSchema, AuditPageSchema } from '../../http/platform/audit.ts';
import type { EvidenceJobListSchema, EvidenceJobSchema } from '../../http/platform/evidence/evidence.ts';
import type { ExplorationSchema } from '../../http/platform/explore.ts';
import type { IssuedKeySchema, KeyListSchema } from '../../http/platform/keys.ts';
import type { ListEntriesSchema, SharedListsSchema } from '../../http/platform/list-entries.ts';
import type { PeopleSchema } from '../../http/platform/people.ts';
import type { ProposalListSchema } from '../../http/platform/proposals.ts';
import type {
  CheckedDraftSchema,
  RewrittenCasesSchema,
  SavedDraftSchema,
} from '../../http/platform/rules/drafts/check-draft.ts';
import type { DraftListSchema, DraftSchema } from '../../http/platform/rules/drafts/drafts.ts';
import type { OpenedRuleFolderSchema, RuleFolderListSchema } from '../../http/platform/rules/rule-folders.ts';
import type { SessionSchema, SignInSchema } from '../../http/platform/session.ts';
import type { SettingsSchema } from '../../http/platform/settings.ts';
import type * as sdk from '../../sdk/records.ts';
import type { Shape } from '../../shapes.ts';

/** The shapes of the API's answers: as its document describes them, and as the client library knows them. */

export type Session = Shape<typeof SessionSchema>;
export type SignIn = Shape<typeof SignInSchema>;
export type Proposal = Shape<typeof ProposalSchema>;
export type ProposalList = Shape<typeof ProposalListSchema>;
export type AuditCheck = Shape<typeof AuditCheckSchema>;
export type AuditPage = Shape<typeof AuditPageSchema>;
export type AccessKeyList = Shape<typeof KeyListSchema>;
export type People = Shape<typeof PeopleSchema>;
export type Settings = Shape<typeof SettingsSchema>;
export type IssuedKey = Shape<typeof IssuedKeySchema>;
export type RuleFolderList = Shape<typeof RuleFolderListSchema>;
export type OpenedRuleFolder = Shape<typeof OpenedRuleFolderSchema>;
export type CheckedDraft = Shape<typeof CheckedDraftSchema>;
export type RewrittenCases = Shape<typeof RewrittenCasesSchema>;
export type DraftList = Shape<typeof DraftListSchema>;
export type Draft = Shape<typeof DraftSchema>;
export type SavedDraft = Shape<typeof SavedDraftSchema>;
export type SharedLists = Shape<typeof SharedListsSchema>;
export type ListEntries = Shape<typeof ListEntriesSchema>;
export type EvidenceJob = Shape<typeof EvidenceJobSchema>;
export type Explored = Shape<typeof ExplorationSchema>;
export type EvidenceJobList = Shape<typeof EvidenceJobListSchema>;

/** A job with its result, in the shape of its kind. */
export interface Worked<Result> {
  readonly job: EvidenceJob;
  readonly result: Result | null;
}

export type RulesReport = Report & Presentation;
export type Experiment = ExperimentData & Presentation;

export type { RuleDiff } from '../../authoring/diff/rule-diff.ts';
export type { WhatIfThen as DecisionWhatIf } from '../../authoring/explain/what-if.ts';
export type { EvidenceTable, OrderCounts, Presentation, VerdictMix } from '../../evidence/presentation.ts';
export type { RuleFigures, RuleReport, SliceName } from '../../evidence/report/rule-report.ts';
export type { FactValue } from '../../facts/fact.ts';
export type { Reporting } from '../../metrics/reporting.ts';

type TimeName =
  | ('at' | 'since' | 'asOf' | 'upTo' | 'backTo')
  | `${string}At`
  | `${string}Until`
  | `${string}Since`;

/** As the page has answers: it reads their moments as milliseconds since 1970 (`api.js`). */
type InMs<T> = T extends string
  ? T
  : T extends object
    ? { readonly [Name in keyof T]: Name extends TimeName ? TimeOf<T[Name]> : InMs<T[Name]> }
    : T;

type TimeOf<T> = T extends string ? number : InMs<T>;

export type Binding = InMs<sdk.Binding>;
export type ClientHistory = InMs<sdk.ClientHistory>;
export type ClientLinks = Omit<InMs<sdk.ClientLinks>, 'from'> & { readonly from: number };
export type ClientView = InMs<sdk.ClientView>;
export type Decision = InMs<sdk.Decision>;
export type Explanation = InMs<sdk.Explanation>;
export type Following = InMs<sdk.Following>;
export type FoundDecisions = InMs<sdk.FoundDecisions>;
export type HistoryEntry = InMs<sdk.HistoryEntry>;
export type Ladder = InMs<sdk.Ladder>;
export type NodeReport = InMs<sdk.NodeReport>;
export type Override = InMs<sdk.Override>;
export type Rollout = InMs<sdk.Rollout>;
export type RolloutStatus = InMs<sdk.RolloutStatus>;
export type TrialCounts = InMs<sdk.TrialCounts>;
export type { ConditionTrace, RulesAccount, RuleTrace, VerdictCommand } from '../../sdk/records.ts';
export type { Estimate } from '../../statistics/intervals.ts';
