import { Type } from 'typebox';
import { OVERRIDE_GROUPS } from '../../../client/client-state.ts';
import { toEpochMs } from '../../../client/instant.ts';
import type { ScoringService } from '../../../service.ts';
import { choice, instant, key, named, nullable, shape, text } from '../../../shapes.ts';
import { AT_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { epochMs, word } from '../../openapi/words.ts';
import { DONE, jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { BAD_CLIENT_PATH, CLIENT_ID_KEY } from './client-id-key.ts';

export interface OverrideParts {
  readonly service: ScoringService;
}

const OverrideBodySchema = Type.Object({
  group: choice(OVERRIDE_GROUPS, 'The group that the client is put into'),
  reason: text(1000, 'Why, for whoever reads it later'),
  by: key('Who decided it'),
  expiresAt: Type.Optional(instant),
});

export const OverrideSchema = named(
  'Override',
  shape("A person's decision about a client", {
    group: choice(OVERRIDE_GROUPS, 'The group that the client is put into'),
    reason: word('Why'),
    by: word('Who'),
    at: epochMs('When it was made'),
    expiresAt: nullable(epochMs('When it ends; null: never')),
  }),
);

export const overrideClient = operation({
  method: 'put',
  path: '/v1/platform/clients/{clientIdKey}/override',
  operationId: 'overrideClient',
  summary: 'Blocks or trusts a client by decision',
  description: "A person's decision, which goes before what the rules count.",
  tag: 'Clients',
  grant: 'clients',
  parameters: [CLIENT_ID_KEY],
  body: jsonBody('OverrideBody', OverrideBodySchema, {
    group: 'BLOCKED',
    reason: 'chargebacks',
    by: 'risk desk',
  }),
  answers: jsonAnswer('The override as it is kept', OverrideSchema, {
    group: 'BLOCKED',
    reason: 'chargebacks',
    by: 'risk desk',
    at: AT_EXAMPLE,
    expiresAt: null,
  }),
  refusals: [malformed('/group', `must be one of ${OVERRIDE_GROUPS.join(', ')}`), BAD_CLIENT_PATH],
  answer: async ({ ctx, key: { platform }, body }, { service }: OverrideParts) => {
    const clientIdKey = CLIENT_ID_KEY.read(ctx);
    const { expiresAt, ...override } = await body();
    return service.setOverride(platform, clientIdKey, { ...override, expiresAt: toEpochMs(expiresAt) });
  },
});

export const liftOverride = operation({
  method: 'delete',
  path: '/v1/platform/clients/{clientIdKey}/override',
  operationId: 'liftOverride',
  summary: 'Lifts an override',
  description: 'The rules decide about the client again.',
  tag: 'Clients',
  grant: 'clients',
  parameters: [CLIENT_ID_KEY],
  answers: DONE,
  refusals: [BAD_CLIENT_PATH],
  answer: async ({ ctx, key }, { service }: OverrideParts) => {
    await service.setOverride(key.platform, CLIENT_ID_KEY.read(ctx), null);
  },
});
