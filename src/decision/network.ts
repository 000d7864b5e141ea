import ipaddr from 'ipaddr.js';
import type { Pseudonym } from './requests.ts';

/** Four plain decimals. Other readings of IPv4, like `192.0.2` or the octal `010`, name other hosts. */
const PLAIN_IPV4 = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/;

/** Whether the text is an address in one of the forms that everybody reads alike. */
export function isAddress(text: string): boolean {
  return (text.includes(':') || PLAIN_IPV4.test(text)) && ipaddr.isValid(text);
}

/**
 * What an address counts as: an IPv4 address is itself, also when written as IPv6; an IPv6 address is
 * its /64, since one household or host owns all of that. Other texts are themselves.
 */
export function networkOf(address: string): string {
  if (!isAddress(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return networkText(parsed, 64);
}

/**
 * The networks whose HMACs are kept beside that of an address, so that ranges on shared lists can be compared with
 * it: the shortest prefixes first; the last is what the address itself counts as.
 */
export const KEPT_PREFIXES = { ipv4: [16, 24, 32], ipv6: [32, 40, 48, 56, 64] } as const;

/** 60 bits: a million networks on a list meet a wrong address once in 10^12. */
const NETWORK_KEY_CHARACTERS = 10;

/** Shortened HMACs of the networks around an address, without what it counts as itself; none for other texts. */
export function networkKeys(address: string, pseudonym: Pseudonym): readonly string[] {
  if (!isAddress(address)) return [];
  const parsed = ipaddr.process(address);
  return KEPT_PREFIXES[parsed.kind()].slice(0, -1).map((prefix) => networkKey(pseudonym, parsed, prefix));
}

/** What a network of one of the kept prefixes is looked up by; the longest are what addresses count as. */
export function networkKey(pseudonym: Pseudonym, address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number): string {
  const isWhole = prefix === KEPT_PREFIXES[address.kind()].at(-1);
  if (isWhole) return pseudonym('ip', networkOf(address.toString()));
  return pseudonym('ip', networkText(address, prefix)).slice(0, NETWORK_KEY_CHARACTERS);
}

function networkText(address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number): string {
  if (address.kind() === 'ipv4') {
    return `${ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/${prefix}`).toString()}/${prefix}`;
  }
  const withoutZone = address.toString().replace(/%.*/, '');
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${withoutZone}/${prefix}`).toString()}/${prefix}`;
}
