import { expect } from 'chai';
import { deriveNetworkKeys, parseAddress, toNetworkOfAddress } from '#decision/addresses.ts';
import {
  type DeclaredAttribute,
  NO_DECLARED_ATTRIBUTES,
  type NullableAttributeValue,
} from '#decision/payer/attributes.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createPseudonymizer } from '#decision/pseudonym.ts';
import {
  InMemorySharedLists,
  type ListKind,
  type ListLookupEntry,
  type ListOwner,
  parseListValue,
  type RequestLookupParts,
} from '#decision/shared-lists.ts';

const NOW = Date.UTC(2026, 10, 21);
const pseudonym = createPseudonymizer('a secret of this test that is long enough');
const SHOP = toPlatformName('shop');

const SUBJECT: RequestLookupParts = {
  platform: SHOP,
  clientIdKey: 'ann',
  method: 'card',
  sellPointKey: 'shop-1',
  fingerprints: ['device-1', 'device-2'].map((device) => pseudonym('fingerprint', device)),
  ips: [pseudonym('ip', toNetworkOfAddress('203.0.113.9'))],
  attributes: {},
  declaredAttributes: NO_DECLARED_ATTRIBUTES,
  networks: [parseAddress('203.0.113.9')].flatMap((address) =>
    address === null ? [] : deriveNetworkKeys(address, pseudonym),
  ),
};

function entry(kind: ListKind, text: string, more: Partial<ListLookupEntry> = {}): ListLookupEntry {
  const read = parseListValue(kind, text, pseudonym);
  if (!read.ok) throw new Error(read.problem);
  const kept = { value: read.value, keys: read.keys, expiresAt: null };
  return { owner: SHOP, list: 'watched', kind, attribute: null, ...kept, ...more };
}

function isListed(one: ListLookupEntry, subject: Partial<RequestLookupParts> = {}): boolean {
  const lists = new InMemorySharedLists(pseudonym);
  lists.add(one);
  return lists.find('watched', { ...SUBJECT, ...subject }, NOW) === one;
}

describe('membership of a shared list', () => {
  for (const [kind, on, off] of [
    ['client', 'ann', 'bob'],
    ['method', 'card', 'transfer'],
    ['sellPoint', 'shop-1', 'shop-2'],
    ['fingerprint', 'device-1', 'device-3'],
    ['fingerprint', 'device-2', 'ann'],
    ['ip', '203.0.113.9', '203.0.113.10'],
    ['ip', '203.0.113.0/28', '203.0.113.16/28'],
    ['ip', '203.0.113.0/24', '203.0.114.0/24'],
    ['ip', '203.0.0.0/15', '203.2.0.0/15'],
  ] as const) {
    it(`of kind ${kind} holds for ${on} and not for ${off}`, () => {
      expect(isListed(entry(kind, on))).to.equal(true);
      expect(isListed(entry(kind, off))).to.equal(false);
    });
  }

  describe('of kind attribute', () => {
    const declared = (more: Partial<DeclaredAttribute> = {}): DeclaredAttribute => ({
      name: 'wallet',
      type: 'text',
      length: 64,
      unit: null,
      oneOf: null,
      pseudonym: false,
      ...more,
    });
    const holds = (wallet: NullableAttributeValue, as: DeclaredAttribute, listed = 'wallet-1') =>
      isListed(entry('attribute', listed, { attribute: 'wallet' }), {
        attributes: { wallet, cardCountry: 'wallet-1' },
        declaredAttributes: new Map([
          ['wallet', as],
          ['cardCountry', declared({ name: 'cardCountry' })],
        ]),
      });

    it('holds for a value in clear, and for the HMAC of a pseudonymised one', () => {
      expect(holds('wallet-1', declared())).to.equal(true);
      expect(holds('wallet-2', declared())).to.equal(false);
      const hmacOf = (text: string) => `hmac:${pseudonym('attribute', text)}`;
      expect(holds(hmacOf('wallet-1'), declared({ pseudonym: true }))).to.equal(true);
      expect(holds(hmacOf('wallet-2'), declared({ pseudonym: true }))).to.equal(false);
    });

    it('holds for numbers and booleans as JSON writes them', () => {
      expect(holds(7.5, declared({ type: 'number' }), '7.5')).to.equal(true);
      expect(holds(false, declared({ type: 'boolean' }), 'false')).to.equal(true);
      expect(holds(true, declared({ type: 'boolean' }), 'false')).to.equal(false);
    });

    it('holds for nobody whose attribute is not known or not declared', () => {
      expect(holds(null, declared())).to.equal(false);
      expect(holds('wallet-1', declared({ length: 4 }))).to.equal(false);
      expect(holds('wallet-1', declared({ pseudonym: true }))).to.equal(false);
      const undeclared = { attributes: { wallet: 'wallet-1' }, declaredAttributes: NO_DECLARED_ATTRIBUTES };
      const one = entry('attribute', 'wallet-1', { attribute: 'wallet' });
      expect(isListed(one, undeclared)).to.equal(false);
      expect(isListed(one)).to.equal(false);
    });
  });

  it("holds on the list's platform, and for a list of the whole installation on every platform", () => {
    const other = { platform: toPlatformName('other') };
    expect(isListed(entry('method', 'card'), other)).to.equal(false);
    expect(isListed(entry('method', 'card', { owner: '*' satisfies ListOwner }), other)).to.equal(true);
  });

  it('ends when the entry expires', () => {
    expect(isListed(entry('client', 'ann', { expiresAt: NOW + 1 }))).to.equal(true);
    expect(isListed(entry('client', 'ann', { expiresAt: NOW }))).to.equal(false);
  });

  it('is of one list alone, and never of one that does not exist', () => {
    const lists = new InMemorySharedLists(pseudonym);
    lists.add(entry('client', 'ann'));
    expect(lists.find('blocked', SUBJECT, NOW)).to.equal(null);
  });

  it('ends with the removal of the entry, while an overlapping range stays', () => {
    const lists = new InMemorySharedLists(pseudonym);
    const [wide, narrow] = [entry('ip', '203.0.0.0/16'), entry('ip', '203.0.113.0/24')];
    lists.add(wide);
    lists.add(narrow);
    lists.remove(wide);
    expect(lists.find('watched', SUBJECT, NOW)).to.equal(narrow);
    lists.remove(narrow);
    expect(lists.find('watched', SUBJECT, NOW)).to.equal(null);
    lists.remove(narrow);
  });
});
