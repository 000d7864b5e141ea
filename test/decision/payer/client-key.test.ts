import { expect } from 'chai';
import fc from 'fast-check';
import {
  formatDecisionId,
  isPlatformName,
  parseDecisionId,
  toPlatformName,
} from '#decision/payer/client-key.ts';
import { toShortHash } from '#decision/payer/client-state.ts';
import { clientKey } from './client-keys.ts';

const anyPlatform = fc.constantFrom('demo', 'shop', 'a', 'demo-1').map(toPlatformName);

describe('a client key', () => {
  it('has a hash of 22 characters that need no escaping in storage and URLs', () => {
    fc.assert(
      fc.property(anyPlatform, fc.string({ unit: 'binary' }), (platform, clientIdKey) => {
        const key = clientKey(platform, clientIdKey);
        expect(key).to.deep.include({ platform, clientIdKey });
        expect(key.hash).to.match(/^[A-Za-z0-9_-]{22}$/);
        expect(clientKey(platform, clientIdKey).hash).to.equal(key.hash);
      }),
    );
  });

  it('differs between platforms and between clients', () => {
    const keys = [
      clientKey(toPlatformName('demo'), 'payer-1'),
      clientKey(toPlatformName('demo'), 'payer-2'),
      clientKey(toPlatformName('shop'), 'payer-1'),
      clientKey(toPlatformName('demo'), 'Payer-1'),
      clientKey(toPlatformName('demo'), 'payer-1 '),
    ];
    expect(new Set(keys.map(({ hash }) => hash)).size).to.equal(keys.length);
  });

  it('is the same in every release, since stored data depends on it', () => {
    expect(clientKey(toPlatformName('demo'), 'payer-1').hash).to.equal('TW-UteuIsHH1sWS2pOeaDh');
  });
});

describe('a platform name', () => {
  it('has lower-case letters, digits and "-", starts with a letter, and is refused with that form', () => {
    for (const good of ['a', 'demo', 'shop-2', 'a'.repeat(63)]) expect(toPlatformName(good)).to.equal(good);
    for (const bad of ['', 'Demo', '2shop', '-a', 'a b', 'a/b', 'a_b', 'a\n', 'é', 'a'.repeat(64)])
      expect(isPlatformName(bad), JSON.stringify(bad)).to.equal(false);
    expect(() => toPlatformName('Demo')).to.throw(
      RangeError,
      'a platform name has lower-case letters, digits and "-", starting with a letter, at most 63 characters, unlike "Demo"',
    );
  });
});

describe('a decisionId', () => {
  it('leads back to its client, number and time', () => {
    const { hash } = clientKey(toPlatformName('demo'), 'payer-1');
    const at = 1_793_491_200_123;
    expect(parseDecisionId(formatDecisionId(hash, 17, at))).to.deep.equal({ clientHash: hash, seq: 17, at });
  });

  const hash = 'a'.repeat(22);
  for (const bad of [
    '',
    hash,
    `${hash}.`,
    `${hash}.17`,
    `${hash}.0.mhn1x2a4`,
    `${hash}.01.mhn1x2a4`,
    `${hash}.-1.mhn1x2a4`,
    `${hash}.1.`,
    `${hash}.1.A`,
    `${hash}.1.2.3`,
    `${hash}x.1.mhn1x2a4`,
    `${hash}.1.mhn1x2a4\n`,
    `${hash}.1e3.mhn1x2a4`,
    `${hash}.${'9'.repeat(16)}.mhn1x2a4`,
  ]) {
    it(`is not ${JSON.stringify(bad)}`, () => {
      expect(parseDecisionId(bad)).to.equal(null);
    });
  }
});

describe('a token', () => {
  it('has six characters, the same for the same text and others for another', () => {
    expect(toShortHash('card')).to.match(/^[A-Za-z0-9_-]{6}$/);
    expect(toShortHash('card')).to.equal(toShortHash('card'));
    expect(toShortHash('card')).to.not.equal(toShortHash('Card'));
  });

  it('rarely collides: never among 5,000 texts', () => {
    const tokens = new Set(Array.from({ length: 5000 }, (_, n) => toShortHash(`order-${n}`)));
    expect(tokens.size).to.equal(5000);
  });
});
