import { expect } from 'chai';
import { percentile, type Sample } from '../../../../scripts/chaos/traffic/load.ts';
import { doubled, lost, type Recorded } from '../../../../scripts/chaos/traffic/records.ts';
import { platformName } from '../../../../src/client/client-key.ts';
import { UNKNOWN_CLIENT } from '../../../../src/client/client-state.ts';
import { decideVerdict } from '../../../../src/decision/decide.ts';
import { verdictRequest } from '../../../../src/decision/requests.ts';
import { NO_SIGHTINGS } from '../../../../src/facts/fact.ts';
import { clientKey } from '../../../client/client-keys.ts';
import { currentRules } from '../../../service/current-rules.ts';
import { START_MS } from '../../../service/movable-clock.ts';
import { verdictBody } from '../../../service/request-bodies.ts';

function sample(n: number, more: Partial<Sample> = {}): Sample {
  return {
    clientIdKey: 'payer-1',
    orderRef: `order-${n}`,
    sentAtMs: 10 * n,
    answeredAtMs: 10 * n + 1,
    status: 200,
    decisionId: decision.decisionId,
    refusal: null,
    ...more,
  };
}

const client = clientKey(platformName('shop'), 'payer-1');
const { decision } = decideVerdict(
  currentRules(),
  { client, state: UNKNOWN_CLIENT, sightings: NO_SIGHTINGS, now: START_MS },
  verdictRequest(verdictBody(), 'request-1', 'active'),
);

describe('the checks of a load', () => {
  it('finds an acknowledged verdict that is not recorded, or under another number', () => {
    const recorded: Recorded = new Map([
      ['order-1', [decision]],
      ['order-3', [decision]],
    ]);
    const samples = [sample(1), sample(2), sample(3, { decisionId: 'other.1' }), sample(4, { status: 503 })];
    expect(lost(samples, recorded).map(({ orderRef }) => orderRef)).to.deep.equal(['order-2', 'order-3']);
  });

  it('finds an order with more than one step', () => {
    const recorded: Recorded = new Map([
      ['order-1', [decision]],
      ['order-2', [decision, decision]],
      ['order-3', []],
    ]);
    expect(doubled(recorded)).to.deep.equal(['order-2']);
  });

  it('takes percentiles of what there is', () => {
    expect(percentile([3, 1, 2], 50)).to.equal(2);
    expect(percentile([3, 1, 2], 100)).to.equal(3);
    expect(percentile([], 50)).to.be.NaN;
  });
});
