import { once } from 'node:events';
import { createServer } from 'node:net';
import { listening } from './listening.ts';

/** A port of 127.0.0.1 that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const { port } = new URL(await listening(server));
  server.close();
  await once(server, 'close');
  return Number(port);
}
