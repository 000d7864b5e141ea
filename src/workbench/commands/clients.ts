import type { Command } from 'commander';
import { exportClient } from '#workbench/platform/client/client.ts';
import { withStoppableOutput } from './follow.ts';
import { addOperationCommand } from './operation-command.ts';

/**
 * Adds `clients export`, which writes everything that is kept on a client. It writes the first pieces while others
 * are still being read.
 */
export function addClientsCommands(program: Command): void {
  const clients = program.command('clients').description('data of single clients');
  addOperationCommand<void>(clients, {
    operation: exportClient,
    platform: 'named',
    needs: { lists: true, archive: true },
    run: ({ ask }, given) =>
      withStoppableOutput(async ({ stop, write }) => {
        const { stream } = await ask(exportClient, given);
        for await (const piece of stream ?? []) {
          if (stop.aborted) return;
          await write(String(piece));
        }
        await write('\n');
      }),
    formatAnswer: () => '',
    toJsonValue: () => undefined,
    jsonHelp: 'print JSON, which is the default',
  });
}
