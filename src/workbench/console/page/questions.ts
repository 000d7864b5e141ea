import type { TSchema } from '#base/json-schema.ts';
import type { ValueOf, WithMomentsAsText } from '#base/shapes.ts';
import type { ExperimentReport as ExperimentData } from '#history/evidence/experiment/experiment-report.ts';
import type { NotesAndTables as NotesAndTablesData } from '#history/evidence/presentation.ts';
import type { WorthReport } from '#history/evidence/report/worth-report.ts';
import type * as sdk from '#sdk/records.ts';
import type { ProposalSchema } from '#workbench/approvals/proposals.ts';
import type { RuleDiff } from '#workbench/authoring/diff/rule-diff.ts';
import type { OtherVersionAnswer } from '#workbench/authoring/explain/what-if.ts';
import type { Reporting } from '#workbench/monitoring/reporting.ts';
import type { AuditCheckSchema, AuditPageSchema } from '#workbench/platform/audit.ts';
import type { EvidenceJobListSchema, EvidenceJobSchema } from '#workbench/platform/evidence/evidence.ts';
import type { ExplorationSchema } from '#workbench/platform/explore.ts';
import type { IssuedKeySchema, KeyListSchema } from '#workbench/platform/keys.ts';
import type { ListEntriesSchema, SharedListsSchema } from '#workbench/platform/list-entries.ts';
import type { PeopleSchema } from '#workbench/platform/people.ts';
import type { ProposalListSchema } from '#workbench/platform/proposals.ts';
import type {
  CheckedDraftSchema,
  RewrittenCasesSchema,
  SavedDraftSchema,
} from '#workbench/platform/rules/drafts/check-draft.ts';
import type { DraftListSchema, DraftSchema } from '#workbench/platform/rules/drafts/drafts.ts';
import type { OpenedRuleFolderSchema, RuleFolderListSchema } from '#workbench/platform/rules/rule-folders.ts';
import type { SessionSchema, SignInWaysSchema } from '#workbench/platform/session.ts';
import type { SettingsSchema } from '#workbench/platform/settings.ts';

/**
 * All requests of the page, with the types of their answers: as the API's document describes them, or as
 * the client library knows them.
 */

export type { OtherVersionAnswer, Reporting, RuleDiff };

/** An answer as the API's document describes it. */
type Answered<Declared extends TSchema> = WithMomentsAsText<ValueOf<Declared>>;

export type Session = Answered<typeof SessionSchema>;
export type SignIn = Answered<typeof SignInWaysSchema>;
export type Proposal = Answered<typeof ProposalSchema>;
export type ProposalList = Answered<typeof ProposalListSchema>;
export type AuditCheck = Answered<typeof AuditCheckSchema>;
export type AuditPage = Answered<typeof AuditPageSchema>;
export type AccessKeyList = Answered<typeof KeyListSchema>;
export type People = Answered<typeof PeopleSchema>;
export type Settings = Answered<typeof SettingsSchema>;
export type IssuedKey = Answered<typeof IssuedKeySchema>;
export type RuleFolderList = Answered<typeof RuleFolderListSchema>;
export type OpenedRuleFolder = Answered<typeof OpenedRuleFolderSchema>;
export type CheckedDraft = Answered<typeof CheckedDraftSchema>;
export type RewrittenCases = Answered<typeof RewrittenCasesSchema>;
export type DraftList = Answered<typeof DraftListSchema>;
export type Draft = Answered<typeof DraftSchema>;
export type SavedDraft = Answered<typeof SavedDraftSchema>;
export type SharedLists = Answered<typeof SharedListsSchema>;
export type ListEntries = Answered<typeof ListEntriesSchema>;
export type EvidenceJob = Answered<typeof EvidenceJobSchema>;
export type ExplorationAnswer = Answered<typeof ExplorationSchema>;
export type EvidenceJobList = Answered<typeof EvidenceJobListSchema>;

/** A job with its result. The type of the result depends on the kind of the job. */
export interface FinishedJob<Result> {
  readonly job: EvidenceJob;
  readonly result: Result | null;
}

export type NotesAndTables = WithMomentsAsText<NotesAndTablesData>;
export type RulesReport = WithMomentsAsText<WorthReport> & NotesAndTables;
export type Experiment = WithMomentsAsText<ExperimentData> & NotesAndTables;

