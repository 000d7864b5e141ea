import type { Chance } from '../example-data/chance.ts';

/** A person who pays at the shop, or does not. */
export interface Payer {
  readonly clientIdKey: string;
  readonly fingerprint: string;
  readonly ip: string;
  /** The browser's name. Empty for an app that sends none. */
  readonly userAgent: string;
  readonly sellPointKey: string;
  readonly method: string;
  /** The usual amount in EUR. */
  readonly usualAmount: number;
  /** The share of the attempts that are paid. */
  readonly paidShare: number;
}

const FIRST_NAMES =
  'mia ben ana leo eva tom ida max zoe jan lea tim nora paul emma luis sara omar yara finn ella noah lina hugo mila karl rosa emil vera otto'.split(
    ' ',
  );
const LAST_NAMES =
  'brandt keller moreau silva rossi novak jensen larsen costa meyer dubois lehmann vargas popov haas weiss berg ricci marin lopez fischer wolf vogel stein kraus roth blum frank hahn sommer'.split(
    ' ',
  );

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
] as const;

/** Makes payers whose names never repeat. */
export class PayerMaker {
  readonly #chance: Chance;
  #made = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /**
   * Makes an ordinary person with a device and an address of their own. `pays` is about the share of the attempts
   * that are paid.
   */
  createPayer(paidShare: number, more: Partial<Payer> = {}): Payer {
    const chance = this.#chance;
    const sellPointKey = chance.oneOf('web-shop', 'web-shop', 'phone-app', 'game-shop');
    const [first, ...others] = BROWSERS;
    const number = this.#made++;
    return {
      clientIdKey: this.#name(number),
      fingerprint: `device-${chance.whole(1_000_000, 9_999_999)}`,
      ip: `81.${chance.whole(16, 220)}.${chance.whole(0, 255)}.${chance.whole(1, 254)}`,
      userAgent: sellPointKey === 'phone-app' ? '' : chance.oneOf<string>(first, ...others),
      sellPointKey,
      method: chance.oneOf('card', 'card', 'card', 'wallet', 'transfer'),
      usualAmount: chance.around(34, 0.5),
      paidShare,
      ...more,
    };
  }

  /** Returns `mia.brandt`, and `mia.brandt.2` for the second payer of that name. */
  #name(number: number): string {
    const all = FIRST_NAMES.length * LAST_NAMES.length;
    // A step without a common factor with the number of names goes through all names.
    const place = (number * 371) % all;
    const name = `${FIRST_NAMES[place % FIRST_NAMES.length]}.${LAST_NAMES[Math.floor(place / FIRST_NAMES.length)]}`;
    return number < all ? name : `${name}.${Math.floor(number / all) + 1}`;
  }
}
