import { Chance } from './chance.ts';

/** A line that `npm run replay` reads. scripts/replay/README.md says what its members mean. */
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

const CROWDS: readonly Crowd[] = [
  { name: 'regular', count: 160, attempts: createRegular },
  { name: 'passer-by', count: 480, attempts: createPasserBy },
  { name: 'unlucky', count: 45, attempts: createUnlucky },
  { name: 'office', count: 2, attempts: createOffice },
  { name: 'partner', count: 15, attempts: createPartnerPayer },
  { name: 'collector', count: 40, attempts: createCollector },
  { name: 'card-tester', count: 30, attempts: createCardTester },
  { name: 'farm', count: 3, attempts: createFarm },
];

/** The share of all orders that are never reported. */
const UNREPORTED = 0.06;

/** Makes the payments of four weeks, in the order of time. They are the same for the same seed. */
export function createExamplePayments(seed: number): readonly ExamplePayment[] {
  const chance = new Chance(seed);
  const names = { client: numbered('payer'), device: numbered('device') };
  return CROWDS.flatMap(({ name, count, attempts }) =>
    Array.from({ length: count }, (_, place) => attempts(chance, `${name}-${place + 1}`)).flat(),
  )
    .toSorted((a, b) => a.at - b.at)
    .filter(({ at }) => at < END_MS)
    .map((attempt, place) => createPayment(chance, attempt, place + 1, names));
}

function createPayment(
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
    ...(chance.happens(UNREPORTED) ? {} : drawOutcome(chance, at, isPaid)),
  };
}

function drawOutcome(chance: Chance, at: number, isPaid: boolean) {
  if (isPaid) return { outcome: 'PAID', outcomeAt: at + chance.whole(15_000, 180_000) } as const;
  const isDeclined = chance.happens(0.7);
  const afterMs = isDeclined ? chance.whole(4_000, 25_000) : 15 * MINUTE_MS;
  return { outcome: 'UNPAID', outcomeAt: at + afterMs } as const;
}

/** Numbers names by their first appearance, so that no name shows to which crowd a payer belongs. */
function numbered(kind: string): (name: string) => string {
  const numbers = new Map<string, number>();
  return (name) => `${kind}-${numbers.getOrInsertComputed(name, () => numbers.size + 1)}`;
}

interface Payer {
  readonly clientIdKey: string;
  readonly fingerprint: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly sellPointKey: string;
  readonly method: string;
  /** The usual amount in EUR. */
  readonly usualAmount: number;
}

/** A request for a requisite, and whether a payment followed. */
interface Attempt {
  readonly payer: Payer;
  /** Epoch ms. */
  readonly at: number;
  readonly method: string;
  /** The amount in EUR. */
  readonly amount: number;
  readonly isPaid: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The beginning of the first day, a Monday, and the number of days. */
const START_MS = Date.UTC(2026, 8, 7);
const DAYS = 28;
const END_MS = START_MS + DAYS * DAY_MS;

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
] as const;

/** Makes an ordinary person with a device and an address of their own, a method and a usual amount. */
function createPerson(chance: Chance, name: string): Payer {
  const [first, ...others] = BROWSERS;
  return {
    clientIdKey: name,
    fingerprint: `device-of-${name}`,
    ip: `10.20.${chance.whole(0, 255)}.${chance.whole(1, 254)}`,
    userAgent: chance.oneOf<string>(first, ...others),
    sellPointKey: chance.oneOf('web-shop', 'web-shop', 'phone-app', 'game-shop'),
    method: chance.oneOf('card', 'card', 'card', 'wallet', 'transfer'),
    usualAmount: chance.around(30, 0.5),
  };
}

/** Draws a time, in epoch ms, on the day with this number, counted from 0. Most people pay between 8 and 23 o'clock. */
function drawWakingHour(chance: Chance, day: number): number {
  return Math.floor(START_MS + day * DAY_MS + chance.between(8, 23) * HOUR_MS);
}

interface Luck {
  /** The share of the attempts that are paid. */
  readonly pays: number;
  /** The share of the failures after which the payer tries again. */
  readonly triesAgain: number;
  readonly triesMax: number;
}

/**
 * Makes the attempts of a purchase. The payer tries again some minutes later, sometimes with another method, until it
 * is paid or given up.
 */
function createPurchase(chance: Chance, payer: Payer, startAt: number, luck: Luck): readonly Attempt[] {
  const attempts: Attempt[] = [];
  const amount = chance.around(payer.usualAmount, 0.3);
  let { method } = payer;
  let at = startAt;
  for (let tries = 1; ; tries++) {
    const isPaid = chance.happens(luck.pays);
    attempts.push({ payer, at, method, amount, isPaid });
    if (isPaid || tries >= luck.triesMax || !chance.happens(luck.triesAgain)) return attempts;
    at += Math.floor(chance.between(0.5, 20) * MINUTE_MS);
    if (chance.happens(0.3)) method = chance.oneOf('card', 'wallet', 'transfer');
  }
}

/** Makes a payer who comes back every few days and nearly always pays. */
function createRegular(chance: Chance, name: string): readonly Attempt[] {
  const everyDays = chance.between(3, 9);
  return visits(chance, createPerson(chance, name), everyDays, { pays: 0.9, triesAgain: 0.8, triesMax: 4 });
}

