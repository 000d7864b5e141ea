import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Browser, Locator, Page } from 'playwright-core';
import {
  type DisplaySettings,
  launchBrowser,
  openConsole,
  signIn,
  type WatchedPage,
  WIDE_DISPLAY,
} from '../../../scripts/screenshots/browser.ts';
import { type SeededConsole, startSeededConsole } from '../../../scripts/screenshots/seeded-console.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { Tenant } from '../../service/tenant.ts';

export const NARROW: DisplaySettings = { width: 390, height: 844, colorScheme: 'dark' };

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

interface OpenedConsole {
  readonly seeded: SeededConsole;
  readonly browser: Browser;
  /** By key, the tabs of all tests that sign nobody out. */
  readonly shared: Map<string, WatchedPage>;
}

let opened: { readonly file: string | undefined; readonly console: Promise<OpenedConsole> } | null = null;

/** One console and one browser for all suites of a file; they take some seconds to start. */
async function openedConsole(file: string | undefined): Promise<OpenedConsole> {
  // Files that run one after another in one process: what one did to the rollout is not there for the next.
  if (opened?.file !== file) await closeConsole();
  opened ??= { file, console: startAll() };
  return opened.console;
}

async function startAll(): Promise<OpenedConsole> {
  const [seeded, browser] = await Promise.all([startSeededConsole(), launchBrowser()]);
  return { seeded, browser, shared: new Map() };
}

/** Ends what the suites of a file shared; each file of them says so at its own end. */
export async function closeConsole(): Promise<void> {
  const { browser, seeded } = (await opened?.console) ?? {};
  opened = null;
  await browser?.close();
  await seeded?.stop();
}

async function openTab(
  browser: Browser,
  seeded: SeededConsole,
  look: DisplaySettings,
  key: string,
): Promise<WatchedPage> {
  // The page that asks for nothing is the fastest to begin with.
  const tab = await openConsole(browser, seeded.url, look, '#/nowhere');
  await signIn(tab.page, key);
  return tab;
}

/** The console in a browser, as the tests of one page see it. */
export class ConsoleTab {
  #console: OpenedConsole | null = null;
  #tab: WatchedPage | null = null;

  /** Starts what all suites share, where it does not run yet. */
  async start(file: string | undefined): Promise<void> {
    this.#console = await openedConsole(file);
  }

  get seeded(): SeededConsole {
    return started(this.#console).seeded;
  }

  /** The platform that the console's life is about. */
  get shop(): Tenant {
    return new Tenant(this.seeded, this.seeded.key);
  }

  get page(): Page {
    return started(this.#tab).page;
  }

  get complaints(): readonly string[] {
    return started(this.#tab).complaints;
  }

  get strayRequests(): readonly string[] {
    return started(this.#tab).strayRequests;
  }

  /** The tab that tests share, at an address like `#/today`. To load the console anew costs half a second. */
  open(hash: string, look: DisplaySettings = WIDE_DISPLAY): Promise<void> {
    return this.openAs(this.seeded.key, hash, look);
  }

  /** The tab that the tests with a key share, begun afresh as far as pages remember anything; it keeps its time zone. */
  async openAs(key: string, hash: string, look: DisplaySettings = WIDE_DISPLAY): Promise<void> {
    const { seeded, browser, shared } = started(this.#console);
    const tab = shared.get(key) ?? (await openTab(browser, seeded, look, key));
    shared.set(key, tab);
    this.#tab = tab;
    const { width, height, colorScheme, forcedColors = 'none' } = look;
    await tab.page.setViewportSize({ width, height });
    await tab.page.emulateMedia({ colorScheme, forcedColors });
    await this.visit('#/nowhere');
    // Two changes of the address at once would be one for the page, which would then remember.
    await tab.page.getByText('Nothing is at this address').waitFor();
    tab.forget();
    await this.visit(hash);
  }

  /** A tab of the test's own, signed in with a key, at an address. */
  async openOwn(key: string, hash: string, look: DisplaySettings = WIDE_DISPLAY): Promise<void> {
    const { browser, seeded } = started(this.#console);
    this.#tab = await openTab(browser, seeded, look, key);
    await this.visit(hash);
  }

  /** A tab of the test's own in which nobody has signed in. */
  async openSignedOut(): Promise<void> {
    const { browser, seeded } = started(this.#console);
    this.#tab = await openConsole(browser, seeded.url);
  }

  async visit(hash: string): Promise<void> {
    const { search } = new URL(this.page.url());
    await this.page.goto(`${this.seeded.url}${search}${hash}`);
    // The page hears of another address after the browser has shown it, and draws after that.
    await this.page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' });
  }

  /** Says what a failed test saw, and loads a shared tab anew: what it left open would fail the tests after it. */
  async shownAtFailure(): Promise<string> {
    const tab = this.#tab;
    if (tab === null) return '';
    const shown = await tab.page.locator('body').innerText();
    const at = new URL(tab.page.url()).hash;
    if (this.#isShared(tab)) {
      await tab.page.unrouteAll({ behavior: 'ignoreErrors' });
      await tab.page.reload();
    }
    return `The page at ${at} showed:\n${shown.slice(0, 2000)}\n${tab.complaints.join('\n')}`;
  }

  /** Closes a tab of the test's own; a shared one answers as the service does again. */
  async leave(): Promise<void> {
    const tab = this.#tab;
    this.#tab = null;
    if (tab === null) return;
    const { page } = tab;
    const context = page.context();
    if (this.#isShared(tab)) {
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      for (const other of context.pages()) if (other !== page) await other.close();
      return;
    }
    // Of many sessions of one key the oldest ends, which would be that of the shared tab.
    const headers = { Origin: new URL(this.seeded.url).origin };
    await page.request.delete(`${this.seeded.platformUrl}/v1/platform/session`, { headers });
    await context.close();
  }

  #isShared(tab: WatchedPage): boolean {
    return [...started(this.#console).shared.values()].includes(tab);
  }

  /** Returns what axe-core finds, of any weight: by all rules, or by the named ones. */
  async axeFindings(rules: readonly string[] = []): Promise<readonly string[]> {
    if (await this.page.evaluate<boolean>('window.axe === undefined')) await this.page.evaluate(AXE);
    const runOnly = rules.length === 0 ? '' : `, runOnly: ${JSON.stringify(rules)}`;
    const { violations } = await this.page.evaluate<AxeResult>(
      `axe.run(document, { resultTypes: ['violations']${runOnly} })`,
    );
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
    );
  }

  async expectNoFindings(): Promise<void> {
    expect(await this.axeFindings()).to.deep.equal([]);
    expect(this.complaints).to.deep.equal([]);
  }
}

function started<T>(value: T | null): T {
  if (value === null) throw new Error('the console is not open yet');
  return value;
}

/** A suite about the console in a browser; skipped aloud where there is no Chromium. */
export function describeConsole(title: string, suite: (tab: ConsoleTab) => void): void {
  describeWithServer('chromium', title, () => {
    const tab = new ConsoleTab();
    before(function () {
      return tab.start(this.test?.file);
    });
    afterEach(async function () {
      if (this.currentTest?.isPassed() !== true) process.stderr.write(`${await tab.shownAtFailure()}\n`);
      await tab.leave();
    });
    suite(tab);
  });
}
