import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import type { ScoreRequest } from '#decision/requests.ts';
import { Simulation } from '#decision/simulation.ts';
import { edited, swap, whole } from '../../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../../rule-fixtures/verdict-request.ts';

const NOON = Date.UTC(2026, 6, 1, 12);
const SECOND_MS = 1000;
const DAY_MS = 86_400 * SECOND_MS;

const RULES = edited({
  'verdicts.yaml': swap(
    'No reason to hold the payer back.',
    '{secondsSinceFingerprintFirstSeen} {secondsSinceIpFirstSeen} {knownFingerprints} {knownIps}',
  ),
});

/** A payer with a second device is in TRUSTED. */
const BY_COUNT = edited({
  'groups.yaml': whole(`
rules:
  - name: second-device
    priority: 1
    conditions: { all: [{ fact: knownFingerprints, operator: greaterThan, value: 1 }] }
    event: { type: group, params: { group: TRUSTED } }
otherwise: NEW
`),
});

/** One payer, who shows devices and asks. */
class Payer {
  now = NOON;
  readonly #simulation: Simulation;

  constructor(rules = RULES) {
    this.#simulation = new Simulation(rules, toPlatformName('demo'));
  }

  show(device: Partial<ScoreRequest>) {
    const { sellPointKey, method, amount, currency } = REQUEST;
    const request = {
      sellPointKey,
      method,
      amount,
      currency,
      fingerprint: null,
      ip: null,
      jsOk: true,
      honeypotTriggered: false,
      userAgentPresent: true,
      userAgentIsAutomated: false,
      userAgentIsApp: false,
      ...device,
    };
    return this.#simulation.score('payer-1', request, this.now).answer;
  }

  /** The four facts, in the order of the reason. */
  ask(): readonly unknown[] {
    const { facts } = this.#simulation.verdict('payer-1', REQUEST, this.now);
    return [
      facts['secondsSinceFingerprintFirstSeen'],
      facts['secondsSinceIpFirstSeen'],
      facts['knownFingerprints'],
      facts['knownIps'],
    ];
  }
}

describe('what is new to a payer', () => {
  it('is not known without a score, and of a fingerprint or an address that no score showed', () => {
    const payer = new Payer();
    expect(payer.ask()).to.deep.equal([null, null, null, null]);
    payer.show({ ip: 'address-1' });
    expect(payer.ask()).to.deep.equal([null, 0, null, 1]);
  });

  it('is a device that was first shown a moment ago; one of last month is not', () => {
    const payer = new Payer();
    payer.show({ fingerprint: 'AAAA-phone', ip: 'CCCC' });
    payer.now += 30 * DAY_MS;
    payer.show({ fingerprint: 'AAAA-phone', ip: 'DDDD' });
    payer.now += 5 * SECOND_MS;
    expect(payer.ask()).to.deep.equal([30 * 86_400 + 5, 5, 1, 2]);
    payer.show({ fingerprint: 'BBBB-laptop' });
    payer.now += 60 * SECOND_MS;
    expect(payer.ask()).to.deep.equal([65, 65, 2, 2]);
    payer.show({ fingerprint: 'AAAA-phone' });
    expect(payer.ask()).to.deep.equal([30 * 86_400 + 65, 65, 2, 2]);
  });

  it('is judged by the device of the last 24 hours, and is not known after that', () => {
    const payer = new Payer();
    payer.show({ fingerprint: 'AAAA', ip: 'CCCC' });
    payer.now += DAY_MS - 1;
    expect(payer.ask()).to.deep.equal([86_399, 86_399, 1, 1]);
    payer.now += 1;
    expect(payer.ask()).to.deep.equal([null, null, null, null]);
  });

  it('is a device again that was last shown 90 days ago', () => {
    const payer = new Payer();
    payer.show({ fingerprint: 'AAAA' });
    payer.now += 89 * DAY_MS;
    payer.show({ fingerprint: 'AAAA' });
    expect(payer.ask()[0]).to.equal(89 * 86_400);
    payer.now += 90 * DAY_MS;
    payer.show({ fingerprint: 'AAAA' });
    expect(payer.ask()[0]).to.equal(0);
  });

  it('is no device that has a new HMAC alone, while the secret is being changed', () => {
    const payer = new Payer();
    payer.show({ fingerprint: 'AAAA', ip: 'CCCC' });
    payer.now += 10 * DAY_MS;
    payer.show({ fingerprint: 'BBBB', ip: 'DDDD', former: { fingerprint: 'AAAA', ip: 'CCCC' } });
    expect(payer.ask()).to.deep.equal([864_000, 864_000, 1, 1]);
    payer.now += DAY_MS;
    payer.show({ fingerprint: 'BBBB', ip: 'DDDD' });
    expect(payer.ask()).to.deep.equal([950_400, 950_400, 1, 1]);
  });

  it('changes no answer to the identical score of the last 24 hours', () => {
    const payer = new Payer(BY_COUNT);
    expect(payer.show({ fingerprint: 'AAAA' }).clientGroup).to.equal('NEW');
    expect(payer.show({ fingerprint: 'BBBB' }).clientGroup).to.equal('TRUSTED');
    payer.now += DAY_MS - 1;
    expect(payer.show({ fingerprint: 'AAAA' }).clientGroup).to.equal('NEW');
    payer.now += 1;
    expect(payer.show({ fingerprint: 'AAAA' }).clientGroup).to.equal('TRUSTED');
  });
});