export type { FactValue, NullableFactValue } from '#decision/facts/fact.ts';
export type { EvidenceTable, OrderCounts } from '#history/evidence/presentation.ts';
export type { RuleWorth } from '#history/evidence/report/worth-report.ts';

export type Binding = sdk.Binding;
export type ClientHistory = sdk.ClientHistory;
export type ClientLinks = sdk.ClientLinks;
export type ClientView = sdk.ClientView;
export type Decision = sdk.Decision;
export type Explanation = sdk.Explanation;
/** The rollout, and which nodes follow it or lag. */
export type ChangedRollout = sdk.ChangedRollout;
export type FoundDecisions = sdk.FoundDecisions;
export type FoundRecords = sdk.FoundRecords;
export type HistoryEntry = sdk.HistoryEntry;
export type Ladder = sdk.Ladder;
export type NodeReport = sdk.NodeReport;
export type Override = sdk.Override;
export type Rollout = sdk.Rollout;
export type RolloutStatus = sdk.RolloutStatus;
export type TrialCounts = sdk.TrialCounts;
export type { Estimate } from '#history/statistics/intervals.ts';
export type { ConditionTrace, RulesTrace, RuleTrace, VerdictCommand } from '#sdk/records.ts';

/**
 * A request to the platform API. `path` is the path below /v1/platform/. `answer` never has a value. It gives
 * the compiler the type of the answer. With a `revision`, the change is refused unless the thing still has
 * this revision.
 */
export interface Question<T> {
  readonly path: string;
  readonly revision?: number | null;
  /** For an answer in pages, the member whose items are gathered over all pages. */
  readonly pagedMember?: string;
  readonly answer?: T;
}

/** A question that a job answers. `result` never has a value. It gives the type of the result. */
export type JobQuestion<Result> = Question<EvidenceJob> & { readonly result?: Result };

/** A part of a path. A value is encoded, and a whole query is used unchanged. */
type Part = string | number | URLSearchParams;

const to = <T>(texts: TemplateStringsArray, ...parts: Part[]): Question<T> => ({
  path: String.raw(
    { raw: texts },
    ...parts.map((part) => (part instanceof URLSearchParams ? part : encodeURIComponent(part))),
  ),
});

export const SESSION: Question<Session> = { path: 'session' };
export const WAYS_TO_SIGN_IN: Question<SignIn> = { path: 'sign-in' };
export const PLATFORM_REPORTING: Question<Reporting> = { path: 'reporting' };
export const explorationQuestion = (query: URLSearchParams) => to<ExplorationAnswer>`explore?${query}`;

export const ROLLOUT_STATUS: Question<RolloutStatus> = { path: 'rules' };
export const EXPERIMENT_QUESTION: JobQuestion<Experiment> = { path: 'evidence' };
export const ROLL_OUT: Question<ChangedRollout> = { path: 'rules/rollout' };
export const ROLL_BACK: Question<ChangedRollout> = { path: 'rules/rollback' };
export const PROPOSALS: Question<ProposalList> = { path: 'proposals?limit=500', pagedMember: 'proposals' };
export const OPEN_PROPOSALS: Question<ProposalList> = { path: 'proposals?state=open' };
export const proposalDecisionQuestion = (proposalId: string, way: 'approve' | 'reject') =>
  to<Proposal>`proposals/${proposalId}/${way}`;

export const KEYS: Question<AccessKeyList> = { path: 'keys?limit=500', pagedMember: 'keys' };
export const ISSUE_KEY: Question<IssuedKey> = { path: 'keys' };
export const accessKeyQuestion = (keyId: string) => to<object>`keys/${keyId}`;
export const SETTINGS: Question<Settings> = { path: 'settings' };
export const PEOPLE: Question<People> = { path: 'people' };
export const SIGN_PERSON_OUT: Question<null> = { path: 'people/sign-out' };
export const auditEntriesQuestion = (query: URLSearchParams) => to<AuditPage>`audit?${query}`;
export const AUDIT_CHECK: Question<AuditCheck> = { path: 'audit/check' };

export const LISTS: Question<SharedLists> = { path: 'lists?limit=500', pagedMember: 'lists' };
/** The newest entries of a list, the entries after a position, or the entry for a value. */
export const listEntriesQuestion = (
  list: string,
  which: { limit?: string; after?: string; value?: string },
) => to<ListEntries>`lists/${list}/entries?${new URLSearchParams(which)}`;
/** Creates a list. */
export const listCreationQuestion = (list: string) => to<object>`lists/${list}`;
/** Sends many changes of a list, one a line. The answer has one line for each. */
export const listLinesQuestion = (list: string) =>
  to<{ line: number; result?: string; detail?: string }[]>`lists/${list}/entries`;
