import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { Archive } from '../../../src/archive/archive.ts';
import type { ArchiveState, Segment } from '../../../src/archive/archive-log.ts';
import { Duck } from '../../../src/archive/duck.ts';
import { ArchiveReader } from '../../../src/archive/read/archive-reader.ts';
import { rowOf } from '../../../src/archive/rows.ts';
import { nextMerge } from '../../../src/archive/ship/compaction.ts';
import { dayOf, RowDrafts } from '../../../src/archive/ship/row-drafts.ts';
import { SegmentWriter } from '../../../src/archive/ship/segment-writer.ts';
import { type BacktestMode, backtest } from '../../../src/evidence/backtest/backtest.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import type { Verification } from '../../../src/evidence/verify/verification.ts';
import { verifyArchive } from '../../../src/evidence/verify/verify-archive.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { type Figure, median } from '../figure.ts';
import { MadeUpHistory } from '../made-up-history.ts';
import { loadBenchRules, PLATFORM, RULES_FOLDER } from '../sample.ts';

export interface ArchivePlan {
  /** Decisions that are made, archived, verified and tested back. */
  readonly decisions: number;
  /** Decisions among which an order is found: the archive is filled up with copies under other ids. */
  readonly searched: number;
  readonly onProgress: (text: string) => void;
}

const DAY_MS = 86_400_000;
const MIDNIGHT = Date.UTC(2026, 0, 1);
const PORTION = 20_000;
const LOOKUPS = 30;
const part = 'archive';

/** What the archive costs on the disk and in CPU time, over a day of made-up payments with random ids. */
export async function measureArchive(plan: ArchivePlan): Promise<readonly Figure[]> {
  const folder = temporaryDirectory();
  const temporaryFolder = join(folder, 'spill');
  const duck = await Duck.open({ threads: 1, memoryMiB: 512, temporaryFolder });
  try {
    const archive = new Archive(folder);
    await fill(plan, archive, new SegmentWriter(archive, duck));
    return [
      ...sizes(archive),
      ...(await verifying(plan, folder)),
      ...(await testingBack(plan, folder, 'recorded')),
      ...(await testingBack(plan, folder, 'closed-loop')),
      ...(await lookups(plan, archive, duck)),
    ];
  } finally {
    duck.close();
  }
}

/** A day as the shipper leaves it: a segment of each table. */
async function fill(
  { decisions, onProgress }: ArchivePlan,
  archive: Archive,
  writer: SegmentWriter,
): Promise<void> {
  const history = new MadeUpHistory(loadBenchRules(), MIDNIGHT, DAY_MS / (decisions + 1));
  for (let done = 0; done < decisions; done += PORTION) {
    const entries = history.take(Math.min(PORTION, decisions - done));
    const drafts = new RowDrafts(archive);
    drafts.add(entries.map(rowOf));
    commit(archive, await writer.write(drafts));
    drafts.remove();
    onProgress(`archive: ${done} of ${decisions} decisions are made`);
  }
  for (;;) {
    const parts = nextMerge([...archive.read().segments.values()], '2026-02-01');
    if (parts === null) return;
    onProgress(`archive: merging ${parts.length} segments`);
    const merged = await writer.merge(parts);
    commit(archive, merged === null ? [] : [merged], parts);
  }
}

function commit(archive: Archive, add: readonly Segment[], gone: readonly Segment[] = []): ArchiveState {
  const remove = gone.map(({ name }) => name);
  return archive.commit(archive.read(), { by: 'bench', at: MIDNIGHT, add, remove });
}

function sizes(archive: Archive): readonly Figure[] {
  const state = archive.read();
  return (['decisions', 'outcomes', 'scores'] as const).map((table) => {
    const segments = archive.segments(state, { table });
    const sum = (of: 'bytes' | 'rows') => segments.reduce((total, segment) => total + segment[of], 0);
    const target = table === 'decisions' ? { atMost: 110 } : null;
    return {
      part,
      name: `bytes a row of ${table}, random UUIDs`,
      value: sum('bytes') / sum('rows'),
      unit: 'B',
      target,
    };
  });
}

async function verifying({ onProgress }: ArchivePlan, archiveDir: string): Promise<readonly Figure[]> {
  onProgress('archive: verifying');
  const rulesDir = dirname(RULES_FOLDER);
  const verify = () =>
    verifyArchive({ archiveDir, rulesDir, from: null, to: null, threads: 1, onProgress: () => {} });
  const { result, cpuSeconds } = await used(verify);
  const { checked, reproduced }: Verification = result;
  return [
    { part, name: 'decisions verified', value: checked, unit: '', target: null },
    { part, name: 'of these not reproduced', value: checked - reproduced, unit: '', target: { atMost: 0 } },
    { part, name: 'decisions verified a CPU second', value: checked / cpuSeconds, unit: '/s', target: null },
  ];
}

