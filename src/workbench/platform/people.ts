import { Type } from '#base/json-schema.ts';
import { choice, epochMs, list, named, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import {
  addIncludedOperations,
  GRANTABLE_OPERATIONS,
  INSTALLATION_PLATFORM,
  listGrantableOperations,
} from '#checkout/access/access-keys.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import { createNotFoundProblem, declareRefusal } from '#checkout/http/request/problems.ts';
import { ROLES, type Role } from '#workbench/access/roles.ts';
import type { PlatformOperationParts } from './parts.ts';
import { toAuditAuthor } from './session.ts';

const role = Type.Unsafe<Role>({ type: 'string', enum: Object.keys(ROLES), description: 'A role' });

export const PeopleSchema = named(
  'People',
  shape('The people who are signed in, and the roles that may sign in', {
    provider: nullable(
      plainText(
        'The host of the identity provider; null: people sign in with keys alone',
        'login.example.com',
      ),
    ),
    roles: list(
      shape('Which claim of the provider gives a role (OIDC_ROLES)', {
        claim: plainText('By its name, or a path with points', 'groups'),
        value: plainText('What it is, or has in its list', 'fraud-team'),
        role,
        platform: plainText('Where; * is every platform, and the installation', 'shop'),
        operations: list(choice(GRANTABLE_OPERATIONS, 'An operation'), 'What the role may do there'),
      }),
      'Empty: people sign in with keys alone',
    ),
    people: list(
      shape('Somebody who is signed in', {
        id: plainText('Id for signOutPerson: the subject at the provider, or a key', 'person:248289761001'),
        who: plainText('As the audit names them', 'person:248289761001 (ann@example.com)'),
        access: list(
          shape('What gives them access', {
            platform: plainText('Where; * is every platform, and the installation', 'shop'),
            role: nullable(role),
          }),
          'A null role: a key',
        ),
        sessions: list(
          shape('A browser', {
            beganAt: epochMs('When they signed in'),
            usedAt: epochMs(
              'When it was last used, to the minute; the session ends after half an hour without use',
            ),
            endsAt: epochMs('When it ends at the latest; it ends with its key if that is sooner'),
          }),
          'Newest first',
        ),
      }),
      'By name',
    ),
  }),
);

const listPeople = declareOperation({
  route: 'get /v1/platform/people',
  summary: 'List who is signed in, and who may sign in',
  description:
    'Lists people whose roles or keys belong to the platform. People and roles of the whole installation are shown only to its own keys and people. listKeys shows who has a key.',
  grant: 'keys',
  isSearch: true,
  answers: declareJsonAnswer('By name', PeopleSchema),
  answer: async (
    { caller: { platform } },
    parts: PlatformOperationParts,
  ): Promise<ValueOf<typeof PeopleSchema>> => {
    const people = await parts.sessions.listSignedIn(platform);
    const isToldOf = (name: string) => platform === INSTALLATION_PLATFORM || name === platform;
    return {
      provider: parts.providerHost,
      roles: parts.sessions.roles
        .filter((one) => isToldOf(one.platform))
        .map(({ claim, value, role, platform }) => {
          const isAtAll = platform === INSTALLATION_PLATFORM;
          const operations = addIncludedOperations(ROLES[role]).filter(
            (one) => isAtAll || listGrantableOperations(platform).includes(one),
          );
          return { claim, value, role, platform, operations };
        }),
      people: people.map(({ actor, access, sessions }) => ({
        id: actor.id,
        who: actor.text,
        access: access.map(({ platform, role }) => ({ platform, role })),
        sessions: sessions.map(({ beganAt, usedAt, endsAt }) => ({ beganAt, usedAt, endsAt })),
      })),
    };
  },
});

const NOT_SIGNED_IN = declareRefusal(
  'not-signed-in',
  'Nobody with that id is signed in to this platform.',
  (id: string) => createNotFoundProblem(`"${id.slice(0, 64)}" is not signed in here.`),
  'person:248289761001',
);

const signOutPerson = declareOperation({
  route: 'post /v1/platform/people/sign-out',
  summary: 'Sign somebody out',
  description:
    'Ends all sessions of a person whom listPeople shows, in every browser, on every node and at every platform, and the jobs that they started. Somebody who still has a role or a key can sign in again: remove these first.',
  grant: 'keys',
  body: declareJsonBody(
    'SignOutBody',
    shape('Whom', { id: plainText('As listPeople has it', 'person:248289761001') }),
  ),
  answers: { 204: { description: 'Nobody with that id is signed in any more' } },
  refusals: [NOT_SIGNED_IN],
  answer: async ({ caller, body }, { sessions, audit }: PlatformOperationParts) => {
    const { id: subject } = await body();
    const ended = await sessions.endOf(subject, caller.platform);
    if (ended === 0) throw NOT_SIGNED_IN.problem(subject);
    await audit.note({ ...toAuditAuthor(caller), action: 'sign-out', subject, after: { sessions: ended } });
  },
});

export const PEOPLE_OPERATIONS = createTaggedOperations('Access', { listPeople, signOutPerson });
