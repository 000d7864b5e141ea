import { clockJumps } from './accidents/clock-jumps.ts';
import { diskFull } from './accidents/disk-full.ts';
import { fleet } from './accidents/fleet.ts';
import { garbledRedis } from './accidents/garbled-redis.ts';
import { redisKills, serviceKills } from './accidents/kills.ts';
import { redisStopped } from './accidents/redis-stopped.ts';
import { reportsStop } from './accidents/reports-stop.ts';
import { rollingRestart } from './accidents/rolling-restart.ts';
import { sharedLists } from './accidents/shared-lists.ts';
import { hostileTenant } from './attacks/hostile-tenant.ts';
import { overload } from './attacks/overload.ts';
import { randomBytes } from './attacks/random-bytes.ts';
import { linearizability } from './endurance/linearizability.ts';
import { soak } from './endurance/soak.ts';
import type { Scenario } from './scenario.ts';

/** Every scenario, in the order in which `npm run chaos` runs them. */
export const scenarios: readonly Scenario[] = [
  serviceKills,
  redisKills,
  fleet,
  redisStopped,
  sharedLists,
  linearizability,
  overload,
  randomBytes,
  hostileTenant,
  clockJumps,
  rollingRestart,
  reportsStop,
  diskFull,
  garbledRedis,
  soak,
];
