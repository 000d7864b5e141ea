/// <reference lib="dom" />
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Decision } from '#decision/decision.ts';
import { installedChromium } from '../../test/servers/chromium.ts';
import type { SeededConsole } from './seeded-console.ts';

/** A tab of the browser, with its errors and its requests to addresses outside the console. */
export interface WatchedPage {
  readonly page: Page;
  /** Messages of the browser's console, with the address that they are about, and errors that nothing caught. */
  readonly complaints: readonly string[];
  /** Requests to addresses outside the listener. */
  readonly strayRequests: readonly string[];
  /** Empties `complaints` and `strayRequests`. */
  forget(): void;
}

export interface DisplaySettings {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
  /** The colours that the system forces on pages. */
  readonly forcedColors?: 'active' | 'none';
  readonly timezoneId?: string;
  /** The pixels of the screen for each pixel of the page. */
  readonly scale?: number;
}

export const WIDE_DISPLAY: DisplaySettings = { width: 1280, height: 900, colorScheme: 'light' };

/** Starts Chromium as the tests use it: headless, with a profile of its own, and without requests to its maker. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: installedChromium() ?? 'chromium',
    chromiumSandbox: false,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Opens the console in a new tab, and notes its errors and its requests to other addresses. */
export async function openConsole(
  browser: Browser,
  url: string,
  look: DisplaySettings = WIDE_DISPLAY,
  hash = '',
): Promise<WatchedPage> {
  const { width, height, colorScheme, forcedColors = 'none', timezoneId = 'UTC', scale = 1 } = look;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    forcedColors,
    timezoneId,
    deviceScaleFactor: scale,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  const strayRequests: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:'))
      strayRequests.push(request.url());
  });
  await page.goto(`${url}${hash}`);
  const forget = () => {
    complaints.length = 0;
    strayRequests.length = 0;
  };
  return { page, complaints, strayRequests, forget };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Access key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Places' }).waitFor();
}

/** Lists every page of the console, with a text that shows that it has loaded. */
export async function listConsolePages(
  seeded: SeededConsole,
): Promise<readonly { readonly name: string; readonly hash: string; readonly shows: string }[]> {
  const url = `${seeded.platformUrl}/v1/platform/decisions?clientIdKey=impatient-ivan`;
  const headers = { 'X-KA-Access-Key': seeded.key, 'Content-Type': 'application/json' };
  const answer = await fetch(url, { headers });
  // The page Results shows questions that somebody has asked.
  const body = JSON.stringify({ kind: 'report', version: 'p2.v10', by: 'day' });
  await fetch(`${seeded.platformUrl}/v1/platform/evidence`, { method: 'POST', headers, body });
  const { decisions }: { decisions: readonly Decision[] } = JSON.parse(await answer.text());
  return [
    { name: 'today', hash: '#/today', shows: 'Save as CSV' },
    { name: 'today-rules', hash: '#/today?by=rule&verdict=WAIT', shows: 'WAIT by rule' },
    { name: 'decisions', hash: '#/find', shows: 'The newest' },
    { name: 'explanation', hash: `#/find/decision/${decisions[0]?.decisionId}`, shows: 'Rule by rule' },
    { name: 'client', hash: '#/find/payer/impatient-ivan', shows: 'Facts right now' },
    { name: 'lists', hash: '#/settings/lists', shows: 'New list' },
    { name: 'access', hash: '#/settings/access', shows: 'Who may sign in' },
    { name: 'audit', hash: '#/settings/audit', shows: 'Save all as CSV' },
    { name: 'platform', hash: '#/settings/platform', shows: 'An erasure removes a payer from' },
    { name: 'rules', hash: '#/rules', shows: 'Begin a draft' },
    { name: 'version', hash: '#/rules/p2.v10', shows: 'the last repeats' },
    { name: 'changes', hash: '#/rules/p2.v11/changes', shows: 'The two answer these payers differently' },
    { name: 'results', hash: '#/rules/p2.v10/results', shows: 'run by' },
    { name: 'rollout', hash: '#/rollouts', shows: 'History' },
    { name: 'backtest', hash: '#/rules/p2.v10/results?kind=backtest', shows: 'vary' },
  ];
}
