import type { Browser } from 'playwright-core';
import {
  launchBrowser,
  openConsole,
  signIn,
  type WatchedPage,
  WIDE,
} from '../../../scripts/screenshots/browser.ts';
import { type SeededConsole, startSeededConsole } from '../../../scripts/screenshots/seeded-console.ts';

/** A console and a browser of a suite's own, in which several people sign in beside each other. */
export class OwnConsole {
  readonly seeded: SeededConsole;
  readonly #browser: Browser;

  private constructor(seeded: SeededConsole, browser: Browser) {
    this.seeded = seeded;
    this.#browser = browser;
  }

  static async start(): Promise<OwnConsole> {
    const [seeded, browser] = await Promise.all([startSeededConsole(), launchBrowser()]);
    return new OwnConsole(seeded, browser);
  }

  /** A tab in which somebody has signed in with a key. */
  async open(hash: string, key: string): Promise<WatchedPage> {
    const tab = await openConsole(this.#browser, this.seeded.url, WIDE, hash);
    await signIn(tab.page, key);
    return tab;
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.seeded.stop();
  }
}
