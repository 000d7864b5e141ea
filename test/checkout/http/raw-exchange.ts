import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Sends bytes as they are and gives all that comes back until the connection closes. */
export async function rawExchange(url: string, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const exchanged = readToEnd(socket);
  for (const part of parts) socket.write(part);
  return exchanged;
}

/** Sends a text and closes for writing at once; gives all that comes back until the connection closes. */
export async function halfClosedExchange(url: string, text: string): Promise<string> {
  const { protocol, hostname: host, port } = new URL(url);
  const options = { host, port: Number(port), allowHalfOpen: true, rejectUnauthorized: false };
  const socket = protocol === 'https:' ? connectTls(options) : connect(options);
  const exchanged = readToEnd(socket);
  socket.end(text);
  return exchanged;
}

async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => {
    // A reset ends the exchange as a close does.
  });
  // Not events.once, which would make the reset an error after all.
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.once('close', () => resolve());
  await closed;
  return text;
}

/** The status of a raw answer; null when the connection closed without one. */
export function rawStatus(answer: string): number | null {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
}
