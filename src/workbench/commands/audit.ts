import type { Command } from 'commander';
import { formatCount } from '#base/counted.ts';
import { formatTime } from '#decision/payer/instant.ts';
import type { ChainEnd } from '#state/audit-log.ts';
import { Audit, type AuditEntry } from '#workbench/access/audit.ts';
import { EXIT, UsageError } from './exit.ts';
import { readPages, withLongOutput } from './follow.ts';
import { withOpenStore } from './open-store.ts';
import { escapeToLine, print, printError } from './print.ts';

interface AuditOptions {
  readonly follow?: true;
  readonly json?: true;
}

const PAGE_ENTRIES = 500;

/** audit: who changed what, when and why. */
export function auditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .description(
      'who did what, oldest first: keys, rollouts, bindings, overrides, lists, payers read, erasures, rebuilt clients',
    )
    .option('--follow', 'keep waiting for new entries until SIGINT or SIGTERM')
    .option(
      '--json',
      'print one JSON object a line, with the number and hash by which "audit verify --known" knows an entry',
    )
    .action((options: AuditOptions) => printAudit(options));
  audit
    .command('verify')
    .description(
      'find entries that were changed, dropped or swapped, with --known also those that a rebuilt chain hides, up to that entry; exit code 1 when there are any',
    )
    .option(
      '--known <number:hash>',
      'an entry written down elsewhere, from the log of a node or "audit --json": it must still be there',
    )
    .action((options: { known?: string }, command: Command) =>
      verify(knownEntry(options.known), command.optsWithGlobals<AuditOptions>().json === true),
    );
}

function knownEntry(text: string | undefined): ChainEnd | null {
  if (text === undefined) return null;
  const [, number, hash = ''] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (number !== undefined) return { number: Number(number), hash };
  throw new UsageError(
    '--known takes the number and the hash of an entry as "audit --json" prints them, like 17:9f86..',
  );
}

/** The chain lies beside the data, and has no key. */
const UNPROVEN =
  'This proves nothing against somebody who can write to the store: he can change entries, or leave out the last, and make the chain anew. Pass --known NUMBER:HASH of an entry from elsewhere; each node logs the newest every hour and when it stops ("known").';

async function verify(known: ChainEnd | null, json: boolean): Promise<void> {
  const { check, faults } = await withOpenStore(({ auditLog }, clock) =>
    new Audit(auditLog, clock).verify(known),
  );
  const { entries, forgotten } = check;
  if (faults.length > 0) process.exitCode = EXIT.findings;
  if (json) return print(JSON.stringify({ entries, forgotten, faults }));
  for (const { what } of faults) print(what);
  if (faults.length === 0)
    print(
      `${known === null ? 'No entry is out of line' : 'Nothing was changed up to the known entry'}: ${formatCount(entries, 'entry', 'entries')}; about payers who were erased: ${forgotten}.`,
    );
  if (known === null) print(UNPROVEN);
}

function printAudit({ follow, json }: AuditOptions): Promise<void> {
  const inForm = json === true ? (entry: AuditEntry) => JSON.stringify(entry) : inWords;
  return withLongOutput(({ stop, write }) =>
    withOpenStore(async (store, clock) => {
      const audit = new Audit(store.auditLog, clock);
      const read = (after: string | null) => audit.read(after, PAGE_ENTRIES);
      for await (const { entries, unreadable } of readPages({
        read,
        after: null,
        follow: follow === true,
        stop,
      })) {
        if (entries.length > 0) await write(entries.map((entry) => `${inForm(entry)}\n`).join(''));
        if (unreadable.length > 0) process.exitCode = EXIT.findings;
        for (const { what } of unreadable) printError(what);
      }
    }),
  );
}

/** One line an entry: `2026-11-21T10:00:00Z  user ann on ops-1  key issued  shop 3f9a..: nothing -> {..}; why`. */
function inWords({ at, who, action, platform, subject, before, after, reason }: AuditEntry): string {
  const whose = [platform, subject].filter((part) => part !== null).join(' ');
  const change = before === null && after === null ? '' : `${value(before)} -> ${value(after)}`;
  const what = [whose, change].filter((part) => part !== '').join(': ');
  return [formatTime(at), who, action, what, ...(reason === null ? [] : [`"${reason}"`])]
    .filter((part) => part !== '')
    .map(escapeToLine)
    .join('  ');
}

function value(state: unknown): string {
  return state === null ? 'nothing' : JSON.stringify(state);
}
