import { toEpochMs } from '../../../client/instant.ts';
import { outcome, outcomeCause } from '../../../client/order.ts';
import { Type } from '../../../json-schema.ts';
import type { OrderReport } from '../../../service/scoring.ts';
import { instant, key } from '../../../shapes.ts';
import { malformedAt } from '../../operation/request-body.ts';
import { bodyOf } from '../../request/body-of.ts';

export const OutcomeBodySchema = Type.Object(
  {
    clientIdKey: key('Stable identifier of the client'),
    orderRef: key("Caller's order identifier, opaque to the service"),
    outcome,
    cause: Type.Optional(outcomeCause),
    occurredAt: Type.Optional(instant),
  },
  // A rule about two members stands by itself, where its refusal can say what to do.
  {
    told: {
      not: { required: ['cause'], properties: { outcome: { const: 'PAID' }, cause: { type: 'string' } } },
    },
  },
);

const outcomeBody = bodyOf(OutcomeBodySchema);

/** Where a cause came with PAID. */
export const STRAY_CAUSE = ['/cause', 'goes only with UNPAID'] as const;

/** One outcome out of a request body; throws 400 when it is none. */
export function outcomeReport(value: unknown): OrderReport {
  const { clientIdKey, orderRef, outcome, cause, occurredAt } = outcomeBody(value);
  if (outcome === 'PAID' && cause !== undefined) throw malformedAt(...STRAY_CAUSE);
  return { clientIdKey, orderRef, outcome, cause: cause ?? null, occurredAt: toEpochMs(occurredAt) };
}
