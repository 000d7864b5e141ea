/** Every question that the page asks, and the shape of its answer. */

/**
 * @import {
 *   AccessKeyList, AuditCheck, AuditPage, CheckedDraft, ClientHistory, ClientLinks, ClientView, Decision,
 *   DecisionWhatIf, Draft, DraftList, DraftPresence, EvidenceJob, EvidenceJobList, Experiment, Explanation,
 *   Explored, FirstSteps, Following, FoundDecisions, IssuedKey, LastHour, ListEntries, OpenedRuleFolder,
 *   People, Proposal, ProposalList, RewrittenCases, RolloutStatus, RuleDiff, RuleFolderList, SavedDraft,
 *   Session, Settings, SharedLists, SignIn, VerdictHistory, WhatIfAnswers, Worked,
 * } from './answers.d.ts'
 * @import { Question } from './api.js'
 */

/** @type {Question<Session>} */
export const SESSION = { path: 'session' };

/** @type {Question<SignIn>} */
export const SIGN_IN = { path: 'sign-in' };

/** @type {Question<FirstSteps>} */
export const FIRST_STEPS = { path: 'first-steps' };

/** @type {Question<LastHour>} */
export const LAST_HOUR = { path: 'last-hour' };

/**
 * @param {string} span
 * @param {number} [to] epoch ms; absent: up to now
 * @returns {Question<VerdictHistory>}
 */
export function verdictHistory(span, to) {
  return { path: `verdict-history?span=${span}${to === undefined ? '' : `&to=${to}`}` };
}

/**
 * @param {URLSearchParams} query
 * @returns {Question<Explored>}
 */
export function exploration(query) {
  return { path: `explore?${query}` };
}

/** @type {Question<RolloutStatus>} */
export const ROLLOUT_STATUS = { path: 'rules' };

/** @type {Question<Experiment>} */
export const EXPERIMENT = { path: 'experiment' };

/** @type {Question<Following>} */
export const ROLL_OUT = { path: 'rules/rollout' };

/** @type {Question<Following>} */
export const ROLL_BACK = { path: 'rules/rollback' };

/** @type {Question<RuleFolderList>} */
export const RULE_FOLDERS = { path: 'rules/versions' };

/** @type {Question<ProposalList>} */
export const PROPOSALS = { path: 'proposals' };

/**
 * @param {string} proposalId
 * @param {'approve' | 'reject'} way
 * @returns {Question<Proposal>}
 */
export function decideProposal(proposalId, way) {
  return { path: `proposals/${proposalId}/${way}` };
}

/** @type {Question<AccessKeyList>} */
export const KEYS = { path: 'keys' };

/** @type {Question<IssuedKey>} */
export const ISSUE_KEY = { path: 'keys' };

/**
 * @param {string} keyId
 * @returns {Question<object>}
 */
export function accessKey(keyId) {
  return { path: `keys/${keyId}` };
}

/** @type {Question<Settings>} */
export const SETTINGS = { path: 'settings' };

/** @type {Question<People>} */
export const PEOPLE = { path: 'people' };

/** @type {Question<null>} */
export const SIGN_OUT = { path: 'people/sign-out' };

/**
 * @param {URLSearchParams} query
 * @returns {Question<AuditPage>}
 */
export function auditEntries(query) {
  return { path: `audit?${query}` };
}

/** @type {Question<AuditCheck>} */
export const AUDIT_CHECK = { path: 'audit/check' };

/** @type {Question<SharedLists>} */
export const LISTS = { path: 'lists' };

/**
 * The newest entries of a list, those before a change, or the one for a value.
 * @param {string} list
 * @param {{ before?: string | null, value?: string, limit?: number }} which
 * @returns {Question<ListEntries>}
 */
export function listEntries(list, { before, value, limit = 100 }) {
  const which = { limit: String(limit), ...(before && { before }), ...(value && { value }) };
  return { path: `lists/${encodeURIComponent(list)}/entries?${new URLSearchParams(which)}` };
}

/**
 * Many changes of a list as lines, answered by a line each.
 * @param {string} list
 * @returns {Question<{ line: number, result?: string, detail?: string }[]>}
 */
export function listLines(list) {
  return { path: `lists/${encodeURIComponent(list)}/entries` };
}

/**
 * One value of a list; answered with the entry, or with nothing.
 * @param {string} list
 * @param {string} value
 * @returns {Question<object | null>}
 */
export function listEntry(list, value) {
  return { path: `lists/${encodeURIComponent(list)}/entries?value=${encodeURIComponent(value)}` };
}

/** @type {Question<WhatIfAnswers>} */
export const WHAT_IF = { path: 'rules/what-if' };

/** @type {Question<EvidenceJobList>} */
export const EVIDENCE_JOBS = { path: 'evidence' };

