import { type DrawHoldouts, HOLDOUT_PERIOD_MS } from '#decision/holdout.ts';
import { addSums } from '#history/statistics/sums.ts';
import type { Store } from '#state/store.ts';
import { edited, swap } from '../../../rule-fixtures/sound-rules.ts';
import { seeded } from '../../../simulation/seeded-random.ts';
import { History, JULY } from '../backtest/backtest-history.ts';

const DAY = 86_400_000;
const PRICE = 10.5;

export const OLD_PAYERS = 160;
export const YOUNG_PAYERS = 140;
export const REVERSAL_DAYS = 5;
export const USD_RATE = 0.5;

/** Four unpaid orders block a payer, but for half of them. */
export const HELD_OUT_RULES = edited({
  'groups.yaml': swap('    priority: 80\n', '    priority: 80\n    holdout: 50%\n'),
});

const HALF: DrawHoldouts = (client) => () => client.hash.charCodeAt(0) % 2 === 0;

/** Whom the rule met, and what those did who were held out; amounts in their currencies. */
export type HoldoutTruth = Readonly<
  Record<'held' | 'others' | 'matched' | 'blocked' | 'payments' | 'euros' | 'dollars', number>
>;

const NOTHING: HoldoutTruth = {
  held: 0,
  others: 0,
  matched: 0,
  blocked: 0,
  payments: 0,
  euros: 0,
  dollars: 0,
};

/**
 * Payers whom the rule would block, in euros and dollars. The young ones come ten days before the end, so that their payments
 * may yet be reversed. Gives what all did, and what the old ones did.
 */
export async function liveHoldoutWorld(
  store: Store,
  seed: number,
): Promise<{ readonly all: HoldoutTruth; readonly old: HoldoutTruth }> {
  const history = new History(store, HELD_OUT_RULES, HALF);
  const draw = seeded(seed);
  let old = NOTHING;
  for (let payer = 0; payer < OLD_PAYERS; payer++) old = addSums(old, await livePayer(history, payer, draw));
  const end = JULY + HOLDOUT_PERIOD_MS + (REVERSAL_DAYS + 3) * DAY;
  history.now = end - 10 * DAY;
  let all = old;
  for (let payer = 0; payer < YOUNG_PAYERS; payer++)
    all = addSums(all, await livePayer(history, OLD_PAYERS + payer, draw));
  history.now = end;
  await history.verdict('last', 'last');
  return { all, old };
}

/** Four unpaid orders, and two more that a payer may try who is held out; three of four are paid, some in dollars. */
async function livePayer(history: History, payer: number, draw: () => number): Promise<HoldoutTruth> {
  const [client, truth] = [`payer-${payer}`, { ...NOTHING }];
  for (const order of ['a', 'b', 'c', 'd']) await history.outcome(client, `${order}-${payer}`, 'UNPAID');
  for (const order of [`e-${payer}`, `f-${payer}`]) {
    const [currency, pays] = [draw() < 0.3 ? 'USD' : 'EUR', draw() < 0.75];
    const verdict = await history.verdict(client, order, PRICE.toFixed(2), currency);
    // One payment ends the chain.
    if (truth.payments === 0) truth.matched += 1;
    if (verdict === 'BLOCK') return { ...truth, others: 1, blocked: 1 };
    truth.held = 1;
    history.now += 1000;
    if (verdict !== 'GET_NEW' || !pays) continue;
    await history.outcome(client, order, 'PAID');
    truth.payments += 1;
    truth[currency === 'EUR' ? 'euros' : 'dollars'] += PRICE;
  }
  return truth;
}
