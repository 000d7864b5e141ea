import { TLSSocket } from 'node:tls';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../access/caller.ts';
import type { Sessions } from '../../access/sessions.ts';
import { HttpProblem, refusal } from './problems.ts';
import { NEEDS_KEY, UNKNOWN_KEY } from './refusals.ts';
import type { RequestState } from './request-state.ts';

type Context = ParameterizedContext<RequestState>;

export const SESSION_ENDED = refusal(
  'sessionEnded',
  'The session of the cookie has ended.',
  () => new HttpProblem(401, 'session ended', 'The session has ended; sign in again.', NEEDS_KEY),
);

export const OTHER_SITE = refusal(
  'otherSite',
  'A browser sends the cookie on behalf of another site.',
  () =>
    new HttpProblem(
      403,
      'request of another site',
      'A session is taken from the console alone: Sec-Fetch-Site must be same-origin, or Origin the address of the console (PLATFORM_URL).',
    ),
);

export const OTHER_PLATFORM = refusal(
  'otherPlatform',
  'The session of the cookie does not reach the platform that the header X-KA-Platform names.',
  (platform: string) =>
    new HttpProblem(
      403,
      'not provisioned',
      `Who is signed in in this browser now may not see the platform "${platform.slice(0, 64)}"; load the page again.`,
    ),
  'bank',
);

/** The platform that the page believes to be on: another tab may have signed in as somebody else. */
const PLATFORM_HEADER = 'x-ka-platform';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

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
    const caller = await this.sessions.callerOf(secret);
    if (caller === null) throw SESSION_ENDED.problem();
    const [platform = caller.platform] = ctx.req.headersDistinct[PLATFORM_HEADER] ?? [];
    if (platform !== caller.platform) throw OTHER_PLATFORM.problem(platform);
    return caller;
  }

  secretOf(ctx: Context): string | null {
    return ctx.cookies.get(this.#cookie(ctx)) ?? null;
  }

  /** Gives the browser the secret of a session, or takes it away. */
  setSecret(ctx: Context, secret: string | null): void {
    const ends = secret === null ? '; Max-Age=0' : '';
    ctx.append(
      'Set-Cookie',
      `${this.#cookie(ctx)}=${secret ?? ''}${this.#attributes(ctx)}; SameSite=Strict${ends}`,
    );
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

  /** Browsers take a name with this prefix from the very host alone, and only over TLS. */
  #cookie(ctx: Context): string {
    return this.#isSecure(ctx) ? '__Host-session' : 'session';
  }

  #attributes(ctx: Context): string {
    return `; Path=/; HttpOnly${this.#isSecure(ctx) ? '; Secure' : ''}`;
  }

  #isSecure({ req }: Context): boolean {
    return this.#url === null ? req.socket instanceof TLSSocket : this.#url.protocol === 'https:';
  }
}
