import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

/** A reader that takes less than this within the limit is cut off; less than what one write may hold. */
const TAKEN_BYTES_MIN = 16 * 1024;
/** Looking often keeps the connections that are cut off at once few; everybody else waits while it happens. */
const LOOK_EVERY_MS = 200;

/** How much of its answers a connection had taken when it was last found behind. */
interface Behind {
  /** By the time that was watched. */
  readonly sinceMs: number;
  readonly takenBytes: number;
}

/**
 * Cuts off connections that do not take the answers they asked for: Node limits how long a request may
 * take to arrive, but would keep an unread answer for ever. One look at all connections every now and then, and
 * nothing a request.
 */
export function cutOffSlowReaders(server: Server, limitMs: number): void {
  const sockets = new Map<Socket, Behind | null>();
  // Under TLS the plain connection below has no bytes of its own that wait.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, null);
    socket.once('close', () => sockets.delete(socket));
  });
  let lookedAtMs = performance.now();
  let watchedMs = 0;
  const look = setInterval(() => {
    const nowMs = performance.now();
    // While this process itself stood still, a reader could take as it liked and nothing more was given.
    watchedMs += Math.min(nowMs - lookedAtMs, 2 * LOOK_EVERY_MS);
    lookedAtMs = nowMs;
    for (const [socket, behind] of sockets) {
      const next = nextBehind(socket, behind, watchedMs, limitMs);
      if (next === 'cut off') socket.destroy();
      else sockets.set(socket, next);
    }
  }, LOOK_EVERY_MS).unref();
  server.once('close', () => clearInterval(look));
}

function nextBehind(
  { writableLength, bytesWritten }: Socket,
  behind: Behind | null,
  watchedMs: number,
  limitMs: number,
): Behind | null | 'cut off' {
  if (writableLength === 0) return null;
  const takenBytes = bytesWritten - writableLength;
  if (behind === null) return { sinceMs: watchedMs, takenBytes };
  if (takenBytes - behind.takenBytes >= TAKEN_BYTES_MIN) return { sinceMs: watchedMs, takenBytes };
  return watchedMs - behind.sinceMs < limitMs ? behind : 'cut off';
}
