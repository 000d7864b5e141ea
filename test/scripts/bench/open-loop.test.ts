import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { planArrivals, runOpenLoop } from '../../../scripts/bench/open-loop.ts';
import { listening } from '../../servers/listening.ts';

describe('an open loop of the bench', () => {
  it('fixes when requests arrive in advance, alike on every run', () => {
    const arrivals = planArrivals(200, 100);
    expect(arrivals).to.deep.equal(planArrivals(200, 100));
    expect(arrivals).to.deep.equal(arrivals.toSorted((a, b) => a - b));
    expect(arrivals.length).to.be.within(19_000, 21_000);
    expect(arrivals.at(-1)).to.be.within(0, 100_000);
  });

  it('sends what is due while a service stands still, and counts latency from then', async () => {
    const arrivals = [0, 1, 2, 3, 4];
    const held: ServerResponse[] = [];
    const keys = new Set<unknown>();
    const server = createServer(async (req, res) => {
      await text(req);
      keys.add(req.headers['idempotency-key']);
      held.push(res);
      // Nobody is answered until everybody has asked.
      if (held.length === arrivals.length)
        for (const [place, one] of held.entries()) one.writeHead(place === 0 ? 503 : 200).end('{}');
    });
    const url = await listening(server);
    try {
      const target = { callerUrl: url, platformUrl: '', key: 'ka_bench' };
      const { latenciesMs, latenessMs, failures } = await runOpenLoop(target, arrivals, 'test');
      expect([latenciesMs.length, failures, keys.size]).to.deep.equal([5, 1, 5]);
      for (const lateMs of latenessMs) expect(lateMs).to.be.at.least(0);
      // All are answered at the same time, so each waits as much longer as it was due earlier.
      expect(Math.max(...latenciesMs)).to.be.at.least(4);
    } finally {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  });
});
