import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { PlatformClient } from '../../src/sdk/client.ts';

const ATTEMPT_MS = 200;

describe('a search of the client library', () => {
  let server: Server;
  let platform: PlatformClient;
  let asked: number;

  beforeEach(async () => {
    asked = 0;
    server = createServer(async (_, res) => {
      asked++;
      await sleep(3 * ATTEMPT_MS);
      res.writeHead(200, { 'Content-Type': 'application/json' }).end('{"found":true}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : '';
    platform = new PlatformClient({
      baseUrl: `http://127.0.0.1:${port}`,
      accessKey: 'k',
      attemptTimeoutMs: ATTEMPT_MS,
      timeoutMs: 2 * ATTEMPT_MS,
    });
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const searches: Readonly<Record<string, () => Promise<unknown>>> = {
    'for decisions': () => platform.decisions(),
    'for a decision': () => platform.decision('a.1'),
    'for the explanation of a decision': () => platform.explanation('a.1'),
    'for what happened to a client': () => platform.clientHistory('ann'),
    'for the links of a client': () => platform.clientLinks('ann'),
  };

  for (const [what, search] of Object.entries(searches))
    it(`${what} is sent once, and has longer than other requests`, async () => {
      expect(await search()).to.deep.equal({ found: true });
      expect(asked).to.equal(1);
    });
});
