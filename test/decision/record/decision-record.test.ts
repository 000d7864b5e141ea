import { expect } from 'chai';
import fc from 'fast-check';
import { decideVerdict } from '#decision/decide.ts';
import type { Decision } from '#decision/decision.ts';
import {
  decodeDecisionRow,
  encodeDecision,
  getRecordDictionary,
  isDecisionRow,
  packUuid,
  parseDecisionOrRow,
  parseRecordDictionary,
  RecordDamaged,
  type RecordDictionary,
  unpackUuid,
} from '#decision/decision-record.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { currentRules } from '../../service/current-rules.ts';
import { clientKey } from '../payer/client-keys.ts';

const rules = currentRules();
const shape = getRecordDictionary(rules);
const client = clientKey(toPlatformName('demo'), 'payer');
const NOW = Date.UTC(2026, 10, 1);

interface Asked {
  readonly orderRef: string;
  readonly amount: string;
  /** Since the verdict before. */
  readonly afterMs: number;
}

/** The decisions of one client that asks again and again. */
function decisionsOf(asks: readonly Asked[]): readonly Decision[] {
  let state = UNKNOWN_CLIENT_STATE;
  let now = NOW;
  return asks.map(({ orderRef, amount, afterMs }) => {
    now += afterMs;
    const request = { sellPointKey: '~shop', method: 'card', amount, currency: null, orderRef };
    const origin = { requestId: crypto.randomUUID(), arm: 'active' } as const;
    const standing = { client, state, sightings: NO_SIGHTINGS, now };
    const { decision, nextState } = decideVerdict(rules, standing, { ...request, ...origin });
    state = nextState;
    return decision;
  });
}

const [first, second] = decisionsOf([
  { orderRef: 'order-1', amount: '25.00', afterMs: 0 },
  { orderRef: 'order-2', amount: '25.00', afterMs: 5_000 },
]);

function stored(decision: Decision | undefined, under: RecordDictionary | undefined = shape): string {
  if (decision === undefined) throw new Error('there is no decision');
  return encodeDecision(decision, under);
}

function read(text: string, under: RecordDictionary = shape): Decision {
  const record = parseDecisionOrRow(text);
  return isDecisionRow(record) ? decodeDecisionRow(record, client.hash, under) : record;
}

describe('a decision record', () => {
  it('gives back the decision that was stored, whatever was asked', () => {
    const asked = fc.record({
      orderRef: fc.oneof(fc.uuid(), fc.string({ minLength: 1, maxLength: 40 })),
      amount: fc.integer({ min: 1, max: 100_000 }).map((cents) => (cents / 100).toFixed(2)),
      afterMs: fc.integer({ min: 0, max: 3 * 24 * 3_600_000 }),
    });
    fc.assert(
      fc.property(fc.array(asked, { minLength: 1, maxLength: 8 }), (asks) => {
        for (const decision of decisionsOf(asks)) {
          const text = stored(decision);
          expect(text.startsWith('1[')).to.equal(true);
          expect(read(text)).to.deep.equal(decision);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('keeps a wait with its seconds and its reason, which follow from the shape and the ladder', () => {
    expect(second).to.include({ verdict: 'WAIT', waitSeconds: 30 });
    expect(stored(second)).not.to.include('previous attempt');
    expect(read(stored(second))).to.deep.equal(second);
  });

  it('takes less than 250 bytes where ids are UUIDs, a fifth of its JSON', () => {
    const [decision] = decisionsOf([{ orderRef: crypto.randomUUID(), amount: '25.00', afterMs: 0 }]);
    const clientIdKey = crypto.randomUUID();
    const text = stored(decision === undefined ? undefined : { ...decision, clientIdKey });
    expect(text.length).to.be.below(250);
    expect(text.length).to.be.below(JSON.stringify(decision).length / 5);
  });

  it('is read with the stored shape, without the rule set', () => {
    expect(read(stored(second), parseRecordDictionary(shape.text))).to.deep.equal(second);
    expect(parseRecordDictionary(shape.text).id).to.equal(shape.id);
  });

  it('keeps by name what does not follow from the shape: another arm, another reason, a newer member', () => {
    if (first === undefined) throw new Error('there is no decision');
    const later = {
      ...first,
      arm: 'candidate',
      reason: 'A person said so.',
      holdout: [{ rule: 'groups/a', share: 0.02, heldOut: true }],
    } as const;
    const text = encodeDecision(later, shape);
    expect(text).to.include(
      '{"arm":"candidate","reason":"A person said so.","holdout":[{"rule":"groups/a","share":0.02,"heldOut":true}]}]',
    );
    expect(read(text)).to.deep.equal(later);
  });

  for (const [what, change] of [
    ['a rule', { rule: 'no-such-rule' }],
    ['a signal', { signals: ['no-such-signal'] }],
    ['other facts', { facts: { paidCount: 0 } }],
    ['a digest', { digest: 'another' }],
  ] as const) {
    it(`is plain JSON when it has ${what} that the shape does not know`, () => {
      if (first === undefined) throw new Error('there is no decision');
      const strange: Decision = { ...first, ...change };
      expect(encodeDecision(strange, shape)).to.equal(JSON.stringify(strange));
      expect(read(encodeDecision(strange, shape))).to.deep.equal(strange);
    });
  }

  it('of another format is refused', () => {
    expect(() => parseDecisionOrRow('2[]')).to.throw(
      RecordDamaged,
      'a decision record begins with "2"; this version reads "1" and "{"',
    );
  });

  it('with a rule that its shape does not have is refused', () => {
    const text = stored(first).replace(/,(\d+),0,1,\[\],/, ',99,0,1,[],');
    expect(() => read(text)).to.throw(RecordDamaged, 'a decision record names rule 99');
  });
});

describe('a packed text', () => {
  it('gives back the text, whatever it is', () => {
    const text = fc.oneof(
      fc.string(),
      fc.uuid(),
      fc.string().map((rest) => `~${rest}`),
    );
    fc.assert(
      fc.property(text, (given) => {
        expect(unpackUuid(packUuid(given))).to.equal(given);
      }),
    );
  });

  it('of a UUID takes 23 characters', () => {
    expect(packUuid('00000000-0000-4000-8000-0000000000ff')).to.have.length(23);
  });

  for (const text of ['00000000-0000-4000-8000-0000000000FF', '{00000000-0000-4000-8000-0000000000ff}']) {
    it(`of ${text} is the text itself, since its letters would not come back`, () => {
      expect(packUuid(text)).to.equal(text);
    });
  }
});
