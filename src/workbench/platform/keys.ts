import { DAY_MS } from '#base/duration.ts';
import { Type } from '#base/json-schema.ts';
import { choice, list, named, nextPageCursorSchema, plainText, shape, type ValueOf } from '#base/shapes.ts';
import {
  type AccessKey,
  type AccessKeys,
  GRANTABLE_OPERATIONS,
  INSTALLATION_PLATFORM,
  type IssuedKey,
  KEY_DAYS_MAX,
  KeyRefused,
} from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  type GrantedRequest,
} from '#checkout/http/operation/operation.ts';
import {
  createNotFoundProblem,
  declareRefusal,
  HttpProblem,
  runRefusingKnownErrors,
} from '#checkout/http/request/problems.ts';
import { isPersonActor } from '#workbench/access/actors.ts';
import {
  AccessKeySchema,
  createKeyAuditNote,
  KEY_EXAMPLE,
  listGivableOperations,
  toKeyView,
} from '#workbench/access/key-views.ts';
import { declareApprovalOperation } from './approval-operation.ts';
import { cutNewestPage, NEWEST_PAGE_PARAMETERS, pathParameter } from './parameters.ts';
import type { PlatformOperationParts } from './parts.ts';

export const KeyListSchema = named(
  'AccessKeyList',
  shape('The access keys', {
    keys: list(AccessKeySchema, 'Newest first'),
    next: nextPageCursorSchema,
    mayGive: list(choice(GRANTABLE_OPERATIONS, 'An operation'), 'The operations that you may grant to a key'),
  }),
);

/**
 * The longest lifetime, in days, of a key that a person issues. It is limited, because nobody tells the service when
 * a person leaves.
 */
const PERSON_KEY_DAYS_MAX = 90;
const IssueKeyBodySchema = shape('What the key may do', {
  operations: Type.Array(choice(GRANTABLE_OPERATIONS, 'An operation'), { minItems: 1, uniqueItems: true }),
  days: Type.Integer({ minimum: 1, maximum: KEY_DAYS_MAX, description: 'How long the key is valid' }),
});

export const IssuedKeySchema = named(
  'IssuedKey',
  shape('A new key', {
    key: plainText('The secret; it is shown only now', KEY_EXAMPLE),
    record: AccessKeySchema,
  }),
);

