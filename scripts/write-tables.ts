import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { columnsText } from './columns-text.ts';
import { factsTable } from './facts-table.ts';
import { refusalsTable } from './refusals-table.ts';

/** Writes the generated tables of the guides, each between its two marks. A test fails when one is stale. */
writeBetween('rules/README.md', 'facts', factsTable());
writeBetween('src/archive/README.md', 'columns', columnsText());
writeBetween('src/http/README.md', 'refusals', refusalsTable());

function writeBetween(guide: string, mark: string, table: string): void {
  const path = join(import.meta.dirname, '..', guide);
  const text = readFileSync(path, 'utf8');
  const [begin, end] = [`<!-- ${mark} -->\n`, `\n<!-- /${mark} -->`];
  const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
  if (from < begin.length || to < from) throw new Error(`${guide} lacks the marks of its table: ${mark}`);
  writeFileSync(path, text.slice(0, from) + table + text.slice(to));
}
