import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { createLog } from '#base/log.ts';
import { NamedError } from '#base/named-error.ts';
import { serve } from '#serve.ts';
import { EXIT_CODES } from '#workbench/commands/exit.ts';
import { makeDemo, readDemoConfig } from './demo/make-demo.ts';
import { runCommanderProgram } from './run-program.ts';

/** The environment variables that the demo takes. All other variables belong to a service with real payers. */
const SETTINGS = ['PORT', 'PLATFORM_PORT', 'LOG_LEVEL'] as const;

/** Runs `npm run demo [-- --help]`. */
async function main(): Promise<void> {
  const program = new Command('demo')
    .description('Makes up four weeks of a shop in a folder of its own, and serves them until Ctrl-C')
    .addHelpText(
      'after',
      '\nPORT, PLATFORM_PORT and LOG_LEVEL of the environment count. The demo takes no other setting, so that it never reaches a service with real payers.',
    )
    .action(serveDemo);
  await runCommanderProgram(program);
}

async function serveDemo(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'client-scoring-demo-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const given = Object.fromEntries(SETTINGS.flatMap((name) => toSetting(name, process.env[name])));
  const config = readDemoConfig(folder, { LOG_LEVEL: 'warn', HOST: '127.0.0.1', ...given });
  console.log('Making up four weeks of a shop. This takes some seconds.');
  const keys = await makeDemo(config, Date.now());
  await serve(config, createLog(config.logLevel));
  const url = `http://127.0.0.1:${config.platform.port}/`;
  console.log(`
The platform "demo" holds four weeks of made-up payers. Open ${url} and sign in with one of these keys:

  support   ${keys.support}
            ${url}#/find?verdict=WAIT  who must wait, why, and for how long
  analyst   ${keys.analyst}
            ${url}#/rules/p2.v11/results  what became of the orders of each rule
  operator  ${keys.operator}
            ${url}#/rollouts  a version in shadow, one that helped, and one that was rolled back
  lead      ${keys.lead}
            ${url}#/today?span=month  a bank that was down, a day without reports, and a ring of payers on one device

Ctrl-C ends the demo and deletes its data, which is in ${folder}.
`);
}

function toSetting(name: string, value: string | undefined) {
  return value === undefined ? [] : [[name, value] as const];
}

main().catch((error: unknown) => {
  console.error(error instanceof NamedError ? `Cannot start: ${error.message}` : error);
  process.exit(EXIT_CODES.environment);
});
