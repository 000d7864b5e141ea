import type Router from '@koa/router';
import { isGranted } from '#checkout/access/access-keys.ts';
import { createExactPathRouter } from '#checkout/http/operation/operation.ts';
import type { RouteContext } from '#checkout/http/operation/parameter.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { createPersonActor } from '#workbench/access/actors.ts';
import type { IdentityProvider, PendingSignIn, Person } from '#workbench/access/identity-provider.ts';
import type { Session } from '#workbench/access/sessions.ts';
import type { PlatformOperationParts } from './parts.ts';
import { hasTriedTooOften, noteRefusedSignIn, startSession } from './session.ts';

/**
 * An attempt to sign in. `back` is the place in the page where the attempt began: query and fragment of the address.
 */
interface KeptAttempt extends PendingSignIn {
  readonly back: string;
}

const ATTEMPT_SECONDS_MAX = 600;
const BACK_CHARACTERS_MAX = 1_000;

/** Creates the routes that send a browser to the provider and receive it again. */
export function createIdentityProviderRoutes(
  provider: IdentityProvider,
  parts: PlatformOperationParts,
): Router<RequestState> {
  const router = createExactPathRouter('/session');
  const { browsers, log } = parts;
  const fail = (ctx: RouteContext, outcome: 'refused' | 'no-role' | 'away', error: unknown) => {
    // Messages of the library name the part that did not fit, and contain no tokens.
    log.warn({ requestId: ctx.state.requestId, outcome, why: explainError(error) }, 'a sign-in failed');
    ctx.redirect(`../?sign-in=${outcome}`);
  };
  router.get('/sign-in', async (ctx) => {
    ctx.state.operation = 'sign-in';
    try {
      const { url, attempt } = await provider.begin();
      const kept: KeptAttempt = { ...attempt, back: readBack(ctx.query['back']) };
      browsers.writeCookie(
        ctx,
        'sign-in',
        formatAttempt(kept),
        `SameSite=Lax; Max-Age=${ATTEMPT_SECONDS_MAX}`,
      );
      ctx.redirect(url.href);
    } catch (error) {
      fail(ctx, 'away', error);
    }
  });
  router.get('/callback', async (ctx) => {
    ctx.state.operation = 'sign-in';
    const attempt = parseAttempt(browsers.readCookie(ctx, 'sign-in'));
    if (attempt === null)
      return fail(ctx, 'refused', 'this browser did not begin a sign-in, or began it too long ago');
    // Anybody can send a browser here. So a wrong state ends no sign-in of that browser, and is not counted as a
    // refused sign-in.
    if (ctx.query['state'] !== attempt.state)
      return fail(ctx, 'refused', 'the state is not the one of the sign-in that this browser began');
    browsers.writeCookie(ctx, 'sign-in', '', 'SameSite=Lax; Max-Age=0');
    if (hasTriedTooOften(ctx, parts))
      return fail(ctx, 'refused', 'too many sign-ins from this address were refused within a minute');
    let person: Person;
    try {
      person = await provider.finish(ctx.querystring, attempt);
    } catch (error) {
      noteRefusedSignIn(ctx, parts);
      return fail(ctx, 'refused', error);
    }
    await enter(ctx, person, attempt.back);
  });

  async function enter(ctx: RouteContext, person: Person, back: string): Promise<void> {
    const session = await startSession(ctx, parts, { kind: 'person', ...person });
    await endKeysWithoutRole(person, session, parts);
    const caller = session?.getCaller(null) ?? null;
    if (caller === null) {
      noteRefusedSignIn(ctx, parts);
      return fail(ctx, 'no-role', `person:${person.sub}`);
    }
    ctx.state.caller = caller;
    const after = { roles: person.items };
    await parts.audit.note({ who: caller.actor.text, action: 'sign-in', after });
    ctx.redirect(`../${back}`);
  }
  return router;
}

/** Revokes the keys of a person if the roles that the provider reports now do not allow keys. */
async function endKeysWithoutRole(person: Person, session: Session | null, parts: PlatformOperationParts) {
  const ended = await parts.keys.revokeKeysOfOwner(createPersonActor(person).id, (platform) => {
    const there = session?.getCaller(platform) ?? null;
    return there !== null && isGranted(there, 'keys');
  });
  for (const { id, platform, owner, operations } of ended)
    await parts.audit.note({
      who: 'service',
      action: 'key revoked',
      platform,
      subject: id,
      before: { owner, operations },
      reason: 'its owner signed in without a role that keeps keys there',
    });
}

/**
 * Returns the query and fragment of the page to which the browser goes back. Returns an empty text for anything else,
 * such as another address.
 */
function readBack(given: string | string[] | undefined): string {
  const isPlace = typeof given === 'string' && /^(\?platform=[a-z0-9*-]+)?(#\/[^\s\\]*)?$/.test(given);
  return isPlace && given.length <= BACK_CHARACTERS_MAX ? given : '';
}

function formatAttempt(attempt: KeptAttempt): string {
  return Buffer.from(JSON.stringify(attempt)).toString('base64url');
}

/**
 * Parses the cookie. A forged cookie does no harm, because its state, nonce and verifier would not match the
 * provider's answer.
 */
function parseAttempt(text: string | null): KeptAttempt | null {
  try {
    const { state, nonce, verifier, back } = JSON.parse(Buffer.from(text ?? '', 'base64url').toString());
    const given = [state, nonce, verifier, back];
    if (!given.every((one) => typeof one === 'string')) return null;
    return { state, nonce, verifier, back: readBack(back) };
  } catch {
    return null;
  }
}

function explainError(error: unknown): string {
  if (error instanceof StoreUnavailable) throw error;
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
