import type { ServiceNode } from '../processes/service-node.ts';
import { type Ask, Load, payersInTurn, type Sample } from './load.ts';

const LOAD = { ratePerSecond: 100, connections: 16 };
const PAYERS = 500;

/** The verdicts that were asked for while something was done to the service. */
export interface During<T> {
  readonly samples: readonly Sample[];
  readonly result: T;
}

/** Keeps a light load on a node, 100 verdicts a second, until the work is done. */
export async function loadDuring<T>(
  target: ServiceNode,
  work: () => Promise<T>,
  ask: (n: number) => Ask = payersInTurn(PAYERS),
): Promise<During<T>> {
  const load = new Load({ target, ...LOAD, ask });
  const result = await work();
  return { samples: await load.stop(), result };
}
