import type { ParameterizedContext } from 'koa';
import { type AccessKey, type AccessKeys, grants, type Operation } from '../../access/access-keys.ts';
import { notProvisioned, unknownKey } from './problems.ts';
import type { RequestState } from './request-state.ts';

/** The key of a request, which must be known (401) and granted for the operation (403); contract, section 5. */
export async function authenticate(
  ctx: ParameterizedContext<RequestState>,
  keys: AccessKeys,
  operation: Operation,
): Promise<AccessKey> {
  ctx.state.operation = operation;
  const given = ctx.req.headersDistinct['x-ka-access-key'] ?? [];
  const [key] = given;
  if (key === undefined) throw unknownKey('The header X-KA-Access-Key is missing.');
  if (given.length > 1) throw unknownKey('The header X-KA-Access-Key came more than once.');
  const record = await keys.authenticate(key);
  if (record === null) throw unknownKey('The access key is not known, was revoked, or has expired.');
  ctx.state.key = record;
  if (!grants(record, operation)) throw notProvisioned(operation);
  return record;
}
