import { once } from 'node:events';
import { createServer, type RequestListener, type ServerOptions } from 'node:http';
import type { Server } from 'node:net';

/** Opens a server at a free port of this machine, and gives its URL. */
export async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** An HTTP server of a test's own, until it stops. */
export async function serving(answer: RequestListener, options: ServerOptions = {}) {
  const server = createServer(options, answer);
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { server, url: await listening(server), stop };
}