/** Makes a payer who comes once. */
function createPasserBy(chance: Chance, name: string): readonly Attempt[] {
  const startAt = drawWakingHour(chance, chance.whole(0, DAYS - 1));
  return createPurchase(chance, createPerson(chance, name), startAt, {
    pays: 0.68,
    triesAgain: 0.6,
    triesMax: 3,
  });
}

/**
 * Makes a payer whose card is declined more often than not, and who does not give up. A strict rule hits this payer.
 */
function createUnlucky(chance: Chance, name: string): readonly Attempt[] {
  const everyDays = chance.between(5, 12);
  return visits(chance, createPerson(chance, name), everyDays, { pays: 0.38, triesAgain: 0.92, triesMax: 7 });
}

/** Makes eight colleagues behind one address, who order lunch at the same time and pay. */
function createOffice(chance: Chance, name: string): readonly Attempt[] {
  const ip = `198.51.100.${chance.whole(1, 254)}`;
  const colleagues = Array.from({ length: 8 }, (_, place) => createPerson(chance, `${name}-${place + 1}`));
  return colleagues.flatMap((colleague) => {
    const payer = { ...colleague, ip, usualAmount: 12 };
    return Array.from({ length: DAYS }, (_, day) => day)
      .filter((day) => day % 7 < 5 && chance.happens(0.35))
      .flatMap((day) => {
        const noon = drawWakingHour(chance, day) - (drawWakingHour(chance, day) % DAY_MS) + 11.5 * HOUR_MS;
        const startAt = Math.floor(noon + chance.between(0, 1) * HOUR_MS);
        return createPurchase(chance, payer, startAt, { pays: 0.94, triesAgain: 0.9, triesMax: 2 });
      });
  });
}

/** Makes a payer who pays through a partner's program, whose User-Agent looks automated. */
function createPartnerPayer(chance: Chance, name: string): readonly Attempt[] {
  const payer = {
    ...createPerson(chance, name),
    userAgent: 'python-requests/2.32.5',
    sellPointKey: 'partner-desk',
  };
  return visits(chance, payer, 6, { pays: 0.93, triesAgain: 0.5, triesMax: 2 });
}

function visits(chance: Chance, payer: Payer, everyDays: number, luck: Luck): readonly Attempt[] {
  const attempts: Attempt[] = [];
  for (let day = chance.between(0, everyDays); day < DAYS; day += chance.around(everyDays, 0.4)) {
    attempts.push(...createPurchase(chance, payer, drawWakingHour(chance, Math.floor(day)), luck));
  }
  return attempts;
}

/** Makes a payer who collects requisites: at night, again and again, with any amount and method, and never pays. */
function createCollector(chance: Chance, name: string): readonly Attempt[] {
  const payer = createPerson(chance, name);
  const attempts: Attempt[] = [];
  const nights = chance.whole(1, 3);
  let day = chance.whole(0, DAYS - 4);
  for (let night = 0; night < nights; night++, day += 1) {
    let at = START_MS + day * DAY_MS + chance.between(0, 4) * HOUR_MS;
    for (let count = chance.whole(3, 9); count > 0; count--) {
      const method = chance.oneOf('card', 'transfer', 'wallet');
      const amount = chance.oneOf(20, 50, 100, 150, 200);
      attempts.push({ payer, at: Math.floor(at), method, amount, isPaid: false });
      at += chance.around(6, 0.6) * MINUTE_MS;
    }
  }
  return attempts;
}

/**
 * Makes a payer who tries stolen cards with one small amount after the other within minutes. Now and then one
 * succeeds.
 */
function createCardTester(chance: Chance, name: string): readonly Attempt[] {
  const payer = createPerson(chance, name);
  const attempts: Attempt[] = [];
  let at = START_MS + chance.between(0.2, DAYS - 0.1) * DAY_MS;
  for (let count = chance.whole(4, 9); count > 0; count--) {
    const amount = chance.between(1, 15);
    attempts.push({ payer, at: Math.floor(at), method: 'card', amount, isPaid: chance.happens(0.07) });
    at += chance.between(15, 75) * 1000;
  }
  return attempts;
}

/** Makes the attempts of eight names on one device and one address, on one afternoon. */
function createFarm(chance: Chance, name: string): readonly Attempt[] {
  const device = { fingerprint: `device-of-${name}`, ip: `192.0.2.${chance.whole(1, 254)}` };
  const startAt = START_MS + chance.whole(1, DAYS - 2) * DAY_MS + chance.between(12, 16) * HOUR_MS;
  return Array.from({ length: 8 }, (_, place) => ({
    ...createPerson(chance, `${name}-${place + 1}`),
    ...device,
  })).flatMap((payer, place) =>
    Array.from({ length: chance.whole(2, 4) }, (_, again) => ({
      payer,
      at: Math.floor(startAt + (place * 12 + again * 3 + chance.between(0, 3)) * MINUTE_MS),
      method: payer.method,
      amount: payer.usualAmount,
      isPaid: chance.happens(0.05),
    })),
  );
}
