import { DEFAULT_OBJECTIVE } from '#decision/objective.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import type { WorthReport } from '#history/evidence/report/worth-report.ts';
import { type EvidenceAsk, withEvidence } from '#history/evidence/source/evidence.ts';
import type { Store } from '#state/store.ts';
import { ArchivedStore } from '../../../../test/history/archive/archived-store.ts';
import { History, JULY } from '../../../../test/history/evidence/backtest/backtest-history.ts';
import { askedTrial, CLIENTS_A_DAY } from '../../../../test/history/evidence/experiment/two-ladders.ts';
import {
  HELD_OUT_RULES,
  type HoldoutTruth,
  liveHoldoutWorld,
  REVERSAL_DAYS,
  USD_RATE,
} from '../../../../test/history/evidence/report/holdout-world.ts';
import { edited, swap } from '../../../../test/rule-fixtures/sound-rules.ts';
import { currentRules } from '../../../../test/service/current-rules.ts';
import { seeded } from '../../../../test/simulation/seeded-random.ts';
import { OUTCOME_HISTORIES, type OutcomeHistory } from './outcome-histories.ts';
import { withTemporaryStore } from './temporary-store.ts';

/**
 * Histories for which printed figures were once wrong without a sign. Each history is so small that its truth is
 * counted while it happens, so most figures must be exact. `reruns.ts` has larger simulations.
 */

