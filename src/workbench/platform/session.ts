import { choice, instantText, list, named, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import {
  GRANTABLE_OPERATIONS,
  INSTALLATION_PLATFORM,
  isGranted,
  parseKeyId,
} from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  NO_CONTENT,
} from '#checkout/http/operation/operation.ts';
import type { RouteContext } from '#checkout/http/operation/parameter.ts';
import {
  ANY_CONSOLE_OPERATION,
  listGrantRefusals,
  requireCallerOfKey,
  requireGrant,
} from '#checkout/http/request/authenticate.ts';
import {
  createTooManyRequestsProblem,
  declareRefusal,
  HttpProblem,
} from '#checkout/http/request/problems.ts';
import { getCallerAddress } from '#checkout/http/request/rate-limit.ts';
import { UNKNOWN_KEY } from '#checkout/http/request/refusals.ts';
import { toNetworkOfAddress } from '#decision/addresses.ts';
import { KEY_EXAMPLE } from '#workbench/access/key-views.ts';
import type { Session, SignedInUser } from '#workbench/access/sessions.ts';
import { NO_PLATFORM_ACCESS_REFUSAL, OTHER_SITE } from './browser-sessions.ts';
import { declareKeylessOperation } from './open-operation.ts';
import * as query from './parameters.ts';
import type { PlatformOperationParts } from './parts.ts';

export const SessionSchema = named(
  'Session',
  shape('Read what you may do', {
    who: plainText('As the audit names it', 'key 3f9a0c51d2e7 of risk-team'),
    owner: nullable(
      plainText('The person or team that answers for it; null of a key that was issued without an owner'),
    ),
    platform: plainText('Whose clients, orders and decisions it sees', 'shop'),
    platforms: list(
      plainText('A platform; * is the whole installation', 'shop'),
      'Where it may do something',
    ),
    operations: list(
      choice(GRANTABLE_OPERATIONS, 'An operation'),
      'What was granted, with what that includes',
    ),
    expiresAt: nullable(instantText('When the key ends; null: it does not')),
  }),
);

function toSessionAnswer(
  caller: Caller,
  platforms: readonly string[] = [caller.platform],
): ValueOf<typeof SessionSchema> {
  const { platform, actor, expiresAt } = caller;
  const operations = GRANTABLE_OPERATIONS.filter((one) => isGranted(caller, one));
  return { who: actor.text, owner: actor.owner, platform, platforms, operations, expiresAt };
}

/**
 * Lists the platforms at which a person may act. A person who may act at all platforms sees those that ever had a
 * key.
 */
async function listPlatforms(ctx: RouteContext, { keys, browsers }: PlatformOperationParts, caller: Caller) {
  const platforms = (await browsers.findSession(ctx))?.platforms ?? [];
  const all = platforms.includes(INSTALLATION_PLATFORM)
    ? (await keys.list()).map(({ platform }) => platform)
    : [];
  return [...new Set([caller.platform, ...platforms, ...all])].toSorted();
}

const readSession = declareOperation({
  route: 'get /v1/platform/session',
  summary: 'Read what you may do',
  description: 'Any operation of the platform is enough. The console uses it to show the right pages.',
  grant: ANY_CONSOLE_OPERATION,
  answers: declareJsonAnswer('Where, and which operations', SessionSchema),
  answer: async ({ ctx, caller }, parts: PlatformOperationParts) =>
    toSessionAnswer(caller, await listPlatforms(ctx, parts, caller)),
});

/**
 * The schema of the answer to a browser that asks how to sign in: the session that it has, if any, and the identity
 * provider.
 */
export const SignInWaysSchema = named(
  'SignIn',
  shape('How to sign in', {
    session: nullable(SessionSchema),
    provider: nullable(
      plainText('The host of the identity provider; null: with a key alone', 'login.example.com'),
    ),
  }),
);

const readSignIn = declareKeylessOperation({
  route: 'get /v1/platform/sign-in',
  label: 'sign-in',
  summary: 'How to sign in',
  description:
    'Needs no key: the console asks before anybody has signed in. A browser that is signed in gets the answer of readSession.',
  answers: declareJsonAnswer('What the console offers', SignInWaysSchema),
  refusals: [OTHER_SITE, NO_PLATFORM_ACCESS_REFUSAL, ...listGrantRefusals(ANY_CONSOLE_OPERATION)],
  answer: async (ctx, parts: PlatformOperationParts): Promise<ValueOf<typeof SignInWaysSchema>> => {
    const { browsers, providerHost: provider } = parts;
    browsers.refuseOtherSites(ctx);
    if ((await browsers.findSession(ctx)) === null) return { session: null, provider };
    const caller = await browsers.requireSessionCaller(ctx);
    requireGrant(caller, ANY_CONSOLE_OPERATION);
    return { session: toSessionAnswer(caller, await listPlatforms(ctx, parts, caller)), provider };
  },
});

/**
 * How many sign-ins of one network may be refused. The limit is enough for a person who mistypes, and too low for
 * guessing.
 */
const REFUSED_SIGN_INS = { ratePerSecond: 0.5, burst: 30, delayMsMax: 0 };

