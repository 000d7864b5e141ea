import { expect } from 'chai';
import { callersOf, longestLifeMs } from '../../../../scripts/chaos/attacks/slow-clients.ts';

const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 2
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0100007F:1F90 0100007F:C002 04 00000000:00000000 00:00000000 00000000     0        0 3
   3: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 4
`;

describe('slow clients', () => {
  it('are the far ends of established connections to the port, each once', () => {
    expect([...callersOf(8080, TABLE)]).to.deep.equal(['0100007F:C001']);
    expect(callersOf(8081, TABLE).size).to.equal(0);
  });

  it('live as long as the longest one, apart from those that may stay', () => {
    const lives = new Map([
      ['healthy', { fromMs: 0, toMs: 9000 }],
      ['slow', { fromMs: 1000, toMs: 6000 }],
      ['short', { fromMs: 1000, toMs: 2000 }],
    ]);
    expect(longestLifeMs(lives, 1)).to.equal(5000);
    expect(longestLifeMs(new Map(), 1)).to.equal(0);
  });
});
