import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '#base/log.ts';
import { NamedError } from '#base/named-error.ts';
import { serve } from '#serve.ts';
import { demoConfig, makeDemo } from './demo/make-demo.ts';

/** The environment variables that the demo takes. All others belong to a service with real payers. */
const SETTINGS = ['PORT', 'PLATFORM_PORT', 'LOG_LEVEL'] as const;

/** Runs `npm run demo`: makes up four weeks of a shop in a folder of its own, and serves them until a signal. */
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'client-scoring-demo-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const given = Object.fromEntries(SETTINGS.flatMap((name) => toSetting(name, process.env[name])));
  const config = demoConfig(folder, { LOG_LEVEL: 'warn', HOST: '127.0.0.1', ...given });
  console.log('Making up four weeks of a shop; it takes some seconds.');
  const keys = await makeDemo(config, Date.now());
  await serve(config, createLog(config.logLevel));
  const url = `http://127.0.0.1:${config.platform.port}/`;
  console.log(`
Four weeks of payers who do not exist lie on the platform "demo". Open ${url} and sign in as

  support   ${keys.support}
            ${url}#/find?verdict=WAIT  who has to wait, why, and for how long
  analyst   ${keys.analyst}
            ${url}#/rules/p2.v11/results  what came of the orders of each rule
  operator  ${keys.operator}
            ${url}#/rollouts  a version in shadow, one that helped, and one that was taken back
  lead      ${keys.lead}
            ${url}#/today?span=month  a bank that was down, a day without reports, a ring

Ctrl-C ends it and removes it all: it is in ${folder}.
`);
}

function toSetting(name: string, value: string | undefined) {
  return value === undefined ? [] : [[name, value] as const];
}

main().catch((error: unknown) => {
  console.error(error instanceof NamedError ? `Cannot start: ${error.message}` : error);
  process.exit(3);
});
