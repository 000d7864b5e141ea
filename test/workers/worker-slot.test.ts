import { expect } from 'chai';
import { WorkerSlot } from '../../src/workers/supervisor.ts';

const MINUTE_MS = 60_000;

describe('a slot for a worker', () => {
  it('doubles its wait with each death in a row, and is given up at the fifth', () => {
    const place = new WorkerSlot();
    const waitsMs = Array.from({ length: 5 }, (_, n) => {
      place.serves(n * MINUTE_MS);
      return place.died((n + 1) * MINUTE_MS - 1);
    });
    expect(waitsMs).to.deep.equal([500, 1000, 2000, 4000, null]);
    expect(place.deathsInARow).to.equal(5);
  });

  it('also counts deaths of workers that never served', () => {
    const place = new WorkerSlot();
    const waitsMs = Array.from({ length: 5 }, () => place.died(0));
    expect(waitsMs).to.deep.equal([500, 1000, 2000, 4000, null]);
  });

  it('counts from one again after a worker has served for a minute', () => {
    const place = new WorkerSlot();
    for (let n = 0; n < 100; n++) {
      place.serves(n * MINUTE_MS);
      expect(place.died((n + 1) * MINUTE_MS)).to.equal(500);
    }
  });

  const beats = (place: WorkerSlot) => {
    for (let count = 1; count <= 1000; count++) if (place.isSilentTooLong()) return count;
    return null;
  };

  it('finds a worker silent too long after ten beats without a message', () => {
    const place = new WorkerSlot();
    place.serves(0);
    expect(beats(place)).to.equal(11);
    place.heard();
    expect(beats(place)).to.equal(11);
  });

  it('is more patient with a worker that is starting, also after a death', () => {
    const place = new WorkerSlot();
    expect(beats(place)).to.equal(61);
    place.serves(0);
    place.died(1);
    expect(beats(place)).to.equal(61);
  });
});
