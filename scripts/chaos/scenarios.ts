import { diskFull } from './accidents/disk-full.ts';
import { fleetFaults } from './accidents/fleet.ts';
import { redisKills, serviceKills } from './accidents/kills.ts';
import { refusedSyncs } from './accidents/refused-syncs.ts';
import { reportsStop } from './accidents/reports-stop.ts';
import { rollingRestart } from './accidents/rolling-restart.ts';
import { hostileTenant } from './attacks/hostile-tenant.ts';
import { overload } from './attacks/overload.ts';
import { soak } from './attacks/soak.ts';
import type { Scenario } from './scenario.ts';

/** Every scenario, in the order in which `npm run chaos` runs them. */
export const scenarios: readonly Scenario[] = [
  serviceKills,
  refusedSyncs,
  redisKills,
  fleetFaults,
  overload,
  hostileTenant,
  rollingRestart,
  reportsStop,
  diskFull,
  soak,
];
