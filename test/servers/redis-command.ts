import { createClient } from '@redis/client';

const OPTIONS = { RESP: 2, disableClientInfo: true } as const;

/** Never connected. The library makes a class of 400 methods for each new kind of client, which copies of one share. */
const pattern = createClient(OPTIONS);

/** One command on one server, whoever else it belongs to: on a port of 127.0.0.1, or in the database of an address. */
export async function command(at: number | string, args: readonly string[]): Promise<unknown> {
  const { port, pathname } = new URL(typeof at === 'string' ? at : `redis://127.0.0.1:${at}`);
  const client = pattern.duplicate({
    ...OPTIONS,
    database: Number(pathname.slice(1)),
    socket: { host: '127.0.0.1', port: Number(port), reconnectStrategy: false },
  });
  client.on('error', () => {
    // The rejected call tells it.
  });
  await client.connect();
  try {
    return await client.sendCommand([...args]);
  } finally {
    client.destroy();
  }
}

/** Whether the server takes the command; false as well when it cannot be reached. */
export async function accepts(port: number, args: readonly string[]): Promise<boolean> {
  try {
    await command(port, args);
    return true;
  } catch {
    return false;
  }
}
