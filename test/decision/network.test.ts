import { expect } from 'chai';
import { networkOf } from '../../src/decision/requests.ts';

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
    ['fe80::1%eth0', 'fe80::/64', 'a zone is of no account'],
    ['fe80::2%1', 'fe80::/64', 'whatever its name'],
  ] as const) {
    it(`${address} is ${network}: ${why}`, () => {
      expect(networkOf(address)).to.equal(network);
    });
  }

  for (const garbage of [
    '',
    ' ',
    'unknown',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.1:443',
    '[::1]',
    '2001:db8::/32',
    '1.2.3.4.5',
    ':::',
    '7',
    '0x7f.0.0.1',
    '192.168.001.010',
    'пример',
  ]) {
    it(`leaves a text that is not an address as it is: ${JSON.stringify(garbage)}`, () => {
      expect(networkOf(garbage)).to.equal(garbage);
    });
  }
});
