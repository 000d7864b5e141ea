import { TOO_MANY_AT_ONCE } from '#checkout/http/request/refusals.ts';
import { createOpenApiDocument, type OpenApiDocument } from '#workbench/openapi/document.ts';
import { AUDIT_OPERATIONS } from './audit.ts';
import { NO_PLATFORM_ACCESS_REFUSAL, OTHER_SITE, SESSION_ENDED } from './browser-sessions.ts';
import { CLIENT_OPERATIONS } from './client/client.ts';
import { DECISION_OPERATIONS, WHAT_IF_OPERATIONS } from './decisions.ts';
import { EVENT_OPERATIONS } from './events.ts';
import { EVIDENCE_OPERATIONS } from './evidence/evidence.ts';
import { EXPLORE_OPERATIONS } from './explore.ts';
import { FIND_OPERATIONS } from './find.ts';
import { HEALTH_OPERATIONS, OUTCOME_REPORTING_OPERATIONS } from './health.ts';
import { KEY_OPERATIONS } from './keys.ts';
import { LIST_OPERATIONS } from './lists.ts';
import { OUTCOME_OPERATIONS } from './outcomes.ts';
import { PEOPLE_OPERATIONS } from './people.ts';
import { PROPOSAL_OPERATIONS } from './proposals.ts';
import { DRAFT_FILE_OPERATIONS } from './rules/drafts/check-draft.ts';
import { DRAFT_OPERATIONS } from './rules/drafts/drafts.ts';
import { ROLLOUT_OPERATIONS } from './rules/rollout.ts';
import { RULE_DIFF_OPERATIONS } from './rules/rule-diff.ts';
import { RULE_FOLDER_OPERATIONS } from './rules/rule-folders.ts';
import { SESSION_OPERATIONS } from './session.ts';
import { SETTINGS_OPERATIONS } from './settings.ts';

/** All operations of the platform's listener, by what a node needs to answer them. */
export const PLATFORM_OPERATIONS = {
  always: [
    ...OUTCOME_OPERATIONS,
    ...CLIENT_OPERATIONS,
    ...DECISION_OPERATIONS,
    ...FIND_OPERATIONS,
    ...EVENT_OPERATIONS,
    ...LIST_OPERATIONS,
    ...PROPOSAL_OPERATIONS,
    ...KEY_OPERATIONS,
    ...AUDIT_OPERATIONS,
    ...PEOPLE_OPERATIONS,
    ...SETTINGS_OPERATIONS,
    ...SESSION_OPERATIONS,
    ...EXPLORE_OPERATIONS,
    ...OUTCOME_REPORTING_OPERATIONS,
    ...HEALTH_OPERATIONS,
  ],
  withRollout: [...ROLLOUT_OPERATIONS, ...WHAT_IF_OPERATIONS],
  withEvidence: EVIDENCE_OPERATIONS,
  withRuleFolders: [
    ...RULE_FOLDER_OPERATIONS,
    ...RULE_DIFF_OPERATIONS,
    ...DRAFT_OPERATIONS,
    ...DRAFT_FILE_OPERATIONS,
  ],
} as const;

const DESCRIPTION = `What the platform owner tells the service, and may ask of it: outcomes of orders, bindings and
overrides of clients, decisions with their explanations, shared lists, and which version of the rules decides.

Checks come in this sequence: key (401), grant (403), body (415, 413, 400). Times are RFC 3339,
in answers in UTC. Unknown parameters and members are refused, and so is a member that comes twice. An optional member
that is null or "" is read like an absent one. Every client, order and decision belongs to the platform
of the key. Lists come in pages of \`limit\`: ask again with \`after\` and the \`next\` of an answer, until that is null; the
feed's never is. A program should read the \`code\` of a problem; the answers of each operation list the codes that they may have.
Files need no key and are not described here: the console at /, its parts below /console/, this document at
/openapi.json, and the page of both documents at /docs.`;

/** Creates the OpenAPI document of the platform's listener. */
export function createPlatformDocument(): OpenApiDocument {
  const { always, withRollout, withEvidence, withRuleFolders } = PLATFORM_OPERATIONS;
  return createOpenApiDocument({
    title: 'Client Scoring Service: platform',
    description: DESCRIPTION,
    serverUrl: '/',
    tags: [
      { name: 'Outcomes', description: 'What became of orders' },
      { name: 'Clients', description: 'What is known about payers and decided by people' },
      { name: 'Decisions', description: 'Recorded verdicts and their explanations' },
      { name: 'Find', description: 'Payers, orders and more by a part of their ids' },
      { name: 'Events', description: 'The event feed, for copies in other systems' },
      { name: 'Lists', description: 'Shared lists, which change without a release of rules' },
      { name: 'Rules', description: 'Show the active version' },
      { name: 'Approvals', description: 'Changes that somebody else must approve' },
      { name: 'Access', description: 'Keys, people and the audit' },
      { name: 'Evidence', description: 'What rules were worth, on recorded outcomes' },
      { name: 'Console', description: 'Further calls of the console' },
      { name: 'Health', description: 'Health and metrics, for orchestrators and Prometheus' },
    ],
    elsewhere: [TOO_MANY_AT_ONCE, SESSION_ENDED, OTHER_SITE, NO_PLATFORM_ACCESS_REFUSAL],
    isStrict: true,
    operations: [...always, ...withRollout, ...withEvidence, ...withRuleFolders],
  });
}
