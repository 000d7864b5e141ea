import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '#base/log.ts';
import { NamedError } from '#base/named-error.ts';
import { AccessKeys, OPERATIONS } from '#checkout/access/access-keys.ts';
import { type Config, readConfig } from '#config.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { openStoreWithSalt } from '#history/archive/s3/open-archive.ts';
import { serve } from '#serve.ts';
import { dayOfPayments, HOUR_MS } from './example-data/example-payments.ts';
import { replay } from './replay/replay.ts';

const DEMO = toPlatformName('demo');

const KEY_LIFETIME_MS = 24 * HOUR_MS;

/** What matters here of the environment: everything else belongs to a service with payers who exist. */
const SETTINGS = ['PORT', 'PLATFORM_PORT', 'RULES_DIR', 'RULE_VERSION', 'LOG_LEVEL'] as const;

/** `npm run demo`: makes up a day of traffic in a folder of its own, and serves it until a signal ends that. */
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'client-scoring-demo-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const given = Object.fromEntries(SETTINGS.flatMap((name) => setTo(name, process.env[name])));
  const env = { LOG_LEVEL: 'warn', HOST: '127.0.0.1', ...given, DATA_DIR: join(folder, 'data') };
  await liveADay(folder, env);
  const config = readConfig(env);
  const key = await issueKey(config);
  await serve(config, createLog(config.logLevel));
  const { port } = config.platform;
  console.log(`
Payers who do not exist were here during the last day, on the platform "demo". Sign in with
  ${key}
at http://127.0.0.1:${port}/ and look at
  http://127.0.0.1:${port}/#/find?verdict=WAIT         who has to wait, why, and for how long
  http://127.0.0.1:${port}/#/find?verdict=BLOCK        who is blocked, and which signals matched
  http://127.0.0.1:${port}/#/today?span=day&by=rule    what was decided over the day, split by anything
  http://127.0.0.1:${port}/#/rules/drafts              change a rule, and see whom it would hit
Ctrl-C ends it and removes it all: it is in ${folder}.
`);
}

function setTo(name: string, value: string | undefined) {
  return value === undefined ? [] : [[name, value] as const];
}

async function liveADay(
  folder: string,
  env: NodeJS.ProcessEnv & { readonly DATA_DIR: string },
): Promise<void> {
  const path = join(folder, 'payments.ndjson');
  const lines = dayOfPayments(Date.now()).map((payment) => `${JSON.stringify(payment)}\n`);
  writeFileSync(path, lines.join(''));
  const { signal } = new AbortController();
  await replay(path, { env, dataDir: env.DATA_DIR, platform: DEMO, signal, onProgress: () => {} });
}

async function issueKey(config: Config): Promise<string> {
  const store = await openStoreWithSalt(config, () => {});
  try {
    const { key } = await new AccessKeys(store.documents, Date.now).issue(DEMO, OPERATIONS, KEY_LIFETIME_MS);
    return key;
  } finally {
    await store.close();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof NamedError ? `Cannot start: ${error.message}` : error);
  process.exit(3);
});
