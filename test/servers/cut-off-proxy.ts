import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface CutOffProxy {
  readonly port: number;
  /** From now on nothing passes, and nobody is told: connections are silent, and new ones are taken and stay silent. */
  cut(): void;
  /** Refuses connections, as a machine does on which nobody listens. */
  close(): void;
  open(): Promise<void>;
  /** What was held back arrives late, as when a network is there again. */
  mend(): void;
}

/** Stands between two that talk by TCP on 127.0.0.1, as a network that can fail between them. */
export async function startCutOffProxy(serverPort: number): Promise<CutOffProxy> {
  let isCut = false;
  const pairs = new Set<readonly [Socket, Socket]>();
  const join = ([near, far]: readonly [Socket, Socket]) => {
    near.pipe(far);
    far.pipe(near);
  };
  const server = createServer((near) => {
    const far = connect(serverPort, '127.0.0.1');
    const pair = [near, far] as const;
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) socket.setNoDelay(true).on('error', end).on('close', end);
    if (!isCut) join(pair);
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    server.unref();
    await once(server, 'listening');
  };
  await listen(0);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    close: () => {
      server.close();
      for (const [near] of pairs) near.destroy();
    },
    open: () => listen(port),
    cut: () => {
      isCut = true;
      for (const [near, far] of pairs) {
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
    },
    mend: () => {
      isCut = false;
      for (const pair of pairs) join(pair);
    },
  };
}
