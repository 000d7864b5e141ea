import { expect } from 'chai';
import { answerKey, decisionKey, journalKey, PARTITIONS, stateKey } from '../../../../src/state/keys.ts';
import { hashSlot } from '../../../../src/state/redis/connection/hash-slot.ts';

describe('the hash slot of a key', () => {
  for (const [key, slot] of [
    ['123456789', 12739],
    ['foo', 12182],
    ['{foo}.bar', 12182],
    ['x{foo}{bar}', 12182],
    ['', 0],
  ] as const) {
    it(`is ${slot} for ${JSON.stringify(key)}`, () => {
      expect(hashSlot(key)).to.equal(slot);
    });
  }

  it('takes an empty tag for no tag', () => {
    expect(hashSlot('{}a')).not.to.equal(hashSlot('{}b'));
  });

  it('is one for all keys of a client and its journal, in each of the 64 partitions', () => {
    for (const partition of PARTITIONS) {
      const client = partition.padEnd(22, 'x');
      const keys = [stateKey(client), decisionKey(client, 7), answerKey(client, 'y'), journalKey(partition)];
      expect(new Set(keys.map(hashSlot)).size).to.equal(1);
    }
    expect(PARTITIONS).to.have.length(64);
  });
});
