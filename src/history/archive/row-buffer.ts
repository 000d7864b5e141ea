import { randomUUID } from 'node:crypto';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '#base/duration.ts';
import type { Archive } from './archive.ts';
import type { Segment } from './archive-log.ts';
import type { FactColumnType, FactColumnTypes, FactKey } from './fact-columns.ts';
import { formatDay } from './period.ts';
import { type ArchiveRow, widenFactTypes } from './tables.ts';

/** Rows of one table, platform and day or month, as lines of JSON in a file. */
export interface BufferedRowsFile extends Pick<Segment, 'table' | 'platform' | 'day'> {
  readonly path: string;
  readonly rows: number;
  readonly facts: FactColumnTypes;
}

interface OpenDraft extends BufferedRowsFile {
  rows: number;
  readonly facts: Map<FactKey, FactColumnType>;
}

/**
 * Collects rows for segments. The rows wait in files, because in memory the rows of a commit would take a hundred
 * megabytes, which the process would never give back to the system.
 */
export class RowBuffer {
  readonly #archive: Archive;
  readonly #periodOf: (at: number) => string;
  readonly #drafts = new Map<string, OpenDraft>();

  /** `periodOf` names the day or month of the segment to which a row belongs. */
  constructor(archive: Archive, periodOf: (at: number) => string = formatDay) {
    this.#archive = archive;
    this.#periodOf = periodOf;
  }

  add(rows: readonly ArchiveRow[]): void {
    // Grouping by the day's number is faster than by its name.
    const groups = Map.groupBy(
      rows,
      ({ table, platform, at }) => `${table}/${platform}/${Math.floor(at / DAY_MS)}`,
    );
    for (const group of groups.values()) {
      const [first] = group;
      if (first === undefined) continue;
      const name = `${first.table}/${first.platform}/${this.#periodOf(first.at)}`;
      const draft = this.#drafts.get(name) ?? this.#begin(name, first);
      appendFileSync(draft.path, group.map(({ cells }) => `${JSON.stringify(cells)}\n`).join(''), {
        mode: 0o600,
      });
      draft.rows += group.length;
      widenFactTypes(draft.facts, group);
    }
  }

  all(): readonly BufferedRowsFile[] {
    return [...this.#drafts.values()];
  }

  remove(): void {
    for (const { path } of this.#drafts.values()) rmSync(path, { force: true });
    this.#drafts.clear();
  }

  #begin(name: string, { table, platform, at }: ArchiveRow): OpenDraft {
    this.#archive.prepareStaging();
    const path = join(this.#archive.getStagingFolder(), `${randomUUID()}.ndjson`);
    const draft = { table, platform, day: this.#periodOf(at), path, rows: 0, facts: new Map() };
    this.#drafts.set(name, draft);
    return draft;
  }
}
