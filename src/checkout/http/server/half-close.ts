import { type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';

/**
 * The interval between two checks of the connections. A caller that closes its side for writing within one or two
 * intervals after its last byte only says that the request is complete.
 */
const LOOK_EVERY_MS = 100;

/** The number of bytes that had arrived on a connection at the last two checks. */
interface Arrived {
  last: number;
  before: number;
}

/**
 * Answers a caller that closes its side of the connection for writing as soon as its request is sent. A caller that
 * closes later, before its answer has begun, has given up or its program has exited, so its connection is destroyed
 * and work for it ends. One timer checks all connections, so a request costs nothing extra.
 */
export function allowHalfClosedCallers(server: Server): void {
  // Node has this setting, but not in its types. Without the setting, the end of the caller's data closes the
  // connection.
  Object.assign(server, { httpAllowHalfOpen: true });
  const sockets = new Map<Socket, Arrived>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    const arrived = { last: 0, before: 0 };
    // Under TLS the setting above does not yet apply to the socket.
    socket.allowHalfOpen = true;
    sockets.set(socket, arrived);
    socket.once('end', () => {
      if (socket.bytesRead === arrived.before && isAwaited(socket)) socket.destroy();
    });
    socket.once('close', () => sockets.delete(socket));
  });
  const look = setInterval(() => {
    for (const [socket, arrived] of sockets) {
      arrived.before = arrived.last;
      arrived.last = socket.bytesRead;
    }
  }, LOOK_EVERY_MS).unref();
  server.once('close', () => clearInterval(look));
}

/** Finds the answer that a connection waits for or is receiving. Returns null if there is none. */
export function findOpenAnswer(socket: Duplex): ServerResponse | null {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  return answer instanceof ServerResponse ? answer : null;
}

function isAwaited(socket: Socket): boolean {
  return findOpenAnswer(socket)?.headersSent === false;
}
