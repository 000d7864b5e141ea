import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { Audit, type AuditEntry } from '../access/audit.ts';
import { withOpenStore } from './open-store.ts';
import { print, printableLine } from './print.ts';

interface AuditOptions {
  readonly follow?: true;
  readonly json?: true;
}

const PAGE_ENTRIES = 500;
const POLL_MS = 500;

/** audit: who changed what, when and why. */
export function auditCommand(program: Command): void {
  program
    .command('audit')
    .description(
      'who changed what, oldest first: keys, rollouts, bindings, overrides, lists, erasures, repairs',
    )
    .option('--follow', 'keep waiting for new entries until SIGINT or SIGTERM')
    .option('--json', 'print one JSON object a line')
    .action((options: AuditOptions) => printAudit(options));
}

async function printAudit({ follow, json }: AuditOptions): Promise<void> {
  const stop = new AbortController();
  const end = () => stop.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  const inForm = json === true ? (entry: AuditEntry) => JSON.stringify(entry) : inWords;
  try {
    await withOpenStore(async (store, clock) => {
      const audit = new Audit(store.auditLog, clock);
      for (let cursor: string | null = null; !stop.signal.aborted; ) {
        const page: Awaited<ReturnType<Audit['read']>> = await audit.read(cursor, PAGE_ENTRIES);
        cursor = page.cursor;
        if (page.entries.length > 0) print(page.entries.map(inForm).join('\n'));
        else if (follow === true) await sleep(POLL_MS, undefined, { signal: stop.signal }).catch(() => {});
        else return;
      }
    });
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
  }
}

/** One line an entry: `2026-11-21T10:00:00Z  user ann on ops-1  key issued  shop 3f9a..: nothing -> {..}; why`. */
function inWords({ at, who, action, platform, subject, before, after, reason }: AuditEntry): string {
  const whose = [platform, subject].filter((part) => part !== null).join(' ');
  const change = before === null && after === null ? '' : `${value(before)} -> ${value(after)}`;
  const what = [whose, change].filter((part) => part !== '').join(': ');
  const when = new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
  return [when, who, action, what, ...(reason === null ? [] : [`"${reason}"`])]
    .filter((part) => part !== '')
    .map(printableLine)
    .join('  ');
}

function value(state: unknown): string {
  return state === null ? 'nothing' : JSON.stringify(state);
}
