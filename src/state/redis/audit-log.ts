import { type AuditLog, auditShareMax } from '../audit-log.ts';
import { AUDIT, auditShareKey } from '../keys.ts';
import type { RunCall } from '../run-call.ts';
import { UnknownCursor } from '../store.ts';
import type { RedisCommands } from './connection/connection.ts';
import { RedisScript } from './script.ts';

const appendAudit = new RedisScript('append-audit-2.lua');

/** Entries that a single command reads while a client is forgotten. */
const BATCH_ENTRIES = 500;

/** The audit log in one stream; an entry about a client carries the client's hash beside its text. */
export function redisAuditLog(commands: RedisCommands, runOn: (key: string) => RunCall): AuditLog {
  const run: RunCall = (call) => runOn(AUDIT)(call);
  return {
    append: async (entry, { platform, clientHash }) => {
      const args = [entry, clientHash ?? '', String(auditShareMax(platform))];
      await run(() => appendAudit.run(commands, [AUDIT, auditShareKey(platform)], args));
    },
    read: async (after, limit) => {
      if (after !== null && !/^\d{1,16}-\d{1,16}$/.test(after)) throw new UnknownCursor();
      const rows = await run(() => commands.xRange(AUDIT, placeAfter(after), '+', { COUNT: limit }));
      return {
        entries: (rows ?? []).map(({ message }) => message['entry'] ?? ''),
        cursor: rows?.at(-1)?.id ?? after,
      };
    },
  };
}

/** Removes the entries about a client from the stream. */
export async function forgetInAuditLog(
  commands: RedisCommands,
  runOn: (key: string) => RunCall,
  clientHash: string,
): Promise<void> {
  const run: RunCall = (call) => runOn(AUDIT)(call);
  for (let after: string | null = null; ; ) {
    const from = placeAfter(after);
    const rows = (await run(() => commands.xRange(AUDIT, from, '+', { COUNT: BATCH_ENTRIES }))) ?? [];
    const mine = rows.filter(({ message }) => message['client'] === clientHash).map(({ id }) => id);
    if (mine.length > 0) await run(() => commands.xDel(AUDIT, mine));
    if (rows.length < BATCH_ENTRIES) return;
    after = rows.at(-1)?.id ?? null;
  }
}

function placeAfter(after: string | null): string {
  return after === null ? '-' : `(${after}`;
}
