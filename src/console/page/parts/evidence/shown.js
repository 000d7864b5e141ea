import { html } from '../../html.js';
import { count } from '../format.js';
import { sorted, Table, useSort } from '../table.js';

/**
 * @import { EvidenceTable, Shown } from '../../answers.d.ts'
 * @typedef {EvidenceTable['columns'][number]} Column
 * @typedef {EvidenceTable['rows'][number][number]} Cell
 */

/**
 * The result in short, and what a reader must know to trust it.
 * @param {Pick<Shown, 'notes'>} props
 */
export function Notes({ notes }) {
  return html`<ul class="notes">
    ${notes.map((note) => html`<li>${note}</li>`)}
  </ul>`;
}

/**
 * Tables of a result, each on a card of its own.
 * @param {{ tables: readonly EvidenceTable[] }} props
 */
export function EvidenceTables({ tables }) {
  return html`${tables.map(
    (table) => html`<section class="card" key=${table.title}>
      <h2>${table.title}</h2>
      <${ShownTable} table=${table} />
    </section>`,
  )}`;
}

/** @param {{ table: EvidenceTable }} props */
export function ShownTable({ table: { title, columns, rows } }) {
  const heads = columns.map(({ name, kind }) =>
    kind === 'text' ? name : { name, kind: /** @type {const} */ ('num') },
  );
  const sort = useSort(title);
  return html`<${Table} name=${title} columns=${heads} sort=${sort}>
    ${sorted(rows, sort, (row, place) => cellOf(row[place] ?? null)).map(
      (row) => html`<tr>
        ${columns.map(({ kind }, place) => {
          const text = cellText(row[place] ?? null, kind);
          if (place === 0) return html`<th scope="row">${text}</th>`;
          return html`<td class=${kind === 'text' ? undefined : 'num when'}>${text}</td>`;
        })}
      </tr>`,
    )}
  <//>`;
}

/** @param {Cell} cell */
function cellOf(cell) {
  return cell !== null && typeof cell === 'object' ? cell.value : cell;
}

/**
 * As the command line prints it: `56.4 % (55.0 to 57.9)`; `–` where nothing is known.
 * @param {Cell} cell
 * @param {Column['kind']} kind
 */
export function cellText(cell, kind) {
  if (cell === null) return '–';
  if (typeof cell === 'string') return cell;
  const unit = kind === 'share' ? ' %' : '';
  if (typeof cell === 'number') return `${numberText(cell, kind)}${unit}`;
  const { value, low, high } = cell;
  return `${numberText(value, kind)}${unit} (${numberText(low, kind)} to ${numberText(high, kind)})`;
}

/**
 * @param {number} value
 * @param {Column['kind']} kind
 */
function numberText(value, kind) {
  switch (kind) {
    case 'text':
      return String(value);
    case 'count':
      return count(value);
    case 'share':
      return (100 * value).toFixed(1);
    case 'figure':
      return value.toFixed(4);
    case 'ratio':
      return value.toFixed(2);
    case 'money': {
      const digits = Math.abs(value) < 1 ? 9 : 2;
      return value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: digits });
    }
    default:
      return kind;
  }
}
