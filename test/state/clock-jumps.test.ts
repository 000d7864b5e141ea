import { expect } from 'chai';
import { ClockJumps } from '#state/clock-jumps.ts';

const MINUTE_MS = 60_000;

describe('jumps of a clock', () => {
  let [passedMs, setMs] = [0, 0];
  const clock = () => 1_800_000_000_000 + passedMs + setMs;
  const watch = (lastKnownMs: number | null = null) => new ClockJumps(clock, () => passedMs, lastKnownMs);
  beforeEach(() => {
    [passedMs, setMs] = [0, 0];
  });

  it('are told for ten minutes beyond two seconds, ahead and back', () => {
    const jumps = watch();
    setMs += 2000;
    expect(jumps.getRecentJumpMs()).to.equal(0);
    setMs += 2001;
    expect(jumps.getRecentJumpMs()).to.equal(2001);
    passedMs += 9 * MINUTE_MS;
    expect(jumps.getRecentJumpMs()).to.equal(2001);
    setMs -= 5000;
    expect(jumps.getRecentJumpMs()).to.equal(-5000);
    passedMs += 10 * MINUTE_MS;
    expect(jumps.getRecentJumpMs()).to.equal(0);
  });

  it('above ten minutes let nothing be deleted by time for ten minutes', () => {
    const jumps = watch();
    setMs += 10 * MINUTE_MS;
    expect(jumps.isSettled()).to.equal(true);
    setMs += 10 * MINUTE_MS + 1;
    expect(jumps.isSettled()).to.equal(false);
    passedMs += 10 * MINUTE_MS - 1;
    expect(jumps.isSettled()).to.equal(false);
    passedMs += 1;
    expect(jumps.isSettled()).to.equal(true);
  });

  it('may have happened before the start, when the clock is not near what it said last', () => {
    expect(watch(clock() - 10 * MINUTE_MS).isSettled()).to.equal(true);
    for (const minutes of [-11, 11]) {
      const jumps = watch(clock() + minutes * MINUTE_MS);
      expect([jumps.isSettled(), jumps.getRecentJumpMs()]).to.deep.equal([false, 0]);
      passedMs += 10 * MINUTE_MS;
      expect(jumps.isSettled()).to.equal(true);
    }
  });
});
