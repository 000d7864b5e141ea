import type { OperationSpec } from './document.ts';
import { DECISION_EXAMPLE, DIGEST_EXAMPLE, MINUTE_EXAMPLE } from './examples.ts';
import {
  BAD_VERSION,
  BODY_TOO_LARGE,
  badParameter,
  malformed,
  UNKNOWN_VERSION,
  UNSUPPORTED_TYPE,
} from './refusals.ts';

const SESSION: OperationSpec = {
  method: 'get',
  path: '/v1/platform/session',
  operationId: 'readSession',
  summary: 'What this key may do',
  description:
    'For a key of any operation of the platform. The console shows the pages that the key may see.',
  tag: 'Console',
  grant: 'any of the platform',
  answers: {
    200: {
      description: 'The platform and the operations of the key',
      content: {
        'application/json': {
          schema: 'Session',
          example: {
            platform: 'shop',
            keyId: '3f9a0c51d2e7',
            owner: 'risk-team',
            operations: ['clients', 'decisions', 'rules'],
            expiresAt: '2027-02-19T10:00:00.000Z',
          },
        },
      },
    },
  },
  refusals: [],
};

const LAST_HOUR: OperationSpec = {
  method: 'get',
  path: '/v1/platform/last-hour',
  operationId: 'readLastHour',
  summary: 'What this node answered, minute by minute',
  description:
    'Verdicts are those of the platform, requests and latency those of all callers of this node. For a fleet over a longer time there is /metrics.',
  tag: 'Console',
  grant: 'decisions',
  answers: {
    200: {
      description: 'Sixty minutes of each; the example shows the last one',
      content: { 'application/json': { schema: 'LastHour', example: MINUTE_EXAMPLE } },
    },
  },
  refusals: [],
};

const FOLDER_EXAMPLE = {
  version: 'p2.v11',
  sound: true,
  released: true,
  digest: DIGEST_EXAMPLE,
  description: 'A longer first wait.',
} as const;

const RULE_FOLDERS: OperationSpec = {
  method: 'get',
  path: '/v1/platform/rules/versions',
  operationId: 'listRuleFolders',
  summary: 'The rule sets on this node',
  description: 'Newest first, also those that are refused because they have problems.',
  tag: 'Rules',
  grant: 'rules',
  answers: {
    200: {
      description: 'All of RULES_DIR',
      content: { 'application/json': { schema: 'RuleFolderList', example: { versions: [FOLDER_EXAMPLE] } } },
    },
  },
  refusals: [],
};

const RULE_FOLDER: OperationSpec = {
  method: 'get',
  path: '/v1/platform/rules/versions/{version}',
  operationId: 'readRuleFolder',
  summary: 'A rule set with its files',
  description:
    'Its files as text, its problems or its ladder, rules, facts and coverage by cases. `hits` counts how often each rule held in the newest decisions; null without the operation "decisions".',
  tag: 'Rules',
  grant: 'rules',
  parameters: [
    {
      name: 'version',
      in: 'path',
      required: true,
      description: 'A rule set, like p2.v10',
      schema: { type: 'string' },
    },
  ],
  answers: {
    200: {
      description: 'The rule set; one that is not sound has problems instead of ladder, hits and coverage',
      content: {
        'application/json': {
          schema: 'OpenedRuleFolder',
          example: {
            ...FOLDER_EXAMPLE,
            files: [{ path: 'ladder.yaml', text: 'levels: [40s, 5m, 30m]\nresetAfter: 24h\n' }],
            problems: [],
            ladder: { levelsMs: [40_000, 300_000, 1_800_000], resetAfterMs: 86_400_000 },
            platforms: [],
            rules: [
              {
                name: 'asked-too-early',
                at: { file: 'verdicts.yaml', line: 12, column: 5 },
                gives: 'WAIT',
              },
            ],
            facts: [
              {
                label: 'attemptOpen',
                domain: { type: 'boolean' },
                unit: null,
                description: 'A requisite was granted and is not paid yet',
              },
            ],
            hits: {
              platform: 'shop',
              decisions: 500,
              rules: [{ file: 'verdicts.yaml', name: 'asked-too-early', line: 12, held: 41, decided: 40 }],
            },
            coverage: {
              problems: [],
              passed: 12,
              failed: 0,
              coverage: {
                rules: { tested: 9, total: 9, percent: 100 },
                conditions: { tested: 20, total: 20, percent: 100 },
                untestedRules: [],
                oneSidedConditions: [],
              },
            },
          },
        },
      },
    },
  },
  refusals: [UNKNOWN_VERSION],
};

