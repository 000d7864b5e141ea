import { documentOf } from '../openapi/document.ts';
import type { OpenApiDocument } from '../openapi/open-api-document.ts';
import { OTHER_PLATFORM, OTHER_SITE, SESSION_ENDED } from '../request/browser-sessions.ts';
import { TOO_MANY_AT_ONCE } from '../request/refusals.ts';
import { PLATFORM_OPERATIONS } from './platform-operations.ts';

const DESCRIPTION = `What the platform owner tells the service, and may ask of it: outcomes of orders, bindings and
overrides of clients, decisions with their explanations, shared lists, and which version of the rules decides.

Checks come in this order: key (401), grant (403), body (415, 413, 400). Times in answers are milliseconds
since 1970. Unknown members of a body are ignored, and named in X-Ignored-Members. An optional member
that is null or "" is taken for absent. Every client, order and decision belongs to the platform
of the key. Files need no key and are not described here: the console at /, its parts below /console/, this
document at /openapi.json, and its page at /docs.`;

/** What the second listener offers. */
export function platformDocument(): OpenApiDocument {
  const { always, withRollout, withEvidence, withRuleFolders } = PLATFORM_OPERATIONS;
  return documentOf({
    title: 'Client Scoring Service: platform',
    description: DESCRIPTION,
    serverUrl: '/',
    tags: [
      { name: 'Outcomes', description: 'What became of orders' },
      { name: 'Clients', description: 'What is known and decided about payers' },
      { name: 'Decisions', description: 'What was answered, and why' },
      { name: 'Events', description: 'What happened, for copies elsewhere' },
      { name: 'Lists', description: 'What rules ask about, and people change without a release' },
      { name: 'Rules', description: 'Which version decides' },
      { name: 'Approvals', description: 'What somebody else approves before it is done' },
      { name: 'Access', description: 'Keys, people and the audit' },
      { name: 'Evidence', description: 'What rules were worth on what happened' },
      { name: 'Console', description: 'What the console asks for besides' },
      { name: 'Health', description: 'What orchestrators and Prometheus ask for' },
    ],
    elsewhere: [TOO_MANY_AT_ONCE, SESSION_ENDED, OTHER_SITE, OTHER_PLATFORM],
    refusesUnknownParameters: true,
    operations: [...always, ...withRollout, ...withEvidence, ...withRuleFolders],
  });
}
