import { Type } from 'typebox';
import { toEpochMs } from '../../../client/instant.ts';
import type { ScoringService } from '../../../service.ts';
import { instant, key, list, named, nullable, shape } from '../../../shapes.ts';
import { epochMs, word } from '../../openapi/words.ts';
import { DONE, jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { BAD_CLIENT_PATH, CLIENT_ID_KEY } from './client-id-key.ts';

export interface BindingParts {
  readonly service: ScoringService;
}

const BindingBodySchema = Type.Object({
  requisiteRef: key('Reference to the bound requisite'),
  acceptorKeys: Type.Array(key('An acceptor'), { minItems: 1, maxItems: 20 }),
  method: Type.Optional(key('The only method that the binding fits; absent: all')),
  expiresAt: Type.Optional(instant),
});

export const BindingSchema = named(
  'Binding',
  shape('The requisite that a client is bound to', {
    requisiteRef: word('Answered as stickyRequisiteRef'),
    acceptorKeys: list(Type.String(), 'Answered as preferredAcceptorKey'),
    method: nullable(word('The only method it fits; null: all')),
    expiresAt: nullable(epochMs('When it ends; null: never')),
  }),
);

export const bindClient = operation({
  method: 'put',
  path: '/v1/platform/clients/{clientIdKey}/binding',
  operationId: 'bindClient',
  summary: 'Binds a client to a requisite',
  description: 'The client becomes STICKY, and is shown this requisite when no wait is due.',
  tag: 'Clients',
  grant: 'clients',
  parameters: [CLIENT_ID_KEY],
  body: jsonBody('BindingBody', BindingBodySchema, {
    requisiteRef: 'requisite-7',
    acceptorKeys: ['acceptor-1'],
  }),
  answers: jsonAnswer('The binding as it is kept', BindingSchema, {
    requisiteRef: 'requisite-7',
    acceptorKeys: ['acceptor-1'],
    method: null,
    expiresAt: null,
  }),
  refusals: [malformed('/requisiteRef', 'is required'), BAD_CLIENT_PATH],
  answer: async ({ ctx, key: { platform }, body }, { service }: BindingParts) => {
    const clientIdKey = CLIENT_ID_KEY.read(ctx);
    const { requisiteRef, acceptorKeys, method, expiresAt } = await body();
    const binding = { requisiteRef, acceptorKeys, method: method ?? null, expiresAt: toEpochMs(expiresAt) };
    await service.setBinding(platform, clientIdKey, binding);
    return binding;
  },
});

export const unbindClient = operation({
  method: 'delete',
  path: '/v1/platform/clients/{clientIdKey}/binding',
  operationId: 'unbindClient',
  summary: 'Lifts a binding',
  description: 'The client is no longer bound.',
  tag: 'Clients',
  grant: 'clients',
  parameters: [CLIENT_ID_KEY],
  answers: DONE,
  refusals: [BAD_CLIENT_PATH],
  answer: ({ ctx, key }, { service }: BindingParts) =>
    service.setBinding(key.platform, CLIENT_ID_KEY.read(ctx), null),
});
