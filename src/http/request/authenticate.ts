import type { ParameterizedContext } from 'koa';
import { type AccessKey, type AccessKeys, grants, type Operation } from '../../access/access-keys.ts';
import { type Caller, callerOfKey } from '../../access/caller.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import { HttpProblem, refusal, type ShownRefusal } from './problems.ts';
import { UNKNOWN_KEY } from './refusals.ts';
import type { RequestState } from './request-state.ts';

/** What a key must be granted: one operation, several together, or any of some. */
export type Grant = Operation | readonly Operation[] | typeof ANY_OF_THE_PLATFORM | typeof FIGURES_OR_RULES;

/** A person who works on rules of the whole installation still sees no figures of a platform. */
export const FIGURES_OR_RULES = 'figures or rules';

export const ANY_OF_THE_PLATFORM = 'any of the platform';

/** Any of these opens the console. */
export const PLATFORM_OPERATIONS = [
  'figures',
  'decisions',
  'clients:read',
  'clients',
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
] as const satisfies readonly Operation[];

const NOT_PROVISIONED = 'not provisioned';

/** How a listener finds out who asks. */
export interface Callers {
  readonly keys: AccessKeys;
  /** Null where no browser is known: programs have keys. */
  readonly browsers: BrowserSessions | null;
}

/** Whoever asks, who must be known (401) and granted for the operation (403); interface, section 5. */
export async function authenticate(
  ctx: ParameterizedContext<RequestState>,
  { keys, browsers }: Callers,
  grant: Grant,
): Promise<Caller> {
  ctx.state.operation = firstOf(grant);
  const key = givenKey(ctx);
  const caller =
    key === null && browsers !== null
      ? await browsers.callerOf(ctx)
      : callerOf(await keys.authenticate(key ?? missing()));
  ctx.state.caller = caller;
  ctx.state.operation = grantedOf(caller, grant);
  return caller;
}

/** Whether whoever asks is still known, and granted for this. */
export async function isGranted(
  ctx: ParameterizedContext<RequestState>,
  callers: Callers,
  grant: Grant,
): Promise<boolean> {
  try {
    await authenticate(ctx, callers, grant);
    return true;
  } catch (error) {
    if (error instanceof HttpProblem) return false;
    throw error;
  }
}

/** Throws 401 when there is no such key. */
export function callerOf(key: AccessKey | null): Caller {
  if (key !== null) return callerOfKey(key);
  throw UNKNOWN_KEY.problem('The access key is not known, was revoked, or has expired.');
}

function missing(): never {
  throw UNKNOWN_KEY.problem('The header X-KA-Access-Key is missing.');
}

function givenKey(ctx: ParameterizedContext<RequestState>): string | null {
  const given = ctx.req.headersDistinct['x-ka-access-key'] ?? [];
  if (given.length > 1) throw UNKNOWN_KEY.problem('The header X-KA-Access-Key came more than once.');
  return given[0] ?? null;
}

/** The operation that the request counts as, in log and metrics. */
function firstOf(grant: Grant): Operation {
  if (grant === ANY_OF_THE_PLATFORM || grant === FIGURES_OR_RULES) return 'figures';
  return listOf(grant)[0] ?? PLATFORM_OPERATIONS[0];
}

/** Throws 403 when the caller lacks what it must be granted. */
export function grantedOf(caller: Caller, grant: Grant): Operation {
  if (grant === ANY_OF_THE_PLATFORM) {
    const granted = PLATFORM_OPERATIONS.find((operation) => grants(caller, operation));
    if (granted === undefined) throw NO_OPERATION_OF_THE_PLATFORM.problem();
    return granted;
  }
  if (grant === FIGURES_OR_RULES) {
    if (grants(caller, 'figures')) return 'figures';
    if (grants(caller, 'rules')) return 'rules';
    throw notGranted('figures').problem();
  }
  const lacking = listOf(grant).find((operation) => !grants(caller, operation));
  if (lacking !== undefined) throw notGranted(lacking).problem();
  return firstOf(grant);
}

function listOf(grant: Operation | readonly Operation[]): readonly Operation[] {
  return typeof grant === 'string' ? [grant] : grant;
}

/** Every 403 that an operation with this grant may answer. */
export function grantRefusals(grant: Grant): readonly ShownRefusal[] {
  if (grant === FIGURES_OR_RULES) return [notGranted('figures')];
  return grant === ANY_OF_THE_PLATFORM ? [NO_OPERATION_OF_THE_PLATFORM] : listOf(grant).map(notGranted);
}

/** The lists of operations of which a key must have one; OpenAPI 3.1 calls them roles. */
export function grantLists(grant: Grant): readonly (readonly Operation[])[] {
  if (grant === FIGURES_OR_RULES) return [['figures'], ['rules']];
  return grant === ANY_OF_THE_PLATFORM ? PLATFORM_OPERATIONS.map((one) => [one]) : [listOf(grant)];
}

function notGranted(operation: Operation) {
  return refusal(
    `notProvisionedFor${operation.charAt(0).toUpperCase()}${operation.slice(1).replace(':read', 'Read')}`,
    `The key was not issued for the operation "${operation}".`,
    () =>
      new HttpProblem(
        403,
        NOT_PROVISIONED,
        `The access key was not issued for the operation "${operation}"; the platform owner grants operations.`,
      ),
  );
}

const NO_OPERATION_OF_THE_PLATFORM = refusal(
  'notProvisioned',
  'The key was issued for none of the operations of the platform.',
  () =>
    new HttpProblem(
      403,
      NOT_PROVISIONED,
      `The access key has no operation of the platform; the console needs one of ${PLATFORM_OPERATIONS.join(', ')}. The platform owner grants operations.`,
    ),
);
