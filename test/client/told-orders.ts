import fc from 'fast-check';
import { type OrderOutcome, OUTCOME_CAUSES } from '../../src/client/order.ts';

/** A report about one of a client's orders. */
export interface ToldOrder {
  readonly order: string;
  readonly report: OrderOutcome;
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
  const report = fc.oneof(
    fc.record({ outcome: fc.constant('PAID'), cause: fc.constant(null), occurredAt }),
    fc.record({
      outcome: fc.constant('UNPAID'),
      cause: fc.constantFrom(null, ...OUTCOME_CAUSES),
      occurredAt,
    }),
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
    .filter(({ cause }) => cause !== 'TECHNICAL')
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

const STRENGTH = ['UNPAID', 'EXPIRED', 'CANCELLED', 'DECLINED', 'TECHNICAL', 'PAID', 'REVERSED'];

const name = ({ outcome, cause }: OrderOutcome) => cause ?? outcome;

const position = (report: OrderOutcome) => report.occurredAt * 10 + STRENGTH.indexOf(name(report));

/** How many payments the reports of one order are about: runs of PAID without another outcome between. */
export function naivePayments(reports: readonly OrderOutcome[]): number {
  const line = reports
    .toSorted((a, b) => position(a) - position(b))
    .map(({ outcome }) => (outcome === 'PAID' ? 'P' : '-'))
    .join('');
  return line.split('-').filter((run) => run !== '').length;
}

/** The latest result, since the first report of its last run. */
export function naiveOutcome(reports: readonly OrderOutcome[]): OrderOutcome {
  const told = reports.toSorted((a, b) => position(a) - position(b));
  const [last] = told.slice(-1);
  if (last === undefined) throw new Error('nothing was told');
  const others = told.filter((report) => name(report) !== name(last)).map(position);
  const since = told.find(
    (report) => name(report) === name(last) && others.every((at) => at < position(report)),
  );
  return since ?? last;
}
