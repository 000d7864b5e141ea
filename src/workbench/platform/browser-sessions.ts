import { TLSSocket } from 'node:tls';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '#checkout/access/caller.ts';
import { declareRefusal, HttpProblem } from '#checkout/http/request/problems.ts';
import { KEY_CHALLENGE_HEADERS, UNKNOWN_KEY } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import type { Session, Sessions } from '#workbench/access/sessions.ts';

type Context = ParameterizedContext<RequestState>;

export const SESSION_ENDED = declareRefusal(
  'session-ended',
  'The session of the cookie has ended.',
  () => new HttpProblem(401, 'session ended', 'The session has ended; sign in again.', KEY_CHALLENGE_HEADERS),
);

export const OTHER_SITE = declareRefusal(
  'other-site',
  'The browser sent the cookie with a request of another site.',
  () =>
    new HttpProblem(
      403,
      'request of another site',
      'Only the console may use a session: Sec-Fetch-Site must be same-origin, or Origin must be the address of the console (PLATFORM_URL).',
    ),
);

export const NO_PLATFORM_ACCESS_REFUSAL = declareRefusal(
  'other-platform',
  'The person of this session has no access to the platform in the header X-KA-Platform.',
  (platform: string) =>
    new HttpProblem(
      403,
      'not provisioned',
      `The person signed in in this browser has no access to the platform "${platform.slice(0, 64)}"; load the page again.`,
    ),
  'bank',
);

/**
 * The header with the platform that the page shows. Another tab of the browser may have signed in as a person without
 * access to this platform.
 */
const PLATFORM_HEADER = 'x-ka-platform';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

type CookieName = 'session' | 'sign-in';

/** Recognises people by the cookie that their browser keeps. */
export class BrowserSessions {
  readonly sessions: Sessions;
  /** The address at which people reach the console. Null if any address is allowed. */
  readonly #url: URL | null;

  constructor(sessions: Sessions, url: URL | null) {
    this.sessions = sessions;
    this.#url = url;
  }

  /** Returns the person who signed in. Throws 401 if there is no session, and 403 if another site made the request. */
  async requireSessionCaller(ctx: Context): Promise<Caller> {
    const secret = this.findSecret(ctx);
    if (secret === null) {
      // Only the console sends this header. So the request is from a console whose cookie is gone, and not from a
      // program that forgot its key.
      if (PLATFORM_HEADER in ctx.req.headersDistinct) throw SESSION_ENDED.problem();
      throw UNKNOWN_KEY.problem('The header X-KA-Access-Key is missing.');
    }
    this.refuseOtherSites(ctx);
    const session = await this.sessions.find(secret);
    if (session === null) throw SESSION_ENDED.problem();
    const [platform = null] = ctx.req.headersDistinct[PLATFORM_HEADER] ?? [];
    const caller = session.getCaller(platform);
    if (caller === null) throw NO_PLATFORM_ACCESS_REFUSAL.problem(platform ?? '');
    return caller;
  }

  /** Finds the session of the browser. It checks neither the site nor the platform of the request. */
  async findSession(ctx: Context): Promise<Session | null> {
    const secret = this.findSecret(ctx);
    return secret === null ? null : this.sessions.find(secret);
  }

  findSecret(ctx: Context): string | null {
    return this.readCookie(ctx, 'session');
  }

  /** Gives the browser the secret of a session. Null removes the secret. */
  setSecret(ctx: Context, secret: string | null): void {
    this.writeCookie(ctx, 'session', secret ?? '', `SameSite=Strict${secret === null ? '; Max-Age=0' : ''}`);
  }

  readCookie(ctx: Context, name: CookieName): string | null {
    return ctx.cookies.get(this.#nameOf(ctx, name)) ?? null;
  }

  writeCookie(ctx: Context, name: CookieName, value: string, attributes: string): void {
    const secure = this.#isSecure(ctx) ? '; Secure' : '';
    ctx.append('Set-Cookie', `${this.#nameOf(ctx, name)}=${value}; Path=/; HttpOnly${secure}; ${attributes}`);
  }

  /**
   * Refuses requests that another site made. SameSite does not distinguish ports, and old browsers do not know it.
   * The browser's statement about the origin of a request is believed.
   */
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

  /**
   * Returns the name of a cookie. Browsers accept a name with the prefix `__Host-` only over TLS and from exactly
   * this host.
   */
  #nameOf(ctx: Context, name: CookieName): string {
    return this.#isSecure(ctx) ? `__Host-${name}` : name;
  }

  #isSecure({ req }: Context): boolean {
    return this.#url === null ? req.socket instanceof TLSSocket : this.#url.protocol === 'https:';
  }
}
