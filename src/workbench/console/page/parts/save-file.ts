import { formatCsvCell } from '#base/csv.ts';
import { html } from '#workbench/console/page/html.ts';
import { useAction } from './notice.ts';

/** Gives the person a file as a download. */
export function saveFile(name: string, type: string, content: BlobPart) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Formats rows as CSV. The names of the columns come first. */
export function toCsv(rows: readonly object[]) {
  const lines = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))];
  return lines.map((cells) => `${cells.map((value) => formatCsvCell(value)).join(',')}\r\n`).join('');
}

/** Formats items as JSON, one a line. */
export function toJsonLines(items: readonly unknown[]) {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}

/**
 * The function that makes the text of a file, for each file format, like CSV. A function may fetch any number
 * of pages.
 */
type Forms = Readonly<Record<string, () => Promise<string>>>;

/** Shows a button for each form in which the data can be saved. */
export function SaveButtons({ name, forms }: { name: string; forms: Forms }) {
  const { attempt, trouble } = useAction();
  return html`<div class="buttons">
      ${Object.entries(forms).map(([form, gather]) => {
        const file = `${name}.${form.toLowerCase()}`;
        const type = form === 'CSV' ? 'text/csv' : 'application/x-ndjson';
        const save = () => attempt(async () => saveFile(file, type, await gather()));
        return html`<button type="button" onClick=${save}>Save all as ${form}</button>`;
      })}
    </div>
    ${trouble}`;
}
