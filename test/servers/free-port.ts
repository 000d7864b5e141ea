import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The system takes the ports of outgoing connections from 32768 upwards. A server that starts later may find
 * such a port taken, so free ports are looked for below.
 */
const [LOWEST_PORT, ABOVE_PORTS] = [10_000, 32_768];

const TRIES = 100;

/** The ports that were found, and may not be listened on yet. */
const found = new Set<number>();

/** Finds a port of 127.0.0.1 that nobody listens on, and that nothing takes by chance. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried++) {
    const port = randomInt(LOWEST_PORT, ABOVE_PORTS);
    if (found.has(port) || !(await isFree(port))) continue;
    found.add(port);
    return port;
  }
  throw new Error(`none of ${TRIES} ports is free`);
}

/** A server of a cluster speaks on a second port, so many above its own, unless it is told another one. */
const CLUSTER_PORT_ABOVE = 10_000;

/** Finds a port whose second port of a cluster is as free, and as safe from outgoing connections. */
export async function freeClusterPort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried++) {
    const port = await freePort();
    const second = port + CLUSTER_PORT_ABOVE;
    if (second >= ABOVE_PORTS || found.has(second) || !(await isFree(second))) continue;
    found.add(second);
    return port;
  }
  throw new Error(`none of ${TRIES} ports is free together with the one ${CLUSTER_PORT_ABOVE} above it`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
