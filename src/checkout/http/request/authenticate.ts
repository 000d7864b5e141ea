import type { ParameterizedContext } from 'koa';
import {
  type AccessKey,
  type AccessKeys,
  type GrantableOperation,
  isGranted,
} from '#checkout/access/access-keys.ts';
import { type Caller, toKeyCaller } from '#checkout/access/caller.ts';
import { type DocumentedRefusal, declareRefusal, HttpProblem, type Refusal } from './problems.ts';
import { UNKNOWN_KEY } from './refusals.ts';
import type { RequestState } from './request-state.ts';

/** The operations that a caller must be granted: one operation, several together, or any one of a list. */
export type RequiredGrant = GrantableOperation | readonly GrantableOperation[] | AnyOf;

interface AnyOf {
  readonly anyOf: readonly GrantableOperation[];
  readonly refused: Refusal;
}

/** Any of these operations opens the console. */
const PLATFORM_OPERATIONS = [
  'figures',
  'decisions',
  'clients:read',
  'clients',
  'waits',
  'rules:read',
  'rules',
  'outcomes',
  'erase',
  'lists:read',
  'lists',
  'operate',
  'keys',
  'audit',
  'approve',
] as const satisfies readonly GrantableOperation[];

const NOT_PROVISIONED = 'not provisioned';

export const ANY_CONSOLE_OPERATION: AnyOf = {
  anyOf: PLATFORM_OPERATIONS,
  refused: declareRefusal(
    'not-provisioned',
    'The key was issued for none of the operations of the platform.',
    () =>
      new HttpProblem(
        403,
        NOT_PROVISIONED,
        `The access key has no operation of the platform; the console needs one of ${PLATFORM_OPERATIONS.join(', ')}. The platform owner grants operations.`,
      ),
  ),
};

/**
 * Requires the grant `figures` or `rules`. The second admits people who may change rules for the whole installation
 * and may not see a platform's figures.
 */
export const FIGURES_OR_RULES: AnyOf = { anyOf: ['figures', 'rules'], refused: declareNotGranted('figures') };

interface KnowsBrowsers {
  /** Finds the person who is signed in. Throws 401 or 403. */
  readonly requireSessionCaller: (ctx: ParameterizedContext<RequestState>) => Promise<Caller>;
}

/** How a listener identifies callers. */
export interface CallerSources {
  readonly keys: AccessKeys;
  /** Identifies people by their browser's session. Null on a listener for programs, which use keys. */
  readonly browsers: KnowsBrowsers | null;
}

/** Identifies the caller (401) and checks the grant (403), as section 5 of the interface says. */
export async function authenticateAndAuthorize(
  ctx: ParameterizedContext<RequestState>,
  { keys, browsers }: CallerSources,
  grant: RequiredGrant,
): Promise<Caller> {
  ctx.state.operation = getFirstOperation(grant);
  const key = readGivenKey(ctx);
  const caller =
    key === null && browsers !== null
      ? await browsers.requireSessionCaller(ctx)
      : requireCallerOfKey(await keys.authenticate(key ?? refuseMissingKey()));
  ctx.state.caller = caller;
  ctx.state.operation = requireGrant(caller, grant);
  return caller;
}

/** Whether the caller is still known and granted the operation. */
export async function isStillAuthorized(
  ctx: ParameterizedContext<RequestState>,
  callers: CallerSources,
  grant: RequiredGrant,
): Promise<boolean> {
  try {
    await authenticateAndAuthorize(ctx, callers, grant);
    return true;
  } catch (error) {
    if (error instanceof HttpProblem) return false;
    throw error;
  }
}

/** Returns the caller with this key. Throws 401 if the key is null. */
export function requireCallerOfKey(key: AccessKey | null): Caller {
  if (key !== null) return toKeyCaller(key);
  throw UNKNOWN_KEY.problem('The access key is not known, was revoked, or has expired.');
}

function refuseMissingKey(): never {
  throw UNKNOWN_KEY.problem('The header X-KA-Access-Key is missing.');
}

function readGivenKey(ctx: ParameterizedContext<RequestState>): string | null {
  const given = ctx.req.headersDistinct['x-ka-access-key'] ?? [];
  if (given.length > 1) throw UNKNOWN_KEY.problem('The header X-KA-Access-Key came more than once.');
  return given[0] ?? null;
}

/** Returns the operation under which log and metrics count the request. */
function getFirstOperation(grant: RequiredGrant): GrantableOperation {
  return (isAnyOf(grant) ? grant.anyOf : toOperations(grant))[0] ?? PLATFORM_OPERATIONS[0];
}

/** Returns the granted operation. Throws 403 if the caller lacks a grant. */
export function requireGrant(caller: Caller, grant: RequiredGrant): GrantableOperation {
  if (isAnyOf(grant)) {
    const granted = grant.anyOf.find((operation) => isGranted(caller, operation));
    if (granted === undefined) throw grant.refused.problem();
    return granted;
  }
  const lacking = toOperations(grant).find((operation) => !isGranted(caller, operation));
  if (lacking !== undefined) throw declareNotGranted(lacking).problem();
  return getFirstOperation(grant);
}

function isAnyOf(grant: RequiredGrant): grant is AnyOf {
  return typeof grant === 'object' && 'anyOf' in grant;
}

function toOperations(
  grant: GrantableOperation | readonly GrantableOperation[],
): readonly GrantableOperation[] {
  return typeof grant === 'string' ? [grant] : grant;
}

/** Lists every 403 that an operation with this grant may answer. */
export function listGrantRefusals(grant: RequiredGrant): readonly DocumentedRefusal[] {
  return isAnyOf(grant) ? [grant.refused] : toOperations(grant).map(declareNotGranted);
}

/** Lists sets of operations. A key needs every operation of at least one set. OpenAPI 3.1 calls the sets roles. */
export function listGrantAlternatives(grant: RequiredGrant): readonly (readonly GrantableOperation[])[] {
  return isAnyOf(grant) ? grant.anyOf.map((one) => [one]) : [toOperations(grant)];
}

function declareNotGranted(operation: GrantableOperation) {
  return declareRefusal(
    `not-provisioned-for-${operation.replace(':', '-')}`,
    `The key was not issued for the operation "${operation}".`,
    () =>
      new HttpProblem(
        403,
        NOT_PROVISIONED,
        `The access key was not issued for the operation "${operation}"; the platform owner grants operations.`,
      ),
  );
}
