import * as s from '#base/shapes.ts';
import type { Caller } from '#checkout/access/caller.ts';
import type { BeforeAndAfter } from '#checkout/scoring/scoring.ts';
import { BindingSchema, OverrideSchema } from '#decision/payer/client-state.ts';
import { toAuditedValue } from '#workbench/access/audit.ts';
import type { PlatformOperationParts } from '#workbench/platform/parts.ts';

/** An action about a client, with the schema of the changed value. */
type NotedChange = readonly [action: 'binding' | 'override' | 'wait ended', shape: object];

/** How the audit names a change of a binding, and the schema of the noted values. */
export const BINDING_AUDIT_ACTION: NotedChange = ['binding', BindingSchema];
/** How the audit names a change of an override, and the schema of the noted values. */
export const OVERRIDE_AUDIT_ACTION: NotedChange = ['override', OverrideSchema];
/** How the audit names the end of a wait by a person, and the schema of the noted values. */
export const WAIT_END_AUDIT_ACTION: NotedChange = [
  'wait ended',
  s.shape('A wait that was ended', {
    decisionId: s.plainText('The id of the decision that imposed it'),
    waitUntil: s.nullable(s.epochMs('When it would have ended')),
  }),
];

/** Notes in the audit what a caller changed about a client. Returns the value after the change. */
export async function noteClientChange<T>(
  { audit, clientKeys }: PlatformOperationParts,
  caller: Caller,
  [action, shape]: NotedChange,
  clientIdKey: string,
  { before, after }: BeforeAndAfter<T>,
  reason: string | null = null,
): Promise<T | null> {
  const { platform, actor } = caller;
  const noted = { before: toAuditedValue(shape, before), after: toAuditedValue(shape, after) };
  const entry = { who: actor.text, action, platform, subject: clientIdKey, ...noted, reason };
  await audit.note(entry, clientKeys.of(platform, clientIdKey));
  return after;
}
