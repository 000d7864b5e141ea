import { openStore } from '#state/open-store.ts';
import { Audit, type AuditEntry } from '#workbench/access/audit.ts';
import { type NodeProcess, startNode } from '../../../processes/node-process.ts';
import { until } from '../../../servers/until.ts';
import type { SharedState } from '../../../stores/shared-state.ts';
import { SCORING } from '../scoring.ts';

export const AT = Date.parse('2026-11-21T10:00:00Z');

/** On a busy machine a store may get no CPU for longer than callers wait. */
export const PATIENT = { limitMs: 10_000, onLongWait: () => {} };

export type Place = Pick<SharedState, 'dataDir' | 'env'>;

/** Notes an entry as a process of its own would. */
export async function note(place: Place, entry: Partial<AuditEntry>): Promise<void> {
  const redisUrl = place.env['REDIS_URL'] ?? null;
  const store = await openStore({ redisUrl, dataDir: place.dataDir, patience: PATIENT }, () => {});
  const audit = new Audit(store.auditLog, () => AT);
  const change = {
    who: 'ann',
    action: 'list',
    platform: null,
    subject: null,
    before: null,
    after: null,
  } as const;
  await audit.note({ ...change, reason: null, ...entry });
  await store.close();
}

/** The command as a process of its own. */
export function audit(place: Place, ...args: readonly string[]): NodeProcess {
  const { PATH } = process.env;
  return startNode([SCORING, 'audit', ...args], { env: { PATH, DATA_DIR: place.dataDir, ...place.env } });
}

/** Waits until the command printed the text. */
export const shows = (command: NodeProcess, text: string) =>
  until(`"${text}" is printed`, async () => command.stdout().includes(text));
