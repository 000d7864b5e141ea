import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../../decision/requests.ts';
import { Shares } from '../../work/turns.ts';

/**
 * Refuses connections of an address that already has this many open, so that one address alone cannot take all
 * that the listener has. Behind a proxy all connections come from the proxy: then this is not for the listener.
 */
export function limitConnections(server: Server, perAddressMax: number): void {
  const open = new Shares();
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? 'unknown');
    if (open.of(network) >= perAddressMax) {
      socket.destroy();
      return;
    }
    open.take(network);
    socket.once('close', () => open.giveBack(network));
  });
}
