import { hash } from 'node:crypto';
import { NamedError } from '#base/named-error.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { sortBodyMembers, type VerdictBody } from '#decision/requests.ts';
import type { Store } from '#state/store.ts';

/** The Idempotency-Key was used before with a different request. */
export class IdempotencyKeyReused extends NamedError {}

/** A verdict request that claims its Idempotency-Key. */
interface ClaimingRequest {
  readonly platform: PlatformName;
  readonly body: VerdictBody;
  readonly idempotencyKey: string;
  /** Resolves to whether the rate limit admits the request. If missing, the request is admitted. */
  readonly admitted: Promise<boolean> | undefined;
}

/**
 * Claims the Idempotency-Key of a request once the request is admitted. Resolves to whether the request is admitted.
 * Rejects with IdempotencyKeyReused if the key was used with a different request.
 */
export async function claimIdempotencyKeyIfAdmitted(
  store: Store,
  request: ClaimingRequest,
): Promise<boolean> {
  const { platform, body, idempotencyKey, admitted } = request;
  if ((await admitted) === false) return false;
  const text = JSON.stringify(sortBodyMembers(body));
  // The hash is a number, because Redis stores a number in the space of a pointer to a text.
  const requestHash = String(hash('sha256', text, 'buffer').readBigInt64LE());
  const first = await store.claimIdempotencyKey(platform, idempotencyKey, requestHash);
  if (first !== requestHash) throw new IdempotencyKeyReused();
  return true;
}
