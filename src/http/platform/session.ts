import { including, OPERATIONS } from '../../access/access-keys.ts';
import { choice, list, named, nullable, type Shape, shape, word } from '../../shapes.ts';
import { jsonAnswer, operation } from '../operation/operation.ts';
import { ANY_OF_THE_PLATFORM } from '../request/authenticate.ts';

export const SessionSchema = named(
  'Session',
  shape('What an access key may do', {
    platform: word('Whose clients, orders and decisions it sees'),
    keyId: word('As `keys list` shows it; not the key'),
    owner: nullable(word('The person or team that answers for the key; null when it was issued without one')),
    operations: list(choice(OPERATIONS, 'An operation'), 'What was granted, with what that includes'),
    expiresAt: nullable(word('RFC 3339; null: it does not expire')),
  }),
);

export const readSession = operation({
  method: 'get',
  path: '/v1/platform/session',
  operationId: 'readSession',
  summary: 'What this key may do',
  description:
    'For a key of any operation of the platform. The console shows the pages that the key may see.',
  tag: 'Console',
  grant: ANY_OF_THE_PLATFORM,
  answers: jsonAnswer('The platform and the operations of the key', SessionSchema, {
    platform: 'shop',
    keyId: '3f9a0c51d2e7',
    owner: 'risk-team',
    operations: ['clients:read', 'decisions', 'rules:read'],
    expiresAt: '2027-02-19T10:00:00.000Z',
  }),
  refusals: [],
  answer: async ({ caller }): Promise<Shape<typeof SessionSchema>> => {
    const { platform, keyId, actor, operations, expiresAt } = caller;
    return { platform, keyId, owner: actor.owner, operations: including(operations), expiresAt };
  },
});
