import type { Chance } from './chance.ts';
import { type Attempt, DAY_MS, DAYS, HOUR_MS, MINUTE_MS, person, START_MS } from './payer.ts';

/** Collects requisites: at night, again and again, with whatever amount and method, and never pays. */
export function collector(chance: Chance, name: string): readonly Attempt[] {
  const payer = person(chance, name);
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

/** Tries stolen cards with one small amount after the other within minutes; now and then one goes through. */
export function cardTester(chance: Chance, name: string): readonly Attempt[] {
  const payer = person(chance, name);
  const attempts: Attempt[] = [];
  let at = START_MS + chance.between(0.2, DAYS - 0.1) * DAY_MS;
  for (let count = chance.whole(4, 9); count > 0; count--) {
    const amount = chance.between(1, 15);
    attempts.push({ payer, at: Math.floor(at), method: 'card', amount, isPaid: chance.happens(0.07) });
    at += chance.between(15, 75) * 1000;
  }
  return attempts;
}

/** Eight names on one device and one address, on one afternoon. */
export function farm(chance: Chance, name: string): readonly Attempt[] {
  const device = { fingerprint: `device-of-${name}`, ip: `192.0.2.${chance.whole(1, 254)}` };
  const startAt = START_MS + chance.whole(1, DAYS - 2) * DAY_MS + chance.between(12, 16) * HOUR_MS;
  return Array.from({ length: 8 }, (_, place) => ({
    ...person(chance, `${name}-${place + 1}`),
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
