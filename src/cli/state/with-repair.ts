import { Audit } from '../../access/audit.ts';
import { exactSystemClock } from '../../clock.ts';
import { StoreRepair } from '../../service/repair/store-repair.ts';
import { storeClock } from '../../state/clock-offset.ts';
import { withDecisions } from '../with-decisions.ts';

/** Runs a command that finds and mends, on the store and the archive that the environment names. */
export function withRepair<T>(run: (repair: StoreRepair) => Promise<T>): Promise<T> {
  return withDecisions((decisions, store) =>
    run(new StoreRepair(store, decisions, new Audit(store.auditLog, storeClock(exactSystemClock, store)))),
  );
}
