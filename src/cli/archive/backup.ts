import type { Command } from 'commander';
import { backUp, NotABackup } from '../../archive/backup.ts';
import { EXIT, UsageError } from '../exit.ts';
import { print, printError } from '../print.ts';
import { segmentPath, withArchive } from './archive-folder.ts';

/** archive backup: a copy of the archive as it is at one moment. */
export function backupCommand(archive: Command): void {
  archive
    .command('backup <folder>')
    .description('make a folder the same as the archive, while shipping goes on; only what is new is copied')
    .option('--json', 'print one JSON object')
    .action((folder: string, options: { json?: true }) => backup(folder, options.json === true));
}

async function backup(folder: string, json: boolean): Promise<void> {
  const report = await withArchive((archive) => backUp(archive, folder)).catch((error: unknown) => {
    throw error instanceof NotABackup ? new UsageError(error.message) : error;
  });
  const { segments, bytes, copied, torn } = report;
  const megabytes = (bytes / 1e6).toFixed(1);
  print(
    json
      ? JSON.stringify(report)
      : `${folder} holds the archive (segments: ${segments}, ${megabytes} MB; newly copied: ${copied}).`,
  );
  if (torn.length === 0) return;
  process.exitCode = EXIT.findings;
  for (const { segment, isKept } of torn)
    printError(
      `${segmentPath(segment)} was cut off or is gone. ${isKept ? 'The backup has it from before: copy it back into the archive.' : `No backup here has it: its ${segment.rows} rows are missing from now on.`}`,
    );
}
