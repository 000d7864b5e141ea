import ipaddr from 'ipaddr.js';

/** Four plain decimals. Other readings of IPv4, like `192.0.2` or the octal `010`, name other hosts. */
const PLAIN_IPV4 = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/;

/**
 * What an address counts as: an IPv4 address is itself, also when written as IPv6; an IPv6 address is
 * its /64, since one household or host owns all of that. Other texts are themselves.
 */
export function networkOf(address: string): string {
  const mayBeAddress = address.includes(':') || PLAIN_IPV4.test(address);
  if (!mayBeAddress || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const withoutZone = parsed.toString().replace(/%.*/, '');
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${withoutZone}/64`).toString()}/64`;
}
