import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { factsTable } from '../src/analysis/facts-table.ts';

/** Writes the fact catalogue into rules/README.md, between its two marks. A test fails when it is stale. */
const path = join(import.meta.dirname, '..', 'rules', 'README.md');
const text = readFileSync(path, 'utf8');
const marked = /(<!-- facts -->\n)[\s\S]*?(\n<!-- \/facts -->)/;
if (!marked.test(text)) throw new Error('rules/README.md lacks the marks <!-- facts --> and <!-- /facts -->');
writeFileSync(
  path,
  text.replace(marked, (_all, begin, end) => `${begin}${factsTable()}${end}`),
);
