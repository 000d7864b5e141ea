import { LRUCache } from 'lru-cache';
import {
  addAmounts,
  formatScaledAmount,
  parseMoney,
  roundAmountToDigits,
  type ScaledAmount,
} from './amount.ts';
import { formatBase64Number, parseBase64Number } from './client-key.ts';

/**
 * Daily counts of the requests that are no longer remembered one by one. A request is added to the tally of its day
 * of UTC when it is forgotten. The tallies of all days are packed into one text, the oldest day first. The text is
 * unpacked only when a request is forgotten or a rule asks for a window above a day.
 */
export type PackedDayTallies = string;

export const NO_DAY_TALLIES: PackedDayTallies = '';

/** How many days of UTC a window reaches back at most, including today. */
export const TALLIED_DAYS_MAX = 30;

/** The highest count of one kind of answer on a day. */
export const DAY_COUNT_MAX = 63;

/** How many methods are remembered over all days. The methods that were asked for last are kept. */
export const TALLIED_METHODS_MAX = 8;

/** How many currencies are remembered over all days. */
const TALLIED_CURRENCIES_MAX = 15;

/** How many digits the sum of a day has. */
const AMOUNT_DIGITS = 7;

const DAY_MS = 24 * 3600_000;

/** Returns the day of UTC of a moment (epoch ms), in epoch days. */
export function toDayNumber(at: number): number {
  return Math.floor(at / DAY_MS);
}

/** The members of a request that a tally uses. */
interface TalliedRequest {
  readonly at: number;
  readonly granted: boolean;
  readonly waited: boolean;
  readonly blocked: boolean;
  readonly early: boolean;
  readonly method: string;
  readonly amount: string;
}

/** Totals of one day over the requests that the state no longer remembers one by one. */
export interface DayTally {
  /** Epoch days. */
  readonly day: number;
  readonly granted: number;
  readonly waited: number;
  readonly blocked: number;
  readonly early: number;
  /** The names that `toTalliedMethod` gives. */
  readonly methods: readonly string[];
  /** The sum of the granted orders by currency. Each order is counted once. */
  readonly amounts: ReadonlyMap<string, string>;
}

const METHOD_CHARACTERS = 4;

/**
 * Shortens the token of a method to its name in a tally. If a payer has eight methods, the chance that two of them
 * get the same name is 1 in 600,000.
 */
export function toTalliedMethod(token: string): string {
  return token.slice(0, METHOD_CHARACTERS).padEnd(METHOD_CHARACTERS, '-');
}

/**
 * Adds requests that are forgotten at `now` to the tallies. `counted` has the requests whose amounts are added: the
 * last attempt of each order on a day.
 */
export function tallyRequests(
  packed: PackedDayTallies,
  forgotten: readonly TalliedRequest[],
  counted: ReadonlySet<TalliedRequest>,
  now: number,
): PackedDayTallies {
  const byDay = new Map(unpackDayTallies(packed).map((tally) => [tally.day, tally]));
  for (const event of forgotten) {
    const day = toDayNumber(event.at);
    byDay.set(day, addRequest(byDay.get(day) ?? createEmptyDay(day), event, counted.has(event)));
  }
  return packTallies(keepReachableDays([...byDay.values()], now));
}

/** Removes the days that no window reaches at `now`. Returns the same text if there are no such days. */
export function forgetOldDayTallies(packed: PackedDayTallies, now: number): PackedDayTallies {
  if (packed === NO_DAY_TALLIES || isReachable(readOldestDay(packed), now)) return packed;
  return packTallies(keepReachableDays(unpackDayTallies(packed), now));
}

/**
 * Moves days in the future back, when the clock went back from `from` to `to` (epoch ms). A day moves back as far as
 * the clock did, or further if it would still lie after today.
 */
export function moveDayTalliesBack(packed: PackedDayTallies, from: number, to: number): PackedDayTallies {
  const days = unpackDayTallies(packed);
  if (days.every(({ day }) => day <= toDayNumber(to))) return packed;
  const back = (day: number) =>
    day <= toDayNumber(to) ? day : Math.min(toDayNumber(to), toDayNumber(day * DAY_MS - (from - to)));
  const byDay = new Map<number, DayTally>();
  for (const tally of days) {
    const day = back(tally.day);
    byDay.set(day, mergeTallies(byDay.get(day) ?? createEmptyDay(day), tally));
  }
  return packTallies([...byDay.values()]);
}

