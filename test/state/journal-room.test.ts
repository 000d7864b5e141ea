import { expect } from 'chai';
import { roomOf } from '../../src/state/redis/health.ts';
import { hasRoom } from '../../src/state/sqlite/retention.ts';

describe('the journal of an archive that is away', () => {
  it('gives way where a Redis has used 80 % of its maxmemory, without one of its machine, and where it does not tell', () => {
    const info = (used: number, bound: number) =>
      `used_memory:${used}\r\nmaxmemory:${bound}\r\ntotal_system_memory:1000\r\n`;
    expect([
      roomOf([info(80, 100), info(10, 100)]),
      roomOf([info(81, 100), info(10, 100)]),
      roomOf([info(800, 0)]),
      roomOf([info(801, 0)]),
      roomOf([info(10, 100), null]),
      roomOf([info(81, 100), null]),
    ]).to.deep.equal(['enough', 'little', 'enough', 'little', 'unknown', 'little']);
  });

  it('gives way on a disk with less than 10 % and less than 2 GB free', () => {
    const disk = (freeGb: number, ofGb: number) =>
      hasRoom({ bavail: freeGb * 1e6, blocks: ofGb * 1e6, bsize: 1000 });
    expect([disk(1.9, 100), disk(2, 100), disk(1, 5), disk(0.4, 5)]).to.deep.equal([
      false,
      true,
      true,
      false,
    ]);
  });
});
