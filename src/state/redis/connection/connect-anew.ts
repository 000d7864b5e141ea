/** A server that stays a replica is not left more often than this, however many calls it refuses. */
const ANEW_MS_MIN = 1000;

/** The part of a client that is needed to end its connection. */
interface Client {
  readonly sendCommand: (args: string[]) => Promise<unknown>;
}

/**
 * Ends the connection of a client, which then connects to its address again: after a failover behind a name or a virtual
 * address, an open connection still leads to the former master, which is a replica by now and answers all but writes.
 */
export function connectingAnew(client: Client): () => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lastMs < ANEW_MS_MIN) return;
    lastMs = nowMs;
    client.sendCommand(['QUIT']).catch(() => {
      // It has ended already.
    });
  };
}

/** Whether a server refused a call because it is a replica. */
export function isReplicasRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('READONLY');
}
