import type { Command } from 'commander';
import { KEY_CHARACTERS_MAX } from '#base/key-length.ts';
import { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import { formatUserActor } from '#workbench/access/actors.ts';
import { Audit } from '#workbench/access/audit.ts';
import { streamClientExport } from '#workbench/payers/client-export.ts';
import { UsageError } from './exit.ts';
import { withLongOutput } from './follow.ts';
import { withArchiveOf } from './open-archive.ts';
import { parsePlatform } from './options.ts';
import { withLists } from './with-lists.ts';

export function clientsCommands(program: Command): void {
  program
    .command('clients')
    .description('what is held on single clients')
    .command('export <client>')
    .description('print one JSON object with all that is held on a client; the audit notes that it was read')
    .requiredOption('--platform <name>', 'whose client it is')
    .action((client: string, { platform }: { platform: string }) => exportClient(client, platform));
}

async function exportClient(clientIdKey: string, platform: string): Promise<void> {
  const whose = parsePlatform(platform);
  if (clientIdKey === '' || [...clientIdKey].length > KEY_CHARACTERS_MAX || !clientIdKey.isWellFormed())
    throw new UsageError(`A client's id has 1 to ${KEY_CHARACTERS_MAX} characters.`);
  await withLongOutput(({ stop, write }) =>
    withLists(({ store, editor: listEditor, names, clock }) =>
      withArchiveOf(store, async (archive) => {
        const decisions = new DecisionLookup(store, archive);
        const audit = new Audit(store.auditLog, clock);
        const parts = { store, decisions, listEditor, names, audit, clock };
        const client = store.clientKeys.of(whose, clientIdKey);
        for await (const piece of streamClientExport(parts, client, formatUserActor())) {
          if (stop.aborted) return;
          await write(piece);
        }
        await write('\n');
      }),
    ),
  );
}
