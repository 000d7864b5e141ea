import { VERDICTS } from '../../rules/rule-set.ts';
import { RollbackBodySchema, RolloutBodySchema } from '../platform/rollout.ts';
import { WhatIfBodySchema } from '../platform/what-if.ts';
import {
  BindingBodySchema,
  DECISIONS_LISTED,
  OutcomeBodySchema,
  OverrideBodySchema,
} from '../request/schemas.ts';
import { CLIENT_OPERATIONS } from './clients.ts';
import { CONSOLE_OPERATIONS } from './console.ts';
import { documentOf, type OpenApiDocument, type OperationSpec } from './document.ts';
import { DECISION_EXAMPLE, ROLLOUT_EXAMPLE } from './examples.ts';
import {
  BODY_TOO_LARGE,
  badParameter,
  malformed,
  ROLLOUT_REFUSED,
  UNKNOWN_DECISION,
  UNSUPPORTED_TYPE,
} from './refusals.ts';

const DESCRIPTION = `What the platform owner tells the service, and may ask of it: outcomes of orders, bindings and
overrides of clients, decisions with their explanations, and which version of the rules decides.

Checks come in this order: key (401), scope (403), body (415, 413, 400). Times in answers are milliseconds
since 1970. Unknown members of a body are ignored. Every client, order and decision belongs to the platform
of the key. Files need no key and are not described here: the console at /, its parts below /console/, this
document at /openapi.json, and its page at /docs.`;

const OUTCOMES: OperationSpec = {
  method: 'post',
  path: '/v1/platform/outcomes',
  operationId: 'reportOutcomes',
  summary: 'What became of an order',
  description:
    'One outcome as JSON, or up to 100000 as one JSON object a line, answered by a line each in the same order. Final per orderRef: a repeat changes nothing, a later different one supersedes. TECHNICAL counts neither way. A cause goes only with UNPAID.',
  tag: 'Outcomes',
  grant: 'outcomes',
  body: {
    'application/json': {
      schema: 'OutcomeBody',
      example: {
        clientIdKey: 'ann',
        orderRef: 'order-1',
        outcome: 'PAID',
        occurredAt: '2026-11-21T10:00:00Z',
      },
    },
    'application/x-ndjson': {
      schema: 'OutcomeBody',
      example: { clientIdKey: 'bob', orderRef: 'order-2', outcome: 'UNPAID', cause: 'EXPIRED' },
    },
  },
  answers: {
    200: {
      description: 'What the report did; for many, a line each',
      content: {
        'application/json': {
          schema: 'OutcomeResult',
          example: { clientIdKey: 'ann', orderRef: 'order-1', result: 'recorded' },
        },
        'application/x-ndjson': {
          schema: 'OutcomeLine',
          example: { line: 1, clientIdKey: 'bob', orderRef: 'order-2', result: 'recorded' },
        },
      },
    },
  },
  refusals: [malformed('/cause', 'goes only with UNPAID'), BODY_TOO_LARGE, UNSUPPORTED_TYPE],
};

const queryText = (name: string, description: string) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type: 'string', minLength: 1, maxLength: 256 },
});

const DECISION_ID = {
  name: 'decisionId',
  in: 'path',
  required: true,
  description: 'As in X-Decision-Id',
  schema: { type: 'string' },
} as const;

const DECISION_LIST_EXAMPLE = {
  decisions: [DECISION_EXAMPLE],
  lookedAt: { decisions: 10_000, backTo: DECISION_EXAMPLE.at, complete: false },
};

