import { type AccessKeys, including, OPERATIONS } from '../../access/access-keys.ts';
import type { Audit } from '../../access/audit.ts';
import { type Caller, callerOfKey } from '../../access/caller.ts';
import { networkOf } from '../../decision/network.ts';
import { choice, list, named, nullable, type Shape, shape, word, yesNo } from '../../shapes.ts';
import type { LocalRateBuckets } from '../../state/rate-buckets.ts';
import { DONE, jsonAnswer, openOperation, operation } from '../operation/operation.ts';
import { BAD_PARAMETER, queryChoice, type RouteContext } from '../operation/parameters.ts';
import { jsonBody, malformed } from '../operation/request-body.ts';
import { ANY_OF_THE_PLATFORM, grantedOf, grantRefusals } from '../request/authenticate.ts';
import { type BrowserSessions, OTHER_SITE } from '../request/browser-sessions.ts';
import { HttpProblem, refusal } from '../request/problems.ts';
import { UNKNOWN_KEY } from '../request/refusals.ts';

export interface SignInParts {
  readonly keys: AccessKeys;
  readonly audit: Audit;
  readonly browsers: BrowserSessions;
  /** Counts the refused sign-ins of an address. */
  readonly refusedSignIns: LocalRateBuckets;
}

export const SessionSchema = named(
  'Session',
  shape('What whoever asks may do', {
    platform: word('Whose clients, orders and decisions it sees'),
    keyId: word('As `keys list` shows it; not the key'),
    owner: nullable(word('The person or team that answers for the key; null when it was issued without one')),
    operations: list(choice(OPERATIONS, 'An operation'), 'What was granted, with what that includes'),
    expiresAt: nullable(word('RFC 3339; null: it does not expire')),
  }),
);

const SESSION_EXAMPLE = {
  platform: 'shop',
  keyId: '3f9a0c51d2e7',
  owner: 'risk-team',
  operations: ['clients:read', 'decisions', 'rules:read'],
  expiresAt: '2027-02-19T10:00:00.000Z',
} as const;

function shownSession(caller: Caller): Shape<typeof SessionSchema> {
  const { platform, keyId, actor, operations, expiresAt } = caller;
  return { platform, keyId, owner: actor.owner, operations: including(operations), expiresAt };
}

export const readSession = operation({
  method: 'get',
  path: '/v1/platform/session',
  operationId: 'readSession',
  summary: 'What this key may do',
  description:
    'For a key of any operation of the platform. The console shows the pages that the key may see.',
  tag: 'Console',
  grant: ANY_OF_THE_PLATFORM,
  answers: jsonAnswer('The platform and the operations of the key', SessionSchema, SESSION_EXAMPLE),
  refusals: [],
  answer: async ({ caller }) => shownSession(caller),
});

export const SignInSchema = named(
  'SignIn',
  shape('How to sign in', { signedIn: yesNo('Whether this browser is signed in already') }),
);

export const readSignIn = openOperation({
  method: 'get',
  path: '/v1/platform/sign-in',
  operationId: 'readSignIn',
  label: 'sign-in',
  summary: 'How to sign in',
  description: 'No key is needed: the console asks before anybody has signed in.',
  tag: 'Console',
  answers: jsonAnswer('What the console offers', SignInSchema, { signedIn: false }),
  refusals: [OTHER_SITE],
  answer: async (ctx, { browsers }: SignInParts): Promise<Shape<typeof SignInSchema>> => {
    browsers.refuseOtherSites(ctx);
    const secret = browsers.secretOf(ctx);
    return { signedIn: secret !== null && (await browsers.sessions.callerOf(secret)) !== null };
  },
});

/** Of one address; a person who mistypes has enough, and whoever guesses fills no log. */
const REFUSED_SIGN_INS = { ratePerSecond: 0.5, burst: 30, delayMsMax: 0 };

const TOO_MANY_REFUSED = refusal(
  'tooManyRefused',
  'Too many sign-ins of the address were refused.',
  () =>
    new HttpProblem(429, 'too many requests', 'Too many sign-ins were refused; try again in a minute.', {
      headers: { 'Retry-After': '60' },
    }),
);

