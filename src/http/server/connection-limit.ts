import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../../decision/network.ts';

/**
 * Refuses connections of an address that already has this many open, so that one address alone cannot take all
 * that the listener has. Behind a proxy all connections come from the proxy: then this is not for the listener.
 */
export function limitConnections(server: Server, perAddressMax: number): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? 'unknown');
    const count = open.get(network) ?? 0;
    if (count >= perAddressMax) {
      socket.destroy();
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
}