const DECISIONS: OperationSpec = {
  method: 'get',
  path: '/v1/platform/decisions',
  operationId: 'listDecisions',
  summary: 'Decisions of an order or a client',
  description:
    'Newest first: of an order, of a client, or with neither of all. verdict, rule and ruleVersion leave out what does not fit. The look back ends at `limit` decisions, or after some thousands; `lookedAt` says how far it went.',
  tag: 'Decisions',
  grant: 'decisions',
  parameters: [
    queryText('orderRef', 'The order that the caller quotes'),
    queryText('clientIdKey', 'A client; not looked at beside an orderRef'),
    {
      name: 'verdict',
      in: 'query',
      required: false,
      description: 'Only decisions with this verdict',
      schema: { type: 'string', enum: VERDICTS },
    },
    queryText('rule', 'Only decisions by this rule, or by "otherwise"; compared exactly'),
    queryText('ruleVersion', 'Only decisions of this rule set, like p2.v10'),
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'The most to list',
      schema: {
        type: 'integer',
        minimum: 1,
        maximum: DECISIONS_LISTED.max,
        default: DECISIONS_LISTED.default,
      },
    },
  ],
  answers: {
    200: {
      description: 'The decisions that are kept',
      content: { 'application/json': { schema: 'DecisionList', example: DECISION_LIST_EXAMPLE } },
    },
  },
  refusals: [
    badParameter(
      'badParameter',
      'A parameter is not valid, or came more than once.',
      `The parameter limit must be a whole number from 1 to ${DECISIONS_LISTED.max}.`,
    ),
  ],
};

const DECISION: OperationSpec = {
  method: 'get',
  path: '/v1/platform/decisions/{decisionId}',
  operationId: 'readDecision',
  summary: 'One decision',
  description: 'The record of one answered verdict.',
  tag: 'Decisions',
  grant: 'decisions',
  parameters: [DECISION_ID],
  answers: {
    200: {
      description: 'The record',
      content: { 'application/json': { schema: 'Decision', example: DECISION_EXAMPLE } },
    },
  },
  refusals: [UNKNOWN_DECISION],
};

const EXPLANATION: OperationSpec = {
  method: 'get',
  path: '/v1/platform/decisions/{decisionId}/explanation',
  operationId: 'explainDecision',
  summary: 'Why a decision fell as it did',
  description:
    'Every rule with its conditions and the values they saw, and whether the verdict is reproduced.',
  tag: 'Decisions',
  grant: 'decisions',
  parameters: [DECISION_ID],
  answers: {
    200: {
      description: 'The explanation; without rules when this node does not have the rule set that decided',
      content: {
        'application/json': {
          schema: 'Explanation',
          example: {
            decision: DECISION_EXAMPLE,
            rules: null,
            ladder: {
              before: { ...DECISION_EXAMPLE.ladderBefore, words: 'no wait so far' },
              after: {
                ...DECISION_EXAMPLE.ladderAfter,
                words: 'a requisite was granted and is not paid yet',
              },
            },
            reproduced: false,
            differences: [],
            verification: 'The rule set that decided is not here.',
          },
        },
      },
    },
  },
  refusals: [UNKNOWN_DECISION],
};

const RULES: OperationSpec = {
  method: 'get',
  path: '/v1/platform/rules',
  operationId: 'readRollout',
  summary: 'Which version decides',
  description: 'The rollout, the nodes as they report themselves, and what was seen of a trial under way.',
  tag: 'Rules',
  grant: 'rules',
  answers: {
    200: {
      description: 'As it stands',
      content: {
        'application/json': {
          schema: 'RolloutStatus',
          example: { rollout: ROLLOUT_EXAMPLE, nodes: [], trial: null },
        },
      },
    },
  },
  refusals: [],
};

const FOLLOWING_ANSWER = {
  200: {
    description: 'The changed rollout, and which nodes follow it',
    content: {
      'application/json': {
        schema: 'Following',
        example: { rollout: ROLLOUT_EXAMPLE, following: [], lagging: [] },
      },
    },
  },
} as const;

