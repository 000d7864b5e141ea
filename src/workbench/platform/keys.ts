import { DAY_MS } from '#base/duration.ts';
import { Type } from '#base/json-schema.ts';
import { choice, list, named, nextPlace, type Shape, shape, word } from '#base/shapes.ts';
import {
  type AccessKey,
  type AccessKeys,
  INSTALLATION,
  type IssuedKey,
  KEY_DAYS_MAX,
  KeyRefused,
  OPERATIONS,
} from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  createChapter,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  type GrantedRequest,
} from '#checkout/http/operation/operation.ts';
import { declareRefusal, HttpProblem, notFound, refuseKnownErrors } from '#checkout/http/request/problems.ts';
import { isPerson } from '#workbench/access/actors.ts';
import {
  AccessKeySchema,
  createKeyNote,
  KEY_EXAMPLE,
  listGivableOperations,
  toKeyView,
} from '#workbench/access/key-views.ts';
import { declareGatedOperation } from './gated-operation.ts';
import { cutPageInTime, PAGE_IN_TIME, pathText } from './parameters.ts';
import type { PlatformParts } from './parts.ts';

export const KeyListSchema = named(
  'AccessKeyList',
  shape('Access keys', {
    keys: list(AccessKeySchema, 'Newest first'),
    next: nextPlace,
    mayGive: list(choice(OPERATIONS, 'An operation'), 'What whoever asks may give a key'),
  }),
);

/** Nobody tells the service when a person leaves. */
const PERSON_KEY_DAYS_MAX = 90;
const IssueKeyBodySchema = shape('What the key may do', {
  operations: Type.Array(choice(OPERATIONS, 'An operation'), { minItems: 1, uniqueItems: true }),
  days: Type.Integer({ minimum: 1, maximum: KEY_DAYS_MAX, description: 'How long it is let in' }),
});

export const IssuedKeySchema = named(
  'IssuedKey',
  shape('A new key', {
    key: word('The secret, which is shown only now', KEY_EXAMPLE),
    record: AccessKeySchema,
  }),
);

const NOT_YOURS_TO_GIVE = declareRefusal(
  'not-yours-to-give',
  'A key may be given what whoever makes it may do; to operate and to approve is given by roles, or with the command "keys issue".',
  (operation: string, given: string) =>
    new HttpProblem(
      403,
      'not yours to give',
      `"${operation}" cannot be given from here. You may give ${given}.`,
    ),
  'operate',
  'score, verdict',
);

const TOO_MANY_KEYS = declareRefusal(
  'too-many-keys',
  'The platform has too many live keys.',
  (detail: string) => new HttpProblem(409, 'too many keys', detail),
  'shop has 200 live keys, and at most 200 are allowed; revoke keys that are no longer used',
);

const KEY_IN_PATH = pathText('keyId', 'The id of the key, which is no secret');

const NO_SUCH_KEY = declareRefusal(
  'no-such-key',
  'There is no such key of the platform.',
  (id: string) => notFound(`There is no key "${id.slice(0, 64)}" here; the list of keys has the ids.`),
  '3f9a0c51d2e7',
);

/** Of the platform; the installation's owner sees all. */
async function keysOf({ platform }: Caller, keys: AccessKeys): Promise<readonly AccessKey[]> {
  return (await keys.list()).filter((one) => platform === INSTALLATION || one.platform === platform);
}

export const listKeys = declareOperation({
  route: 'get /v1/platform/keys',
  command: {
    name: 'keys list',
    summary: 'all keys, without their secrets',
    columns: {
      ID: 'id',
      PLATFORM: 'platform',
      OWNER: 'owner',
      OPERATIONS: 'operations',
      STATUS: 'status',
      ISSUED: 'issuedAt',
      EXPIRES: 'expiresAt',
    },
  },
  summary: 'The access keys of the platform',
  description:
    'Without their secrets, which nobody keeps; those of all platforms for the whole installation. Ended ones stay for 30 days.',
  grant: 'keys',
  parameters: PAGE_IN_TIME,
  answers: declareJsonAnswer('Newest first', KeyListSchema),
  answer: async ({ ctx, caller }, { keys, clock }: PlatformParts): Promise<Shape<typeof KeyListSchema>> => {
    const placeOf = ({ issuedAt, id }: AccessKey) => [Date.parse(issuedAt), id] as const;
    const { page, next } = cutPageInTime(ctx, await keysOf(caller, keys), placeOf);
    return { keys: page.map((one) => toKeyView(one, clock())), next, mayGive: listGivableOperations(caller) };
  },
});

