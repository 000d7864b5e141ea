import { expect } from 'chai';
import { Type } from '#base/json-schema.ts';
import { createMomentWriter, epochMs, shape } from '#base/shapes.ts';

const AT = Date.UTC(2026, 0, 1);

describe('moments of a shape', () => {
  it('are written out where the shape names them, and nothing else is', () => {
    const counted = shape('What was counted', { at: epochMs('When'), until: Type.Number() });
    expect(createMomentWriter(counted)({ at: AT, until: AT, more: AT })).to.deep.equal({
      at: '2026-01-01T00:00:00.000Z',
      until: AT,
      more: AT,
    });
  });

  it('are none in what has no shape, whatever its members are called', () => {
    const free = { at: AT, expiresAt: AT, since: [AT], waitUntil: { at: AT } };
    expect(createMomentWriter(Type.Unknown())(free)).to.deep.equal(free);
  });
});
