import type { IncomingMessage } from 'node:http';
import { networkOf, type Pseudonym } from '../../decision/requests.ts';

/**
 * The address that the outermost trusted proxy saw: the one so many places from the right. Anything
 * further left was written by the caller and could be forged.
 */
export function callerAddress(req: IncomingMessage, trustedProxies: number): string {
  const socketAddress = req.socket.remoteAddress ?? 'unknown';
  if (trustedProxies === 0) return socketAddress;
  const forwarded = (req.headersDistinct['x-forwarded-for'] ?? [])
    .join(',')
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  const seen = forwarded.at(-trustedProxies);
  // Fewer entries than proxies: the request came around them, and nothing in the header can be trusted.
  return seen === undefined ? socketAddress : withoutPort(seen);
}

/** The form in which it may be stored: an HMAC of the address, for IPv6 of its network. */
export function hiddenAddress(pseudonym: Pseudonym, req: IncomingMessage, trustedProxies: number): string {
  return pseudonym('ip', networkOf(callerAddress(req, trustedProxies)));
}

/** Some proxies write `203.0.113.7:51234` or `[2001:db8::1]:51234`: each connection has a port of its own. */
function withoutPort(address: string): string {
  const [, inBrackets, v4] = /^\[([^\]]*)\](?::\d+)?$|^(\d+(?:\.\d+){3}):\d+$/.exec(address) ?? [];
  return inBrackets ?? v4 ?? address;
}
