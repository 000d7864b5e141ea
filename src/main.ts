import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { type Config, mistypedSettings, readConfig } from './config.ts';
import { createLog, turnLevelOnSignal } from './log.ts';
import { NamedError } from './named-error.ts';
import { joinPeers } from './workers/join-peers.ts';
import { alone, type Peers } from './workers/peers.ts';
import { supervise } from './workers/supervisor.ts';

/** Bad setting, bad rules, port taken, or store away. */
const EXIT_ENVIRONMENT = 3;

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.logLevel);
  if (cluster.isWorker) return work(config, log);
  for (const mistyped of mistypedSettings()) log.warn(mistyped);
  if (config.workers > 1) return supervise({ ...config, log });
  await serve(config, alone(), log);
}

/** One of several processes that share the ports of the node. */
async function work(config: Config, log: Logger): Promise<void> {
  const { peers, role } = await joinPeers();
  const { caller, platform } = config;
  const shared = {
    ...config,
    caller: { ...caller, port: role.callerPort },
    platform: { ...platform, port: role.platformPort },
  };
  await serve(shared, peers, log);
}

/** Loaded only in processes that serve: the supervisor needs a third less memory without it. */
async function serve(config: Config, peers: Peers, log: Logger): Promise<void> {
  turnLevelOnSignal(log, 'SIGUSR2');
  const service = await import('./serve.ts');
  await service.serve(config, peers, log);
}

main().catch((error: unknown) => {
  console.error(error instanceof NamedError ? `Cannot start: ${error.message}` : error);
  process.exit(EXIT_ENVIRONMENT);
});
