import { expect } from 'chai';
import fc from 'fast-check';
import { decideScore, decideVerdict } from '#decision/decide.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import { recordOutcome } from '#decision/payer/changes.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { decodeClientState, encodeClientState } from '#decision/payer/state-document.ts';
import { anyState, NOW } from '../../rule-fixtures/random-states.ts';
import { edited } from '../../rule-fixtures/sound-rules.ts';
import { clientKey } from './client-keys.ts';

/** A client who was scored, made three attempts and paid once. */
function usualClient(): ClientState {
  const rules = edited({});
  const client = clientKey(toPlatformName('demo'), 'payer-1');
  const payment = { sellPointKey: 'shop-1', method: 'card', amount: '25.00', currency: null };
  const device = {
    fingerprint: 'c2lnbmFscy1maW5nZXJwcmludA',
    ip: 'c2lnbmFscy1pcC1hZGRyZXNzLQ',
    networks: ['c2lnbmFscy', '1uZXR3b3Jr'],
    jsOk: true,
    honeypotTriggered: false,
    userAgentPresent: true,
    userAgentIsAutomated: false,
    userAgentIsApp: false,
  };
  let { nextState } = decideScore(
    rules,
    { client, state: UNKNOWN_CLIENT_STATE, sightings: NO_SIGHTINGS, now: NOW },
    { ...payment, ...device },
  );
  for (const [number, at] of [NOW + 1000, NOW + 90_000_000, NOW + 180_000_000].entries()) {
    const request = { ...payment, orderRef: `order-${number}`, requestId: 'r', arm: 'active' } as const;
    nextState = decideVerdict(
      rules,
      { client, state: nextState, sightings: NO_SIGHTINGS, now: at },
      request,
    ).nextState;
  }
  const paid = { outcome: 'PAID', cause: null, occurredAt: NOW + 180_060_000, orderRef: 'order-2' } as const;
  return recordOutcome(nextState, null, paid, NOW + 180_060_000).state;
}

describe('the stored form of a client', () => {
  it('gives back every state unchanged', () => {
    fc.assert(
      fc.property(anyState, (state) => {
        expect(decodeClientState(encodeClientState(state))).to.deep.equal(state);
      }),
    );
  });

  it('gives back the networks around an address', () => {
    const state = usualClient();
    expect(JSON.stringify(state.hints)).to.include('1uZXR3b3Jr');
    expect(decodeClientState(encodeClientState(state))).to.deep.equal(state);
  });

  it('distinguishes a device with an empty name from none', () => {
    const hints = {
      scoredAt: 1,
      shown: [{ hint: { kind: 'fingerprint', id: '' }, lastAt: 1 }],
      asked: [],
    } as const;
    const state = { ...UNKNOWN_CLIENT_STATE, hints };
    expect(decodeClientState(encodeClientState(state))).to.deep.equal(state);
  });

  it('takes less than 600 bytes for a client with three attempts and one outcome', () => {
    const bytes = Buffer.byteLength(encodeClientState(usualClient()));
    console.log(`      ${bytes} bytes`);
    expect(bytes).to.be.within(100, 599);
  });

  it('is refused when it has another format', () => {
    const [, ...rest]: unknown[] = JSON.parse(encodeClientState(UNKNOWN_CLIENT_STATE));
    expect(() => decodeClientState(JSON.stringify([2, ...rest]))).to.throw(
      'client state has format 2; this version reads format 1',
    );
  });

  for (const damaged of ['', 'null', '{}', '[]', '[1]', '7', '[1,0,null,0', '"text"']) {
    it(`is never read as a new client when it is damaged: ${JSON.stringify(damaged)}`, () => {
      expect(() => decodeClientState(damaged)).to.throw();
    });
  }
});
