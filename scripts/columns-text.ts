import type { Column } from '../src/archive/record-columns.ts';
import { TABLE_NAMES, TABLES } from '../src/archive/tables.ts';

/** `. GET_NEW: issue a new requisite; WAIT: ..`: of a choice the API's documents have the meanings. */
const MEANINGS = /\. ((?:\w+: [^;]+; )+\w+: .+)$/;

/** Tables and columns as src/archive/README.md shows them; a column of several tables is described in the first. */
export function columnsText(): string {
  const told: (readonly [table: string, column: Column])[] = [];
  return TABLE_NAMES.map((table) => {
    const known: string[] = [];
    const rows: string[] = [];
    for (const column of TABLES[table].columns) {
      const alike = told.filter(([, { description }]) => description === column.description);
      const [same] = alike.filter(([, { name, type }]) => name === column.name && type === column.type);
      const [first] = alike;
      if (same !== undefined) known.push(`\`${column.name}\``);
      else if (first?.[0] === table) rows.push(row(column, `As \`${first[1].name}\``));
      else rows.push(row(column, column.description));
      told.push([table, column]);
    }
    return [
      `**${table}**: ${TABLES[table].description}${known.length === 0 ? '' : `. As told above: ${known.join(', ')}`}`,
      '',
      '| column | meaning |',
      '|---|---|',
      ...rows,
    ].join('\n');
  }).join('\n\n');
}

function row({ name, type }: Column, description: string): string {
  const meaning = description.replace(MEANINGS, (_, choices: string) => {
    return `: ${[...choices.matchAll(/(?:^|; )(\w+): /g)].map(([, choice]) => choice).join(', ')}`;
  });
  return `| ${name} ${type === 'TIMESTAMP_MS' ? 'TIMESTAMP' : type} | ${meaning} |`;
}
