import ipaddr from 'ipaddr.js';

/**
 * Replaces a fingerprint, an IP or an attribute by a keyed hash (HMAC), which can be compared and not read back.
 * `kind` keeps equal texts of different kinds apart.
 */
export type Pseudonymize = (kind: 'fingerprint' | 'ip' | 'attribute', text: string) => string;

/** An IP address. An IPv4 address that is written as IPv6 is parsed as IPv4. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A range of addresses that begins at `start`. */
export interface AddressRange {
  readonly start: Address;
  readonly prefix: number;
}

/** Matches only four plain decimals, because programs disagree about which host `192.0.2` or the octal `010` means. */
const PLAIN_IPV4 = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/;

/**
 * Matches an address with a port, like `203.0.113.7:51234` or `[2001:db8::1]:51234`, as some gateways write it. The
 * port is removed, because each connection has its own.
 */
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|(\d+(?:\.\d+){3}):\d{1,5})$/;

/**
 * Parses an address as gateways, proxies and programs write it: with a port, in brackets, with blanks around it, with
 * a zone, or as IPv4 within IPv6. Returns null for all other texts, chains of addresses included.
 */
export function parseAddress(text: string): Address | null {
  const trimmed = text.trim();
  const [, inBrackets, ipv4] = WITH_PORT.exec(trimmed) ?? [];
  const bare = (inBrackets ?? ipv4 ?? trimmed).replace(/%.*$/, '');
  if (!bare.includes(':'))
    return PLAIN_IPV4.test(bare) && ipaddr.IPv4.isValid(bare) ? ipaddr.IPv4.parse(bare) : null;
  return ipaddr.IPv6.isValid(bare) ? extractEmbeddedIpv4(ipaddr.IPv6.parse(bare)) : null;
}

/** Parses a range like `203.0.113.0/24`. Returns null for all other texts. */
export function parseRange(text: string): AddressRange | null {
  const [, written = '', digits = ''] = /^\s*([^/]*)\/(\d{1,3})\s*$/.exec(text) ?? [];
  const isIpv6 = written.includes(':');
  if (!isIpv6) {
    const start = parseAddress(written);
    return start === null || Number(digits) > 32 ? null : { start, prefix: Number(digits) };
  }
  if (!ipaddr.IPv6.isValid(written) || Number(digits) > 128) return null;
  return toEmbeddedRange(ipaddr.IPv6.parse(written), Number(digits));
}

/** IPv6 prefixes whose addresses contain an IPv4 address, each with the bit at which the IPv4 address begins. */
const EMBEDDINGS = [
  { network: '::ffff:0:0', prefix: 96, at: 96, name: 'mapped' },
  { network: '::ffff:0:0:0', prefix: 96, at: 96, name: 'translated' },
  { network: '64:ff9b::', prefix: 96, at: 96, name: 'NAT64' },
  { network: '64:ff9b:1::', prefix: 48, at: 96, name: 'NAT64 of one network' },
  { network: '2002::', prefix: 16, at: 16, name: '6to4' },
].map(({ network, ...embedding }) => ({ ...embedding, network: ipaddr.IPv6.parse(network) }));

function extractEmbeddedIpv4(address: ipaddr.IPv6): Address {
  const embedding = EMBEDDINGS.find(({ network, prefix }) => address.match(network, prefix));
  return embedding === undefined ? address : readIpv4At(address, embedding.at);
}

function readIpv4At(address: ipaddr.IPv6, bit: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(bit / 8, bit / 8 + 4));
}

/** Converts a range within one of EMBEDDINGS to the range of IPv4 addresses that it contains. */
function toEmbeddedRange(start: ipaddr.IPv6, prefix: number): AddressRange {
  const embedding = EMBEDDINGS.find(
    ({ network, prefix: shortest, at }) => prefix >= at && start.match(network, shortest),
  );
  if (embedding === undefined) return { start, prefix };
  return { start: readIpv4At(start, embedding.at), prefix: Math.min(prefix - embedding.at, 32) };
}

