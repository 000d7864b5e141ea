import type { Chance } from './chance.ts';
import { type Attempt, DAY_MS, DAYS, HOUR_MS, MINUTE_MS, type Payer, person, wakingHour } from './payer.ts';

/** How somebody who means to pay fares. */
interface Luck {
  /** Share of the attempts that are paid. */
  readonly pays: number;
  /** Share of the failures after which the payer tries again. */
  readonly triesAgain: number;
  /** Attempts of one purchase. */
  readonly triesMax: number;
}

/** Tries, and tries again some minutes later, sometimes with another method, until it is paid or given up. */
function purchase(chance: Chance, payer: Payer, startAt: number, luck: Luck): readonly Attempt[] {
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

/** Comes back every few days and nearly always pays. */
export function regular(chance: Chance, name: string): readonly Attempt[] {
  const everyDays = chance.between(3, 9);
  return visits(chance, person(chance, name), everyDays, { pays: 0.9, triesAgain: 0.8, triesMax: 4 });
}

/** Comes once. */
export function passerBy(chance: Chance, name: string): readonly Attempt[] {
  const startAt = wakingHour(chance, chance.whole(0, DAYS - 1));
  return purchase(chance, person(chance, name), startAt, { pays: 0.68, triesAgain: 0.6, triesMax: 3 });
}

/** Has a card that is declined more often than not, and does not give up: the payer whom a strict rule hits. */
export function unlucky(chance: Chance, name: string): readonly Attempt[] {
  const everyDays = chance.between(5, 12);
  return visits(chance, person(chance, name), everyDays, { pays: 0.38, triesAgain: 0.92, triesMax: 7 });
}

/** Eight colleagues behind one address who order lunch at the same time and pay. */
export function office(chance: Chance, name: string): readonly Attempt[] {
  const ip = `198.51.100.${chance.whole(1, 254)}`;
  const colleagues = Array.from({ length: 8 }, (_, place) => person(chance, `${name}-${place + 1}`));
  return colleagues.flatMap((colleague) => {
    const payer = { ...colleague, ip, usualAmount: 12 };
    return Array.from({ length: DAYS }, (_, day) => day)
      .filter((day) => day % 7 < 5 && chance.happens(0.35))
      .flatMap((day) => {
        const noon = wakingHour(chance, day) - (wakingHour(chance, day) % DAY_MS) + 11.5 * HOUR_MS;
        const startAt = Math.floor(noon + chance.between(0, 1) * HOUR_MS);
        return purchase(chance, payer, startAt, { pays: 0.94, triesAgain: 0.9, triesMax: 2 });
      });
  });
}

/** Pays through a partner's program, whose User-Agent looks automated. */
export function partner(chance: Chance, name: string): readonly Attempt[] {
  const payer = {
    ...person(chance, name),
    userAgent: 'python-requests/2.32.5',
    sellPointKey: 'partner-desk',
  };
  return visits(chance, payer, 6, { pays: 0.93, triesAgain: 0.5, triesMax: 2 });
}

function visits(chance: Chance, payer: Payer, everyDays: number, luck: Luck): readonly Attempt[] {
  const attempts: Attempt[] = [];
  for (let day = chance.between(0, everyDays); day < DAYS; day += chance.around(everyDays, 0.4)) {
    attempts.push(...purchase(chance, payer, wakingHour(chance, Math.floor(day)), luck));
  }
  return attempts;
}
