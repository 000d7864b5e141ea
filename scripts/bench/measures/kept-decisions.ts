import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DAY_MS } from '#base/duration.ts';
import { encodeDecision, getRecordDictionary } from '#decision/decision-record.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';
import { RETENTION } from '#state/retention.ts';
import { JournalIndexWriter } from '#state/sqlite/journal-index.ts';
import { JournalTable } from '#state/sqlite/journal-table.ts';
import { getDbPath } from '#state/sqlite/open-file.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { clientKey } from '../../../test/decision/payer/client-keys.ts';
import { currentRules } from '../../../test/service/current-rules.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { createFigureMaker, type Figure } from '../figure.ts';
import { runLoad } from '../load.ts';
import { startMeasuredProcess } from '../measured-process.ts';
import type { BenchPlan } from '../plan.ts';
import { BENCH_PLATFORM, decideSampleVerdict } from '../sample.ts';

const figure = createFigureMaker('decisions');

const CONNECTIONS = 32;
/** The measured sizes of the file, as shares of the last one. */
const SHARES = [0.1, 0.5, 1] as const;
/**
 * The number of decisions that are inserted and indexed at once. Their keys are random, so a larger batch writes
 * fewer pages.
 */
const AT_ONCE = 100_000;
const CACHE_KIB = 512 * 1024;

/**
 * Measures the cost of a verdict, of opening the file, and of a backup, with many kept decisions in one SQLite file.
 */
export async function* measureKeptDecisions(plan: BenchPlan): AsyncGenerator<Figure> {
  const dataDir = join(plan.dataDir, 'kept-decisions');
  mkdirSync(dataDir);
  const accessKey = await issueKey({ dataDir });
  let kept = 0;
  for (const share of SHARES) {
    const count = Math.round(share * plan.keptDecisions);
    plan.onProgress(`decisions: inserting ${count.toLocaleString('en')} decisions`);
    const inFile = await insertDecisions(dataDir, count - kept);
    kept = count;
    yield* await measureSize(plan, dataDir, accessKey, { kept, inFile });
  }
}

async function measureSize(
  { seconds, rounds, onProgress }: BenchPlan,
  dataDir: string,
  accessKey: string,
  { kept, inFile }: { readonly kept: number; readonly inFile: number },
): Promise<readonly Figure[]> {
  const name = `${kept.toLocaleString('en')} decisions`;
  const bytes = statSync(getDbPath(dataDir)).size;
  onProgress(`decisions: opening and backing up a file of ${Math.round(bytes / 1e6)} MB`);
  const beganMs = performance.now();
  const store = openSqliteStore(dataDir);
  const openedMs = performance.now();
  await store.close();
  const service = await startMeasuredProcess('src/main.ts', { DATA_DIR: dataDir, ARCHIVE_DIR: 'off' });
  try {
    const load = { url: service.url, accessKey, connections: CONNECTIONS, rate: null };
    await runLoad({ ...load, seconds });
    const before = await service.cpuMicros();
    const { requests, failures } = await runLoad({ ...load, seconds: seconds * rounds });
    const cpuMicros = (await service.cpuMicros()) - before;
    const backupMs = backUp(dataDir);
    return [
      figure(`${name}: CPU a verdict`, cpuMicros / requests, 'us'),
      figure(`${name}: bytes of the file for each`, bytes / inFile, 'B'),
      figure(`${name}: opening the file`, openedMs - beganMs, 'ms'),
      figure(`${name}: a backup while the service runs`, backupMs / 1000, 's'),
      figure(`${name}: requests that failed`, failures, '', { atMost: 0 }),
    ];
  } finally {
    await service.stop();
  }
}

/** Makes a backup as the guide for operators does. Returns the ms that it took. */
function backUp(dataDir: string): number {
  const copy = join(dataDir, `backup-${randomUUID()}`);
  const beganMs = performance.now();
  const db = new DatabaseSync(getDbPath(dataDir));
  db.exec(`VACUUM INTO '${copy}'`);
  db.close();
  const tookMs = performance.now() - beganMs;
  rmSync(copy);
  return tookMs;
}

/**
 * Inserts decisions of the last 30 days, each for a payer of its own, with their indexes, and marks them as shipped
 * to an archive. Returns how many decisions the file then has, including those of earlier loads.
 */
async function insertDecisions(dataDir: string, count: number): Promise<number> {
  const db = new DatabaseSync(getDbPath(dataDir));
  db.exec(`PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB}`);
  const table = new JournalTable(db);
  const sizes = { batchEntries: AT_ONCE, stepEntries: AT_ONCE, stepKeys: 2 * AT_ONCE };
  const addClient = db.prepare('INSERT INTO clients (client, state, expires_at) VALUES (?, ?, ?)');
  const shape = getRecordDictionary(currentRules());
  db.prepare('INSERT OR IGNORE INTO shapes (id, shape) VALUES (?, ?)').run(shape.id, shape.text);
  const { decision, nextState } = decideSampleVerdict();
  const [record, state] = [encodeDecision(decision, shape), encodeClientState(nextState)];
  const now = Date.now();
  for (let done = 0; done < count; done += AT_ONCE) {
    db.exec('BEGIN');
    for (let place = done; place < Math.min(count, done + AT_ONCE); place++) {
      const { hash } = clientKey(BENCH_PLATFORM, randomUUID());
      addClient.run(hash, state, now + 30 * DAY_MS);
      const at = now - (30 * DAY_MS * (count - place)) / count;
      const order = { seq: 1, platform: BENCH_PLATFORM, orderRef: randomUUID() };
      table.appendDecision(Math.round(at), order, hash, record, null);
    }
    db.exec('COMMIT');
    await indexAll(db, new JournalIndexWriter(table, async (work) => work(), sizes));
  }
  await indexAll(db, new JournalIndexWriter(table, async (work) => work()));
  const newest = table.newest();
  table.noteProgress({ forgotten: newest, shipped: newest, hotMs: RETENTION.decisionMs });
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return newest;
}

/** Indexes entries as long as they fill a whole batch. */
async function indexAll(db: DatabaseSync, indexing: JournalIndexWriter): Promise<void> {
  for (let isMore = true; isMore; ) {
    isMore = false;
    await indexing.read();
    db.exec('BEGIN');
    while (indexing.write()) isMore = true;
    db.exec('COMMIT');
  }
}
