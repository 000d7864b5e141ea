import { BindingSchema } from '../../../client/client-state.ts';
import { toEpochMs } from '../../../client/instant.ts';
import { Type } from '../../../json-schema.ts';
import type { ScoringService } from '../../../service.ts';
import { instant, key } from '../../../shapes.ts';
import { DONE, jsonAnswer } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { type AuditParts, audited } from './audited.ts';
import { clientOperation } from './client-id-key.ts';

export interface BindingParts extends AuditParts {
  readonly service: ScoringService;
}

const BindingBodySchema = Type.Object({
  requisiteRef: key('Reference to the bound requisite'),
  acceptorKeys: Type.Array(key('An acceptor'), { minItems: 1, maxItems: 20 }),
  method: Type.Optional(key('The only method that the binding fits; absent: all')),
  expiresAt: Type.Optional(instant),
});

export const bindClient = clientOperation({
  method: 'put',
  below: '/binding',
  operationId: 'bindClient',
  summary: 'Binds a client to a requisite',
  description: 'The client becomes STICKY, and is shown this requisite when no wait is due.',
  grant: 'clients',
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
  refusals: [malformed('/requisiteRef', 'is required')],
  answer: async ({ key, body, clientIdKey }, { service, audit }: BindingParts) => {
    const { requisiteRef, acceptorKeys, method, expiresAt } = await body();
    const binding = { requisiteRef, acceptorKeys, method: method ?? null, expiresAt: toEpochMs(expiresAt) };
    const change = await service.setBinding(key.platform, clientIdKey, binding);
    return audited({ audit }, key, 'binding', clientIdKey, change);
  },
});

export const unbindClient = clientOperation({
  method: 'delete',
  below: '/binding',
  operationId: 'unbindClient',
  summary: 'Lifts a binding',
  description: 'The client is no longer bound.',
  grant: 'clients',
  answers: DONE,
  refusals: [],
  answer: async ({ key, clientIdKey }, { service, audit }: BindingParts) => {
    const change = await service.setBinding(key.platform, clientIdKey, null);
    await audited({ audit }, key, 'binding', clientIdKey, change);
  },
});
