import { checkAudit, readAudit } from './audit.ts';
import {
  bindClient,
  eraseClient,
  exportClient,
  liftOverride,
  overrideClient,
  readClient,
  readClientHistory,
  unbindClient,
} from './client/client.ts';
import { readClientLinks } from './client/client-links.ts';
import { askDecisionWhatIf, explainDecision, listDecisions, readDecision } from './decisions.ts';
import { readEvents } from './events/events.ts';
import { listEvidence, readEvidence, removeEvidence } from './evidence/evidence-jobs.ts';
import {
  askBacktest,
  askCalibration,
  askDrift,
  askExperiment,
  askRuleReport,
  askSuggestion,
  askSweep,
} from './evidence/evidence-questions.ts';
import { readExperiment } from './evidence/read-experiment.ts';
import { readExploration } from './explore.ts';
import { makeUpTraffic, readFirstSteps } from './first-steps.ts';
import { readLiveness, readMetrics, readReadiness } from './health.ts';
import { issueKey, listKeys, revokeKey } from './keys.ts';
import { readLastHour } from './last-hour.ts';
import { putListEntry, removeListEntry } from './lists/list-entry.ts';
import { importListEntries } from './lists/list-import.ts';
import { readListEntries, readLists } from './lists/lists.ts';
import { reportOutcomes } from './outcomes/outcomes.ts';
import { listPeople, signOutPerson } from './people.ts';
import { approveProposal, listProposals, rejectProposal } from './proposals.ts';
import { checkDraft, rewriteCases } from './rules/drafts/check-draft.ts';
import { discardDraft, listDrafts, readDraft, tellPresence, writeDraft } from './rules/drafts/drafts.ts';
import { saveDraft } from './rules/drafts/save-draft.ts';
import { releaseVersion } from './rules/release-version.ts';
import { changeRollout, readRollout, takeBack } from './rules/rollout.ts';
import { compareDraft, compareRuleFolders } from './rules/rule-diff.ts';
import { listRuleFolders, readRuleFolder } from './rules/rule-folders.ts';
import { askWhatIf } from './rules/what-if.ts';
import { readSession, readSignIn, signIn, signOut } from './session.ts';
import { readVerdictHistory } from './verdict-history.ts';

/** All operations of the platform's listener, by what a node must have to answer them. */
export const PLATFORM_OPERATIONS = {
  always: [
    reportOutcomes,
    ...readClient,
    ...readClientHistory,
    ...readClientLinks,
    ...exportClient,
    ...eraseClient,
    ...bindClient,
    ...unbindClient,
    ...overrideClient,
    ...liftOverride,
    listDecisions,
    readDecision,
    explainDecision,
    readEvents,
    readLists,
    readListEntries,
    importListEntries,
    ...putListEntry,
    ...removeListEntry,
    listProposals,
    approveProposal,
    rejectProposal,
    listKeys,
    issueKey,
    revokeKey,
    readAudit,
    checkAudit,
    listPeople,
    signOutPerson,
    readSession,
    readSignIn,
    signIn,
    signOut,
    readFirstSteps,
    makeUpTraffic,
    readLastHour,
    readVerdictHistory,
    readExploration,
    readLiveness,
    readReadiness,
    readMetrics,
  ],
  withRollout: [readRollout, changeRollout, takeBack, askWhatIf, askDecisionWhatIf],
  withEvidence: [
    askRuleReport,
    askBacktest,
    askSweep,
    askCalibration,
    askDrift,
    askExperiment,
    readExperiment,
    askSuggestion,
    listEvidence,
    readEvidence,
    removeEvidence,
  ],
  withRuleFolders: [
    listRuleFolders,
    readRuleFolder,
    compareRuleFolders,
    listDrafts,
    readDraft,
    writeDraft,
    discardDraft,
    tellPresence,
    checkDraft,
    rewriteCases,
    compareDraft,
    saveDraft,
    releaseVersion,
  ],
} as const;
