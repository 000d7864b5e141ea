import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceNode } from '../processes/service-node.ts';
import { Load, payersInTurn, type Sample } from './load.ts';

const PAYERS = 50;
const CONNECTIONS = 32;
const LOOK_MS = 50;

/** Lets so many verdicts be decided, as fast as the service does it. */
export async function fill(target: ServiceNode, count: number): Promise<readonly Sample[]> {
  const ask = payersInTurn(PAYERS);
  const settings = { target, connections: CONNECTIONS, ratePerSecond: null, ask, samplesMax: count };
  const load = new Load(settings);
  while (load.samples.length < count) await delay(LOOK_MS);
  return load.stop();
}
