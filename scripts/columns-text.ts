import type { Column } from '../src/archive/record-columns.ts';
import { TABLE_NAMES, TABLES } from '../src/archive/tables.ts';

/** Tables and columns as src/archive/README.md shows them. */
export function columnsText(): string {
  return TABLE_NAMES.map((name) => {
    const columns: readonly Column[] = TABLES[name].columns;
    const rows = columns.map((column) => `| ${column.name} | ${shownType(column)} | ${column.description} |`);
    return [
      `**${name}**: ${TABLES[name].description}`,
      '',
      '| column | type | meaning |',
      '|---|---|---|',
      ...rows,
    ].join('\n');
  }).join('\n\n');
}

function shownType({ type }: Column): string {
  return type === 'TIMESTAMP_MS' ? 'TIMESTAMP' : type;
}
