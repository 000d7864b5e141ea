import fc from 'fast-check';
import { type DatedReport, type OrderOutcome, OUTCOME_CAUSES } from '#decision/payer/order.ts';

/** A report about one of a client's orders. */
export interface ToldOrder {
  readonly order: string;
  readonly report: DatedReport;
}

/** What the facts must say of a client, in whatever order the reports arrive. */
export interface NaiveFacts {
  readonly paidCount: number;
  readonly unpaidCount: number;
  readonly unpaidChain: number;
  readonly lastOutcome: string;
  readonly lastPaidAt: number | null;
  readonly lastUnpaidAt: number | null;
}

const CHAIN_MAX = 20;

export function paid(occurredAt: number): OrderOutcome {
  return { outcome: 'PAID', cause: null, occurredAt };
}

export function unpaid(occurredAt: number, cause: OrderOutcome['cause'] = 'DECLINED'): OrderOutcome {
  return { outcome: 'UNPAID', cause, occurredAt };
}

/** Reports that collide on purpose: few orders, few times, every outcome. */
export function toldOrders(
  orders: number,
  moments: number,
  length: number,
): fc.Arbitrary<readonly ToldOrder[]> {
  const occurredAt = fc.integer({ min: 1, max: moments });
  const amount = fc.constantFrom('10 EUR', '25.5 EUR', '30 EUR', '7 USD');
  const money = { amount };
  const unpaidOf = (causes: readonly DatedReport['cause'][]) => ({
    outcome: fc.constant('UNPAID'),
    cause: fc.constantFrom(...causes),
    occurredAt,
  });
  const paidOnce = { outcome: fc.constant('PAID'), cause: fc.constant(null), occurredAt };
  const report: fc.Arbitrary<DatedReport> = fc.oneof(
    fc.record(paidOnce),
    fc.record({ ...paidOnce, ...money }),
    fc.record({ ...unpaidOf(['REVERSED']), ...money }),
    fc.record(unpaidOf([null, ...OUTCOME_CAUSES])),
  );
  const order = fc.integer({ min: 1, max: orders }).map((number) => `order-${number}`);
  return fc.array(fc.record({ order, report }), { minLength: 1, maxLength: length });
}

export function shuffled<T>(things: readonly T[]): fc.Arbitrary<readonly T[]> {
  return fc.shuffledSubarray([...things], { minLength: things.length, maxLength: things.length });
}

/** Computes from all reports at once what the code must find one report after the other. */
export function naiveFacts(told: readonly ToldOrder[]): NaiveFacts {
  const orders = Map.groupBy(told, ({ order }) => order);
  const final = [...orders.values()]
    .map((reports) => naiveOutcome(reports.map(({ report }) => report)))
    .filter(({ cause, awaitsPayment }) => cause !== 'TECHNICAL' && !awaitsPayment)
    // At the same time a payment counts as the newer one.
    .sort(
      (a, b) =>
        a.occurredAt - b.occurredAt || (a.outcome === 'PAID' ? 1 : 0) - (b.outcome === 'PAID' ? 1 : 0),
    );
  let chain = 0;
  for (const { outcome } of final) chain = outcome === 'PAID' ? 0 : chain + 1;
  const times = (wanted: string) =>
    final.filter(({ outcome }) => outcome === wanted).map(({ occurredAt }) => occurredAt);
  return {
    paidCount: times('PAID').length,
    unpaidCount: times('UNPAID').length,
    unpaidChain: Math.min(chain, CHAIN_MAX),
    lastOutcome: final.at(-1)?.outcome ?? 'NONE',
    lastPaidAt: times('PAID').at(-1) ?? null,
    lastUnpaidAt: times('UNPAID').at(-1) ?? null,
  };
}

const FAILURES = ['UNPAID', 'EXPIRED', 'CANCELLED', 'DECLINED', 'TECHNICAL'];

const name = ({ outcome, cause }: Pick<OrderOutcome, 'outcome' | 'cause'>) => cause ?? outcome;

const newest = (reports: readonly DatedReport[]) => Math.max(...reports.map(({ occurredAt }) => occurredAt));

const oldest = (reports: readonly DatedReport[]) => Math.min(...reports.map(({ occurredAt }) => occurredAt));

/** What was captured of an order that was paid, in the currency of the newest payment that names one. */
function naiveCapture(payments: readonly DatedReport[]) {
  const amounts = payments
    .toSorted((a, b) => a.occurredAt - b.occurredAt || ((a.amount ?? '') < (b.amount ?? '') ? -1 : 1))
    .flatMap(({ amount }) => (amount === undefined ? [] : [amount.split(' ')]));
  const currency = amounts.at(-1)?.[1];
  const most = Math.max(
    ...amounts.filter((money) => money[1] === currency).map(([amount]) => Number(amount)),
  );
  return currency === undefined ? null : { most, currency };
}

/** What holds of an order by the page: a payment stands until all of it is taken back. */
export function naiveOutcome(reports: readonly DatedReport[]): OrderOutcome {
  const payments = reports.filter(({ outcome }) => outcome === 'PAID');
  const reversals = reports.filter(({ cause }) => cause === 'REVERSED');
  const failures = reports.filter((report) => FAILURES.includes(name(report)));
  const captured = naiveCapture(payments);
  const full = reversals.filter(({ amount }) => {
    if (amount === undefined) return true;
    const [taken, currency] = amount.split(' ');
    if (captured === null || currency !== captured.currency) return payments.length > 0;
    return Number(taken) >= captured.most;
  });
  const reversedAt = newest(full);
  const standing = payments.filter(
    ({ occurredAt, undated }) => full.length === 0 || (!undated && occurredAt > reversedAt),
  );
  if (standing.length > 0) {
    const occurredAt = oldest(standing);
    const isUndated = standing.every((one) => one.occurredAt > occurredAt || one.undated);
    return { outcome: 'PAID', cause: null, occurredAt, ...(isUndated ? { undated: true } : {}) };
  }
  if (full.length > 0) {
    const paidAt = newest(payments.filter(({ undated }) => !undated));
    return unpaid(oldest(full.filter(({ occurredAt }) => occurredAt >= paidAt)), 'REVERSED');
  }
  if (failures.length === 0) return { ...unpaid(oldest(reversals), 'REVERSED'), awaitsPayment: true };
  return naiveFailure(failures);
}

/** The latest failure, since the first report of its last run. */
function naiveFailure(failures: readonly DatedReport[]): OrderOutcome {
  const position = (report: DatedReport) => report.occurredAt * 10 + FAILURES.indexOf(name(report));
  const line = failures.toSorted((a, b) => position(a) - position(b));
  const [last] = line.slice(-1);
  if (last === undefined) throw new Error('nothing was told');
  const others = line.filter((report) => name(report) !== name(last)).map(position);
  const since = line.find(
    (report) => name(report) === name(last) && others.every((at) => at < position(report)),
  );
  const { outcome, cause, occurredAt } = since ?? last;
  return { outcome, cause, occurredAt };
}
