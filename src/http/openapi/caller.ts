import { IDEMPOTENCY_KEY_PATTERN, ScoreBodySchema, VerdictBodySchema } from '../request/schemas.ts';
import { documentOf, type OpenApiDocument, type OperationSpec } from './document.ts';
import {
  BAD_IDEMPOTENCY_KEY,
  BODY_TOO_LARGE,
  IDEMPOTENCY_KEY_REUSED,
  malformed,
  UNSUPPORTED_TYPE,
} from './refusals.ts';

const DESCRIPTION = `Classifies a payer and says whether a payment requisite may be issued right now.

Call score when the checkout is open and the amount is known, then verdict directly before a requisite is
issued. Both are decisions, not pings: repeated verdicts move the payer up the cooldown ladder.

Checks come in this order: rate, key (401), scope (403), body (415, 413, 400). About 20 requests a second
are taken from one client IP; over it answers are delayed, then the connection is dropped without an answer.
Unknown members of a body are ignored.`;

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Send the same key with a repeat of the same request: within 24 h it gets the stored answer and counts once',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
} as const;

const SCORE: OperationSpec = {
  method: 'post',
  path: '/v1/client/score',
  operationId: 'score',
  summary: 'Which payer this is',
  description:
    'Contract, section 4.1. Before payment methods are rendered; a couple of times per checkout at most. Idempotent per sellPointKey and clientIdKey.',
  tag: 'Scoring',
  grant: 'score',
  body: {
    'application/json': {
      schema: 'ScoreBody',
      example: {
        sellPointKey: 'shop-1',
        clientIdKey: 'ann',
        amountRequested: '25.00',
        selectedMethodKey: 'card',
        toPayCurrency: 'EUR',
        fingerprint: 'f-5d1c',
        ip: '203.0.113.7',
        userAgent: 'Mozilla/5.0',
        clientHints: { jsOk: true, honeypotTriggered: false },
      },
    },
  },
  answers: {
    200: {
      description: 'Group, payment score and bot flag',
      content: {
        'application/json': {
          schema: 'ScoreAnswer',
          example: { clientGroup: 'NEW', paymentScore: '0.5000', isBot: false },
        },
      },
    },
  },
  refusals: [malformed('/amountRequested', 'must be a JSON string'), BODY_TOO_LARGE, UNSUPPORTED_TYPE],
};

const VERDICT: OperationSpec = {
  method: 'post',
  path: '/v1/client/verdict',
  operationId: 'verdict',
  summary: 'Whether a requisite may be issued right now',
  description:
    'Contract, section 4.2. Directly before a requisite is shown, after score; again when method or amount changes. After WAIT no earlier than waitSeconds.',
  tag: 'Scoring',
  grant: 'verdict',
  parameters: [IDEMPOTENCY_KEY],
  body: {
    'application/json': {
      schema: 'VerdictBody',
      example: {
        sellPointKey: 'shop-1',
        clientIdKey: 'ann',
        method: 'card',
        amountRequested: '25.00',
        orderRef: 'order-1',
        toPayCurrency: 'EUR',
      },
    },
  },
  answers: {
    200: {
      description: 'One of four commands; recorded before it is answered',
      headers: ['X-Decision-Id', 'Idempotent-Replayed'],
      content: {
        'application/json': {
          schema: 'VerdictAnswer',
          example: {
            verdict: 'WAIT',
            waitSeconds: 30,
            reason: 'The last attempt is not paid yet; cooldown level 1.',
            ruleVersion: 'p2.v10',
            isBot: false,
          },
        },
      },
    },
  },
  refusals: [
    malformed('/orderRef', 'is required'),
    BAD_IDEMPOTENCY_KEY,
    BODY_TOO_LARGE,
    UNSUPPORTED_TYPE,
    IDEMPOTENCY_KEY_REUSED,
  ],
};

/** The two operations of the contract; `basePath` is '' or a path like `/scoring`. */
export function callerDocument(basePath: string): OpenApiDocument {
  return documentOf({
    title: 'Client Scoring Service',
    description: DESCRIPTION,
    serverUrl: basePath === '' ? '/' : basePath,
    tags: [{ name: 'Scoring', description: 'What a checkout asks' }],
    bodies: { ScoreBody: ScoreBodySchema, VerdictBody: VerdictBodySchema },
    operations: [SCORE, VERDICT],
  });
}
