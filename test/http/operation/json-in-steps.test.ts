import { expect } from 'chai';
import fc from 'fast-check';
import { jsonInSteps } from '../../../src/http/operation/operation.ts';

describe('JSON that is written in steps', () => {
  it('is the JSON that one step writes', async () => {
    const member = fc.oneof(
      fc.jsonValue(),
      fc.constant(undefined),
      fc.array(fc.jsonValue(), { maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.dictionary(fc.string(), member), fc.jsonValue()), async (answer) => {
        expect(await jsonInSteps(answer)).to.equal(JSON.stringify(answer));
      }),
    );
  });

  it('has all items of a long list in order', async () => {
    const decisions = Array.from({ length: 100 }, (_, seq) => ({
      seq,
      rule: seq % 2 === 0 ? null : undefined,
    }));
    const answer = { decisions, lookedAt: { complete: true } };
    expect(await jsonInSteps(answer)).to.equal(JSON.stringify(answer));
  });
});