const tallies = new LRUCache<PackedDayTallies, readonly DayTally[]>({ max: 100, memoMethod: unpackTallies });

/** Unpacks the tallies, the oldest day first. */
export function unpackDayTallies(packed: PackedDayTallies): readonly DayTally[] {
  return packed === NO_DAY_TALLIES ? [] : tallies.memo(packed);
}

function createEmptyDay(day: number): DayTally {
  return { day, granted: 0, waited: 0, blocked: 0, early: 0, methods: [], amounts: new Map() };
}

function addRequest(tally: DayTally, event: TalliedRequest, isCounted: boolean): DayTally {
  const money = isCounted ? parseMoney(event.amount) : null;
  return mergeTallies(tally, {
    day: tally.day,
    granted: event.granted ? 1 : 0,
    waited: event.waited ? 1 : 0,
    blocked: event.blocked ? 1 : 0,
    early: event.early ? 1 : 0,
    methods: [toTalliedMethod(event.method)],
    amounts: new Map(money === null ? [] : [[money.currency, money.amount]]),
  });
}

function mergeTallies(one: DayTally, other: DayTally): DayTally {
  const amounts = new Map(one.amounts);
  for (const [currency, amount] of other.amounts)
    amounts.set(
      currency,
      formatScaledAmount(
        roundAmountToDigits(addAmounts(amounts.get(currency) ?? '0', amount), AMOUNT_DIGITS),
      ),
    );
  const sum = (count: 'granted' | 'waited' | 'blocked' | 'early') =>
    Math.min(DAY_COUNT_MAX, one[count] + other[count]);
  return {
    day: one.day,
    granted: sum('granted'),
    waited: sum('waited'),
    blocked: sum('blocked'),
    early: sum('early'),
    methods: [...new Set([...one.methods, ...other.methods])],
    amounts,
  };
}

function isReachable(day: number, now: number): boolean {
  return day > toDayNumber(now) - TALLIED_DAYS_MAX;
}

function keepReachableDays(days: readonly DayTally[], now: number): readonly DayTally[] {
  return days.filter(({ day }) => isReachable(day, now));
}

/*
 * The packed text begins with the oldest day in 3 digits of base 64. The digits of each day follow, then after a
 * blank the names of the methods, and then each currency after a blank. A day takes at most 12 digits, and 9 more for
 * each further currency. Its digits are:
 * - the number of days since the previous tallied day, plus 32 if the day has only granted requests,
 * - the granted requests,
 * - if the 32 was not added: the waits, the refusals and the early requests,
 * - in two digits: the methods as bits, and the index of the currency,
 * - with a currency: the sum in five digits.
 */
const DAY_CHARACTERS = 3;
const ONLY_GRANTED = 32;
const KINDS_CHARACTERS = 2;
const AMOUNT_CHARACTERS = 5;
const CURRENCIES = TALLIED_CURRENCIES_MAX + 1;

/** Amounts have up to 18 digits after the point. */
const EXPONENT_MIN = -18;
const EXPONENTS = 64;

function readOldestDay(packed: PackedDayTallies): number {
  return parseBase64Number(packed.slice(0, DAY_CHARACTERS));
}

function packTallies(unsorted: readonly DayTally[]): PackedDayTallies {
  const days = unsorted.toSorted((a, b) => a.day - b.day);
  const [oldest] = days;
  if (oldest === undefined) return NO_DAY_TALLIES;
  const newestFirst = days.toReversed();
  const newest = (values: readonly string[], max: number) => [...new Set(values)].slice(0, max);
  const methods = newest(
    newestFirst.flatMap((day) => day.methods.toReversed()),
    TALLIED_METHODS_MAX,
  );
  const currencies = newest(
    newestFirst.flatMap(({ amounts }) => [...amounts.keys()]),
    TALLIED_CURRENCIES_MAX,
  );
  const rows = days.map((tally, place) =>
    packDay(tally, tally.day - (days[place - 1]?.day ?? tally.day), methods, currencies),
  );
  return [
    formatBase64Number(oldest.day, DAY_CHARACTERS) + rows.join(''),
    methods.join(''),
    ...currencies,
  ].join(' ');
}

