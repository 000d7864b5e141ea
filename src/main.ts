import { createLog, toggleDebugOnSignal } from './base/log.ts';
import { NamedError } from './base/named-error.ts';
import { listMistypedSettings, readConfig } from './config.ts';
import { serve } from './serve.ts';

/** The exit code for a bad setting, bad rules, a taken port, or a store that is away. */
const EXIT_ENVIRONMENT = 3;

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.logLevel);
  for (const mistyped of listMistypedSettings()) log.warn(mistyped);
  toggleDebugOnSignal(log, 'SIGUSR2');
  await serve(config, log);
}

main().catch((error: unknown) => {
  console.error(error instanceof NamedError ? `Cannot start: ${error.message}` : error);
  process.exit(EXIT_ENVIRONMENT);
});