export const issueKey = declareGatedOperation({
  route: 'post /v1/platform/keys',
  command: {
    name: 'keys issue',
    summary: 'issue a key; it is shown once',
    description:
      'For any platform, and for anything that a key may do. Where approval is required, a key with outcomes, keys, operate or approve is let in when somebody else has approved it.',
  },
  summary: 'Issues a key of the platform',
  description:
    'For the platform of whoever asks, who answers for the key: its owner is theirs, so that nobody approves what they proposed with another key. It ends no later than the key that asks for it, and one that a person issues within 90 days, or when he signs in without a role that keeps keys there. The secret is shown in this answer alone. Where approval is required, a key with `outcomes` or `keys` is let in when somebody else has approved it.',
  grant: 'keys',
  body: declareJsonBody('IssueKeyBody', IssueKeyBodySchema),
  answers: declareJsonAnswer('Let in on every node within a second', IssuedKeySchema),
  refusals: [NOT_YOURS_TO_GIVE, TOO_MANY_KEYS],
  gate: async (asked, parts: PlatformParts) => {
    const { key, record } = await newKey(asked, parts);
    return { what: 'key', record, secret: key };
  },
  answer: async (asked, parts: PlatformParts): Promise<Shape<typeof IssuedKeySchema>> => {
    const { platform, actor } = asked.caller;
    const { key, record } = await newKey(asked, parts);
    const keep = () => parts.approvals.key({ platform, who: actor.text }, { what: 'key', record });
    await refuseKnownErrors(keep, TOO_MANY_KEYS.problem, KeyRefused);
    return { key, record: toKeyView(record, parts.clock()) };
  },
});

/** The key that is asked for, which nobody keeps yet. */
async function newKey(
  { caller, body }: GrantedRequest<Shape<typeof IssueKeyBodySchema>>,
  { keys, clock }: PlatformParts,
): Promise<IssuedKey> {
  const { operations, days } = await body();
  const given = listGivableOperations(caller);
  const other = operations.find((one) => !given.includes(one));
  if (other !== undefined) throw NOT_YOURS_TO_GIVE.problem(other, given.join(', '));
  const { platform, actor, credential, expiresAt } = caller;
  const now = clock();
  // A key that expires cannot issue one that outlives it.
  const endsAt = credential.kind === 'key' && expiresAt !== null ? Date.parse(expiresAt) : Infinity;
  const daysMax = isPerson(actor) ? PERSON_KEY_DAYS_MAX : KEY_DAYS_MAX;
  const lifetimeMs = Math.min(Math.min(days, daysMax) * DAY_MS, endsAt - now);
  await refuseKnownErrors(() => keys.requirePlace(platform), TOO_MANY_KEYS.problem, KeyRefused);
  return keys.make(platform, operations, lifetimeMs, actor.owner ?? undefined);
}

export const revokeKey = declareOperation({
  route: 'delete /v1/platform/keys/{keyId}',
  command: {
    name: 'keys revoke',
    summary: 'refuse a key from now on, on every node within a second',
    description: 'The sessions that it opened end, too.',
    words: ['keyId'],
  },
  summary: 'Revokes a key of the platform',
  description: 'It is refused on every node within a second, and the sessions that it opened end.',
  grant: 'keys',
  parameters: [KEY_IN_PATH],
  answers: declareJsonAnswer('As it is kept for 30 days', AccessKeySchema),
  refusals: [NO_SUCH_KEY],
  answer: async ({ ctx, caller }, { keys, audit, clock }: PlatformParts) => {
    const id = KEY_IN_PATH.read(ctx);
    const before = await keys.find(id);
    const isOwn = caller.platform === INSTALLATION || before?.platform === caller.platform;
    const after = isOwn ? await keys.revoke(id) : null;
    if (after === null) throw NO_SUCH_KEY.problem(id);
    await audit.note({ ...createKeyNote('key revoked', before, after, clock()), who: caller.actor.text });
    return toKeyView(after, clock());
  },
});

export const KEY_OPERATIONS = createChapter('Access', { listKeys, issueKey, revokeKey });
