import { connect } from 'node:net';

/** Sends bytes as they are and gives all that comes back until the connection closes. */
export async function rawExchange(url: string, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
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
  for (const part of parts) socket.write(part);
  await closed;
  return text;
}

/** The status of a raw answer; null when the connection closed without one. */
export function rawStatus(answer: string): number | null {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
}