async function testingBack(
  { onProgress }: ArchivePlan,
  folder: string,
  mode: BacktestMode,
): Promise<readonly Figure[]> {
  onProgress(`archive: backtest, ${mode}`);
  const candidate = loadBenchRules();
  const state = new Archive(folder).read();
  const events = [...state.segments.values()]
    .filter(({ table }) => mode === 'closed-loop' || table === 'decisions')
    .reduce((sum, { rows }) => sum + rows, 0);
  const ask = {
    place: { kind: 'archive', folder },
    from: null,
    to: null,
    platform: PLATFORM,
    threads: 1,
  } as const;
  const rules = { candidate, against: null, rulesOf: () => candidate } as const;
  const { cpuSeconds, memoryMib } = await used(() =>
    withEvidence(ask, (evidence) => backtest(evidence, { ...rules, mode, outcomes: 'granted' })),
  );
  const [name, atLeast] = mode === 'recorded' ? ['decisions', 150_000] : ['events', 40_000];
  return [
    {
      part,
      name: `${mode} backtest: ${name} a CPU second`,
      value: events / cpuSeconds,
      unit: '/s',
      target: { atLeast },
    },
    { part, name: `${mode} backtest: memory of the process`, value: memoryMib, unit: 'MiB', target: null },
  ];
}

async function lookups(
  { decisions, searched, onProgress }: ArchivePlan,
  archive: Archive,
  duck: Duck,
): Promise<readonly Figure[]> {
  const orders = await duck.rows(
    `SELECT order_ref FROM ${archive.source(archive.segments(archive.read(), { table: 'decisions' }))} USING SAMPLE ${LOOKUPS}`,
  );
  await addCopies(Math.ceil(searched / decisions) - 1, archive, duck, onProgress);
  const all = archive
    .segments(archive.read(), { table: 'decisions' })
    .reduce((sum, { rows }) => sum + rows, 0);
  onProgress(`archive: finding orders among ${all} decisions`);
  const reader = new ArchiveReader(archive.folder, { unshippedErasures: async () => [] });
  const times: number[] = [];
  for (const { order_ref } of [...orders, ...orders.map(() => ({ order_ref: randomUUID() }))]) {
    const startMs = performance.now();
    await reader.decisionsOfOrder(PLATFORM, String(order_ref), 10);
    times.push(performance.now() - startMs);
  }
  await reader.close();
  const [first = Number.NaN, ...others] = times;
  const name = `an order among ${all} decisions`;
  return [
    { part, name: `${name}, the first of a process`, value: first, unit: 'ms', target: { atMost: 300 } },
    {
      part,
      name: `${name}, slowest of the next ${others.length}`,
      value: Math.max(...others),
      unit: 'ms',
      target: { atMost: 300 },
    },
    { part, name: `${name}, median`, value: median(others), unit: 'ms', target: null },
  ];
}

/** The same day again and again, each time with other clients and orders. */
async function addCopies(
  days: number,
  archive: Archive,
  duck: Duck,
  onProgress: ArchivePlan['onProgress'],
): Promise<void> {
  const writer = new SegmentWriter(archive, duck);
  const originals = archive.segments(archive.read(), { table: 'decisions' });
  for (let day = 1; day <= days; day++) {
    onProgress(`archive: copy ${day} of ${days}`);
    for (const original of originals) {
      const select = `SELECT * REPLACE (
        (decided_at + INTERVAL ${day} DAY)::TIMESTAMP_MS AS decided_at, hash(client_hash, ${day}) AS client_hash,
        uuid()::VARCHAR AS order_ref, uuid()::VARCHAR AS request_id) FROM ${archive.source([original])}`;
      const copy = await writer.copy(select, { ...original, day: dayOf(original.from + day * DAY_MS) });
      commit(archive, copy === null ? [] : [copy]);
    }
  }
}

const MEMORY_EVERY_MS = 100;

/** CPU time of all threads, and the most memory that the process had meanwhile. */
async function used<T>(work: () => Promise<T>): Promise<{
  readonly result: T;
  readonly cpuSeconds: number;
  readonly memoryMib: number;
}> {
  let bytes = 0;
  const look = setInterval(() => {
    bytes = Math.max(bytes, process.memoryUsage.rss());
  }, MEMORY_EVERY_MS);
  const before = process.cpuUsage();
  try {
    const result = await work();
    const { user, system } = process.cpuUsage(before);
    return { result, cpuSeconds: (user + system) / 1e6, memoryMib: bytes / (1 << 20) };
  } finally {
    clearInterval(look);
  }
}
