import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { Archive } from '../../archive/archive.ts';
import type { Segment } from '../../archive/archive-log.ts';
import { whileFrozen } from '../../archive/frozen-archive.ts';
import { addVerifications, NOTHING_VERIFIED, type Verification } from './verification.ts';
import type { VerifyTask } from './verify-thread.ts';

export interface VerifyAsk {
  readonly archiveDir: string;
  readonly rulesDir: string;
  /** Epoch ms; null for all. */
  readonly from: number | null;
  readonly to: number | null;
  readonly threads: number;
  readonly onProgress: (checked: number, rows: number) => void;
}

const THREAD = new URL('./verify-thread.ts', import.meta.url);

/** Decides all archived decisions again from their facts and rule sets, segments in parallel. */
export function verifyArchive(ask: VerifyAsk): Promise<Verification> {
  return whileFrozen(ask.archiveDir, async (frozen, leftOut) => {
    const sum = await verifySegments(frozen, ask);
    const decided = leftOut.filter(({ table, from, to }) => table === 'decisions' && overlaps(ask, from, to));
    return { ...sum, unreadable: [...decided.map(({ name }) => name), ...sum.unreadable] };
  });
}

function overlaps(span: Pick<VerifyAsk, 'from' | 'to'>, from: number, to: number): boolean {
  return (span.from === null || to >= span.from) && (span.to === null || from <= span.to);
}

async function verifySegments(
  frozen: string,
  { from, to, threads, onProgress, archiveDir, rulesDir }: VerifyAsk,
): Promise<Verification> {
  const archive = new Archive(frozen);
  const span = { ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) };
  const segments = [...archive.segments(archive.read(), { table: 'decisions', ...span })];
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  const task: VerifyTask = { archiveDir, rulesDir, frozen, where: timesBetween(from, to) };
  let sum = NOTHING_VERIFIED;
  const next = () => segments.shift() ?? null;
  const note = (part: Verification) => {
    sum = addVerifications(sum, part);
    onProgress(sum.checked, rows);
  };
  const count = Math.max(1, Math.min(threads, segments.length));
  await Promise.all(Array.from({ length: count }, () => runThread(task, next, note)));
  // A client was erased meanwhile: segments that are gone are not damaged.
  if (sum.unreadable.length > 0 && !existsSync(frozen)) throw new Error('the archive was rewritten');
  return sum;
}

function runThread(
  task: VerifyTask,
  next: () => Segment | null,
  note: (part: Verification) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const worker = new Worker(THREAD, { workerData: task });
  worker.on('message', (part: Verification) => {
    note(part);
    worker.postMessage(next());
  });
  worker.once('error', reject);
  worker.once('exit', () => resolve());
  worker.postMessage(next());
  return promise;
}

function timesBetween(from: number | null, to: number | null): string {
  const conditions = [
    ...(from === null ? [] : [`decided_at >= make_timestamp_ms(${from})`]),
    ...(to === null ? [] : [`decided_at < make_timestamp_ms(${to})`]),
  ];
  return conditions.length === 0 ? 'true' : conditions.join(' AND ');
}
