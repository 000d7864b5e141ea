import type { Command } from 'commander';
import { formatCount } from '#base/count-text.ts';
import { createMomentWriter, type ValueOf, type WithMomentsAsText } from '#base/shapes.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { formatTime } from '#decision/payer/instant.ts';
import { type AuditEntry, AuditEntrySchema } from '#workbench/access/audit.ts';
import { type AuditCheckSchema, checkAudit } from '#workbench/platform/audit.ts';
import { EXIT_CODES } from './exit.ts';
import { readLogPages, withStoppableOutput } from './follow.ts';
import { addOperationCommand, withCommandContext } from './operation-command.ts';
import { escapeToLine, printError } from './print.ts';

interface AuditOptions {
  readonly follow?: true;
  readonly json?: true;
}

const PAGE_ENTRIES = 500;

/**
 * Adds `audit`, which shows who changed what, when and why. The command reads the audit from the store and not by an
 * operation of the API, because no operation can wait for new entries, as `--follow` does.
 */
export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .summary('print who did what, oldest first')
    .description(
      'Print who did what, oldest first: keys, rollouts, bindings, overrides, lists, payers read, erasures, rebuilt clients.',
    )
    .option('--follow', 'keep waiting for new entries until SIGINT or SIGTERM')
    .option(
      '--json',
      'print one JSON object a line, with the number and hash by which "audit verify --known" knows an entry',
    )
    .action((options: AuditOptions) => printAudit(options));

  addOperationCommand<WithMomentsAsText<ValueOf<typeof AuditCheckSchema>>>(audit, {
    operation: checkAudit,
    formatAnswer: ({ entries, forgotten, faults }, { options }) =>
      [
        ...faults.map(({ what }) => what),
        ...(faults.length > 0 ? [] : [formatSoundChain(options['known'] === undefined, entries, forgotten)]),
        ...(options['known'] === undefined ? [UNPROVEN] : []),
      ].join('\n'),
    afterPrint: ({ faults }) => {
      if (faults.length > 0) process.exitCode = EXIT_CODES.findings;
    },
  });
}

function formatSoundChain(isAlone: boolean, entries: number, forgotten: number): string {
  const what = isAlone
    ? 'The chain of entries is whole'
    : 'The chain is whole, and nothing up to the known entry was changed';
  return `${what}: ${formatCount(entries, 'entry', 'entries')}; about payers who were erased: ${forgotten}.`;
}

/**
 * What is printed after a check without a known entry. The chain of hashes lies in the same store as the data and is
 * made without a secret.
 */
const UNPROVEN =
  'This check does not catch somebody who can write to the store, change or drop entries, and make the chain anew. To catch that, pass --known NUMBER:HASH of an entry noted elsewhere; each node logs the newest entry ("known") every hour and when it stops.';

const tellMoments = createMomentWriter(AuditEntrySchema);

function printAudit({ follow, json }: AuditOptions): Promise<void> {
  const inForm = json === true ? (entry: AuditEntry) => JSON.stringify(tellMoments(entry)) : formatEntry;
  return withStoppableOutput(({ stop, write }) =>
    withCommandContext({}, {}, INSTALLATION_PLATFORM, async ({ parts: { audit } }) => {
      const read = (after: string | null) => audit.read(after, PAGE_ENTRIES);
      for await (const { entries, unreadable } of readLogPages({
        read,
        after: null,
        follow: follow === true,
        stop,
      })) {
        if (entries.length > 0) await write(entries.map((entry) => `${inForm(entry)}\n`).join(''));
        if (unreadable.length > 0) process.exitCode = EXIT_CODES.findings;
        for (const { what } of unreadable) printError(what);
      }
    }),
  );
}

/**
 * Formats an entry as one line: `2026-11-21T10:00:00Z  user ann on ops-1  key issued  shop 3f9a..: nothing -> {..};
 * why`.
 */
function formatEntry({ at, who, action, platform, subject, before, after, reason }: AuditEntry): string {
  const whose = [platform, subject].filter((part) => part !== null).join(' ');
  const change = before === null && after === null ? '' : `${formatValue(before)} -> ${formatValue(after)}`;
  const what = [whose, change].filter((part) => part !== '').join(': ');
  return [formatTime(at), who, action, what, ...(reason === null ? [] : [`"${reason}"`])]
    .filter((part) => part !== '')
    .map(escapeToLine)
    .join('  ');
}

function formatValue(state: unknown): string {
  return state === null ? 'nothing' : JSON.stringify(state);
}
