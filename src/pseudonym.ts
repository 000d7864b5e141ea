import { createHmac } from 'node:crypto';
import type { Pseudonym } from './decision/requests.ts';

/** Fingerprints and IPs as the first 132 bits of their HMAC-SHA256 under the fleet's secret. */
export function hmacPseudonym(secret: string): Pseudonym {
  return (kind, text) =>
    createHmac('sha256', secret).update(`${kind}\0${text}`).digest('base64url').slice(0, 22);
}
