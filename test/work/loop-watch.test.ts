import { expect } from 'chai';
import { Standstill } from '../../src/work/loop-watcher.js';

describe('how long the event loop has stood still', () => {
  const stood = (looks: readonly (readonly [beats: number, nowMs: number])[]) => {
    const standstill = new Standstill(0);
    return looks.map(([beats, nowMs]) => standstill.stoodMs(beats, nowMs));
  };

  it('is counted from look to look while it does not beat, and from zero after a beat', () => {
    expect(
      stood([
        [1, 500],
        [1, 1000],
        [1, 1500],
        [2, 2000],
        [2, 2500],
      ]),
    ).to.deep.equal([0, 500, 1000, 0, 500]);
  });

  it('counts no longer than two looks while the whole process was stopped', () => {
    expect(
      stood([
        [1, 500],
        [1, 3_600_500],
        [1, 3_601_000],
        [2, 3_601_500],
      ]),
    ).to.deep.equal([0, 1000, 1500, 0]);
  });
});
