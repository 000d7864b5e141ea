import type { RecordedPayment, RecordedResult } from './recorded-payments.ts';

/** One thing that happens at `at` (epoch ms): a payer asks, or it becomes known how an order ended. */
export type Moment =
  | { readonly kind: 'attempt'; readonly at: number; readonly payment: RecordedPayment }
  | {
      readonly kind: 'outcome';
      readonly at: number;
      readonly payment: RecordedPayment;
      readonly result: RecordedResult;
    };

type OutcomeMoment = Extract<Moment, { kind: 'outcome' }>;

/**
 * Attempts and outcomes in the order of time. An outcome comes before an attempt of the same moment, and
 * always after its own attempt, so that no score knows the outcome that it is measured against.
 */
export async function* timeline(payments: AsyncIterable<RecordedPayment>): AsyncGenerator<Moment> {
  const due: OutcomeMoment[] = [];
  for await (const payment of payments) {
    const later = due.findIndex((outcome) => outcome.at > payment.at);
    yield* due.splice(0, later === -1 ? due.length : later);
    yield { kind: 'attempt', at: payment.at, payment };
    const { result } = payment;
    if (result !== null) addInOrder(due, { kind: 'outcome', at: result.at, payment, result });
  }
  yield* due;
}

/** Behind those of the same moment, so that equal times keep the order of the file. */
function addInOrder(due: OutcomeMoment[], outcome: OutcomeMoment): void {
  const after = due.findLastIndex(({ at }) => at <= outcome.at) + 1;
  due.splice(after, 0, outcome);
}
