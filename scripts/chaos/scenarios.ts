import { clockJumps } from './clock-jumps.ts';
import { diskFull } from './disk-full.ts';
import { failover } from './failover.ts';
import { forgedAddresses } from './forged-addresses.ts';
import { linearizability } from './linearizability.ts';
import { overload } from './overload.ts';
import { randomBytes } from './random-bytes.ts';
import { redisKills } from './redis-kills.ts';
import { redisStopped } from './redis-stopped.ts';
import { rollingRestart } from './rolling-restart.ts';
import type { Scenario } from './scenario.ts';
import { serviceKills } from './service-kills.ts';
import { slowClients } from './slow-clients.ts';
import { soak } from './soak.ts';

/** Every scenario, in the order in which `npm run chaos` runs them. */
export const scenarios: readonly Scenario[] = [
  serviceKills,
  redisKills,
  redisStopped,
  failover,
  linearizability,
  overload,
  randomBytes,
  slowClients,
  forgedAddresses,
  clockJumps,
  rollingRestart,
  diskFull,
  soak,
];
