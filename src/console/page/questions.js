/** Every question that the page asks, and the shape of its answer. */

/**
 * @import {
 *   AccessKeyList, AuditCheck, AuditPage,  CheckedDraft, ClientHistory,
 *   ClientLinks, ClientView, Decision, DecisionWhatIf, Draft, DraftList,
 *   EvidenceJobList, Experiment, Explanation, Explored, Following, FoundDecisions, IssuedKey,
 *   ListEntries, OpenedRuleFolder, People, Proposal, ProposalList, Reporting, RewrittenCases, RolloutStatus,
 *   RuleDiff, RuleFolderList, RulesReport, SavedDraft, Session, Settings, SharedLists, SignIn,
 *   Shown, Worked,
 * } from './answers.d.ts'
 * @import { Question, Work } from './api.js'
 */

/** A path, what is put into it encoded; a whole query goes in as it is. */
/** @typedef {string | number | URLSearchParams} Part */
/** @type {(texts: TemplateStringsArray, ...parts: Part[]) => { path: string }} */
const to = (texts, ...parts) => ({
  path: String.raw(
    { raw: texts },
    ...parts.map((part) => (part instanceof URLSearchParams ? part : encodeURIComponent(part))),
  ),
});

/** @type {Question<Session>} */
export const SESSION = { path: 'session' };
/** @type {Question<SignIn>} */
export const SIGN_IN = { path: 'sign-in' };
/** @type {Question<Reporting>} */
export const REPORTING = { path: 'reporting' };
/** @type {(query: URLSearchParams) => Question<Explored>} */
export const exploration = (query) => to`explore?${query}`;

/** @type {Question<RolloutStatus>} */
export const ROLLOUT_STATUS = { path: 'rules' };
/** @type {Question<Experiment>} */
export const EXPERIMENT = { path: 'experiment' };
/** @type {Question<Following>} */
export const ROLL_OUT = { path: 'rules/rollout' };
/** @type {Question<Following>} */
export const ROLL_BACK = { path: 'rules/rollback' };
/** @type {Question<ProposalList>} */
export const PROPOSALS = { path: 'proposals' };
/** @type {(proposalId: string, way: 'approve' | 'reject') => Question<Proposal>} */
export const decideProposal = (proposalId, way) => to`proposals/${proposalId}/${way}`;

/** @type {Question<AccessKeyList>} */
export const KEYS = { path: 'keys' };
/** @type {Question<IssuedKey>} */
export const ISSUE_KEY = { path: 'keys' };
/** @type {(keyId: string) => Question<object>} */
export const accessKey = (keyId) => to`keys/${keyId}`;
/** @type {Question<Settings>} */
export const SETTINGS = { path: 'settings' };
/** @type {Question<People>} */
export const PEOPLE = { path: 'people' };
/** @type {Question<null>} */
export const SIGN_OUT = { path: 'people/sign-out' };
/** @type {(query: URLSearchParams) => Question<AuditPage>} */
export const auditEntries = (query) => to`audit?${query}`;
/** @type {Question<AuditCheck>} */
export const AUDIT_CHECK = { path: 'audit/check' };

/** @type {Question<SharedLists>} */
export const LISTS = { path: 'lists' };
/** The newest entries of a list, those before a change, or the one for a value. */
/** @typedef {{ before?: string | null, value?: string, limit?: number }} Which */
/** @type {(list: string, which: Which) => Question<ListEntries>} */
export const listEntries = (list, { before, value, limit = 100 }) => {
  const which = { limit: String(limit), ...(before && { before }), ...(value && { value }) };
  return to`lists/${list}/entries?${new URLSearchParams(which)}`;
};
/** One list, to be made. */
/** @type {(list: string) => Question<object>} */
export const sharedList = (list) => to`lists/${list}`;
/** Many changes of a list as lines, answered by a line each. */
/** @type {(list: string) => Question<{ line: number, result?: string, detail?: string }[]>} */
export const listLines = (list) => to`lists/${list}/entries`;
/** One value of a list; answered with the entry, or with nothing. */
/** @type {(list: string, value: string) => Question<object | null>} */
export const listEntry = (list, value) => to`lists/${list}/entries?value=${value}`;