/** @type {Question<EvidenceJob>} */
export const RULES_REPORT = { path: 'evidence/report' };

/** @type {Question<EvidenceJob>} */
export const SWEEP = { path: 'evidence/sweep' };

/** @type {Question<EvidenceJob>} */
export const CALIBRATION = { path: 'evidence/calibration' };

/** @type {Question<EvidenceJob>} */
export const DRIFT = { path: 'evidence/drift' };

/** @type {Question<EvidenceJob>} */
export const SUGGESTION = { path: 'evidence/suggestion' };

/** @type {Question<EvidenceJob>} */
export const BACKTEST = { path: 'evidence/backtest' };

/**
 * @template Result
 * @param {string} jobId
 * @returns {Question<Worked<Result>>}
 */
export function evidenceJob(jobId) {
  return { path: `evidence/${encodeURIComponent(jobId)}` };
}

/**
 * @param {string} version
 * @returns {Question<OpenedRuleFolder>}
 */
export function ruleFolder(version) {
  return { path: `rules/versions/${encodeURIComponent(version)}` };
}

/**
 * @param {string} before
 * @param {string} after
 * @returns {Question<RuleDiff>}
 */
export function ruleDiff(before, after) {
  return { path: `rules/diff?${new URLSearchParams({ before, after })}` };
}

/** @type {Question<DraftList>} */
export const DRAFTS = { path: 'rules/drafts' };

/**
 * Drafts that people work on; a change names the revision that it was made on, null when there is none yet.
 * @param {string} version
 * @param {number | null} [revision]
 * @returns {Question<Draft>}
 */
export function keptDraft(version, revision = null) {
  return { path: `rules/drafts/${encodeURIComponent(version)}`, revision };
}

/**
 * @param {string} version
 * @returns {Question<DraftPresence>}
 */
export function presenceAt(version) {
  return { path: `rules/drafts/${encodeURIComponent(version)}/presence` };
}

/** @type {Question<CheckedDraft>} */
export const CHECK_DRAFT = { path: 'rules/drafts/check' };

/** @type {Question<RewrittenCases>} */
export const REWRITE_CASES = { path: 'rules/drafts/cases' };

/** @type {Question<RuleDiff>} */
export const COMPARE_DRAFT = { path: 'rules/drafts/diff' };

/**
 * @param {string} version
 * @returns {Question<object>}
 */
export function releaseOf(version) {
  return { path: `rules/versions/${encodeURIComponent(version)}/release` };
}

/**
 * A draft as it is kept in RULES_DIR.
 * @param {string} version
 * @returns {Question<SavedDraft>}
 */
export function savedDraft(version) {
  return { path: `rules/versions/${encodeURIComponent(version)}` };
}

/**
 * @param {URLSearchParams} query
 * @returns {Question<FoundDecisions>}
 */
export function decisions(query) {
  return { path: `decisions?${query}` };
}

/**
 * @param {string} decisionId
 * @returns {Question<Decision>}
 */
export function decision(decisionId) {
  return { path: `decisions/${encodeURIComponent(decisionId)}` };
}

/**
 * @param {string} decisionId
 * @returns {Question<Explanation>}
 */
export function explanation(decisionId) {
  return { path: `decisions/${encodeURIComponent(decisionId)}/explanation` };
}

/**
 * What another version would have answered then.
 * @param {string} decisionId
 * @param {string} version
 * @returns {Question<DecisionWhatIf>}
 */
export function decisionWhatIf(decisionId, version) {
  return { path: `decisions/${encodeURIComponent(decisionId)}/what-if?version=${version}` };
}

/**
 * @param {string} clientIdKey
 * @returns {Question<ClientView>}
 */
export function client(clientIdKey) {
  return { path: `client?clientIdKey=${encodeURIComponent(clientIdKey)}` };
}

/**
 * @param {string} clientIdKey
 * @param {number} limit
 * @returns {Question<ClientHistory>}
 */
export function clientHistory(clientIdKey, limit) {
  return { path: `client/history?clientIdKey=${encodeURIComponent(clientIdKey)}&limit=${limit}` };
}

/**
 * As was known at a moment, or is now.
 * @param {string} clientIdKey
 * @param {number} [asOf] epoch ms
 * @returns {Question<ClientLinks>}
 */
export function clientLinks(clientIdKey, asOf) {
  const at = asOf === undefined ? '' : `&asOf=${asOf}`;
  return { path: `client/links?clientIdKey=${encodeURIComponent(clientIdKey)}${at}` };
}

/**
 * What a person decides about a client; answered with what was set, or with nothing.
 * @param {string} clientIdKey
 * @param {'override' | 'binding'} what
 * @returns {Question<object | null>}
 */
export function clientMember(clientIdKey, what) {
  return { path: `client/${what}?clientIdKey=${encodeURIComponent(clientIdKey)}` };
}
