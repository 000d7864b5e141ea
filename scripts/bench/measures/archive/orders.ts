import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Archive } from '#history/archive/archive.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { REGISTERS_WITHOUT_STORE } from '#history/archive/s3/open-archive.ts';
import { NUMBER_CURSORS } from '#state/journal.ts';
import { TEST_KEYS } from '../../../../test/decision/payer/client-keys.ts';
import { computeMedian, createFigureMaker, type Figure } from '../../figure.ts';
import type { BenchPlan } from '../../plan.ts';
import { BENCH_PLATFORM } from '../../sample.ts';
import { buildDayArchive, buildDaysArchive, countDecisions } from './made-up-archive.ts';

const figure = createFigureMaker('orders');

const LOOKUPS = 30;
const target = { atMost: 300 };

/**
 * Measures how long it takes to look up an order in an archive of many days. Half of these orders are not in the
 * archive.
 */
export async function* measureOrderLookup(plan: BenchPlan): AsyncGenerator<Figure> {
  const days = await buildDaysArchive(plan, await buildDayArchive(plan));
  const all = countDecisions(days);
  plan.onProgress(`orders: finding orders among ${all} decisions`);
  const orders = await someOrders(days);
  const reader = new ArchiveReader(days.folder, {
    clientKeys: TEST_KEYS,
    cursors: NUMBER_CURSORS,
    journalLength: async () => 0,
    newestCursor: async () => null,
    registers: REGISTERS_WITHOUT_STORE,
    unshippedErasures: async () => [],
    readJournal: async () => ({ entries: [], cursor: null, gap: null }),
  });
  const times: number[] = [];
  for (const [place, order] of [...orders, ...orders.map(() => randomUUID())].entries()) {
    const startMs = performance.now();
    const found = await reader.decisionsOfOrder(BENCH_PLATFORM, order, 10);
    times.push(performance.now() - startMs);
    if (found.decisions.length > 0 !== place < orders.length)
      throw new Error(`order ${order} was not looked up correctly`);
  }
  await reader.close();
  const [first = Number.NaN, ...others] = times;
  const name = `an order among ${all} decisions`;
  yield figure(`${name}, the first of a process`, first, 'ms', target);
  yield figure(`${name}, slowest of the next ${others.length}`, Math.max(...others), 'ms', target);
  yield figure(`${name}, median`, computeMedian(others), 'ms');
}

async function someOrders(archive: Archive): Promise<readonly string[]> {
  const duck = await QueryEngine.open({
    threads: 1,
    memoryMiB: 512,
    temporaryFolder: join(archive.folder, 'spill'),
  });
  try {
    const source = archive.createRowsSql(archive.listSegments(archive.read(), { table: 'decisions' }));
    const rows = await duck.rows(`SELECT order_ref FROM ${source} USING SAMPLE ${LOOKUPS}`);
    return rows.map(({ order_ref }) => String(order_ref));
  } finally {
    duck.close();
  }
}