/** @type {Question<EvidenceJobList>} */
export const EVIDENCE_JOBS = { path: 'evidence' };
/** @type {Work<RulesReport>} */
export const RULES_REPORT = { path: 'evidence' };
/** @type {Work<Shown>} */
export const EVIDENCE = { path: 'evidence' };
/** @type {<Result>(jobId: string, of?: Work<Result>) => Question<Worked<Result>>} */
export const evidenceJob = (jobId) => to`evidence/${jobId}`;

/** @type {Question<RuleFolderList>} */
export const RULE_FOLDERS = { path: 'rules/versions' };
/** @type {(version: string) => Question<OpenedRuleFolder>} */
export const ruleFolder = (version) => to`rules/versions/${version}`;
/** @type {(before: string, after: string) => Question<RuleDiff>} */
export const ruleDiff = (before, after) => to`rules/diff?before=${before}&after=${after}`;
/** @type {(version: string) => Question<object>} */
export const releaseOf = (version) => to`rules/versions/${version}/release`;
/** @type {Question<DraftList>} */
export const DRAFTS = { path: 'rules/drafts' };
/** A draft; a change names the revision that it was made on, null when there is none yet. */
/** @type {(version: string, revision?: number | null) => Question<Draft>} */
export const keptDraft = (version, revision = null) => ({
  ...to`rules/drafts/${version}`,
  revision,
});
/** @type {Question<CheckedDraft>} */
export const CHECK_DRAFT = { path: 'rules/drafts/check' };
/** @type {Question<RewrittenCases>} */
export const REWRITE_CASES = { path: 'rules/drafts/cases' };
/** @type {Question<RuleDiff>} */
export const COMPARE_DRAFT = { path: 'rules/drafts/diff' };
/** A draft as it is kept in RULES_DIR. */
/** @type {(version: string) => Question<SavedDraft>} */
export const savedDraft = (version) => to`rules/versions/${version}`;

/** @type {(query: URLSearchParams) => Question<FoundDecisions>} */
export const decisions = (query) => to`decisions?${query}`;
/** @type {(decisionId: string) => Question<Decision>} */
export const decision = (decisionId) => to`decisions/${decisionId}`;
/** @type {(decisionId: string) => Question<Explanation>} */
export const explanation = (decisionId) => to`decisions/${decisionId}/explanation`;
/** What another version would have answered then. */
/** @type {(decisionId: string, version: string) => Question<DecisionWhatIf>} */
export const decisionWhatIf = (decisionId, version) => to`decisions/${decisionId}/what-if?version=${version}`;

/** @type {(clientIdKey: string) => Question<ClientView>} */
export const client = (clientIdKey) => to`client?clientIdKey=${clientIdKey}`;
/** @type {(clientIdKey: string, limit: number) => Question<ClientHistory>} */
export const clientHistory = (clientIdKey, limit) =>
  to`client/history?clientIdKey=${clientIdKey}&limit=${limit}`;
/** As was known at a moment, epoch ms, or is now. */
/** @type {(clientIdKey: string, asOf?: number) => Question<ClientLinks>} */
export const clientLinks = (clientIdKey, asOf) =>
  asOf === undefined
    ? to`client/links?clientIdKey=${clientIdKey}`
    : to`client/links?clientIdKey=${clientIdKey}&asOf=${asOf}`;
/** What a person decides about a client; answered with what was set, or with nothing. */
/** @type {(clientIdKey: string, what: 'override' | 'binding' | 'wait/end') => Question<object | null>} */
export const clientMember = (clientIdKey, what) => to`client/${what}?clientIdKey=${clientIdKey}`;
