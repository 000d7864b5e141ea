import { expect } from 'chai';
import clusterKeySlot from 'cluster-key-slot';
import { answerKey, decisionKey, journalKey, PARTITIONS, stateKey } from '../../src/state/keys.ts';

describe('the keys of a client', () => {
  it('share one cluster slot with its journal, in each of the 64 partitions', () => {
    for (const partition of PARTITIONS) {
      const client = partition.padEnd(22, 'x');
      const keys = [stateKey(client), decisionKey(client, 7), answerKey(client, 'y'), journalKey(partition)];
      expect(new Set(keys.map(clusterKeySlot)).size).to.equal(1);
    }
    expect(PARTITIONS).to.have.length(64);
  });
});