/** A printed figure and the true one. If the printed figure is right, the two differ by at most about a billionth. */
export interface FigureCheck {
  readonly name: string;
  readonly printed: unknown;
  readonly truth: unknown;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const CHAIN = 'blocked-by-unpaid-chain';

/** Checks all figures of which the histories of a seed give the exact truth. */
export async function checkExactFigures(seed: number): Promise<readonly FigureCheck[]> {
  return [...(await holdoutKinds(seed)), ...(await trialKinds(seed)), ...(await clockKinds(seed))];
}

/**
 * Checks the figures of a holdout: the clients whom the rule matched, those who are too new to count, and the money
 * in several currencies.
 */
async function holdoutKinds(seed: number): Promise<readonly FigureCheck[]> {
  return withTemporaryStore(async (store) => {
    const { all, old } = await liveHoldoutWorld(store, seed);
    const [plain, rated] = await reportsOn(store, [
      { rates: {}, rules: HELD_OUT_RULES },
      { rates: { USD: USD_RATE }, rules: HELD_OUT_RULES },
    ]);
    return [...matchesOf(plain, all), ...netOf(plain, rated, old)];
  });
}

function matchesOf(
  found: WorthReport | undefined,
  { matched, blocked }: HoldoutTruth,
): readonly FigureCheck[] {
  const rule = found?.rules.find(({ name }) => name === CHAIN);
  const name = 'a rule with a holdout: matched, decided, decisive';
  return [
    { name, printed: [rule?.matched, rule?.decided, rule?.decisive], truth: [matched, blocked, blocked] },
  ];
}

function netOf(
  plain: WorthReport | undefined,
  rated: WorthReport | undefined,
  { held, others, payments, euros, dollars }: HoldoutTruth,
): readonly FigureCheck[] {
  const [one, other] = [plain, rated].map((found) => found?.rules.find(({ name }) => name === CHAIN));
  const perClient = (of: typeof one) =>
    [of?.net?.payments, of?.net?.amount].map((figure) => ratio(figure, of));
  return [
    { name: 'a holdout: clients who count', printed: one?.net?.clients, truth: others },
    {
      name: 'a holdout beside young clients: payments and money a client',
      printed: perClient(one),
      truth: [payments / held, euros / held],
    },
    {
      name: 'money without a rate: what the net says that it leaves out',
      printed: one?.unrated?.amounts,
      truth: { USD: { paid: dollars, reversed: 0 } },
    },
    {
      name: 'money with a rate: payments and money a client',
      printed: perClient(other),
      truth: [payments / held, (euros + USD_RATE * dollars) / held],
    },
  ];
}

function ratio(
  figure: { readonly value: number } | null | undefined,
  rule: WorthReport['rules'][number] | undefined,
): number {
  return (figure?.value ?? Number.NaN) / (rule?.net?.clients ?? Number.NaN);
}

/**
 * Checks the report of a trial: for a shorter span, in a currency in which nobody paid, and about how long the trial
 * will take.
 */
async function trialKinds(seed: number): Promise<readonly FigureCheck[]> {
  const { whole, within, elsewhere, notes } = await askedTrial(seed);
  const told = ({ arms, differences, levels, recommendation }: typeof whole) => ({
    arms,
    differences,
    levels,
    recommendation,
  });
  const paid = (of: 'paid' | 'reversed') =>
    whole.arms.reduce((sum, { money }) => sum + (money['EUR']?.[of] ?? 0), 0);
  const [, clients = '', days = ''] =
    notes.map((note) => PACE.exec(note)).find((found) => found !== null) ?? [];
  const trueDays = Number(clients.replaceAll(',', '')) / CLIENTS_A_DAY;
  return [
    { name: 'a trial asked about from within: all figures', printed: told(within), truth: told(whole) },
    {
      name: 'a trial in a currency without a rate: what value says that it leaves out',
      printed: elsewhere.unrated?.amounts,
      truth: { EUR: { paid: paid('paid'), reversed: paid('reversed') } },
    },
    {
      name: 'a trial: days until a difference shows, within a quarter',
      printed: Math.abs(Number(days.replaceAll(',', '')) / trueDays - 1) <= 0.25,
      truth: true,
    },
  ];
}

const PACE = /^About ([\d,]+) more clients, at the pace so far about ([\d,]+) days,/;

const AT_NIGHT = swap(
  'rules:\n',
  `rules:
  - name: at-night
    description: Nobody buys at night.
    priority: 999
    conditions: { all: [{ fact: hourOfDay, operator: lessThan, value: 6 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "Closed." } }
`,
);
const nightOf = (name: string, digit: string): RuleSet => ({
  ...edited({
    'verdicts.yaml': AT_NIGHT,
    'ruleset.yaml': swap('  currency: EUR\n', `  currency: EUR\n  timeZone: ${name}\n`),
  }),
  digest: digit.repeat(64),
});
const [UTC, KOLKATA] = [nightOf('UTC', '1'), nightOf('Asia/Kolkata', '2')];
const KOLKATA_AHEAD_MS = 5.5 * HOUR_MS;

/** Checks the comparison of two versions that differ only in their time zones. */
async function clockKinds(seed: number): Promise<readonly FigureCheck[]> {
  return withTemporaryStore(async (store) => {
    const history = new History(store, UTC);
    const draw = seeded(seed);
    let changed = 0;
    for (let payer = 0; payer < 200; payer++) {
      history.now = JULY + payer * HOUR_MS + Math.floor(draw() * HOUR_MS);
      await history.verdict(`payer-${payer}`, `order-${payer}`);
      const isNight = (ahead: number) => ((history.now + ahead) % DAY_MS) / HOUR_MS < 6;
      changed += isNight(0) === isNight(KOLKATA_AHEAD_MS) ? 0 : 1;
    }
    const [found] = await reportsOn(store, [{ rates: {}, rules: KOLKATA, against: UTC }]);
    const name = 'versions whose time zones alone differ: verdicts that change';
    return [{ name, printed: found?.against?.changed, truth: changed }];
  });
}

/** Checks the status of an order for each way in which its reports arrive. */
export async function checkOutcomeHistories(): Promise<readonly FigureCheck[]> {
  return Promise.all(OUTCOME_HISTORIES.map(outcomeKind));
}

function outcomeKind({ name, steps, status, reversed }: OutcomeHistory): Promise<FigureCheck> {
  return withTemporaryStore(async (store) => {
    const history = new History(store);
    await steps(history);
    const archived = await ArchivedStore.open(store);
    try {
      await archived.shipAll();
      const rows = await withEvidence(askOf(archived), ({ duck }) =>
        duck.rows("SELECT status, reversed FROM orders WHERE order_ref = 'order'"),
      );
      const printed = rows.map((row) => [row['status'], row['reversed']]);
      return { name: `an order ${name}`, printed, truth: [[status, reversed]] };
    } finally {
      archived.duck.close();
    }
  });
}

/** The number of reversals that was predicted for a shop, and the number that came. */
export interface ReversalsCheck {
  readonly low: number;
  readonly high: number;
  readonly came: number;
}

const SHOP_DAYS = 90;
const PAYERS = 60;
const PAYMENTS = 4;

/**
 * Simulates ninety days of a shop whose payers take a share of their payments back after 14 to 35 days. Some payers
 * take most of them back. Returns null if too few reversals came for a prediction.
 */
export function checkPredictedReversals(seed: number): Promise<ReversalsCheck | null> {
  return withTemporaryStore(async (store) => {
    const history = new History(store);
    const draw = seeded(seed);
    const end = JULY + SHOP_DAYS * DAY_MS;
    const agenda: { readonly at: number; readonly act: () => Promise<unknown> }[] = [];
    let came = 0;
    for (let payment = 0; payment < PAYERS * PAYMENTS; payment++) {
      const payer = `payer-${payment % PAYERS}`;
      const order = `order-${payment}`;
      const share = payment % PAYERS < PAYERS / 10 ? 0.7 : 0.15;
      const at = JULY + Math.floor(draw() * SHOP_DAYS * DAY_MS);
      const [takesBack, after] = [draw() < share, (14 + Math.floor(21 * draw())) * DAY_MS];
      agenda.push({ at, act: () => payFor(history, payer, order) });
      if (!takesBack) continue;
      if (at + after > end) came += 1;
      else agenda.push({ at: at + after, act: () => history.outcome(payer, order, 'UNPAID', 'REVERSED') });
    }
    for (const { at, act } of agenda.toSorted((a, b) => a.at - b.at)) {
      history.now = at;
      await act();
    }
    history.now = end;
    await history.verdict('last', 'last');
    const [found] = await reportsOn(store, [{ rates: {}, rules: currentRules() }]);
    const expected = found?.reversals.expected ?? null;
    return expected === null ? null : { low: expected.low, high: expected.high, came };
  });
}

async function payFor(history: History, payer: string, order: string): Promise<void> {
  await history.verdict(payer, order);
  await history.outcome(payer, order, 'PAID');
}

interface AskedReport {
  readonly rules: RuleSet;
  readonly against?: RuleSet;
  readonly rates: Readonly<Record<string, number>>;
}

async function reportsOn(store: Store, asked: readonly AskedReport[]): Promise<readonly WorthReport[]> {
  const archived = await ArchivedStore.open(store);
  try {
    await archived.shipAll();
    const found: WorthReport[] = [];
    for (const { rules, against = null, rates } of asked) {
      const objective = { ...DEFAULT_OBJECTIVE, currency: 'EUR', reversalDays: REVERSAL_DAYS, rates };
      found.push(
        await withEvidence(askOf(archived), (evidence) =>
          reportRuleWorth(evidence, { rules, against, by: null, objective }),
        ),
      );
    }
    return found;
  } finally {
    archived.duck.close();
  }
}

function askOf({ archive }: ArchivedStore): EvidenceAsk {
  const place = { kind: 'archive', folder: archive.folder } as const;
  return { place, from: null, to: null, platform: null, threads: 1 };
}