const NOT_YOURS_TO_GIVE = declareRefusal(
  'not-yours-to-give',
  'You can grant only operations that you have yourself; `operate` and `approve` are granted by roles, or with the command "keys issue".',
  (operation: string, given: string) =>
    new HttpProblem(
      403,
      'not yours to give',
      `You cannot grant "${operation}" here. You may grant ${given}.`,
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

const KEY_IN_PATH = pathParameter('keyId', 'The id of the key; it is not secret');

const NO_SUCH_KEY = declareRefusal(
  'no-such-key',
  'There is no such key of the platform.',
  (id: string) =>
    createNotFoundProblem(`There is no key "${id.slice(0, 64)}" here; the list of keys has the ids.`),
  '3f9a0c51d2e7',
);

/** Returns the keys of the caller's platform, and all keys for the owner of the installation. */
async function listKeysOf({ platform }: Caller, keys: AccessKeys): Promise<readonly AccessKey[]> {
  return (await keys.list()).filter((one) => platform === INSTALLATION_PLATFORM || one.platform === platform);
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
  summary: 'List the access keys of the platform',
  description:
    'Lists keys without their secrets, which are not stored. A key of the whole installation gets the keys of all platforms. Ended keys are listed for 30 days.',
  grant: 'keys',
  parameters: NEWEST_PAGE_PARAMETERS,
  answers: declareJsonAnswer('Newest first', KeyListSchema),
  answer: async (
    { ctx, caller },
    { keys, clock }: PlatformOperationParts,
  ): Promise<ValueOf<typeof KeyListSchema>> => {
    const placeOf = ({ issuedAt, id }: AccessKey) => [Date.parse(issuedAt), id] as const;
    const { page, next } = cutNewestPage(ctx, await listKeysOf(caller, keys), placeOf);
    return { keys: page.map((one) => toKeyView(one, clock())), next, mayGive: listGivableOperations(caller) };
  },
});

export const issueKey = declareApprovalOperation({
  route: 'post /v1/platform/keys',
  command: {
    name: 'keys issue',
    summary: 'issue a key; its secret is shown once',
    description:
      'For any platform and any operation. Where APPROVALS is required, a key with outcomes, keys, operate or approve works once somebody else has approved it.',
  },
  summary: 'Issue a key of the platform',
  description:
    'The key belongs to your platform, and its owner is yours, so that nobody can approve their own proposals with a second key. It ends no later than the key that issues it. A key that a person issues ends within 90 days, or when that person signs in without a role that may keep keys there. Only this answer shows the secret. Where APPROVALS is required, a key with `outcomes` or `keys` works once somebody else has approved it.',
  grant: 'keys',
  body: declareJsonBody('IssueKeyBody', IssueKeyBodySchema),
  answers: declareJsonAnswer('The key; it works on every node within a second', IssuedKeySchema),
  refusals: [NOT_YOURS_TO_GIVE, TOO_MANY_KEYS],
  readChange: async (asked, parts: PlatformOperationParts) => {
    const { key, record } = await makeKey(asked, parts);
    return { what: 'key', record, secret: key };
  },
  answer: async (asked, parts: PlatformOperationParts): Promise<ValueOf<typeof IssuedKeySchema>> => {
    const { platform, actor } = asked.caller;
    const { key, record } = await makeKey(asked, parts);
    const keep = () => parts.approvals.keepKey({ platform, who: actor.text }, { what: 'key', record });
    await runRefusingKnownErrors(keep, TOO_MANY_KEYS.problem, KeyRefused);
    return { key, record: toKeyView(record, parts.clock()) };
  },
});

/** Makes the requested key, without storing it. */
async function makeKey(
  { caller, body }: GrantedRequest<ValueOf<typeof IssueKeyBodySchema>>,
  { keys, clock }: PlatformOperationParts,
): Promise<IssuedKey> {
  const { operations, days } = await body();
  const given = listGivableOperations(caller);
  const other = operations.find((one) => !given.includes(one));
  if (other !== undefined) throw NOT_YOURS_TO_GIVE.problem(other, given.join(', '));
  const { platform, actor, credential, expiresAt } = caller;
  const now = clock();
  // A key that expires cannot issue a key that outlives it.
  const endsAt = credential.kind === 'key' && expiresAt !== null ? Date.parse(expiresAt) : Infinity;
  const daysMax = isPersonActor(actor) ? PERSON_KEY_DAYS_MAX : KEY_DAYS_MAX;
  const lifetimeMs = Math.min(Math.min(days, daysMax) * DAY_MS, endsAt - now);
  await runRefusingKnownErrors(() => keys.requireRoom(platform), TOO_MANY_KEYS.problem, KeyRefused);
  return keys.createKey(platform, operations, lifetimeMs, actor.owner ?? undefined);
}

export const revokeKey = declareOperation({
  route: 'delete /v1/platform/keys/{keyId}',
  command: {
    name: 'keys revoke',
    summary: 'revoke a key; every node refuses it within a second',
    description: 'Sessions that were opened with it end, too.',
    words: ['keyId'],
  },
  summary: 'Revoke a key of the platform',
  description: 'Every node refuses it within a second, and sessions that were opened with it end.',
  grant: 'keys',
  parameters: [KEY_IN_PATH],
  answers: declareJsonAnswer('The revoked key, as it is listed for 30 days', AccessKeySchema),
  refusals: [NO_SUCH_KEY],
  answer: async ({ ctx, caller }, { keys, audit, clock }: PlatformOperationParts) => {
    const id = KEY_IN_PATH.read(ctx);
    const before = await keys.find(id);
    const isOwn = caller.platform === INSTALLATION_PLATFORM || before?.platform === caller.platform;
    const after = isOwn ? await keys.revoke(id) : null;
    if (after === null) throw NO_SUCH_KEY.problem(id);
    await audit.note({
      ...createKeyAuditNote('key revoked', before, after, clock()),
      who: caller.actor.text,
    });
    return toKeyView(after, clock());
  },
});

export const KEY_OPERATIONS = createTaggedOperations('Access', { listKeys, issueKey, revokeKey });
