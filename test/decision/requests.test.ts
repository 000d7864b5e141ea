import { expect } from 'chai';
import type { Pseudonymize } from '#decision/addresses.ts';
import { toScoreRequest, toVerdictRequest } from '#decision/requests.ts';

const pseudonym: Pseudonymize = (kind, text) => `${kind}<${text}>`;

const SCORE = {
  sellPointKey: 'shop-1',
  clientIdKey: 'payer-1',
  amountRequested: '25.00',
  selectedMethodKey: 'card',
};

describe('a score body', () => {
  it('without optional members says nothing about the device', () => {
    expect(toScoreRequest(SCORE, pseudonym)).to.deep.equal({
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
      userAgentIsApp: false,
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
    expect(toScoreRequest(body, pseudonym)).to.deep.equal({
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
      userAgentIsApp: false,
    });
  });

  it('of a native app is no program', () => {
    const score = toScoreRequest({ ...SCORE, userAgent: 'okhttp/4.12.0' }, pseudonym);
    expect(score).to.deep.include({
      userAgentPresent: true,
      userAgentIsAutomated: false,
      userAgentIsApp: true,
    });
  });

  it('with a placeholder for a fingerprint and no public address has neither', () => {
    const asked = toScoreRequest({ ...SCORE, fingerprint: 'undefined', ip: '10.0.0.7:443' }, pseudonym);
    expect(asked).to.deep.include({ fingerprint: null, ip: null });
    expect(asked).not.to.have.property('networks');
  });

  it('with a browser is not automated', () => {
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    expect(toScoreRequest({ ...SCORE, userAgent }, pseudonym)).to.deep.include({
      userAgentPresent: true,
      userAgentIsAutomated: false,
      userAgentIsApp: false,
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
    expect(toVerdictRequest(body, 'request-1', 'candidate')).to.deep.equal({
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
