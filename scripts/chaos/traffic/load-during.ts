import type { ServiceNode } from '../processes/service-node.ts';
import { type Ask, Load, payersInTurn, type Sample } from './load.ts';

const RATE_PER_SECOND = 100;
const CONNECTIONS = 16;
const CLIENTS = 500;

/** The verdicts that were asked for while something was done to the service. */
export interface During<T> {
  readonly samples: readonly Sample[];
  readonly result: T;
}

/** Keeps a light load on a node, 100 verdicts a second, until the work is done. */
export async function loadDuring<T>(
  target: ServiceNode,
  work: () => Promise<T>,
  ask: (n: number) => Ask = payersInTurn(CLIENTS),
): Promise<During<T>> {
  const load = new Load({ target, connections: CONNECTIONS, ratePerSecond: RATE_PER_SECOND, ask });
  const result = await work();
  return { samples: await load.stop(), result };
}
