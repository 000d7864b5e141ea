import type { OPERATIONS } from '../../access/access-keys.ts';
import { noOperationOfThePlatform } from '../platform/session.ts';
import { MAX_BODY_BYTES, tooLarge } from '../request/body.ts';
import {
  badRequest,
  HttpProblem,
  malformedBody,
  notFound,
  notProvisioned,
  unavailable,
  unknownKey,
} from '../request/problems.ts';

/** A way in which a request is refused, with an answer as example. */
export interface Refusal {
  /** Names the example. */
  readonly name: string;
  readonly when: string;
  readonly problem: HttpProblem;
}

/** What every operation with a key may answer. */
export const UNKNOWN_KEY: Refusal = {
  name: 'unknownKey',
  when: 'The header X-KA-Access-Key is missing, or the key is not known, was revoked, or has expired.',
  problem: unknownKey('The header X-KA-Access-Key is missing.'),
};

export const UNAVAILABLE: Refusal = {
  name: 'stateAway',
  when: 'State cannot be reached, or too many requests of this client wait. Nothing was decided or changed.',
  problem: unavailable(
    'State cannot be reached right now. Send the same request again shortly; for a verdict, with the same Idempotency-Key.',
  ),
};

export const INTERNAL_ERROR: Refusal = {
  name: 'internalError',
  when: 'A fault of the service.',
  problem: new HttpProblem(500, 'internal error', 'The service failed; the requestId leads to its log.'),
};

export const NO_OPERATION_OF_THE_PLATFORM: Refusal = {
  name: 'notProvisioned',
  when: 'The key was issued for none of the operations of the platform.',
  problem: noOperationOfThePlatform(),
};

export function notGranted(operation: (typeof OPERATIONS)[number]): Refusal {
  return {
    name: `notProvisionedFor${operation.charAt(0).toUpperCase()}${operation.slice(1)}`,
    when: `The key was not issued for the operation "${operation}".`,
    problem: notProvisioned(operation),
  };
}

/** A body that the operation's schema refuses, with the pointer at what is wrong. */
export function malformed(pointer: string, detail: string): Refusal {
  return {
    name: 'malformedBody',
    when: 'The body is not valid for the operation.',
    problem: malformedBody(`${pointer} ${detail}.`, [{ pointer, detail }]),
  };
}

export function badParameter(name: string, when: string, detail: string): Refusal {
  return { name, when, problem: badRequest(detail) };
}

export const BAD_IDEMPOTENCY_KEY: Refusal = {
  name: 'badIdempotencyKey',
  when: 'The header Idempotency-Key is not valid.',
  problem: badRequest('Idempotency-Key must come once, with 1 to 255 visible ASCII characters.', [
    { pointer: '', detail: 'the header Idempotency-Key is not valid' },
  ]),
};

export const IDEMPOTENCY_KEY_REUSED: Refusal = {
  name: 'idempotencyKeyReused',
  when: 'The Idempotency-Key came with another body before.',
  problem: new HttpProblem(
    422,
    'Idempotency-Key reused',
    'This Idempotency-Key came with another request before; use a new key for every new verdict.',
  ),
};

export const BODY_TOO_LARGE: Refusal = {
  name: 'bodyTooLarge',
  when: `The body has more than ${MAX_BODY_BYTES} bytes.`,
  problem: tooLarge(MAX_BODY_BYTES),
};

export const UNSUPPORTED_TYPE: Refusal = {
  name: 'unsupportedType',
  when: 'The body is not JSON in UTF-8 by its Content-Type, or is compressed.',
  problem: new HttpProblem(
    415,
    'unsupported content type',
    'Content-Type must be application/json, once, and in UTF-8.',
  ),
};

export const BAD_CLIENT_PATH: Refusal = badParameter(
  'badClientIdKey',
  'The clientIdKey in the path is too long or not percent-encoded UTF-8.',
  'The path is not percent-encoded UTF-8; encode the clientIdKey in it.',
);

export const UNKNOWN_CLIENT: Refusal = {
  name: 'unknownClient',
  when: 'Nothing is known of the client.',
  problem: notFound('Nothing is known of this client.'),
};

export const UNKNOWN_DECISION: Refusal = {
  name: 'unknownDecision',
  when: 'The platform has no such decision, or it is past its retention.',
  problem: notFound('There is no such decision, or it is past its retention.'),
};

export const ROLLOUT_REFUSED: Refusal = {
  name: 'rolloutRefused',
  when: 'The state of the fleet is in the way; nothing was changed.',
  problem: new HttpProblem(409, 'rollout refused', 'p2.v10 is active already'),
};

export const UNKNOWN_VERSION: Refusal = {
  name: 'unknownVersion',
  when: 'This node has no such rule set.',
  problem: notFound('There is no rule set p2.v99 on this node.'),
};

export const BAD_VERSION: Refusal = badParameter(
  'badVersion',
  'A version is not written as one, or has problems.',
  'before must be a rule version, once, like p2.v10.',
);

/** What any path may answer besides what is listed for its operations. */
export const ELSEWHERE: readonly Refusal[] = [
  {
    name: 'notFound',
    when: 'There is nothing at this path.',
    problem: notFound('There is nothing at /v1/client/scores.'),
  },
  {
    name: 'methodNotAllowed',
    when: 'The path does not take this method; the header Allow names those it takes.',
    problem: new HttpProblem(405, 'method not allowed', 'Use POST.', { headers: { Allow: 'POST' } }),
  },
];
