import { once } from 'node:events';
import type { Server } from 'node:net';

/** Opens a server at a free port of this machine, and gives its URL. */
export async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}
