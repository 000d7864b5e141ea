import { expect } from 'chai';
import { isPlaceholder, isPlaceholderClient, readDevice } from '#decision/body-hints.ts';

const EMPTY_HASHES = [
  'd41d8cd98f00b204e9800998ecf8427e',
  'da39a3ee5e6b4b0d3255bfef95601890afd80709',
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
];

describe('a fingerprint', () => {
  for (const text of [
    'unknown',
    'undefined',
    'null',
    'none',
    'n/a',
    'NaN',
    '0',
    '-',
    '[object Object]',
    'true',
    'false',
    ' Undefined ',
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '00000000',
    'AAAAAAAAAAAAAAAA',
    ...EMPTY_HASHES,
    'E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855',
  ])
    it(`is a placeholder in ${JSON.stringify(text)}`, () => {
      expect(isPlaceholder(text)).to.equal(true);
      expect(readDevice({ fingerprint: text })).to.deep.equal({
        fingerprint: null,
        address: null,
        unusableHints: [{ field: 'fingerprint', why: 'placeholder' }],
      });
    });

  for (const text of [
    'f-5d1c',
    '0000000',
    '00000001',
    'guest',
    'nullable',
    '123456789',
    '0f0f0f0f',
    'device-0',
  ])
    it(`is a device in ${JSON.stringify(text)}`, () => {
      expect(readDevice({ fingerprint: text })).to.deep.equal({
        fingerprint: text,
        address: null,
        unusableHints: [],
      });
    });
});

describe('an address of a body', () => {
  for (const [ip, why] of [
    ['localhost', 'notAnAddress'],
    ['203.0.113.9, 10.0.0.1', 'notAnAddress'],
    ['unknown', 'placeholder'],
    ['10.0.0.1', 'notPublic'],
    ['[::1]:80', 'notPublic'],
  ] as const)
    it(`counts as absent in ${ip}: ${why}`, () => {
      expect(readDevice({ ip })).to.deep.equal({
        fingerprint: null,
        address: null,
        unusableHints: [{ field: 'ip', why }],
      });
    });

  it('is the address without its port', () => {
    const { address, unusableHints } = readDevice({ ip: '203.0.113.62:51000' });
    expect([address?.toString(), unusableHints]).to.deep.equal(['203.0.113.62', []]);
  });
});

describe('a clientIdKey', () => {
  for (const text of [
    'undefined',
    'null',
    'guest',
    'Guest',
    '0',
    'anonymous',
    '00000000-0000-0000-0000-000000000000',
  ])
    it(`is that of all guests in ${JSON.stringify(text)}`, () => {
      expect(isPlaceholderClient(text)).to.equal(true);
    });

  it('is of one payer in any other text', () => {
    for (const text of ['ann', 'guest-77', '10', 'user-0']) expect(isPlaceholderClient(text)).to.equal(false);
  });
});
