import type { Command } from 'commander';
import { actorOfUser } from '../../access/actor.ts';
import { Audit } from '../../access/audit.ts';
import { exactSystemClock } from '../../clock.ts';
import { nodeName } from '../../rollout/change-rollout.ts';
import { Fleet } from '../../rollout/fleet.ts';
import { storeClock } from '../../state/clock-offset.ts';
import { LAYOUT } from '../../state/keys.ts';
import type { MoveProgress, Store } from '../../state/store.ts';
import { FindingsError } from '../exit.ts';
import { withOpenStore } from '../open-store.ts';
import { print, printError } from '../print.ts';
import { parseReason } from './reason.ts';

/** How often a running move says how far it is. */
const TOLD_EVERY_MS = 5_000;

/** state move: takes clients from where an earlier version kept them in Redis, while the service runs. */
export function moveCommand(state: Command): void {
  state
    .command('move')
    .description(
      'on Redis: move clients of an earlier version to the keys of this one, while the service runs; afterwards no node of the earlier version can serve them',
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--json', 'print {movedClients}')
    .action((options: { reason: string; json?: true }) =>
      move(parseReason(options.reason), options.json === true),
    );
}

async function move(reason: string, json: boolean): Promise<void> {
  const moved = await withOpenStore(async (store) => {
    const stateMove = store.move();
    if (stateMove === null) return null;
    await refuseEarlierNodes(store);
    const progress = await stateMove.run(teller());
    await new Audit(store.auditLog, storeClock(exactSystemClock, store)).note({
      who: actorOfUser(),
      action: 'clients moved',
      platform: null,
      subject: null,
      before: null,
      after: { movedClients: progress.movedClients },
      reason,
    });
    return progress;
  });
  const movedClients = moved?.movedClients ?? 0;
  if (json) print(JSON.stringify({ movedClients }));
  else if (moved === null) print('There is nothing to move: all clients lie where this version keeps them.');
  else print(`${movedClients} clients were moved; those that were asked for meanwhile moved by themselves.`);
}

/** They would take a moved client for one that they cannot read. */
async function refuseEarlierNodes(store: Store): Promise<void> {
  const earlier = (await new Fleet(store).nodes()).filter(({ layout = 1 }) => layout < LAYOUT);
  if (earlier.length === 0) return;
  const names = earlier.map(nodeName).join(', ');
  throw new FindingsError(
    `nothing was moved: ${names} ${earlier.length === 1 ? 'runs' : 'run'} an earlier version, which does not find clients that were moved; upgrade every node first`,
  );
}

function teller(): (progress: MoveProgress) => void {
  let toldMs = performance.now();
  return ({ movedClients }) => {
    if (performance.now() - toldMs < TOLD_EVERY_MS) return;
    toldMs = performance.now();
    printError(`${movedClients} clients moved so far`);
  };
}