const versionParameter = (name: string, description: string) => ({
  name,
  in: 'query',
  required: true,
  description,
  schema: { type: 'string' },
});

const RULE_DIFF: OperationSpec = {
  method: 'get',
  path: '/v1/platform/rules/diff',
  operationId: 'compareRuleFolders',
  summary: 'In what two versions differ',
  description:
    'By meaning, with payers whom the two answer differently at once: as the command `rules diff` shows them. The search for these is ended after some seconds.',
  tag: 'Rules',
  grant: 'rules',
  parameters: [
    versionParameter('before', 'The version to start from'),
    versionParameter('after', 'The version that changes it'),
  ],
  answers: {
    200: {
      description: 'The differences and examples; both empty when the two decide alike',
      content: {
        'application/json': {
          schema: 'RuleDiff',
          example: {
            before: 'p2.v10',
            after: 'p2.v11',
            differences: [
              {
                part: 'verdicts',
                name: 'asked-too-early',
                kind: 'changed',
                text: 'asked-too-early: waitRemainingSeconds > 0 -> > 2',
              },
            ],
            examples: [
              {
                facts: { waitRemainingSeconds: 1 },
                before: { verdict: 'WAIT', rule: 'asked-too-early', clientGroup: 'NEW', isBot: false },
                after: { verdict: 'GET_NEW', rule: 'otherwise', clientGroup: 'NEW', isBot: false },
              },
            ],
            searched: true,
          },
        },
      },
    },
  },
  refusals: [BAD_VERSION, UNKNOWN_VERSION],
};

const WHAT_IF: OperationSpec = {
  method: 'post',
  path: '/v1/platform/rules/what-if',
  operationId: 'askWhatIf',
  summary: 'How one or two versions would answer',
  description:
    'A verdict request as it would be answered now, or with `facts` of your own instead of what the client shows. Nothing is written, and no counter moves. The key needs both operations.',
  tag: 'Rules',
  grant: ['rules', 'clients'],
  body: {
    'application/json': {
      schema: 'WhatIfBody',
      example: {
        versions: ['p2.v10', 'p2.v11'],
        request: {
          sellPointKey: 'shop-1',
          clientIdKey: 'ann',
          method: 'card',
          amountRequested: '25.00',
          orderRef: 'order-1',
        },
        facts: { waitRemainingSeconds: 1 },
      },
    },
  },
  answers: {
    200: {
      description: 'An answer for each version; `rules` is null when its facts cannot be traced',
      content: {
        'application/json': {
          schema: 'WhatIfAnswers',
          example: {
            answers: [
              {
                version: 'p2.v10',
                digest: DIGEST_EXAMPLE,
                decision: { ...DECISION_EXAMPLE, requestId: 'what-if' },
                rules: null,
              },
            ],
          },
        },
      },
    },
  },
  refusals: [
    malformed('/facts/attemptOpen', 'must be true or false'),
    badParameter(
      'unsoundVersion',
      'A version is not written as one, or has problems.',
      "p2.v12 has problems; mend it first. The console's page Rules lists them.",
    ),
    UNKNOWN_VERSION,
    BODY_TOO_LARGE,
    UNSUPPORTED_TYPE,
  ],
};

/** What the console asks for itself; other programs may, too. */
export const CONSOLE_OPERATIONS: readonly OperationSpec[] = [
  SESSION,
  LAST_HOUR,
  RULE_FOLDERS,
  RULE_FOLDER,
  RULE_DIFF,
  WHAT_IF,
];
