import { expect } from 'chai';
import { networkOf, type Pseudonym, scoreRequest, verdictRequest } from '../../src/decision/requests.ts';

const pseudonym: Pseudonym = (kind, text) => `${kind}<${text}>`;

const SCORE = {
  sellPointKey: 'shop-1',
  clientIdKey: 'payer-1',
  amountRequested: '25.00',
  selectedMethodKey: 'card',
};

describe('a score body', () => {
  it('without optional members says nothing about the device', () => {
    expect(scoreRequest(SCORE, pseudonym)).to.deep.equal({
      sellPointKey: 'shop-1',
      method: 'card',
      amount: '25.00',
      currency: null,
      fingerprint: null,
      ip: null,
      jsOk: null,
      honeypotTriggered: false,
      userAgentPresent: false,
      userAgentIsAutomated: false,
    });
  });

  it('never passes a raw fingerprint, IP or User-Agent on', () => {
    const body = {
      ...SCORE,
      toPayCurrency: 'usd',
      fingerprint: 'device-1',
      ip: '2001:db8:1:2::99',
      userAgent: 'curl/8.5.0',
      clientHints: { jsOk: false, honeypotTriggered: true },
    };
    expect(scoreRequest(body, pseudonym)).to.deep.equal({
      sellPointKey: 'shop-1',
      method: 'card',
      amount: '25.00',
      currency: 'USD',
      fingerprint: 'fingerprint<device-1>',
      ip: 'ip<2001:db8:1:2::/64>',
      networks: ['ip<2001:db', 'ip<2001:db', 'ip<2001:db', 'ip<2001:db'],
      jsOk: false,
      honeypotTriggered: true,
      userAgentPresent: true,
      userAgentIsAutomated: true,
    });
  });

  it('with a browser is not automated', () => {
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    expect(scoreRequest({ ...SCORE, userAgent }, pseudonym)).to.deep.include({
      userAgentPresent: true,
      userAgentIsAutomated: false,
    });
  });
});

describe('a verdict body', () => {
  it('becomes a request with an origin', () => {
    const body = {
      sellPointKey: 'shop-1',
      clientIdKey: 'payer-1',
      method: 'card',
      amountRequested: '25.00',
      orderRef: 'order-1',
      toPayCurrency: 'eur',
    };
    expect(verdictRequest(body, 'request-1', 'candidate')).to.deep.equal({
      sellPointKey: 'shop-1',
      method: 'card',
      amount: '25.00',
      currency: 'EUR',
      orderRef: 'order-1',
      requestId: 'request-1',
      arm: 'candidate',
    });
  });
});

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