export const signIn = openOperation({
  method: 'post',
  path: '/v1/platform/session',
  operationId: 'signIn',
  label: 'sign-in',
  summary: 'Sign in with a key',
  description:
    'For browsers, which then need no key: they keep the secret of a session in a cookie that no script can read. It ends after half an hour without use, after twelve hours, with a sign-out, and with its key. Programs send the key in the header X-KA-Access-Key instead.',
  tag: 'Console',
  body: jsonBody('SignInBody', shape('What to sign in with', { key: word('The access key') }), {
    key: 'ka_3f9a0c51d2e7_wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYexampl',
  }),
  answers: jsonAnswer('As readSession answers from now on', SessionSchema, SESSION_EXAMPLE),
  refusals: [
    UNKNOWN_KEY,
    OTHER_SITE,
    ...grantRefusals(ANY_OF_THE_PLATFORM),
    malformed('/key', 'must be a JSON string'),
    TOO_MANY_REFUSED,
  ],
  answer: async (ctx, parts: SignInParts, body) => {
    const { browsers, audit, refusedSignIns } = parts;
    browsers.refuseOtherSites(ctx);
    const address = networkOf(ctx.req.socket.remoteAddress ?? 'unknown');
    if (!refusedSignIns.isFree(address, REFUSED_SIGN_INS)) throw TOO_MANY_REFUSED.problem();
    const { key } = await body();
    const caller = await callerWith(ctx, key, parts).catch((error: unknown) => {
      refusedSignIns.takeNow(address, REFUSED_SIGN_INS);
      throw error;
    });
    await endSession(ctx, parts, 'this');
    browsers.setSecret(ctx, await browsers.sessions.start(caller.keyId));
    await audit.note({ ...signed(caller), action: 'sign-in', after: null });
    return shownSession(caller);
  },
});

/** Throws 401 or 403; the log then tells which key it was. */
async function callerWith(ctx: RouteContext, text: string, { keys }: SignInParts): Promise<Caller> {
  const triedKeyId = /^ka_([0-9a-f]{12})_/.exec(text)?.[1];
  if (triedKeyId !== undefined) ctx.state.noted = { triedKeyId };
  const key = await keys.authenticate(text.trim());
  if (key === null) throw UNKNOWN_KEY.problem('The access key is not known, was revoked, or has expired.');
  const caller = callerOfKey(key);
  grantedOf(caller, ANY_OF_THE_PLATFORM);
  ctx.state.noted = {};
  ctx.state.caller = caller;
  return caller;
}

const SESSIONS = queryChoice(
  'sessions',
  ['this', 'all'],
  'Which of whoever signed in end; this one by default',
);

export const signOut = openOperation({
  method: 'delete',
  path: '/v1/platform/session',
  operationId: 'signOut',
  label: 'sign-out',
  summary: 'Sign out',
  description: 'Ends the session of the cookie, or all sessions of whoever signed in, in every browser.',
  tag: 'Console',
  parameters: [SESSIONS],
  answers: DONE,
  refusals: [BAD_PARAMETER, OTHER_SITE],
  answer: async (ctx, parts: SignInParts) => {
    parts.browsers.refuseOtherSites(ctx);
    await endSession(ctx, parts, SESSIONS.read(ctx) ?? 'this');
    parts.browsers.setSecret(ctx, null);
  },
});

async function endSession(
  ctx: RouteContext,
  { browsers, audit }: SignInParts,
  which: 'this' | 'all',
): Promise<void> {
  const secret = browsers.secretOf(ctx);
  if (secret === null) return;
  const caller = await browsers.sessions.callerOf(secret);
  const ended = await browsers.sessions.end(secret, which);
  if (caller !== null)
    await audit.note({ ...signed(caller), action: 'sign-out', after: { sessions: ended } });
}

function signed({ actor, platform }: Caller) {
  return { who: actor.text, platform, subject: null, before: null, reason: null };
}
