import { expect } from 'chai';
import clusterKeySlot from 'cluster-key-slot';
import {
  decisionKey,
  getPartitionTag,
  journalKey,
  journalLossKey,
  notesKey,
  PARTITION_TAGS,
  shapeKey,
  stateKey,
} from '#state/keys.ts';
import { assessMemoryRoom } from '#state/redis/health.ts';
import { hasRoomForJournal } from '#state/sqlite/retention.ts';

const SLOTS = 16_384;

/** How many partitions each master has when masters have equal ranges of slots. */
function sharesOf(masters: number): readonly number[] {
  const shares = Array.from({ length: masters }, () => 0);
  for (const partition of PARTITION_TAGS) {
    const master = Math.floor((clusterKeySlot(partition) * masters) / SLOTS);
    shares[master] = (shares[master] ?? 0) + 1;
  }
  return shares;
}

describe('the keys of a client', () => {
  it('share one cluster slot with its journal, in each of the 64 partitions', () => {
    const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const partitions = [...characters].map((character) => {
      const client = character.padEnd(22, 'x');
      const partition = getPartitionTag(client);
      const own = [stateKey(client), decisionKey(client, 7), notesKey(client)];
      const shared = [journalKey(partition), journalLossKey(partition), shapeKey(partition, 'shape')];
      expect(new Set([...own, ...shared].map(clusterKeySlot)).size).to.equal(1);
      return partition;
    });
    expect(new Set(partitions).size).to.equal(64);
    expect(new Set(PARTITION_TAGS)).to.deep.equal(new Set(partitions));
  });

  for (const masters of [3, 4, 6, 8, 12, 16, 32, 64]) {
    it(`spread over ${masters} masters so that no two differ by more than one partition`, () => {
      const shares = sharesOf(masters);
      expect(Math.max(...shares) - Math.min(...shares)).to.be.at.most(1);
    });
  }

  it('are none for something that is not the hash of a client', () => {
    expect(() => getPartitionTag('')).to.throw('"" is not the hash of a client');
    expect(() => getPartitionTag('*x')).to.throw('"*x" is not the hash of a client');
  });
});

describe('the journal of an archive that is away', () => {
  it('gives way where a Redis has used 80 % of its maxmemory, without one of its machine, and where it does not tell', () => {
    const info = (used: number, bound: number) =>
      `used_memory:${used}\r\nmaxmemory:${bound}\r\ntotal_system_memory:1000\r\n`;
    expect([
      assessMemoryRoom([info(80, 100), info(10, 100)]),
      assessMemoryRoom([info(81, 100), info(10, 100)]),
      assessMemoryRoom([info(800, 0)]),
      assessMemoryRoom([info(801, 0)]),
      assessMemoryRoom([info(10, 100), null]),
      assessMemoryRoom([info(81, 100), null]),
    ]).to.deep.equal(['enough', 'little', 'enough', 'little', 'unknown', 'little']);
  });

  it('gives way on a disk with less than 10 % and less than 2 GB free', () => {
    const disk = (freeGb: number, ofGb: number) =>
      hasRoomForJournal({ bavail: freeGb * 1e6, blocks: ofGb * 1e6, bsize: 1000 });
    const rooms = [disk(1.9, 100), disk(2, 100), disk(1, 5), disk(0.4, 5)];
    expect(rooms).to.deep.equal([false, true, true, false]);
  });
});
