import { expect } from 'chai';
import { Place } from '../../src/workers/supervisor.ts';

const MINUTE_MS = 60_000;

describe('a place for workers', () => {
  it('waits twice as long after each death in a row, and is given up with the fifth', () => {
    const place = new Place();
    const waitsMs = Array.from({ length: 5 }, (_, n) => {
      place.serves(n * MINUTE_MS);
      return place.died((n + 1) * MINUTE_MS - 1);
    });
    expect(waitsMs).to.deep.equal([500, 1000, 2000, 4000, null]);
    expect(place.deathsInARow).to.equal(5);
  });

  it('counts deaths before a worker serves in the same way', () => {
    const place = new Place();
    const waitsMs = Array.from({ length: 5 }, () => place.died(0));
    expect(waitsMs).to.deep.equal([500, 1000, 2000, 4000, null]);
  });

  it('begins anew when a worker has served for a minute', () => {
    const place = new Place();
    for (let n = 0; n < 100; n++) {
      place.serves(n * MINUTE_MS);
      expect(place.died((n + 1) * MINUTE_MS)).to.equal(500);
    }
  });

  const beats = (place: Place) => {
    for (let count = 1; count <= 1000; count++) if (place.isSilentTooLong()) return count;
    return null;
  };

  it('takes a worker for standing still after ten beats in which it says nothing', () => {
    const place = new Place();
    place.serves(0);
    expect(beats(place)).to.equal(11);
    place.heard();
    expect(beats(place)).to.equal(11);
  });

  it('is more patient with one that starts, again after each death', () => {
    const place = new Place();
    expect(beats(place)).to.equal(61);
    place.serves(0);
    place.died(1);
    expect(beats(place)).to.equal(61);
  });
});
