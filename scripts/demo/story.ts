import type { Chance } from '../example-data/chance.ts';
import type { Payer, PayerMaker } from './payers.ts';
import type { Shop, ShopDisturbances } from './shop.ts';

/** What happens to the shop in four weeks that end now. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const DEMO_DAYS = 28;

/** The number of visits on a usual day. */
const VISITS = 260;

/** The visits by hour of the day: quiet nights, a peak at noon and a higher one in the evening. */
const HOURS = [5, 3, 2, 1, 1, 2, 4, 8, 12, 15, 17, 20, 24, 21, 17, 16, 18, 22, 28, 33, 35, 29, 19, 10];

/** The visits by day of the week, Sunday first. Most people buy at the end of the week. */
const WEEKDAYS = [1.2, 0.85, 0.82, 0.9, 0.98, 1.15, 1.3];

/** The number of returning payers who are bound to a requisite. */
const BOUND = 40;

const BAD_DAY = 20;
const SILENT_DAY = 15;
const RING_DAYS = [22, 23, 25] as const;
const CARD_TESTS = [2, 9, 17, 24] as const;

/** The device that the payers of the ring share. */
export const RING_DEVICE = 'device-of-the-ring';

/**
 * Returns the shop's conditions over the four weeks. A bank is down for a day, and for most of another day the shop's
 * reports do not arrive.
 */
export function createShopDisturbances(startMs: number, chance: Chance): ShopDisturbances {
  const at = (day: number, hour: number) => startMs + day * DAY_MS + hour * HOUR_MS;
  return {
    bankShare: (now) => (now >= at(BAD_DAY, 9) && now < at(BAD_DAY, 21) ? 0.45 : 1),
    reportedAt: (now) => {
      if (now < at(SILENT_DAY, 8) || now >= at(SILENT_DAY, 19)) return now;
      // When somebody notices, the reports of these hours are sent again, as far as they were kept.
      return chance.happens(0.75) ? at(SILENT_DAY, 19) + chance.whole(1, 30 * MINUTE_MS) : null;
    },
  };
}

interface Plan {
  /** Returns the shop that a payer always uses. Payers who share a device use the same one. */
  readonly shopOf: (device: string) => Pick<Shop, 'planVisit' | 'planBinding'>;
  readonly payers: PayerMaker;
  readonly chance: Chance;
  readonly startMs: number;
}

/** Plans all visits: of payers who return, of payers who come once, and of thieves. */
export function planVisits({ shopOf, payers, chance, startMs }: Plan): void {
  const regulars = Array.from({ length: 420 }, () => payers.createPayer(chance.between(0.86, 0.97)));
  const unlucky = Array.from({ length: 60 }, () => payers.createPayer(chance.between(0.3, 0.5)));
  const anybody = (): Payer => {
    const draw = chance.between(0, 1);
    if (draw < 0.62) return regulars[chance.whole(0, regulars.length - 1)] ?? payers.createPayer(0.9);
    if (draw < 0.7) return unlucky[chance.whole(0, unlucky.length - 1)] ?? payers.createPayer(0.4);
    return payers.createPayer(chance.between(0.6, 0.85));
  };
  for (const payer of regulars.slice(0, BOUND))
    shopOf(payer.fingerprint).planBinding(startMs + 4 * DAY_MS, payer);
  const all = HOURS.reduce((sum, part) => sum + part, 0);
  for (let hour = 0; hour < DEMO_DAYS * 24; hour++) {
    const from = startMs + hour * HOUR_MS;
    const date = new Date(from);
    // The hours are those of the shop's country, which is an hour or two ahead of UTC.
    const part = HOURS[(date.getUTCHours() + 1) % 24] ?? 0;
    const usual = (VISITS * (WEEKDAYS[date.getUTCDay()] ?? 1) * part) / all;
    const visits = Math.round(usual * chance.between(0.82, 1.18) + chance.between(0, 1) - 0.5);
    for (let visit = 0; visit < visits; visit++) {
      const payer = anybody();
      shopOf(payer.fingerprint).planVisit(from + chance.whole(0, HOUR_MS - 1), payer);
    }
  }
  for (const day of RING_DAYS) planRing(day, { shopOf, payers, chance, startMs });
  for (const day of CARD_TESTS) planCardTest(day, { shopOf, payers, chance, startMs });
}

/** Plans a ring: many names on one device and one address, who never pay. */
function planRing(day: number, { shopOf, payers, chance, startMs }: Plan): void {
  const device = { fingerprint: RING_DEVICE, ip: '81.77.14.9', sellPointKey: 'game-shop' };
  for (let name = 0; name < 12; name++) {
    const payer = payers.createPayer(0.03, { ...device, clientIdKey: `player-${day}${10 + name}` });
    for (let again = 0; again < 3; again++)
      shopOf(RING_DEVICE).planVisit(
        startMs + day * DAY_MS + 13 * HOUR_MS + (name * 14 + again * 4) * MINUTE_MS,
        {
          ...payer,
          usualAmount: chance.oneOf(50, 100, 150),
        },
      );
  }
}

/** Plans a card test: one name tries stolen cards with small amounts, a few seconds apart. */
function planCardTest(day: number, { shopOf, payers, chance, startMs }: Plan): void {
  const payer = payers.createPayer(0.05, { method: 'card', sellPointKey: 'web-shop' });
  for (let times = 0; times < 26; times++)
    shopOf(payer.fingerprint).planVisit(
      startMs + day * DAY_MS + 3 * HOUR_MS + times * 9000,
      { ...payer, usualAmount: chance.between(1, 9) },
      1,
    );
}
