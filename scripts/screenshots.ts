/**
 * Makes the pictures of the console that README shows, light and dark, from the demo's four weeks of a shop. It makes
 * all pictures, or those that are named as arguments.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { freePort } from '../test/servers/free-port.ts';
import { type DisplaySettings, launchBrowser, openConsole, signIn } from './screenshots/browser.ts';

const FOLDER = join(import.meta.dirname, 'screenshots', 'pictures');

/** Pictures must stay small, because every clone holds them. */
const BYTES_MAX = 160_000;

const WEBP_QUALITY = 72;

const LOOK: DisplaySettings = { width: 1280, height: 800, scale: 2, colorScheme: 'light' };

interface Picture {
  /** The person whose console is shown. */
  readonly person: 'lead' | 'operator';
  readonly hash: string;
  /** A text that shows that the page has loaded. */
  readonly shows: string | RegExp;
  /** What to do on the page before the picture is taken. */
  readonly before?: (page: Page) => Promise<void>;
}

const PICTURES: Readonly<Record<string, Picture>> = {
  today: { person: 'lead', hash: '#/today?span=month', shows: 'What happened in this time' },
  explanation: { person: 'lead', hash: '#/find?verdict=WAIT', shows: 'Rule by rule', before: openNewest },
  results: { person: 'lead', hash: '#/rules/p2.v11/results', shows: 'bot-signals.yaml', before: run },
  rollout: { person: 'operator', hash: '#/rollouts', shows: 'History' },
};

async function openNewest(page: Page): Promise<void> {
  await page.locator('.decisions tbody a[href^="#/find/decision/"]').first().click();
}

async function run(page: Page): Promise<void> {
  if ((await page.getByText('No results yet').count()) > 0)
    await page.getByRole('button', { name: 'Run' }).click();
}

/** Starts the demo. Returns its address and a key for each person. */
async function startDemo() {
  const [port, platformPort] = [await freePort(), await freePort()];
  const env = { ...process.env, PORT: String(port), PLATFORM_PORT: String(platformPort) };
  const demo = spawn(process.execPath, [join(import.meta.dirname, 'demo.ts')], { env });
  let told = '';
  const { promise: isReady, resolve, reject } = Promise.withResolvers<void>();
  demo.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text;
    if (told.includes('Ctrl-C ends the demo')) resolve();
  });
  demo.stderr.pipe(process.stderr);
  demo.once('exit', () => reject(new Error(`the demo ended:\n${told}`)));
  await isReady;
  const keys = new Map([...told.matchAll(/^ {2}(\w+) +(ka_\S+)$/gm)].map(([, who, key]) => [who, key]));
  return { url: `http://127.0.0.1:${platformPort}/`, keys, stop: () => demo.kill('SIGINT') };
}

type Demo = Awaited<ReturnType<typeof startDemo>>;

async function take(name: string, browser: Browser, { url, keys }: Demo): Promise<void> {
  const picture = PICTURES[name];
  if (picture === undefined)
    throw new Error(`there is no picture "${name}"; choose from ${Object.keys(PICTURES).join(', ')}`);
  const { person, hash, shows, before = async () => {} } = picture;
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openConsole(browser, url, { ...LOOK, colorScheme }, hash);
    await signIn(page, keys.get(person) ?? '');
    await page.locator('main h1').waitFor();
    await page.waitForLoadState('networkidle');
    await before(page);
    await page.getByText(shows).first().waitFor();
    // Parts that are requested separately come after the page.
    await page.waitForLoadState('networkidle');
    await page.getByText('Loading …').first().waitFor({ state: 'detached' });
    // Charts are drawn one frame after their page.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    save(`${name}-${colorScheme}.webp`, await takeWebp(page));
    await page.context().close();
  }
}

function save(name: string, picture: Buffer): void {
  console.log(`${name} ${Math.round(picture.length / 1000)} kB`);
  if (picture.length >= BYTES_MAX)
    throw new Error(
      `${name} has ${picture.length} bytes, ${BYTES_MAX} or more; make the page or the picture smaller`,
    );
  writeFileSync(join(FOLDER, name), picture);
}

/** Returns the visible part of the page as WebP, which is the smallest form and keeps letters sharp. */
async function takeWebp(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: WEBP_QUALITY });
  await session.detach();
  return Buffer.from(data, 'base64');
}

async function main(): Promise<void> {
  const named = process.argv.slice(2);
  const demo = await startDemo();
  const browser = await launchBrowser();
  try {
    for (const name of named.length > 0 ? named : Object.keys(PICTURES)) await take(name, browser, demo);
  } finally {
    await browser.close();
    demo.stop();
  }
}

await main();
