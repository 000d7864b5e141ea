import ipaddr from 'ipaddr.js';
import { KEY_CHARACTERS_MAX } from '../../key-length.ts';
import { isAddress, KEPT_PREFIXES, networkKey, networkOf } from '../network.ts';
import type { Pseudonym } from '../requests.ts';
import type { ListKind } from './list-kind.ts';

/** An entry's value as it is kept, or what is wrong with it. */
export type ReadListValue =
  | { readonly ok: true; readonly value: string; readonly keys: readonly string[] }
  | { readonly ok: false; readonly problem: string };

/** What the HMAC of a fingerprint or an address is written with, where the text itself is not kept. */
const HMAC = /^hmac:([A-Za-z0-9_-]{22})$/;

/** A shorter prefix would be a continent. */
const IPV4_PREFIX_MIN = 8;
const IPV6_PREFIX_MIN = 24;
const IPV6_PREFIX_MAX = 64;

/**
 * The value of an entry: texts as they are, fingerprints and single addresses by their HMAC alone, ranges of
 * addresses in clear, because no HMAC can tell what lies in a range. A value that was shown as `hmac:..` is taken
 * as that HMAC.
 */
export function readListValue(kind: ListKind, text: string, pseudonym: Pseudonym): ReadListValue {
  const length = [...text].length;
  if (length < 1 || length > KEY_CHARACTERS_MAX || !text.isWellFormed()) {
    return refused(`a value has 1 to ${KEY_CHARACTERS_MAX} characters of well-formed Unicode`);
  }
  switch (kind) {
    case 'client':
    case 'method':
    case 'sellPoint':
      return { ok: true, value: text, keys: [text] };
    case 'fingerprint':
      return hidden(HMAC.exec(text)?.[1] ?? pseudonym('fingerprint', text));
    case 'ip':
      return text.includes('/') ? range(text, pseudonym) : address(text, pseudonym);
    default:
      return kind satisfies never;
  }
}

function address(text: string, pseudonym: Pseudonym): ReadListValue {
  const [, known] = HMAC.exec(text) ?? [];
  if (known !== undefined) return hidden(known);
  if (!isAddress(text)) {
    return refused(`"${text}" is no IP address; write one like 203.0.113.9, or a range like 203.0.113.0/24`);
  }
  return hidden(pseudonym('ip', networkOf(text)));
}

function range(text: string, pseudonym: Pseudonym): ReadListValue {
  const parsed =
    ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)
      ? ipaddr.parseCIDR(text)
      : null;
  if (parsed === null) {
    return refused(`"${text}" is no range of addresses; write one like 203.0.113.0/24 or 2001:db8::/32`);
  }
  const [start, prefix] = parsed;
  const isIpv4 = start.kind() === 'ipv4';
  const [least, most] = isIpv4 ? [IPV4_PREFIX_MIN, 32] : [IPV6_PREFIX_MIN, IPV6_PREFIX_MAX];
  if (prefix < least || prefix > most) {
    return refused(
      `a range of ${isIpv4 ? 'IPv4' : 'IPv6'} addresses has a prefix from /${least} to /${most}, unlike "${text}"`,
    );
  }
  const network = networkStart(start, prefix);
  if (network.toNormalizedString() !== start.toNormalizedString()) {
    return refused(`"${text}" does not begin where the range does; write ${network.toString()}/${prefix}`);
  }
  const kept = KEPT_PREFIXES[isIpv4 ? 'ipv4' : 'ipv6'].find((candidate) => candidate >= prefix) ?? most;
  const count = 2 ** (kept - prefix);
  const keys = Array.from({ length: count }, (_, index) =>
    networkKey(pseudonym, addressAt(network, kept, index), kept),
  );
  return { ok: true, value: `${network.toString()}/${prefix}`, keys };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function networkStart(address: Address, prefix: number): Address {
  const bytes = address.toByteArray().map((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - 8 * index));
    return byte & (0xff << (8 - bits)) & 0xff;
  });
  return ipaddr.fromByteArray(bytes);
}

/** The start of the network number `index` among those of length `prefix` that begin with `first`. */
function addressAt(first: Address, prefix: number, index: number): Address {
  const bytes = first.toByteArray();
  let rest = index;
  for (let place = prefix / 8 - 1; rest > 0; place--) {
    const sum = (bytes[place] ?? 0) + (rest & 0xff);
    bytes[place] = sum;
    rest >>= 8;
  }
  return ipaddr.fromByteArray(bytes);
}

function hidden(hmac: string): ReadListValue {
  return { ok: true, value: `hmac:${hmac}`, keys: [hmac] };
}

function refused(problem: string): ReadListValue {
  return { ok: false, problem };
}