const ROLL_OUT: OperationSpec = {
  method: 'post',
  path: '/v1/platform/rules/rollout',
  operationId: 'rollOut',
  summary: 'Brings a version to shadow, canary or active',
  description:
    'percent and guard go only with a canary, which needs a percent. A draft may only be shadowed.',
  tag: 'Rules',
  grant: 'operate',
  body: {
    'application/json': {
      schema: 'RolloutBody',
      example: { version: 'p2.v11', mode: 'canary', percent: 5, guard: 2, reason: 'longer first wait' },
    },
  },
  answers: FOLLOWING_ANSWER,
  refusals: [
    malformed('/percent', 'is required for a canary'),
    ROLLOUT_REFUSED,
    BODY_TOO_LARGE,
    UNSUPPORTED_TYPE,
  ],
};

const ROLL_BACK: OperationSpec = {
  method: 'post',
  path: '/v1/platform/rules/rollback',
  operationId: 'rollBack',
  summary: 'Takes the last step back',
  description: 'Takes the candidate back, or without one returns to the version that was active before.',
  tag: 'Rules',
  grant: 'operate',
  body: { 'application/json': { schema: 'RollbackBody', example: { reason: 'too many waits' } } },
  answers: FOLLOWING_ANSWER,
  refusals: [malformed('/reason', 'is required'), ROLLOUT_REFUSED, BODY_TOO_LARGE, UNSUPPORTED_TYPE],
};

const LIVEZ: OperationSpec = {
  method: 'get',
  path: '/livez',
  operationId: 'readLiveness',
  summary: 'Whether the process runs',
  description: 'No key is needed.',
  tag: 'Health',
  grant: null,
  answers: {
    200: {
      description: 'It does',
      content: { 'application/json': { schema: 'Liveness', example: { status: 'live' } } },
    },
  },
  refusals: [],
};

const READYZ: OperationSpec = {
  method: 'get',
  path: '/readyz',
  operationId: 'readReadiness',
  summary: 'Whether the process should get traffic',
  description: 'No key is needed.',
  tag: 'Health',
  grant: null,
  answers: {
    200: {
      description: 'It should',
      content: { 'application/json': { schema: 'Readiness', example: { status: 'ready' } } },
    },
    503: {
      description: 'It should not: it is shutting down, or its store cannot be reached',
      content: {
        'application/json': {
          schema: 'Readiness',
          example: { status: 'not ready', why: 'the store cannot be reached' },
        },
      },
    },
  },
  refusals: [],
};

const METRICS: OperationSpec = {
  method: 'get',
  path: '/metrics',
  operationId: 'readMetrics',
  summary: 'Prometheus metrics',
  description: 'No key is needed.',
  tag: 'Health',
  grant: null,
  answers: { 200: { description: 'The exposition format of Prometheus', text: true } },
  refusals: [],
};

/** What the second listener offers. */
export function platformDocument(): OpenApiDocument {
  return documentOf({
    title: 'Client Scoring Service: platform',
    description: DESCRIPTION,
    serverUrl: '/',
    tags: [
      { name: 'Outcomes', description: 'What became of orders' },
      { name: 'Clients', description: 'What is known and decided about payers' },
      { name: 'Decisions', description: 'What was answered, and why' },
      { name: 'Rules', description: 'Which version decides' },
      { name: 'Console', description: 'What the console asks for besides' },
      { name: 'Health', description: 'What orchestrators and Prometheus ask for' },
    ],
    bodies: {
      OutcomeBody: OutcomeBodySchema,
      BindingBody: BindingBodySchema,
      OverrideBody: OverrideBodySchema,
      RolloutBody: RolloutBodySchema,
      RollbackBody: RollbackBodySchema,
      WhatIfBody: WhatIfBodySchema,
    },
    operations: [
      OUTCOMES,
      ...CLIENT_OPERATIONS,
      DECISIONS,
      DECISION,
      EXPLANATION,
      RULES,
      ROLL_OUT,
      ROLL_BACK,
      ...CONSOLE_OPERATIONS,
      LIVEZ,
      READYZ,
      METRICS,
    ],
  });
}
