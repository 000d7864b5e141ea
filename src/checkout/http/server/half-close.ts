import { type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';

/** Whoever closes for writing within one or two of these after the last byte has only said that this was all. */
const LOOK_EVERY_MS = 100;

/** How many bytes of a connection had arrived at the last two looks. */
interface Arrived {
  last: number;
  before: number;
}

/**
 * Answers a caller that closes for writing as soon as the request is sent. Whoever closes later, while the answer has not
 * begun, has given up: a program that ends closes in the same way, and work for it shall end. One look at all connections
 * every now and then, and nothing a request.
 */
export function answerHalfClosed(server: Server): void {
  // Node's own setting, which its types leave out: without it the end of what a caller sends closes the connection.
  Object.assign(server, { httpAllowHalfOpen: true });
  const sockets = new Map<Socket, Arrived>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    const arrived = { last: 0, before: 0 };
    // Under TLS it is not set yet.
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

/** The answer that a connection waits for or is given now; null when there is none. */
export function findOpenAnswer(socket: Duplex): ServerResponse | null {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  return answer instanceof ServerResponse ? answer : null;
}

function isAwaited(socket: Socket): boolean {
  return findOpenAnswer(socket)?.headersSent === false;
}