/** One value of a list. The answer is the entry, or nothing. */
export const listEntryQuestion = (list: string, value: string) =>
  to<object | null>`lists/${list}/entries?value=${value}`;

export const EVIDENCE_JOBS: Question<EvidenceJobList> = { path: 'evidence' };
export const RULES_REPORT: JobQuestion<RulesReport> = { path: 'evidence' };
/** Starts a job for any question of evidence. The result is shown as notes and tables. */
export const EVIDENCE_QUESTION: JobQuestion<NotesAndTables> = { path: 'evidence' };
export const evidenceJobQuestion = <Result>(jobId: string, _of?: JobQuestion<Result>) =>
  to<FinishedJob<Result>>`evidence/${jobId}`;

export const RULE_FOLDERS: Question<RuleFolderList> = { path: 'rules/versions' };
export const ruleFolderQuestion = (version: string) => to<OpenedRuleFolder>`rules/versions/${version}`;
export const ruleDiffQuestion = (before: string, after: string) =>
  to<RuleDiff>`rules/diff?before=${before}&after=${after}`;
export const releaseQuestion = (version: string) => to<object>`rules/versions/${version}/release`;
export const DRAFTS: Question<DraftList> = { path: 'rules/drafts?limit=500', pagedMember: 'drafts' };
/**
 * A draft. A change names the revision on which it was made. The revision is null if there is no draft yet.
 */
export const keptDraftQuestion = (version: string, revision: number | null = null) => ({
  ...to<Draft>`rules/drafts/${version}`,
  revision,
});
/** A draft of a platform that waits for its release, as it would be released. */
export const proposedDraftAsReleasedQuestion = (version: string, platform: string) =>
  to<Draft>`rules/drafts/${version}?platform=${platform}`;
/** Proposes the release of a draft as it is at a revision. */
export const draftProposalQuestion = (version: string, revision: number | null) => ({
  ...to<Proposal>`rules/drafts/${version}/proposal`,
  revision,
});
export const CHECK_DRAFT: Question<CheckedDraft> = { path: 'rules/drafts/check' };
export const REWRITE_CASES: Question<RewrittenCases> = { path: 'rules/drafts/cases' };
export const DRAFT_DIFF: Question<RuleDiff> = { path: 'rules/drafts/diff' };
/** Stores a draft in RULES_DIR. */
export const draftToRulesDirQuestion = (version: string) => to<SavedDraft>`rules/versions/${version}`;

/** The things whose names contain a text. */
export const partSearchQuestion = (text: string) => to<FoundRecords>`find?text=${text}`;

export const decisionsQuestion = (query: URLSearchParams) => to<FoundDecisions>`decisions?${query}`;
export const decisionQuestion = (decisionId: string) => to<Decision>`decisions/${decisionId}`;
export const explanationQuestion = (decisionId: string) =>
  to<Explanation>`decisions/${decisionId}/explanation`;
/** The answer that another version would have given then. */
export const decisionWhatIfQuestion = (decisionId: string, version: string) =>
  to<OtherVersionAnswer>`decisions/${decisionId}/what-if?version=${version}`;

export const clientQuestion = (clientIdKey: string) => to<ClientView>`client?clientIdKey=${clientIdKey}`;
/**
 * Erases a payer. The answer says where data of the payer remain for some time. It is null if none
 * remain.
 */
export const clientErasureQuestion = (clientIdKey: string) =>
  to<{ readonly traces: string } | null>`client?clientIdKey=${clientIdKey}`;
export const clientHistoryQuestion = (clientIdKey: string, limit: number) =>
  to<ClientHistory>`client/history?clientIdKey=${clientIdKey}&limit=${limit}`;
export const clientLinksQuestion = (clientIdKey: string) =>
  to<ClientLinks>`client/links?clientIdKey=${clientIdKey}`;
/**
 * A person's decision about a payer: its override or its binding. The answer is the new value or nothing.
 * With `export`, the answer is all data of the payer.
 */
export const clientMemberQuestion = (clientIdKey: string, what: 'override' | 'binding' | 'export') =>
  to<object | null>`client/${what}?clientIdKey=${clientIdKey}`;
export const waitEndQuestion = (clientIdKey: string) =>
  to<object>`client/wait/end?clientIdKey=${clientIdKey}`;
