import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Archive, type ErasedClientNumbers } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { toColumnOfFactKey } from '#history/archive/fact-columns.ts';
import { createOrderViews } from '#history/archive/order-status.ts';
import { type QueryAnswer, QueryEngine, quoteSql } from '#history/archive/query-engine.ts';
import { createSnapshotOpener, withSnapshotFiles } from '#history/archive/snapshot.ts';
import { emptyTableSql, hasClientRows, SEARCHED_FACT_TYPES, TABLE_NAMES } from '#history/archive/tables.ts';

/** An answer from the archive, and the segments that were left out of it. */
export interface AnswerWithLeftOutSegments<T> {
  readonly answer: T;
  readonly leftOut: readonly Segment[];
}

interface QueryLimits {
  readonly rowsMax: number;
  readonly timeoutMs: number;
  readonly memoryMiB: number;
}

/**
 * Answers one SELECT over the archive's tables and the view `orders` (order-status.ts), without erased clients. The
 * SELECT can read the archive and nothing else of this machine, and can write nothing.
 */
export async function queryArchive(
  folder: string,
  sql: string,
  limits: QueryLimits,
  erased: ErasedClientNumbers = [],
): Promise<AnswerWithLeftOutSegments<QueryAnswer>> {
  return withTables({ folder, erased }, limits, (duck) => duck.query(sql, limits.rowsMax, limits.timeoutMs));
}

/** Writes the answer to one SELECT to a new Parquet file. */
export async function exportQuery(
  folder: string,
  sql: string,
  output: string,
  limits: QueryLimits,
  erased: ErasedClientNumbers = [],
): Promise<AnswerWithLeftOutSegments<void>> {
  return withTables(
    { folder, erased },
    limits,
    async (duck) => {
      await duck.requireSelect(sql);
      await duck.runWithTimeLimit(
        `COPY (${sql.trim().replace(/;+$/, '')}\n) TO ${quoteSql(output)} (FORMAT parquet, COMPRESSION zstd)`,
        limits.timeoutMs,
      );
    },
    output,
  );
}

interface QueriedArchive {
  readonly folder: string;
  readonly erased: ErasedClientNumbers;
}

function withTables<T>(
  { folder, erased }: QueriedArchive,
  limits: QueryLimits,
  run: (duck: QueryEngine) => Promise<T>,
  output?: string,
): Promise<AnswerWithLeftOutSegments<T>> {
  return withSnapshotFiles(createSnapshotOpener(folder), ALL, async (files) => ({
    answer: await withTablesOfFolder({ folder: files.folder, erased }, limits, run, output),
    leftOut: files.leftOut,
  }));
}

const ALL = () => true;

async function withTablesOfFolder<T>(
  { folder, erased }: QueriedArchive,
  { memoryMiB }: QueryLimits,
  run: (duck: QueryEngine) => Promise<T>,
  output?: string,
): Promise<T> {
  const archive = new Archive(folder);
  const spill = join(folder, 'staging', `query-${process.pid}`);
  const duck = await QueryEngine.open({ threads: 2, memoryMiB, temporaryFolder: spill });
  try {
    const state = archive.read();
    for (const table of TABLE_NAMES) {
      const segments = archive.listSegments(state, { table });
      const without = hasClientRows(table) ? erased : [];
      const source = segments.length === 0 ? emptyTableSql(table) : archive.createRowsSql(segments, without);
      const columns = table === 'decisions' ? `UNION ALL BY NAME SELECT ${NEEDED_COLUMNS} WHERE false` : '';
      await duck.run(`CREATE VIEW ${table} AS SELECT * FROM ${source} ${columns}`);
    }
    await createOrderViews(duck);
    const folders = [quoteSql(folder), ...(output === undefined ? [] : [quoteSql(dirname(output))])];
    await duck.run(`SET allowed_directories = [${folders.join(', ')}]`);
    await duck.run('SET enable_external_access = false');
    await duck.run('SET lock_configuration = true');
    return await run(duck);
  } finally {
    duck.close();
    rmSync(spill, { recursive: true, force: true });
  }
}

const NEEDED_COLUMNS = [...SEARCHED_FACT_TYPES]
  .map(([label, type]) => `NULL::${type} AS ${toColumnOfFactKey(label)}`)
  .join(', ');
