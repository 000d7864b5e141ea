import { HttpProblem, notFound, refusal, unavailable } from './problems.ts';

/** The refusals that more than one operation shares. Those of a single one stand beside it. */

const TITLE_401 = 'unknown X-KA-Access-Key';

export const UNKNOWN_KEY = refusal(
  'unknownKey',
  'The header X-KA-Access-Key is missing, or the key is not known, was revoked, or has expired.',
  (detail: string) => new HttpProblem(401, TITLE_401, detail),
  'The header X-KA-Access-Key is missing.',
);

export const STATE_AWAY = refusal(
  'stateAway',
  'State cannot be reached, or too many requests of this client wait. Nothing was decided or changed.',
  () =>
    unavailable(
      'State cannot be reached right now. Send the same request again shortly; for a verdict, with the same Idempotency-Key.',
    ),
);

export const TOO_MANY_WAITING = refusal('tooManyWaiting', 'Too many requests of this client wait.', () =>
  unavailable(
    'Too many requests of this client are waiting; nothing was decided or changed. Try again shortly.',
  ),
);

export const INTERNAL_ERROR = refusal(
  'internalError',
  'A fault of the service.',
  () => new HttpProblem(500, 'internal error', 'The service failed; the requestId leads to its log.'),
);

export const IDEMPOTENCY_KEY_REUSED = refusal(
  'idempotencyKeyReused',
  'The Idempotency-Key came with another body before.',
  () =>
    new HttpProblem(
      422,
      'Idempotency-Key reused',
      'This Idempotency-Key came with another request before; use a new key for every new verdict.',
    ),
);

export const NOTHING_THERE = refusal(
  'notFound',
  'There is nothing at this path.',
  (path: string) => notFound(`There is nothing at ${path.slice(0, 200)}.`),
  '/v1/client/scores',
);

export const METHOD_NOT_ALLOWED = refusal(
  'methodNotAllowed',
  'The path does not take this method; the header Allow names those it takes.',
  (...allowed: string[]) =>
    new HttpProblem(405, 'method not allowed', `Use ${allowed.join(' or ')}.`, {
      headers: { Allow: allowed.join(', ') },
    }),
  'POST',
);

export const OVERLOADED = refusal('overloaded', 'The service has more to do than it can.', () =>
  unavailable('The service has more to do than it can; nothing was decided or changed. Try again shortly.'),
);
