import type { Command } from 'commander';
import { Audit, type AuditEntry } from '../../access/audit.ts';
import { timeText } from '../../client/instant.ts';
import { withOpenStore } from '../open-store.ts';
import { printableLine } from '../print.ts';
import { pagesOf, withLongOutput } from './follow.ts';

interface AuditOptions {
  readonly follow?: true;
  readonly json?: true;
}

const PAGE_ENTRIES = 500;

/** audit: who changed what, when and why. */
export function auditCommand(program: Command): void {
  program
    .command('audit')
    .description(
      'who changed what, oldest first: keys, rollouts, bindings, overrides, lists, erasures, rebuilt clients',
    )
    .option('--follow', 'keep waiting for new entries until SIGINT or SIGTERM')
    .option('--json', 'print one JSON object a line')
    .action((options: AuditOptions) => printAudit(options));
}

function printAudit({ follow, json }: AuditOptions): Promise<void> {
  const inForm = json === true ? (entry: AuditEntry) => JSON.stringify(entry) : inWords;
  return withLongOutput(({ stop, write }) =>
    withOpenStore(async (store, clock) => {
      const audit = new Audit(store.auditLog, clock);
      const read = (after: string | null) => audit.read(after, PAGE_ENTRIES);
      for await (const { entries } of pagesOf({ read, after: null, follow: follow === true, stop }))
        if (entries.length > 0) await write(entries.map((entry) => `${inForm(entry)}\n`).join(''));
    }),
  );
}

/** One line an entry: `2026-11-21T10:00:00Z  user ann on ops-1  key issued  shop 3f9a..: nothing -> {..}; why`. */
function inWords({ at, who, action, platform, subject, before, after, reason }: AuditEntry): string {
  const whose = [platform, subject].filter((part) => part !== null).join(' ');
  const change = before === null && after === null ? '' : `${value(before)} -> ${value(after)}`;
  const what = [whose, change].filter((part) => part !== '').join(': ');
  return [timeText(at), who, action, what, ...(reason === null ? [] : [`"${reason}"`])]
    .filter((part) => part !== '')
    .map(printableLine)
    .join('  ');
}

function value(state: unknown): string {
  return state === null ? 'nothing' : JSON.stringify(state);
}
