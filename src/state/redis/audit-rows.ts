import type { ChainEnd } from '../audit-chain.ts';
import type { AuditRows } from '../audit-log.ts';
import { AUDIT, AUDIT_PAYERS, auditOfKey } from '../keys.ts';
import type { RunCall } from '../run-call.ts';
import type { RedisCommands } from './connection/connection.ts';
import { RedisScript } from './script.ts';

const appendAudit = new RedisScript('append-audit-3.lua');
const newestAudit = new RedisScript('newest-audit-1.lua');

/** The audit in one stream, in which the number of an entry is its id, and what leads to payers beside it. */
export function redisAuditRows(commands: RedisCommands, runOn: (key: string) => RunCall): AuditRows {
  const run: RunCall = (call) => runOn(AUDIT)(call);
  return {
    newest: () => run(async () => endOf(await newestAudit.run(commands, [AUDIT], []))),
    add: ({ number, previous, hash, body, payer }) =>
      run(async () => {
        const keys = [AUDIT, AUDIT_PAYERS, auditOfKey(payer?.clientHash ?? '')];
        const part = payer === null ? '' : JSON.stringify([payer.clientHash, payer.text]);
        const args = [String(number), previous, hash, body, part];
        return (await appendAudit.run(commands, keys, args)) === 1;
      }),
    read: (after, limit) =>
      run(async () => {
        const rows = (await commands.xRange(AUDIT, String(after + 1), '+', { COUNT: limit })) ?? [];
        const numbers = rows.map(({ id }) => id.split('-')[0] ?? '');
        const parts = rows.length === 0 ? [] : await commands.hmGet(AUDIT_PAYERS, numbers);
        return rows.map(({ message }, place) => ({
          number: Number(numbers[place]),
          previous: message['previous'] ?? '',
          hash: message['hash'] ?? '',
          body: message['body'] ?? '',
          payer: partOf(parts[place] ?? null),
        }));
      }),
    about: (clientHash) =>
      run(async () => (await commands.sMembers(auditOfKey(clientHash))).map(Number).sort((a, b) => a - b)),
    // The names of what leads to the client go last, so that a broken-off erasure can be repeated.
    forgetPayer: async (clientHash, numbers) => {
      const names = numbers.map(String);
      if (names.length === 0) return;
      await run(() => commands.hDel(AUDIT_PAYERS, names));
      await run(() => commands.sRem(auditOfKey(clientHash), names));
    },
    drop: async (through) => {
      await run(() => commands.xTrim(AUDIT, 'MINID', through + 1));
    },
  };
}

function endOf(reply: unknown): ChainEnd | null {
  const [id, hash]: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return id === undefined ? null : { number: Number(String(id).split('-')[0]), hash: String(hash) };
}

/** A part that somebody has spoilt is told as it is. */
function partOf(text: string | null) {
  if (text === null) return null;
  try {
    const [clientHash, part]: readonly unknown[] = JSON.parse(text);
    return { clientHash: String(clientHash), text: String(part) };
  } catch {
    return { clientHash: '', text };
  }
}
