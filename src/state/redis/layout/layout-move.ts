import { type MoveProgress, RETENTION, type StateMove } from '../../store.ts';
import type { RedisConnection } from '../connection/connection.ts';
import { scannedKeys } from '../connection/scanned-keys.ts';
import { STATE_PREFIX } from '../earlier/keys.ts';
import type { LaidOutClients } from './laid-out-clients.ts';
import type { Layout } from './layout.ts';

/** A state of the layout before, whose hash tag is one character: `s:{A}A...`. */
const EARLIER_STATE = `${STATE_PREFIX}{?}*`;

/** Clients that are moved side by side: the callers' requests come first. */
const AT_ONCE = 8;

/**
 * Takes all clients of the layout before into that of today, while the service runs. A client that is asked for meanwhile
 * moves at once; the others are moved here. It can be interrupted anywhere and started again.
 */
export class LayoutMove implements StateMove {
  readonly #connection: RedisConnection;
  readonly #layout: Layout;
  readonly #clients: LaidOutClients;

  constructor(connection: RedisConnection, layout: Layout, clients: LaidOutClients) {
    this.#connection = connection;
    this.#layout = layout;
    this.#clients = clients;
  }

  async run(onProgress: (progress: MoveProgress) => void): Promise<MoveProgress> {
    await this.#layout.change({ phase: 'moving', earlierUntil: null });
    await this.#clients.beginToMove();
    let metClients = 0;
    let movedClients = 0;
    // A client that was written while it was walked over may have been passed by: until a walk moves none.
    for (let before = -1; before !== movedClients; ) {
      before = movedClients;
      for (const node of this.#connection.nodes()) {
        for await (const keys of scannedKeys(this.#connection, node, EARLIER_STATE)) {
          const moved = await this.#moveSome(keys);
          metClients += keys.length;
          movedClients += moved;
          onProgress({ movedClients, metClients });
        }
      }
    }
    const earlierUntil = Date.now() + RETENTION.decisionMs;
    await this.#layout.change({ phase: 'current', earlierUntil });
    return { movedClients, metClients };
  }

  async #moveSome(keys: readonly string[]): Promise<number> {
    const rest = keys.values();
    let moved = 0;
    const worker = async () => {
      for (const key of rest) {
        const hash = key.slice(`${STATE_PREFIX}{A}`.length);
        if (await this.#clients.move({ hash })) moved++;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return moved;
  }
}
