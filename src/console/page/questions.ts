import type {
  AccessKeyList,
  AuditCheck,
  AuditPage,
  CheckedDraft,
  ClientHistory,
  ClientLinks,
  ClientView,
  Decision,
  DecisionWhatIf,
  Draft,
  DraftList,
  EvidenceJobList,
  Experiment,
  Explanation,
  Explored,
  Following,
  FoundDecisions,
  IssuedKey,
  ListEntries,
  OpenedRuleFolder,
  People,
  Presentation,
  Proposal,
  ProposalList,
  Reporting,
  RewrittenCases,
  RolloutStatus,
  RuleDiff,
  RuleFolderList,
  RulesReport,
  SavedDraft,
  Session,
  Settings,
  SharedLists,
  SignIn,
  Worked,
} from './answers.ts';
import type { Question, Work } from './api.ts';

/** Every question that the page asks, and the shape of its answer. */

/** A path, what is put into it encoded; a whole query goes in as it is. */
type Part = string | number | URLSearchParams;

const to: (texts: TemplateStringsArray, ...parts: Part[]) => { path: string } = (texts, ...parts) => ({
  path: String.raw(
    { raw: texts },
    ...parts.map((part) => (part instanceof URLSearchParams ? part : encodeURIComponent(part))),
  ),
});

export const SESSION: Question<Session> = { path: 'session' };
export const SIGN_IN: Question<SignIn> = { path: 'sign-in' };
export const REPORTING: Question<Reporting> = { path: 'reporting' };
export const exploration: (query: URLSearchParams) => Question<Explored> = (query) => to`explore?${query}`;

export const ROLLOUT_STATUS: Question<RolloutStatus> = { path: 'rules' };
export const EXPERIMENT: Work<Experiment> = { path: 'evidence' };
export const ROLL_OUT: Question<Following> = { path: 'rules/rollout' };
export const ROLL_BACK: Question<Following> = { path: 'rules/rollback' };
export const PROPOSALS: Question<ProposalList> = { path: 'proposals?limit=500', all: 'proposals' };
export const OPEN_PROPOSALS: Question<ProposalList> = { path: 'proposals?state=open' };
export const decideProposal: (proposalId: string, way: 'approve' | 'reject') => Question<Proposal> = (
  proposalId,
  way,
) => to`proposals/${proposalId}/${way}`;

export const KEYS: Question<AccessKeyList> = { path: 'keys?limit=500', all: 'keys' };
export const ISSUE_KEY: Question<IssuedKey> = { path: 'keys' };
export const accessKey: (keyId: string) => Question<object> = (keyId) => to`keys/${keyId}`;
export const SETTINGS: Question<Settings> = { path: 'settings' };
export const PEOPLE: Question<People> = { path: 'people' };
export const SIGN_OUT: Question<null> = { path: 'people/sign-out' };
export const auditEntries: (query: URLSearchParams) => Question<AuditPage> = (query) => to`audit?${query}`;
export const AUDIT_CHECK: Question<AuditCheck> = { path: 'audit/check' };

export const LISTS: Question<SharedLists> = { path: 'lists?limit=500', all: 'lists' };
/** The newest entries of a list, those after a place, or the one for a value. */
interface Which {
  after?: string | null;
  value?: string;
  limit?: number;
}

export const listEntries: (list: string, which: Which) => Question<ListEntries> = (
  list,
  { after, value, limit = 100 },
) => {
  const which = { limit: String(limit), ...(after && { after }), ...(value && { value }) };
  return to`lists/${list}/entries?${new URLSearchParams(which)}`;
};
/** One list, to be made. */
export const sharedList: (list: string) => Question<object> = (list) => to`lists/${list}`;
/** Many changes of a list as lines, answered by a line each. */
export const listLines: (list: string) => Question<{ line: number; result?: string; detail?: string }[]> = (
  list,
) => to`lists/${list}/entries`;
/** One value of a list; answered with the entry, or with nothing. */
export const listEntry: (list: string, value: string) => Question<object | null> = (list, value) =>
  to`lists/${list}/entries?value=${value}`;

export const EVIDENCE_JOBS: Question<EvidenceJobList> = { path: 'evidence' };
export const RULES_REPORT: Work<RulesReport> = { path: 'evidence' };
export const EVIDENCE: Work<Presentation> = { path: 'evidence' };
export const evidenceJob: <Result>(jobId: string, of?: Work<Result>) => Question<Worked<Result>> = (jobId) =>
  to`evidence/${jobId}`;

export const RULE_FOLDERS: Question<RuleFolderList> = { path: 'rules/versions' };
export const ruleFolder: (version: string) => Question<OpenedRuleFolder> = (version) =>
  to`rules/versions/${version}`;
export const ruleDiff: (before: string, after: string) => Question<RuleDiff> = (before, after) =>
  to`rules/diff?before=${before}&after=${after}`;
export const releaseOf: (version: string) => Question<object> = (version) =>
  to`rules/versions/${version}/release`;
export const DRAFTS: Question<DraftList> = { path: 'rules/drafts?limit=500', all: 'drafts' };
/** A draft; a change names the revision that it was made on, null when there is none yet. */
export const keptDraft: (version: string, revision?: number | null) => Question<Draft> = (
  version,
  revision = null,
) => ({
  ...to`rules/drafts/${version}`,
  revision,
});
/** Its release, to be proposed as it is at a revision. */
export const proposedDraft: (version: string, revision: number | null) => Question<Proposal> = (
  version,
  revision,
) => ({ ...to`rules/drafts/${version}/proposal`, revision });
export const CHECK_DRAFT: Question<CheckedDraft> = { path: 'rules/drafts/check' };
export const REWRITE_CASES: Question<RewrittenCases> = { path: 'rules/drafts/cases' };
export const COMPARE_DRAFT: Question<RuleDiff> = { path: 'rules/drafts/diff' };
/** A draft as it is kept in RULES_DIR. */
export const savedDraft: (version: string) => Question<SavedDraft> = (version) =>
  to`rules/versions/${version}`;

export const decisions: (query: URLSearchParams) => Question<FoundDecisions> = (query) =>
  to`decisions?${query}`;
export const decision: (decisionId: string) => Question<Decision> = (decisionId) =>
  to`decisions/${decisionId}`;
export const explanation: (decisionId: string) => Question<Explanation> = (decisionId) =>
  to`decisions/${decisionId}/explanation`;
/** What another version would have answered then. */
export const decisionWhatIf: (decisionId: string, version: string) => Question<DecisionWhatIf> = (
  decisionId,
  version,
) => to`decisions/${decisionId}/what-if?version=${version}`;

export const client: (clientIdKey: string) => Question<ClientView> = (clientIdKey) =>
  to`client?clientIdKey=${clientIdKey}`;
export const clientHistory: (clientIdKey: string, limit: number) => Question<ClientHistory> = (
  clientIdKey,
  limit,
) => to`client/history?clientIdKey=${clientIdKey}&limit=${limit}`;
export const clientLinks: (clientIdKey: string) => Question<ClientLinks> = (clientIdKey) =>
  to`client/links?clientIdKey=${clientIdKey}`;
/** What a person decides about a payer; answered with what was set, or with nothing; or all that is held. */
export const clientMember: (
  clientIdKey: string,
  what: 'override' | 'binding' | 'export',
) => Question<object | null> = (clientIdKey, what) => to`client/${what}?clientIdKey=${clientIdKey}`;
export const endWait: (clientIdKey: string) => Question<object> = (clientIdKey) =>
  to`client/wait/end?clientIdKey=${clientIdKey}`;
