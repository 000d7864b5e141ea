import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { networkKeys, networkOf } from '../../../src/decision/requests.ts';
import { type ListKind, readListValue } from '../../../src/decision/shared-lists.ts';
import { hmacPseudonym } from '../../../src/pseudonym.ts';

const pseudonym = hmacPseudonym('a secret of this test that is long enough');

function keptValue(kind: ListKind, text: string): string {
  const read = readListValue(kind, text, pseudonym);
  return read.ok ? read.value : read.problem;
}

/** Whether an address that a score showed has one of the keys of an entry. */
function isCovered(entry: string, address: string): boolean {
  const read = readListValue('ip', entry, pseudonym);
  if (!read.ok) throw new Error(read.problem);
  const shown = [pseudonym('ip', networkOf(address)), ...networkKeys(address, pseudonym)];
  return read.keys.some((key) => shown.includes(key));
}

describe('the value of an entry of a shared list', () => {
  it('is the text itself for clients, methods and points of sale', () => {
    expect(readListValue('client', 'ann', pseudonym)).to.deep.equal({
      ok: true,
      value: 'ann',
      keys: ['ann'],
    });
    expect(keptValue('method', 'gift card')).to.equal('gift card');
    expect(keptValue('sellPoint', 'shop-1')).to.equal('shop-1');
  });

  it('keeps only the HMAC of a fingerprint or an address, and may be given as that HMAC', () => {
    for (const [kind, text] of [
      ['fingerprint', 'device-1'],
      ['ip', '203.0.113.9'],
      ['ip', '2001:db8:1:2:3:4:5:6'],
    ] as const) {
      const value = keptValue(kind, text);
      expect(value).to.match(/^hmac:[\w-]{22}$/);
      expect(JSON.stringify(readListValue(kind, text, pseudonym))).not.to.include(text);
      expect(readListValue(kind, value, pseudonym)).to.deep.equal(readListValue(kind, text, pseudonym));
    }
    expect(keptValue('ip', '2001:db8:1:2::1')).to.equal(keptValue('ip', '2001:db8:1:2::2'));
    expect(keptValue('ip', '::ffff:203.0.113.9')).to.equal(keptValue('ip', '203.0.113.9'));
  });

  it('keeps a range of addresses in clear, because an HMAC cannot tell what is in it', () => {
    expect(keptValue('ip', '203.0.113.0/24')).to.equal('203.0.113.0/24');
    expect(keptValue('ip', '2001:DB8:0::/32')).to.equal('2001:db8::/32');
  });

  for (const [text, problem] of [
    ['', 'a value has 1 to 256 characters of well-formed Unicode'],
    ['x'.repeat(257), 'a value has 1 to 256 characters of well-formed Unicode'],
    ['\ud800', 'a value has 1 to 256 characters of well-formed Unicode'],
    ['a\0b', 'a value must not contain U+0000'],
    ['home', '"home" is no IP address; write one like 203.0.113.9, or a range like 203.0.113.0/24'],
    ['010.0.0.1', '"010.0.0.1" is no IP address; write one like 203.0.113.9, or a range like 203.0.113.0/24'],
    ['10/8', '"10/8" is no range of addresses; write one like 203.0.113.0/24 or 2001:db8::/32'],
    ['10.0.0.0/33', '"10.0.0.0/33" is no range of addresses; write one like 203.0.113.0/24 or 2001:db8::/32'],
    ['10.0.0.0/7', 'a range of IPv4 addresses has a prefix from /8 to /32, unlike "10.0.0.0/7"'],
    ['2001:db8::/65', 'a range of IPv6 addresses has a prefix from /24 to /64, unlike "2001:db8::/65"'],
    ['203.0.113.9/24', '"203.0.113.9/24" does not begin where the range does; write 203.0.113.0/24'],
    ['2001:db8::1/32', '"2001:db8::1/32" does not begin where the range does; write 2001:db8::/32'],
  ] as const) {
    it(`of a list of addresses is never ${JSON.stringify(text.slice(0, 20))}`, () => {
      expect(keptValue('ip', text)).to.equal(problem);
    });
  }

  it('covers exactly the IPv4 addresses in the range', () => {
    fc.assert(
      fc.property(ipv4Range, fc.ipV4(), fc.nat(), (range, elsewhere, seed) => {
        const inside = within(range, seed);
        expect(isCovered(range, inside), `${inside} in ${range}`).to.equal(true);
        const parsed = ipaddr.parse(elsewhere);
        const isIn = parsed.match(ipaddr.parseCIDR(range));
        expect(isCovered(range, elsewhere), `${elsewhere} in ${range}`).to.equal(isIn);
      }),
      { numRuns: 60 },
    );
  });

  it('covers the IPv6 addresses in the range, and not the networks beside it', () => {
    fc.assert(
      fc.property(ipv6Range, fc.nat(), (range, seed) => {
        const inside = within(range, seed);
        expect(isCovered(range, inside), `${inside} in ${range}`).to.equal(true);
        const outside = flipped(range);
        expect(isCovered(range, outside), `${outside} in ${range}`).to.equal(false);
      }),
      { numRuns: 60 },
    );
  });
});

const ipv4Range = rangeOf(fc.ipV4(), 8, 32);
const ipv6Range = rangeOf(fc.ipV6(), 24, 64);

function rangeOf(address: fc.Arbitrary<string>, least: number, most: number): fc.Arbitrary<string> {
  return fc
    .tuple(address, fc.integer({ min: least, max: most }))
    .filter(([text]) => ipaddr.parse(text).kind() === 'ipv4' || !isMapped(text))
    .map(([text, prefix]) => {
      const parsed = ipaddr.parse(text);
      const cidr = `${parsed.toString()}/${prefix}`;
      const start =
        parsed.kind() === 'ipv4'
          ? ipaddr.IPv4.networkAddressFromCIDR(cidr)
          : ipaddr.IPv6.networkAddressFromCIDR(cidr);
      return `${start.toString()}/${prefix}`;
    });
}

function isMapped(text: string): boolean {
  const parsed = ipaddr.parse(text);
  return parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress();
}

/** An address in the range, its free bits taken from a seed. */
function within(range: string, seed: number): string {
  const [start, prefix] = ipaddr.parseCIDR(range);
  let random = seed;
  const bytes = start.toByteArray().map((byte, index) => {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
    const free = 0xff >> Math.min(8, Math.max(0, prefix - 8 * index));
    return byte | ((random >> 8) & free);
  });
  return ipaddr.fromByteArray(bytes).toString();
}

/** The start of the range with its last fixed bit inverted. */
function flipped(range: string): string {
  const [start, prefix] = ipaddr.parseCIDR(range);
  const bytes = start.toByteArray();
  const place = Math.floor((prefix - 1) / 8);
  bytes[place] = (bytes[place] ?? 0) ^ (0x80 >> ((prefix - 1) % 8));
  return ipaddr.fromByteArray(bytes).toString();
}
