import type Router from '@koa/router';
import type { ParameterizedContext } from 'koa';
import type { AccessKey, AccessKeys, Operation } from '../../access/access-keys.ts';
import type { PlatformName } from '../../client/client-key.ts';
import { authenticate } from '../request/authenticate.ts';
import { HttpProblem } from '../request/problems.ts';
import type { RequestState } from '../request/request-state.ts';
import type { LastHour } from '../server/last-hour.ts';

/** What a key may do, as the console asks when somebody signs in. */
export interface Session {
  readonly platform: PlatformName;
  readonly keyId: string;
  /** The person or team that answers for the key; null when it was issued without one. */
  readonly owner: string | null;
  readonly operations: readonly Operation[];
  /** RFC 3339; null: it does not expire. */
  readonly expiresAt: string | null;
}

export interface SessionParts {
  readonly keys: AccessKeys;
  readonly lastHour: LastHour;
}

/** Any of these opens the console. */
export const PLATFORM_OPERATIONS = [
  'decisions',
  'clients',
  'rules',
  'outcomes',
  'erase',
  'lists',
  'operate',
] as const satisfies readonly Operation[];

/**
 * Adds `GET /session`, which tells a key of any of the platform's operations what it may do, and
 * `GET /last-hour`: what this node answered, minute by minute.
 */
export function sessionRoutes(router: Router<RequestState>, { keys, lastHour }: SessionParts): void {
  router.get('/session', async (ctx) => {
    const { platform, id, owner = null, operations, expiresAt } = await keyOfThePlatform(ctx, keys);
    ctx.body = { platform, keyId: id, owner, operations, expiresAt } satisfies Session;
  });

  router.get('/last-hour', async (ctx) => {
    const { platform } = await authenticate(ctx, keys, 'decisions');
    ctx.body = lastHour.view(platform);
  });
}

/** Throws 401 for a key that is not known, and 403 for one that has none of the operations. */
async function keyOfThePlatform(
  ctx: ParameterizedContext<RequestState>,
  keys: AccessKeys,
): Promise<AccessKey> {
  for (const operation of PLATFORM_OPERATIONS) {
    try {
      return await authenticate(ctx, keys, operation);
    } catch (error) {
      if (!(error instanceof HttpProblem) || error.status !== 403) throw error;
    }
  }
  throw noOperationOfThePlatform();
}

export function noOperationOfThePlatform(): HttpProblem {
  return new HttpProblem(
    403,
    'not provisioned',
    `The access key has no operation of the platform; the console needs one of ${PLATFORM_OPERATIONS.join(', ')}. The platform owner grants operations.`,
  );
}
