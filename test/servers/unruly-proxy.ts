import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { listening } from './listening.ts';

/** What is done to a piece of what the server sends: what goes on instead, or null to cut the connection there. */
export type Meddling = (piece: Buffer) => Buffer | null | Promise<Buffer | null>;

export interface UnrulyProxy {
  readonly port: number;
  /** From now on; null lets everything through as it comes. */
  meddle(meddling: Meddling | null): void;
  stop(): Promise<void>;
}

/** Stands between a client and a server on 127.0.0.1, and spoils answers. What is asked passes as it is. */
export async function startUnrulyProxy(serverPort: number | (() => number)): Promise<UnrulyProxy> {
  let meddling: Meddling | null = null;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(typeof serverPort === 'number' ? serverPort : serverPort(), '127.0.0.1');
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end).on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    near.pipe(far);
    let before = Promise.resolve();
    far.on('data', (piece: Buffer) => {
      // Worked on at once and sent in turn, so that delays do not add up.
      const spoiled = Promise.resolve(meddling === null ? piece : meddling(piece));
      before = before.then(async () => {
        const sent = await spoiled;
        if (sent === null) end();
        else near.write(sent);
      });
    });
  });
  const { port } = new URL(await listening(server));
  return {
    port: Number(port),
    meddle: (next) => {
      meddling = next;
    },
    stop: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await sleep(0);
    },
  };
}