const TOO_MANY_REFUSED = declareRefusal(
  'too-many-refused',
  'Too many sign-ins from this address were refused.',
  () => createTooManyRequestsProblem('Too many sign-ins were refused; try again in a minute.', 60),
);

const signIn = declareKeylessOperation({
  route: 'post /v1/platform/session',
  label: 'sign-in',
  summary: 'Sign in with a key',
  description:
    'For browsers: the answer sets a cookie with the secret of a session, which no script can read. The session ends after half an hour without use, after twelve hours, with a sign-out, and with its key. Programs send the key in the header X-KA-Access-Key instead.',
  body: declareJsonBody(
    'SignInBody',
    shape('What to sign in with', { key: plainText('The access key', KEY_EXAMPLE) }),
  ),
  answers: declareJsonAnswer('As readSession answers from now on', SessionSchema),
  refusals: [UNKNOWN_KEY, OTHER_SITE, ...listGrantRefusals(ANY_CONSOLE_OPERATION), TOO_MANY_REFUSED],
  answer: async (ctx, parts: PlatformOperationParts, body) => {
    parts.browsers.refuseOtherSites(ctx);
    const { key } = await body();
    // A right key is never refused, so that nobody is kept out by another person who guesses from the same address.
    const caller = await authenticateKey(ctx, key, parts).catch((error: unknown) => {
      if (!(error instanceof HttpProblem)) throw error;
      if (hasTriedTooOften(ctx, parts)) throw TOO_MANY_REFUSED.problem();
      noteRefusedSignIn(ctx, parts);
      throw error;
    });
    await startSession(ctx, parts, { kind: 'key', keyId: caller.credential.id });
    await parts.audit.note({ ...toAuditAuthor(caller), action: 'sign-in' });
    return toSessionAnswer(caller);
  },
});

function readCallerNetwork({ req }: RouteContext, { rateLimit }: PlatformOperationParts): string {
  return toNetworkOfAddress(getCallerAddress(req, rateLimit.trustedProxies));
}

/** Whether the caller's network has had so many refused sign-ins that no further one is tried. */
export function hasTriedTooOften(ctx: RouteContext, parts: PlatformOperationParts): boolean {
  return !parts.refusedSignIns.isFree(readCallerNetwork(ctx, parts), REFUSED_SIGN_INS);
}

/** Counts a refused sign-in of the caller's network, in this process only. */
export function noteRefusedSignIn(ctx: RouteContext, parts: PlatformOperationParts): void {
  parts.refusedSignIns.takeNow(readCallerNetwork(ctx, parts), REFUSED_SIGN_INS);
}

/** Replaces the session that the browser had. If the person may do nothing, returns null and starts no session. */
export async function startSession(
  ctx: RouteContext,
  parts: PlatformOperationParts,
  who: SignedInUser,
): Promise<Session | null> {
  await endSession(ctx, parts, 'this');
  const { browsers } = parts;
  const secret = await browsers.sessions.start(who);
  const session = await browsers.sessions.find(secret);
  if (session === null) await browsers.sessions.end(secret, 'this');
  browsers.setSecret(ctx, session === null ? null : secret);
  return session;
}

/** Checks the key of a sign-in. Throws 401 or 403. The log then says which key was tried. */
async function authenticateKey(
  ctx: RouteContext,
  text: string,
  { keys }: PlatformOperationParts,
): Promise<Caller> {
  const tried = parseKeyId(text);
  if (tried !== null) ctx.state.extraLogMembers = { triedKeyId: tried };
  const caller = requireCallerOfKey(await keys.authenticate(text.trim()));
  requireGrant(caller, ANY_CONSOLE_OPERATION);
  ctx.state.extraLogMembers = {};
  ctx.state.caller = caller;
  return caller;
}

const SESSIONS = query.choiceParameter(
  'sessions',
  ['this', 'all'],
  'Which sessions of the person end; absent: this one',
);

const signOut = declareKeylessOperation({
  route: 'delete /v1/platform/session',
  label: 'sign-out',
  summary: 'Sign out',
  description: 'Ends the session of the cookie, or all sessions of the person in every browser.',
  parameters: [SESSIONS],
  answers: NO_CONTENT,
  refusals: [OTHER_SITE],
  answer: async (ctx, parts: PlatformOperationParts) => {
    parts.browsers.refuseOtherSites(ctx);
    await endSession(ctx, parts, SESSIONS.read(ctx) ?? 'this');
    parts.browsers.setSecret(ctx, null);
  },
});

async function endSession(
  ctx: RouteContext,
  { browsers, audit }: PlatformOperationParts,
  which: 'this' | 'all',
): Promise<void> {
  const secret = browsers.findSecret(ctx);
  if (secret === null) return;
  const caller = (await browsers.sessions.find(secret))?.getCaller(null) ?? null;
  const ended = await browsers.sessions.end(secret, which);
  if (caller !== null)
    await audit.note({ ...toAuditAuthor(caller), action: 'sign-out', after: { sessions: ended } });
}

/** Converts a caller to the members of an audit entry that say who made the change, and for which platform. */
export function toAuditAuthor({ actor, platform }: Caller) {
  return { who: actor.text, platform };
}

export const SESSION_OPERATIONS = createTaggedOperations('Console', {
  readSession,
  readSignIn,
  signIn,
  signOut,
});