function packDay(
  tally: DayTally,
  daysSince: number,
  methods: readonly string[],
  currencies: readonly string[],
): string {
  const bits = tally.methods.reduce((all, name) => {
    const place = methods.indexOf(name);
    return place === -1 ? all : all | (1 << place);
  }, 0);
  const [first, ...others] = [...tally.amounts].filter(([currency]) => currencies.includes(currency));
  const money = ([currency, amount]: readonly [string, string], kinds: number) =>
    formatBase64Number(kinds * CURRENCIES + currencies.indexOf(currency) + 1, KINDS_CHARACTERS) +
    packAmount(amount);
  const { granted, waited, blocked, early } = tally;
  const isPlain = waited + blocked + early === 0;
  const counts = isPlain ? [granted] : [granted, waited, blocked, early];
  return [
    formatBase64Number(daysSince + (isPlain ? ONLY_GRANTED : 0), 1),
    ...counts.map((count) => formatBase64Number(count, 1)),
    first === undefined ? formatBase64Number(bits * CURRENCIES, KINDS_CHARACTERS) : money(first, bits),
    ...others.map(
      (other) => formatBase64Number(ONLY_GRANTED, 1) + formatBase64Number(0, 1) + money(other, 0),
    ),
  ].join('');
}

function packAmount(amount: string): string {
  const { mantissa, exponent } = roundAmountToDigits(amount, AMOUNT_DIGITS);
  return formatBase64Number(mantissa * EXPONENTS + exponent - EXPONENT_MIN, AMOUNT_CHARACTERS);
}

function unpackTallies(packed: PackedDayTallies): readonly DayTally[] {
  const [rows = '', names = '', ...currencies] = packed.split(' ');
  const methods = names.match(new RegExp(`.{${METHOD_CHARACTERS}}`, 'g')) ?? [];
  const digits = new DigitReader(rows);
  const days: DayTally[] = [];
  let day = digits.readNumber(DAY_CHARACTERS);
  while (!digits.isAtEnd()) {
    const head = digits.readNumber(1);
    const isPlain = head >= ONLY_GRANTED;
    day += head % ONLY_GRANTED;
    const granted = digits.readNumber(1);
    const [waited, blocked, early] = isPlain
      ? [0, 0, 0]
      : [digits.readNumber(1), digits.readNumber(1), digits.readNumber(1)];
    const kinds = digits.readNumber(KINDS_CHARACTERS);
    const bits = Math.floor(kinds / CURRENCIES);
    const currency = currencies[(kinds % CURRENCIES) - 1];
    const amount =
      currency === undefined
        ? null
        : formatScaledAmount(decodeScaledAmount(digits.readNumber(AMOUNT_CHARACTERS)));
    const row: DayTally = {
      day,
      granted,
      waited,
      blocked,
      early,
      methods: methods.filter((_, place) => (bits & (1 << place)) !== 0),
      amounts: new Map(currency === undefined || amount === null ? [] : [[currency, amount]]),
    };
    const before = days.at(-1);
    if (before?.day === day) days[days.length - 1] = mergeTallies(before, row);
    else days.push(row);
  }
  return days;
}

function decodeScaledAmount(number: number): ScaledAmount {
  return { mantissa: Math.floor(number / EXPONENTS), exponent: (number % EXPONENTS) + EXPONENT_MIN };
}

/** Reads numbers of a given number of digits one after the other. */
class DigitReader {
  readonly #digits: string;
  #place = 0;

  constructor(digits: string) {
    this.#digits = digits;
  }

  isAtEnd(): boolean {
    return this.#place >= this.#digits.length;
  }

  readNumber(length: number): number {
    const end = this.#place + length;
    const number = parseBase64Number(this.#digits.slice(this.#place, end));
    this.#place = end;
    return number;
  }
}
