import { type EvidenceResult, readable } from '../../../evidence/result.ts';
import { cellText, type EvidenceTable, type Shown } from '../../../evidence/shown.ts';
import { print } from '../../print.ts';
import { table } from '../../table.ts';
import type { EvidenceOptions } from './evidence-options.ts';

/** Prints what evidence comes to, as a person reads it or as one JSON object; `draft` is the folder of what was written. */
export function printResult(
  result: EvidenceResult,
  { json }: Pick<EvidenceOptions, 'json'>,
  written: { readonly draft: string | null; readonly text: string } | null = null,
): void {
  const shown = readable(result);
  if (json === true) print(JSON.stringify(written === null ? shown : { ...shown, draft: written.draft }));
  else print([shownText(shown), ...(written === null ? [] : [written.text])].join('\n\n'));
}

function shownText({ notes, tables }: Shown): string {
  return [notes.join('\n'), ...tables.map(tableText)].join('\n\n');
}

/** The table under its title, moved in. */
function tableText({ title, columns, rows }: EvidenceTable): string {
  const text = table(
    columns.map(({ name }) => name.toUpperCase()),
    rows.map((row) => columns.map(({ kind }, place) => cellText(row[place] ?? null, kind))),
    { right: columns.flatMap(({ kind }, place) => (kind === 'text' ? [] : [place])) },
  );
  return [title, ...text.split('\n').map((line) => `  ${line}`)].join('\n');
}
