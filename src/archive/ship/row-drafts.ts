import { randomUUID } from 'node:crypto';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../../rules/duration.ts';
import type { Archive } from '../archive.ts';
import type { Segment } from '../archive-log.ts';
import type { ColumnType, FactTypes } from '../record-columns.ts';
import type { ArchiveRow } from '../rows.ts';

/** Rows of one table, platform and day, as lines of JSON in a file. */
export interface RowDraft extends Pick<Segment, 'table' | 'platform' | 'day'> {
  readonly path: string;
  readonly rows: number;
  /** Of the facts that some row has. */
  readonly facts: FactTypes;
}

/** A draft that still takes rows. */
interface OpenDraft extends RowDraft {
  rows: number;
  readonly facts: Map<string, ColumnType>;
}

/**
 * Rows on their way into segments. They wait in files: in memory those of a commit would take a hundred megabytes
 * that the process would never return.
 */
export class RowDrafts {
  readonly #archive: Archive;
  readonly #periodOf: (at: number) => string;
  readonly #drafts = new Map<string, OpenDraft>();

  /** Segments are of a day, unless they are to be of a month. */
  constructor(archive: Archive, periodOf: typeof dayOf | typeof monthOf = dayOf) {
    this.#archive = archive;
    this.#periodOf = periodOf;
  }

  add(rows: readonly ArchiveRow[]): void {
    // A day is told from its number faster than from its name.
    const groups = Map.groupBy(rows, ({ table, platform, at }) => `${table}/${platform}/${dayNumber(at)}`);
    for (const group of groups.values()) {
      const [first] = group;
      if (first === undefined) continue;
      const name = `${first.table}/${first.platform}/${this.#periodOf(first.at)}`;
      const draft = this.#drafts.get(name) ?? this.#begin(name, first);
      appendFileSync(draft.path, group.map(({ cells }) => `${JSON.stringify(cells)}\n`).join(''), {
        mode: 0o600,
      });
      draft.rows += group.length;
      noteFacts(draft, group);
    }
  }

  all(): readonly RowDraft[] {
    return [...this.#drafts.values()];
  }

  /** Removes the files. */
  remove(): void {
    for (const { path } of this.#drafts.values()) rmSync(path, { force: true });
    this.#drafts.clear();
  }

  #begin(name: string, { table, platform, at }: ArchiveRow): OpenDraft {
    this.#archive.prepareStaging();
    const path = join(this.#archive.staging(), `${randomUUID()}.ndjson`);
    const draft = { table, platform, day: this.#periodOf(at), path, rows: 0, facts: new Map() };
    this.#drafts.set(name, draft);
    return draft;
  }
}

function dayNumber(at: number): number {
  return Math.floor(at / DAY_MS);
}

/** `2026-11`, UTC. */
export function monthOf(at: number): string {
  return dayOf(at).slice(0, '2026-11'.length);
}

/** `2026-11-21`, UTC. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function noteFacts({ facts: types }: OpenDraft, rows: readonly ArchiveRow[]): void {
  for (const { facts = {} } of rows)
    for (const label in facts) {
      const before = types.get(label);
      const type = widest(before, facts[label]);
      if (type !== before) types.set(label, type);
    }
}

/** Whole numbers are kept as such until the first that is not whole. */
function widest(before: ColumnType | undefined, value: unknown): ColumnType {
  switch (typeof value) {
    case 'boolean':
      return 'BOOLEAN';
    case 'number':
      return before === 'DOUBLE' || !Number.isSafeInteger(value) ? 'DOUBLE' : 'BIGINT';
    default:
      return 'VARCHAR';
  }
}
