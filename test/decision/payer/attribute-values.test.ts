import { expect } from 'chai';
import fc from 'fast-check';
import {
  ATTRIBUTE_VALUE_MS,
  ATTRIBUTE_VALUES_MAX,
  countAttributeValues,
  forgetOldAttributeValues,
  moveAttributeValuesBack,
  NO_ATTRIBUTE_VALUES,
  noteAttributeValues,
  toReadableAttributeValues,
} from '#decision/payer/attribute-values.ts';

const NOW = 1_793_491_200_000;
const HOUR_MS = 3600_000;

const hmac = (text: string) => `hmac:${text.padEnd(6, '-')}`;

describe('the values of attributes that a payer had', () => {
  const two = noteAttributeValues(
    noteAttributeValues(NO_ATTRIBUTE_VALUES, [['card', hmac('one')]], NOW - HOUR_MS),
    [
      ['card', hmac('two')],
      ['mail', hmac('a')],
    ],
    NOW - 1,
  );

  it('are counted after the edge of the window, with the one of the request', () => {
    expect(countAttributeValues(two, 'card', hmac('two'), NOW - HOUR_MS)).to.equal(1);
    expect(countAttributeValues(two, 'card', hmac('two'), NOW - HOUR_MS - 1)).to.equal(2);
    expect(countAttributeValues(two, 'card', hmac('new'), NOW - HOUR_MS - 1)).to.equal(3);
    expect(countAttributeValues(two, 'card', null, NOW - HOUR_MS - 1)).to.equal(2);
    expect(countAttributeValues(two, 'iban', null, 0)).to.equal(0);
    expect(countAttributeValues(NO_ATTRIBUTE_VALUES, 'card', hmac('one'), NOW)).to.equal(1);
  });

  it('cost 13 bytes each, and the name of the attribute with two more', () => {
    expect(two).to.have.length('card:'.length + 2 * 13 + ' mail:'.length + 13);
  });

  it('are those of the newest verdicts, up to a number and for seven days', () => {
    let packed = NO_ATTRIBUTE_VALUES;
    for (let index = 0; index <= ATTRIBUTE_VALUES_MAX; index++)
      packed = noteAttributeValues(packed, [['card', hmac(`${index}`)]], NOW + index);
    const kept = toReadableAttributeValues(packed)['card'] ?? [];
    expect(kept.map(({ token }) => token)).not.to.include('0-----');
    expect(kept).to.have.length(ATTRIBUTE_VALUES_MAX);
    expect(countAttributeValues(packed, 'card', hmac('new'), 0)).to.equal(ATTRIBUTE_VALUES_MAX);
    expect(forgetOldAttributeValues(two, NOW - 2 + ATTRIBUTE_VALUE_MS)).to.equal(
      noteAttributeValues(
        noteAttributeValues(NO_ATTRIBUTE_VALUES, [['card', hmac('two')]], NOW - 1),
        [['mail', hmac('a')]],
        NOW - 1,
      ),
    );
    expect(forgetOldAttributeValues(two, NOW - 1 + ATTRIBUTE_VALUE_MS)).to.equal(NO_ATTRIBUTE_VALUES);
  });

  it('move back with a clock that was ahead', () => {
    const ahead = noteAttributeValues(NO_ATTRIBUTE_VALUES, [['card', hmac('one')]], NOW + HOUR_MS);
    const back = moveAttributeValuesBack(ahead, NOW + 2 * HOUR_MS, NOW);
    expect(toReadableAttributeValues(back)['card']).to.deep.equal([{ token: 'one---', at: NOW - HOUR_MS }]);
    expect(moveAttributeValuesBack(two, NOW + HOUR_MS, NOW)).to.equal(two);
  });

  it('are as many as a plain list says, whatever was asked', () => {
    const asked = fc.array(fc.record({ value: fc.nat(30), afterMs: fc.nat(24 * HOUR_MS) }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(asked, fc.nat(7 * 24 * HOUR_MS), (requests, windowMs) => {
        let [packed, now] = [NO_ATTRIBUTE_VALUES, NOW];
        const seen: { readonly value: number; readonly at: number }[] = [];
        for (const { value, afterMs } of requests) {
          now += afterMs;
          seen.push({ value, at: now });
          packed = noteAttributeValues(packed, [['card', hmac(`${value}`)]], now);
        }
        const within = seen.filter(({ at }) => at > now - windowMs).map(({ value }) => value);
        const counted = countAttributeValues(packed, 'card', null, now - windowMs);
        expect(counted).to.equal(Math.min(ATTRIBUTE_VALUES_MAX, new Set(within).size));
      }),
    );
  });
});
