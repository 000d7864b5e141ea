import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { deriveNetworkKeys, isPublicAddress, parseAddress, toNetworkOfAddress } from '#decision/addresses.ts';
import { createPseudonymizer } from '#decision/pseudonym.ts';
import { findValueRemark, type ListKind, parseListValue } from '#decision/shared-lists.ts';

const pseudonym = createPseudonymizer('a secret of this test that is long enough');

function keptValue(kind: ListKind, text: string): string {
  const read = parseListValue(kind, text, pseudonym);
  return read.ok ? read.value : read.problem;
}

/** Whether an address that a score showed has one of the keys of an entry. */
function isCovered(entry: string, address: string): boolean {
  const read = parseListValue('ip', entry, pseudonym);
  if (!read.ok) throw new Error(read.problem);
  const parsed = parseAddress(address);
  const around = parsed === null ? [] : deriveNetworkKeys(parsed, pseudonym);
  const shown = [pseudonym('ip', toNetworkOfAddress(address)), ...around];
  return read.keys.some((key) => shown.includes(key));
}

const NOT_PUBLIC =
  'is no public address: many hosts have it at the same time, and requests from it count as without one';

describe('the value of an entry of a shared list', () => {
  it('is the text itself for clients, methods and points of sale', () => {
    expect(parseListValue('client', 'ann', pseudonym)).to.deep.equal({
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
      expect(JSON.stringify(parseListValue(kind, text, pseudonym))).not.to.include(text);
      expect(parseListValue(kind, value, pseudonym)).to.deep.equal(parseListValue(kind, text, pseudonym));
    }
    expect(keptValue('ip', '2001:db8:1:2::1')).to.equal(keptValue('ip', '2001:db8:1:2::2'));
    expect(keptValue('ip', '::ffff:203.0.113.9')).to.equal(keptValue('ip', '203.0.113.9'));
  });

  it('of an attribute keeps only the HMAC, and takes it as decisions have it', () => {
    const value = keptValue('attribute', ' wallet-1 ');
    expect(value).to.equal(`hmac:${pseudonym('attribute', 'wallet-1')}`);
    expect(parseListValue('attribute', value, pseudonym, () => 'another')).to.deep.equal({
      ok: true,
      value,
      keys: [pseudonym('attribute', 'wallet-1')],
    });
    expect(keptValue('attribute', 'x'.repeat(64))).to.match(/^hmac:/);
    expect(keptValue('attribute', 'x'.repeat(65))).to.equal(
      'an attribute has at most 64 characters, so it can never have this value',
    );
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
    ['192.168.1.7', `"192.168.1.7" ${NOT_PUBLIC}`],
    ['10.0.0.0/8', `"10.0.0.0/8" ${NOT_PUBLIC}`],
    ['203.0.113.9\u200b', 'character 12 is invisible: a zero-width space (U+200B); remove it'],
    ['2001:db8::/65', 'a range of IPv6 addresses has a prefix from /24 to /64, unlike "2001:db8::/65"'],
    ['203.0.113.9/24', '"203.0.113.9/24" does not begin where the range does; write 203.0.113.0/24'],
    ['2001:db8::1/32', '"2001:db8::1/32" does not begin where the range does; write 2001:db8::/32'],
  ] as const) {
    it(`of a list of addresses is never ${JSON.stringify(text.slice(0, 20))}`, () => {
      expect(keptValue('ip', text)).to.equal(problem);
    });
  }

  it('has no blanks at its ends, for every kind', () => {
    expect(parseListValue('client', ' bob ', pseudonym)).to.deep.equal({
      ok: true,
      value: 'bob',
      keys: ['bob'],
    });
    expect(keptValue('ip', ' 203.0.113.9 ')).to.equal(keptValue('ip', '203.0.113.9'));
    expect(keptValue('fingerprint', 'f-1 ')).to.equal(keptValue('fingerprint', 'f-1'));
  });

  it('of a client may have no invisible character, which is named with its place', () => {
    expect(keptValue('client', 'bo\u200bb')).to.equal(
      'character 3 is invisible: a zero-width space (U+200B); remove it',
    );
    expect(keptValue('client', 'b\u00a0b')).to.equal(
      'character 2 is invisible: a no-break space (U+00A0); remove it',
    );
    expect(keptValue('client', 'b\u202eb')).to.equal(
      'character 2 is invisible: a right-to-left override (U+202E); remove it',
    );
  });

  it('of devices is no placeholder, which no request ever shows', () => {
    expect(keptValue('fingerprint', 'undefined')).to.equal(
      '"undefined" stands for no fingerprint, and requests with it have none',
    );
  });

  it('of addresses may have a port or hold IPv4 within IPv6, for ranges, too', () => {
    for (const address of ['203.0.113.9:443', '::ffff:203.0.113.9', '64:ff9b::cb00:7109'])
      expect(keptValue('ip', address)).to.equal(keptValue('ip', '203.0.113.9'));
    expect(keptValue('ip', '64:ff9b::cb00:7100/120')).to.equal('203.0.113.0/24');
    expect(keptValue('ip', '2002:cb00:7100::/40')).to.equal('203.0.113.0/24');
  });

  it('is remarked where a range holds addresses that are not public', () => {
    expect(findValueRemark({ kind: 'ip', value: '172.0.0.0/8' })).to.equal(
      'The range holds addresses that are not public; requests from those count as without an address and never match.',
    );
    expect(findValueRemark({ kind: 'ip', value: '203.0.113.0/24' })).to.equal(null);
    expect(findValueRemark({ kind: 'client', value: '172.0.0.0/8' })).to.equal(null);
  });

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
    .filter(([text]) => isPublic(text) && (ipaddr.parse(text).kind() === 'ipv4' || !isEmbedding(text)))
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

function isPublic(text: string): boolean {
  const address = parseAddress(text);
  return address !== null && isPublicAddress(address);
}

/** Whether an address of IPv6 holds one of IPv4. */
function isEmbedding(text: string): boolean {
  return parseAddress(text)?.kind() === 'ipv4';
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
