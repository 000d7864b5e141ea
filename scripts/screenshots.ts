/**
 * Makes the pictures of the console that README shows, from a store with an hour of a shop's life in it:
 * all of them, or those of the pages that are named as arguments.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { consolePages, type Look, launchBrowser, openConsole, signIn } from './screenshots/browser.ts';
import { type SeededConsole, startSeededConsole } from './screenshots/seeded-console.ts';

const FOLDER = join(import.meta.dirname, 'screenshots', 'pictures');

/** Pictures must stay small, since they are part of every clone. */
const BYTES_MAX = 80_000;

const WEBP_QUALITY = 75;

const NAMED: readonly string[] = process.argv.slice(2);

const LOOK: Look = { width: 1080, height: 700, colorScheme: 'light' };

/** The pictures that README shows, without `.webp`. */
const SHOWN: ReadonlySet<string> = new Set(
  readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8').match(
    /(?<=pictures\/)[\w-]+(?=\.webp)/g,
  ),
);

/** What to do on a page before its picture is taken. */
const STEPS: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  results: (page) => scrollTo(page, /^verdicts\.yaml$/),
};

async function scrollTo(page: Page, name: RegExp): Promise<void> {
  await page
    .getByRole('heading', { name })
    .first()
    .evaluate((heading) => heading.scrollIntoView());
}

/** Takes the pictures that README shows, those of the named pages or of all. */
async function takePictures(browser: Browser, seeded: SeededConsole): Promise<void> {
  const { page } = await openConsole(browser, seeded.url, LOOK);
  await signIn(page, seeded.key);
  for (const { name, hash, shows } of await consolePages(seeded)) {
    if (!SHOWN.has(name) || (NAMED.length > 0 && !NAMED.includes(name))) continue;
    const { search } = new URL(page.url());
    await page.goto(`${seeded.url}${search}${hash}`);
    await page.getByText(shows).first().waitFor();
    // What is asked for apart comes after its page.
    await page.getByText('Loading …').first().waitFor({ state: 'detached' });
    await STEPS[name]?.(page);
    // Charts are drawn one frame after their page.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    await save(page, `${name}.webp`);
  }
}

async function save(page: Page, name: string): Promise<void> {
  const picture = await webp(page);
  console.log(`${name} ${Math.round(picture.length / 1000)} kB`);
  if (picture.length >= BYTES_MAX)
    throw new Error(
      `${name} has ${picture.length} bytes, ${BYTES_MAX} or more; make the page or the picture smaller`,
    );
  writeFileSync(join(FOLDER, name), picture);
}

/** The visible part of the page, as WebP, which is the smallest and keeps letters sharp. */
async function webp(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: WEBP_QUALITY });
  await session.detach();
  return Buffer.from(data, 'base64');
}

async function main(): Promise<void> {
  const seeded = await startSeededConsole();
  const browser = await launchBrowser();
  try {
    await takePictures(browser, seeded);
  } finally {
    await browser.close();
    await seeded.stop();
  }
}

await main();
