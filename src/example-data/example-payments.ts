import { cardTester, collector, farm } from './abusers.ts';
import { Chance } from './chance.ts';
import { office, partner, passerBy, regular, unlucky } from './honest-payers.ts';
import { type Attempt, END_MS, MINUTE_MS } from './payer.ts';

/** A line that `npm run replay` reads; scripts/replay/README.md says what its members mean. */
export interface ExamplePayment {
  readonly at: number;
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly method: string;
  readonly amountRequested: string;
  readonly toPayCurrency: string;
  readonly orderRef: string;
  readonly fingerprint: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly outcome?: 'PAID' | 'UNPAID';
  /** Epoch ms. */
  readonly outcomeAt?: number;
}

interface Crowd {
  readonly name: string;
  readonly count: number;
  readonly attempts: (chance: Chance, name: string) => readonly Attempt[];
}

/** Who came to the checkout in these four weeks. */
const CROWDS: readonly Crowd[] = [
  { name: 'regular', count: 160, attempts: regular },
  { name: 'passer-by', count: 480, attempts: passerBy },
  { name: 'unlucky', count: 45, attempts: unlucky },
  { name: 'office', count: 2, attempts: office },
  { name: 'partner', count: 15, attempts: partner },
  { name: 'collector', count: 40, attempts: collector },
  { name: 'card-tester', count: 30, attempts: cardTester },
  { name: 'farm', count: 3, attempts: farm },
];

/** Share of the orders of which nothing is ever reported, whoever asked. */
const UNREPORTED = 0.06;

/** Made-up payments of four weeks in the order of time, the same for the same seed. */
export function examplePayments(seed: number): readonly ExamplePayment[] {
  const chance = new Chance(seed);
  const names = { client: numbered('payer'), device: numbered('device') };
  return CROWDS.flatMap(({ name, count, attempts }) =>
    Array.from({ length: count }, (_, place) => attempts(chance, `${name}-${place + 1}`)).flat(),
  )
    .toSorted((a, b) => a.at - b.at)
    .filter(({ at }) => at < END_MS)
    .map((attempt, place) => payment(chance, attempt, place + 1, names));
}

function payment(
  chance: Chance,
  { payer, at, method, amount, isPaid }: Attempt,
  order: number,
  { client, device }: Record<'client' | 'device', (name: string) => string>,
): ExamplePayment {
  return {
    at,
    sellPointKey: payer.sellPointKey,
    clientIdKey: client(payer.clientIdKey),
    method,
    amountRequested: amount.toFixed(2),
    toPayCurrency: 'EUR',
    orderRef: `order-${order}`,
    fingerprint: device(payer.fingerprint),
    ip: payer.ip,
    userAgent: payer.userAgent,
    ...(chance.happens(UNREPORTED) ? {} : outcome(chance, at, isPaid)),
  };
}

function outcome(chance: Chance, at: number, isPaid: boolean) {
  if (isPaid) return { outcome: 'PAID', outcomeAt: at + chance.whole(15_000, 180_000) } as const;
  const isDeclined = chance.happens(0.7);
  const afterMs = isDeclined ? chance.whole(4_000, 25_000) : 15 * MINUTE_MS;
  return { outcome: 'UNPAID', outcomeAt: at + afterMs } as const;
}

/** Numbers by first appearance, so that no name gives away which crowd somebody is of. */
function numbered(kind: string): (name: string) => string {
  const numbers = new Map<string, number>();
  return (name) => {
    const number = numbers.get(name) ?? numbers.size + 1;
    numbers.set(name, number);
    return `${kind}-${number}`;
  };
}
