import type { Store } from '#state/store.ts';
import { SeededRandom } from '../../../simulation/seeded-random.ts';
import { History } from '../backtest/backtest-history.ts';

const CLIENTS = 30;
const STEPS = 400;

/**
 * Thirty payers of different kinds for some days, the same each time: most pay, some never do, some hurry, a few
 * share a device, one is blocked by a person and one is bound; a tenth of the orders is never reported.
 */
export async function liveBusyMonth(store: Store): Promise<void> {
  const history = new History(store);
  const random = new SeededRandom(7);
  await history.block('client-0');
  await history.bind('client-1');
  for (let step = 0; step < STEPS; step++) await takeStep(history, random, step);
}

async function takeStep(history: History, random: SeededRandom, step: number): Promise<void> {
  const number = random.whole(0, CLIENTS - 1);
  const client = `client-${number}`;
  history.now += random.whole(0, number % 3 === 0 ? 40_000 : 4_000_000);
  if (random.chance(0.8)) await history.score(client, number % 7 === 0 ? 'shared' : client);
  const order = `order-${step - random.whole(0, 1)}`;
  const verdict = await history.verdict(client, order, `${random.whole(1, 90)}.50`);
  if (!verdict.startsWith('GET') || random.chance(0.1)) return;
  history.now += 30_000;
  if (random.chance((number % 4) / 4)) await history.outcome(client, order, 'PAID');
  else await history.outcome(client, order, 'UNPAID', random.chance(0.05) ? 'TECHNICAL' : null);
}
