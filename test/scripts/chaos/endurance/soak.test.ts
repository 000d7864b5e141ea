import { expect } from 'chai';
import { flatness, type Look, lookOf } from '../../../../scripts/chaos/endurance/soak.ts';

function looks(heapMib: (n: number) => number, handles = (_n: number) => 10): readonly Look[] {
  return Array.from({ length: 60 }, (_, n) => ({
    heapMib: heapMib(n),
    residentMib: 100,
    handles: handles(n),
  }));
}

describe('a soak', () => {
  it('is flat when the heap falls back to the same floor after each collection', () => {
    expect(judged(looks((n) => 40 + (n % 5) * 8))).to.deep.equal(['pass', 'pass']);
  });

  it('leaves out the growth of the warm-up', () => {
    expect(judged(looks((n) => (n < 12 ? 10 : 60)))).to.deep.equal(['pass', 'pass']);
  });

  it('catches a heap that leaks', () => {
    expect(judged(looks((n) => 40 + n + (n % 5) * 8))).to.deep.equal(['miss', 'pass']);
  });

  it('catches handles that leak', () => {
    expect(
      judged(
        looks(
          () => 40,
          (n) => n,
        ),
      ),
    ).to.deep.equal(['pass', 'miss']);
  });

  it('misses its target when the service reported nothing', () => {
    expect(judged([])).to.deep.equal(['miss', 'miss']);
    expect(lookOf('').heapMib).to.be.NaN;
  });

  it('reads the gauges of Prometheus', () => {
    const text = `nodejs_heap_size_used_bytes 1048576\nprocess_resident_memory_bytes 2097152\nnodejs_active_handles_total 7\n`;
    expect(lookOf(text)).to.deep.equal({ heapMib: 1, residentMib: 2, handles: 7 });
  });

  function judged(some: readonly Look[]): readonly string[] {
    return flatness(some)
      .slice(0, 2)
      .map(({ judgement }) => judgement);
  }
});
