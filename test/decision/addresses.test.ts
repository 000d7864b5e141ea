import { expect } from 'chai';
import { isPublicAddress, parseAddress, toNetworkOfAddress } from '#decision/addresses.ts';

describe('the network of an address', () => {
  for (const [address, network, why] of [
    ['192.0.2.1', '192.0.2.1', 'an IPv4 address is itself'],
    ['::ffff:192.0.2.1', '192.0.2.1', 'also when it is written as IPv6'],
    ['::FFFF:c000:201', '192.0.2.1', 'also when it is written as IPv6 in hexadecimal'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', 'an IPv6 address is its /64'],
    ['2001:DB8:1:2:FFFF::', '2001:db8:1:2::/64', 'in whatever letters'],
    ['2001:db8::1', '2001:db8::/64', 'in whatever form'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64', 'and the next /64 is another'],
    ['::1', '::/64', 'the loopback address has its /64 too'],
    [' 192.0.2.1:443 ', '192.0.2.1', 'without the port and the blanks around it'],
    ['[2001:db8::1]:443', '2001:db8::/64', 'without brackets and port'],
    ['64:ff9b::c000:201', '192.0.2.1', 'NAT64 holds an IPv4 address'],
    ['64:ff9b:1::c000:201', '192.0.2.1', 'also in the range for single networks'],
    ['2002:c000:0201::7', '192.0.2.1', '6to4 holds an IPv4 address'],
    ['::ffff:0:192.0.2.1', '192.0.2.1', 'a translated address holds one, too'],
    ['fe80::1%eth0', 'fe80::/64', 'a zone is of no account'],
    ['fe80::2%1', 'fe80::/64', 'whatever its name'],
  ] as const) {
    it(`${address} is ${network}: ${why}`, () => {
      expect(toNetworkOfAddress(address)).to.equal(network);
    });
  }

  for (const garbage of [
    '',
    ' ',
    'unknown',
    '192.0.2',
    '192.0.2.256',
    '2001:db8::/32',
    '1.2.3.4.5',
    ':::',
    '7',
    '0x7f.0.0.1',
    '192.168.001.010',
    'пример',
  ]) {
    it(`leaves a text that is not an address as it is: ${JSON.stringify(garbage)}`, () => {
      expect(toNetworkOfAddress(garbage)).to.equal(garbage);
    });
  }
});

describe('an address', () => {
  for (const address of [
    '127.0.0.1',
    '::1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.1.1',
    'fe80::1%eth0',
    '100.64.0.1',
    '100.127.255.255',
    '0.0.0.0',
    '::',
    'fd00::1',
    'fec0::1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '2002:a00:1::1',
    '255.255.255.255',
    '224.0.0.1',
    'ff02::1',
  ])
    it(`${address} is not public`, () => {
      const parsed = parseAddress(address);
      expect(parsed !== null && isPublicAddress(parsed)).to.equal(false);
      expect(parsed).not.to.equal(null);
    });

  for (const address of [
    '203.0.113.9',
    '198.51.100.1',
    '192.0.2.1',
    '2001:db8::1',
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '2a00:1450::1',
    '64:ff9b::5db8:d822',
  ])
    it(`${address} is public`, () => {
      const parsed = parseAddress(address);
      expect(parsed !== null && isPublicAddress(parsed)).to.equal(true);
    });

  for (const text of [
    '203.0.113.9, 10.0.0.1',
    '203.0.113.9 10.0.0.1',
    'localhost',
    '203.0.113.9:',
    '203.0.113.9:x',
    '',
  ])
    it(`is none in ${JSON.stringify(text)}`, () => {
      expect(parseAddress(text)).to.equal(null);
    });
});
