import type { Command } from 'commander';
import type { Unreadable } from '../../service/repair/store-repair.ts';
import { EXIT } from '../exit.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';
import { textName } from './text-name.ts';
import { withRepair } from './with-repair.ts';

/** state check: what in the store cannot be read, whose it is, and why. */
export function checkCommand(state: Command): void {
  state
    .command('check')
    .description('look at every stored state, document and register; exits 1 when some cannot be read')
    .option('--json', 'print one JSON object')
    .action((options: { json?: true }) => check(options.json === true));
}

async function check(json: boolean): Promise<void> {
  let lookedAt = 0;
  const unreadable = await withRepair((repair) =>
    Array.fromAsync(
      repair.unreadable(() => {
        lookedAt += 1;
      }),
    ),
  );
  if (unreadable.length > 0) process.exitCode = EXIT.findings;
  if (json) print(JSON.stringify({ lookedAt, unreadable: unreadable.map(publicForm) }));
  else if (unreadable.length === 0) print(`All ${lookedAt} stored texts can be read.`);
  else {
    const rows = unreadable.map((one) => [textName(one), whose(one), one.why, remedy(one)]);
    print(table(['NAME', 'CLIENT', 'WHY', 'WHAT TO DO'], rows));
    print(`${unreadable.length} of ${lookedAt} stored texts cannot be read.`);
  }
}

function publicForm(one: Unreadable) {
  const { why, client } = one;
  return {
    name: textName(one),
    platform: client?.platform ?? null,
    clientIdKey: client?.clientIdKey ?? null,
    why,
    remedy: remedy(one),
  };
}

function whose({ kind, client }: Unreadable): string {
  if (kind !== 'client') return '';
  return client === null ? 'no record names it' : `${client.platform} ${client.clientIdKey}`;
}

function remedy(one: Unreadable): string {
  return one.kind === 'register' && one.name === 'rollout'
    ? 'rules rollback --reason TEXT'
    : `state repair ${textName(one)} --reason TEXT`;
}
