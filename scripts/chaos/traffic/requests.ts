import { verdictBody } from '../../../test/service/request-bodies.ts';
import type { ServiceNode } from '../processes/service-node.ts';

/** A verdict to ask for. */
export interface LoadRequest {
  readonly clientIdKey: string;
  /** The order's reference, which is also the request id and, in a load that retries, the Idempotency-Key. */
  readonly orderRef: string;
  /** The address in X-Forwarded-For, which the service believes if TRUSTED_PROXIES is set. */
  readonly address?: string;
}

/** The addresses for requests, and the access key. */
export type ServiceAccess = Pick<ServiceNode, 'callerUrl' | 'platformUrl' | 'key'>;

/** Formats the request for a verdict (interface, section 2.3). The orderRef is also the request id. */
export function formatVerdictRequest(
  { callerUrl, key }: ServiceAccess,
  { clientIdKey, orderRef, address }: LoadRequest,
  idempotent: boolean,
): string {
  const body = JSON.stringify(verdictBody({ clientIdKey, orderRef }));
  return [
    'POST /v1/client/verdict HTTP/1.1',
    `Host: ${new URL(callerUrl).host}`,
    'Content-Type: application/json',
    `X-KA-Access-Key: ${key}`,
    `X-Request-Id: ${orderRef}`,
    ...(address === undefined ? [] : [`X-Forwarded-For: ${address}`]),
    ...(idempotent ? [`Idempotency-Key: ${orderRef}`] : []),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}
