import type { Chance } from './chance.ts';

/** Somebody at a checkout, with what the checkout sees of them every time. */
export interface Payer {
  readonly clientIdKey: string;
  readonly fingerprint: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly sellPointKey: string;
  readonly method: string;
  /** EUR. */
  readonly usualAmount: number;
}

/** One time that a payer asked for a requisite, and whether a payment followed. */
export interface Attempt {
  readonly payer: Payer;
  /** Epoch ms. */
  readonly at: number;
  readonly method: string;
  /** EUR. */
  readonly amount: number;
  readonly isPaid: boolean;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** When the first day begins, a Monday, and how many days there are. */
export const START_MS = Date.UTC(2026, 8, 7);
export const DAYS = 28;
export const END_MS = START_MS + DAYS * DAY_MS;

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
] as const;

/** An ordinary person, on a device and an address of their own, with a method and a usual amount. */
export function person(chance: Chance, name: string): Payer {
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

/** A moment of a day by its number: most people pay between 8 and 23 o'clock. */
export function wakingHour(chance: Chance, day: number): number {
  return Math.floor(START_MS + day * DAY_MS + chance.between(8, 23) * HOUR_MS);
}