/**
 * Kinds of addresses that many hosts use at the same time, or that no host uses. Such addresses do not tell payers
 * apart.
 */
const NOT_PUBLIC: ReadonlySet<string> = new Set([
  'unspecified',
  'broadcast',
  'multicast',
  'linkLocal',
  'loopback',
  'carrierGradeNat',
  'private',
  'uniqueLocal',
  'deprecatedSiteLocal',
]);

/** Whether an address is public. Ranges for documentation count as public, so that examples work. */
export function isPublicAddress(address: Address): boolean {
  return !NOT_PUBLIC.has(address.range());
}

/** Whether some of the addresses in a range are not public. */
export function holdsPrivateAddresses({ start, prefix }: AddressRange): boolean {
  return PRIVATE_RANGES.some(([network, length]) => {
    if (network.kind() !== start.kind()) return false;
    return isInNetwork(network, start, prefix) || isInNetwork(start, network, length);
  });
}

/** Whether no address in a range is public. */
export function isPrivateRange({ start, prefix }: AddressRange): boolean {
  return PRIVATE_RANGES.some(
    ([network, length]) =>
      network.kind() === start.kind() && prefix >= length && isInNetwork(start, network, length),
  );
}

const PRIVATE_RANGES = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '224.0.0.0/4',
  '::/127',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
].map((range) => ipaddr.parseCIDR(range));

function isInNetwork(address: Address, network: Address, prefix: number): boolean {
  return ipaddr.subnetMatch(address, { within: [[network, prefix]] }, 'outside') === 'within';
}

/**
 * Returns the network that stands for an address. For IPv4 this is the address itself. For IPv6 this is the /64,
 * because one household or host owns the whole /64. A text that is not an address is returned unchanged.
 */
export function toNetworkOfAddress(text: string): string {
  const address = parseAddress(text);
  return address === null ? text : formatAddressNetwork(address);
}

function formatAddressNetwork(address: Address): string {
  return address.kind() === 'ipv4' ? address.toString() : formatNetwork(address, 64);
}

/**
 * The prefixes of the networks whose HMACs are kept with an address, so that ranges on shared lists can match the
 * address. The last prefix of each kind gives the network that stands for the address.
 */
export const KEPT_PREFIXES = { ipv4: [16, 24, 32], ipv6: [32, 40, 48, 56, 64] } as const;

/** 10 characters of base64 are 60 bits. If a million networks are on a list, one address in 10^12 matches wrongly. */
const NETWORK_KEY_CHARACTERS = 10;

/** Derives the shortened HMACs of the networks around an address, without the network that stands for the address. */
export function deriveNetworkKeys(address: Address, pseudonym: Pseudonymize): readonly string[] {
  return KEPT_PREFIXES[address.kind()]
    .slice(0, -1)
    .map((prefix) => deriveNetworkKey(pseudonym, address, prefix));
}

/** Derives the HMAC of the network that stands for an address. */
export function deriveAddressKey(address: Address, pseudonym: Pseudonymize): string {
  return pseudonym('ip', formatAddressNetwork(address));
}

/**
 * Derives the lookup key of a network with one of the kept prefixes. For the longest prefix, this is the key of the
 * address.
 */
export function deriveNetworkKey(pseudonym: Pseudonymize, address: Address, prefix: number): string {
  const isWhole = prefix === KEPT_PREFIXES[address.kind()].at(-1);
  if (isWhole) return deriveAddressKey(address, pseudonym);
  return pseudonym('ip', formatNetwork(address, prefix)).slice(0, NETWORK_KEY_CHARACTERS);
}

/** Formats the network of this prefix length that contains an address, like `203.0.113.0/24`. */
export function formatNetwork(address: Address, prefix: number): string {
  const network = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${network.networkAddressFromCIDR(`${address.toString()}/${prefix}`).toString()}/${prefix}`;
}
