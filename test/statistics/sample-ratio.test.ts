import { expect } from 'chai';
import { isOffBalance } from '../../src/statistics/sample-ratio.ts';
import { seeded } from '../simulation/seeded-random.ts';

const ALPHA = 0.001;

describe('the sample ratio of a draw', () => {
  it('is off where the arms have clearly other shares than were drawn', () => {
    const even = (one: number, other: number) =>
      isOffBalance(
        [
          { clients: one, share: 50 },
          { clients: other, share: 50 },
        ],
        ALPHA,
      );
    expect(even(12_000, 10_800)).to.equal(true);
    expect(even(12_000, 11_900)).to.equal(false);
    expect(even(0, 0)).to.equal(false);
    const three = [50, 49, 1].map((share) => ({ clients: 100 * share, share }));
    expect(isOffBalance(three, ALPHA)).to.equal(false);
    expect(isOffBalance(three.with(2, { clients: 200, share: 1 }), ALPHA)).to.equal(true);
  });

  it('of a right draw is hardly ever off, however often somebody looks', () => {
    let off = 0;
    for (let seed = 0; seed < 400; seed++) {
      const draw = seeded(seed);
      const clients: [number, number] = [0, 0];
      for (let client = 0; client < 3000; client++) {
        clients[draw() < 0.1 ? 1 : 0] += 1;
        if (
          client % 10 > 0 ||
          !isOffBalance(
            [
              { clients: clients[0], share: 90 },
              { clients: clients[1], share: 10 },
            ],
            ALPHA,
          )
        )
          continue;
        off += 1;
        break;
      }
    }
    expect(off).to.be.at.most(3);
  });
});
