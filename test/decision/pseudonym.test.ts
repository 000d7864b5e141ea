import { expect } from 'chai';
import fc from 'fast-check';
import { toPlatformName } from '#decision/payer/client-key.ts';
import {
  createPlatformDeviceNameConverter,
  createPseudonymizer,
  deriveNodeSecretIds,
} from '#decision/pseudonym.ts';

const SECRET = 'a secret of this test that is long enough';
const names = createPlatformDeviceNameConverter(SECRET);
const [SHOP, BANK] = [toPlatformName('shop'), toPlatformName('bank')];

describe("a platform's name for a device", () => {
  it('leads back to its pseudonym, which no address has, but not on another platform or under another secret', () => {
    const other = createPlatformDeviceNameConverter('another secret of this test');
    fc.assert(
      fc.property(fc.string(), (text) => {
        const pseudonym = createPseudonymizer(SECRET)('fingerprint', text);
        expect(createPseudonymizer(SECRET)('ip', text)).not.to.equal(pseudonym);
        const all = [pseudonym, ...[SHOP, BANK, '*' as const].map((one) => names.nameOf(one, pseudonym))];
        expect(new Set([...all, other.nameOf(SHOP, pseudonym)]).size).to.equal(5);
        for (const name of all) expect(name).to.match(/^[\w-]{22}$/);
        expect(names.pseudonymOf(SHOP, names.nameOf(SHOP, pseudonym))).to.equal(pseudonym);
        expect(names.pseudonymOf(BANK, names.nameOf(SHOP, pseudonym))).not.to.equal(pseudonym);
      }),
    );
  });

  it('is as short as its stored form, and always the same', () => {
    const [token, network] = ['abc123', 'abcdefghij'];
    for (const kept of [token, network, '']) {
      const name = names.nameOf(SHOP, kept);
      expect(name).to.have.lengthOf(kept.length).and.to.equal(names.nameOf(SHOP, kept));
      if (kept !== '') expect(new Set([kept, name, names.nameOf(BANK, kept)]).size).to.equal(3);
    }
  });
});

describe('the pseudonym of an attribute', () => {
  it('ends with the id of its secret, and is otherwise as long and as different as others', () => {
    const other = 'another secret of this test that is long';
    const { own, former } = deriveNodeSecretIds(SECRET, other);
    expect(own).to.have.lengthOf(3).and.not.to.equal(former);
    expect(deriveNodeSecretIds(SECRET, null)).to.deep.equal({ own, former: null });
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, two) => {
        const pseudonym = createPseudonymizer(SECRET)('attribute', one);
        expect(pseudonym)
          .to.match(/^[\w-]{22}$/)
          .and.to.satisfy((text: string) => text.endsWith(own));
        expect(pseudonym === createPseudonymizer(SECRET)('attribute', two)).to.equal(one === two);
        expect(createPseudonymizer(other)('attribute', one)).to.satisfy((text: string) =>
          text.endsWith(former ?? ''),
        );
      }),
    );
  });
});
