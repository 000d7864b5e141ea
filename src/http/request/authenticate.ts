import { TLSSocket } from 'node:tls';
import type { ParameterizedContext } from 'koa';
import { type AccessKey, type AccessKeys, grants, type Operation } from '../../access/access-keys.ts';
import { type Caller, callerOfKey } from '../../access/caller.ts';
import type { Session, Sessions } from '../../access/sessions.ts';
import { HttpProblem, type Refusal, type RefusalNote, refusal } from './problems.ts';
import { NEEDS_KEY, UNKNOWN_KEY } from './refusals.ts';
import type { RequestState } from './request-state.ts';

/** What a key must be granted: one operation, several together, or any of some. */
export type Grant = Operation | readonly Operation[] | AnyOf;

interface AnyOf {
  readonly anyOf: readonly Operation[];
  readonly refused: Refusal;
}

/** Any of these opens the console. */
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
] as const satisfies readonly Operation[];

const NOT_PROVISIONED = 'not provisioned';

export const ANY_OF_THE_PLATFORM: AnyOf = {
  anyOf: PLATFORM_OPERATIONS,
  refused: refusal(
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

/** A person who works on rules of the whole installation still sees no figures of a platform. */
export const FIGURES_OR_RULES: AnyOf = { anyOf: ['figures', 'rules'], refused: notGranted('figures') };

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
  return (isAnyOf(grant) ? grant.anyOf : listOf(grant))[0] ?? PLATFORM_OPERATIONS[0];
}

/** Throws 403 when the caller lacks what it must be granted. */
export function grantedOf(caller: Caller, grant: Grant): Operation {
  if (isAnyOf(grant)) {
    const granted = grant.anyOf.find((operation) => grants(caller, operation));
    if (granted === undefined) throw grant.refused.problem();
    return granted;
  }
  const lacking = listOf(grant).find((operation) => !grants(caller, operation));
  if (lacking !== undefined) throw notGranted(lacking).problem();
  return firstOf(grant);
}

function isAnyOf(grant: Grant): grant is AnyOf {
  return typeof grant === 'object' && 'anyOf' in grant;
}

function listOf(grant: Operation | readonly Operation[]): readonly Operation[] {
  return typeof grant === 'string' ? [grant] : grant;
}

/** Every 403 that an operation with this grant may answer. */
export function grantRefusals(grant: Grant): readonly RefusalNote[] {
  return isAnyOf(grant) ? [grant.refused] : listOf(grant).map(notGranted);
}

/** The lists of operations of which a key must have one; OpenAPI 3.1 calls them roles. */
export function grantLists(grant: Grant): readonly (readonly Operation[])[] {
  return isAnyOf(grant) ? grant.anyOf.map((one) => [one]) : [listOf(grant)];
}

function notGranted(operation: Operation) {
  return refusal(
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

type Context = ParameterizedContext<RequestState>;

export const SESSION_ENDED = refusal(
  'session-ended',
  'The session of the cookie has ended.',
  () => new HttpProblem(401, 'session ended', 'The session has ended; sign in again.', NEEDS_KEY),
);

export const OTHER_SITE = refusal(
  'other-site',
  'A browser sends the cookie on behalf of another site.',
  () =>
    new HttpProblem(
      403,
      'request of another site',
      'A session is taken from the console alone: Sec-Fetch-Site must be same-origin, or Origin the address of the console (PLATFORM_URL).',
    ),
);

export const OTHER_PLATFORM = refusal(
  'other-platform',
  'The session of the cookie does not reach the platform that the header X-KA-Platform names.',
  (platform: string) =>
    new HttpProblem(
      403,
      'not provisioned',
      `The person signed in in this browser may not see the platform "${platform.slice(0, 64)}"; load the page again.`,
    ),
  'bank',
);

/** The platform that the page shows: another tab may have signed in as somebody else. */
const PLATFORM_HEADER = 'x-ka-platform';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

type CookieName = 'session' | 'sign-in';

/** Knows people by the cookie that their browser keeps. */
export class BrowserSessions {
  readonly sessions: Sessions;
  /** Where people reach the console; null: wherever they do. */
  readonly #url: URL | null;

  constructor(sessions: Sessions, url: URL | null) {
    this.sessions = sessions;
    this.#url = url;
  }

  /** Who signed in; throws 401, or 403 when another site is behind the request. */
  async callerOf(ctx: Context): Promise<Caller> {
    const secret = this.secretOf(ctx);
    if (secret === null) throw UNKNOWN_KEY.problem('The header X-KA-Access-Key is missing.');
    this.refuseOtherSites(ctx);
    const session = await this.sessions.find(secret);
    if (session === null) throw SESSION_ENDED.problem();
    const [platform = null] = ctx.req.headersDistinct[PLATFORM_HEADER] ?? [];
    const caller = session.at(platform);
    if (caller === null) throw OTHER_PLATFORM.problem(platform ?? '');
    return caller;
  }

  /** The session of the browser, whatever it asks for. */
  async find(ctx: Context): Promise<Session | null> {
    const secret = this.secretOf(ctx);
    return secret === null ? null : this.sessions.find(secret);
  }

  secretOf(ctx: Context): string | null {
    return this.read(ctx, 'session');
  }

  /** Gives the browser the secret of a session, or takes it away. */
  setSecret(ctx: Context, secret: string | null): void {
    this.write(ctx, 'session', secret ?? '', `SameSite=Strict${secret === null ? '; Max-Age=0' : ''}`);
  }

  read(ctx: Context, name: CookieName): string | null {
    return ctx.cookies.get(this.#nameOf(ctx, name)) ?? null;
  }

  write(ctx: Context, name: CookieName, value: string, attributes: string): void {
    const secure = this.#isSecure(ctx) ? '; Secure' : '';
    ctx.append('Set-Cookie', `${this.#nameOf(ctx, name)}=${value}; Path=/; HttpOnly${secure}; ${attributes}`);
  }

  /** SameSite knows no ports, and old browsers not even SameSite. A browser that says where it comes from is believed. */
  refuseOtherSites(ctx: Context): void {
    const { host, origin, 'sec-fetch-site': site } = ctx.req.headers;
    if (site === 'same-origin') return;
    const isSafe = SAFE_METHODS.has(ctx.method);
    if (site !== undefined && !(isSafe && site === 'none')) throw OTHER_SITE.problem();
    if (origin === undefined ? isSafe : this.#isOwn(origin, host)) return;
    throw OTHER_SITE.problem();
  }

  #isOwn(origin: string, host = ''): boolean {
    if (this.#url !== null) return origin === this.#url.origin;
    return origin === `http://${host}` || origin === `https://${host}`;
  }

  /** Browsers accept a name with this prefix only over TLS, from exactly this host. */
  #nameOf(ctx: Context, name: CookieName): string {
    return this.#isSecure(ctx) ? `__Host-${name}` : name;
  }

  #isSecure({ req }: Context): boolean {
    return this.#url === null ? req.socket instanceof TLSSocket : this.#url.protocol === 'https:';
  }
}

/** A revoked key is noticed within this time plus the half second for which keys are cached. */
const CHECK_MS = 400;

/** Asks again and again whether a key may still do what it is doing, for requests that last. */
export class GrantWatch {
  /** Resolves when the key must stop. */
  readonly ended: Promise<void>;
  #hasEnded = false;
  readonly #timer: NodeJS.Timeout;

  constructor(isGranted: () => Promise<boolean>) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    const check = async () => {
      if (await isGranted()) return;
      this.#hasEnded = true;
      this.stop();
      resolve();
    };
    // While keys cannot be read nothing is known; the state that is written is away, too, and says so.
    this.#timer = setInterval(() => check().catch(() => {}), CHECK_MS).unref();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The chunks of a body until the grant ends, also while no more of them come. */
export async function* whileGranted(
  chunks: AsyncGenerator<Buffer>,
  grant: GrantWatch,
): AsyncGenerator<Buffer> {
  for (;;) {
    const chunk = chunks.next();
    // It may fail long after everybody stopped waiting for it.
    chunk.catch(() => {});
    const next = await Promise.race([chunk, grant.ended]);
    if (next === undefined || next.done === true) return;
    yield next.value;
  }
}
