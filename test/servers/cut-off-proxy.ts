import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface CutOffProxy {
  readonly port: number;
  /** From now on nothing passes, and nobody is told: connections are silent, and new ones are taken and stay silent. */
  cut(): void;
  /** Refuses connections, as a machine does on which nobody listens. */
  close(): void;
  open(): Promise<void>;
  /** What was held back arrives late, as when a network is there again. */
  mend(): void;
  /** From now on each connection takes so many bytes a second each way, and each piece so long; null: as they come. */
  narrow(pace: Pace | null): void;
}

interface Pace {
  readonly bytesASecond: number;
  readonly delayMs: number;
}

/** Two that talk, and what is on its way to each. */
interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  readonly there: Transform;
  readonly back: Transform;
}

/** Stands between two that talk by TCP on 127.0.0.1, as a network that can fail between them. */
export async function startCutOffProxy(serverPort: number): Promise<CutOffProxy> {
  let isCut = false;
  let pace: Pace | null = null;
  const pairs = new Set<Pair>();
  const paced = () =>
    new Transform({
      transform: (piece: Buffer, _, done) => {
        if (pace === null) done(null, piece);
        else setTimeout(done, pace.delayMs + (1000 * piece.length) / pace.bytesASecond, null, piece);
      },
    });
  const join = ({ near, far, there, back }: Pair) => {
    near.pipe(there);
    far.pipe(back);
  };
  const server = createServer((near) => {
    const far = connect(serverPort, '127.0.0.1');
    const pair = { near, far, there: paced(), back: paced() };
    pair.there.pipe(far);
    pair.back.pipe(near);
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.setNoDelay(true).on('error', end).on('close', end);
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
      for (const { near } of pairs) near.destroy();
    },
    open: () => listen(port),
    cut: () => {
      isCut = true;
      for (const { near, far, there, back } of pairs) {
        near.unpipe(there).pause();
        far.unpipe(back).pause();
      }
    },
    mend: () => {
      isCut = false;
      for (const pair of pairs) join(pair);
    },
    narrow: (next) => {
      pace = next;
    },
  };
}
