import { actorOfKey } from '../../../access/actor.ts';
import { OVERRIDE_GROUPS, OverrideSchema, overrideGroup } from '../../../client/client-state.ts';
import { toEpochMs } from '../../../client/instant.ts';
import { Type } from '../../../json-schema.ts';
import type { ScoringService } from '../../../service.ts';
import { instant, key, text } from '../../../shapes.ts';
import { AT_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { DONE, jsonAnswer } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { type AuditParts, audited } from './audited.ts';
import { clientOperation } from './client-id-key.ts';

export interface OverrideParts extends AuditParts {
  readonly service: ScoringService;
}

const OverrideBodySchema = Type.Object({
  group: overrideGroup,
  reason: text(1000, 'Why, for whoever reads it later'),
  by: key('Who decided it'),
  expiresAt: Type.Optional(instant),
});

export const overrideClient = clientOperation({
  method: 'put',
  below: '/override',
  operationId: 'overrideClient',
  summary: 'Blocks or trusts a client by decision',
  description: "A person's decision, which goes before what the rules count.",
  grant: 'clients',
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
  refusals: [malformed('/group', `must be one of ${OVERRIDE_GROUPS.join(', ')}`)],
  answer: async ({ key, body, clientIdKey }, { service, audit }: OverrideParts) => {
    const { expiresAt, ...override } = await body();
    const decided = { ...override, expiresAt: toEpochMs(expiresAt) };
    const change = await service.setOverride(key.platform, clientIdKey, decided, actorOfKey(key));
    return audited({ audit }, key, 'override', clientIdKey, change, override.reason);
  },
});

export const liftOverride = clientOperation({
  method: 'delete',
  below: '/override',
  operationId: 'liftOverride',
  summary: 'Lifts an override',
  description: 'The rules decide about the client again.',
  grant: 'clients',
  answers: DONE,
  refusals: [],
  answer: async ({ key, clientIdKey }, { service, audit }: OverrideParts) => {
    const change = await service.setOverride(key.platform, clientIdKey, null, actorOfKey(key));
    await audited({ audit }, key, 'override', clientIdKey, change);
  },
});
