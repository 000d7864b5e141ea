import { type Html, html, useState } from '#workbench/console/page/html.ts';

/** The kind of a column, which is also the CSS class of its cells. Numbers are aligned to the right. */
export type ColumnKind = 'text' | 'who' | 'num' | 'roomy' | 'unsorted' | 'wide' | 'when' | 'key' | 'exact';

type Column = string | { readonly name: string; readonly kind: ColumnKind };

interface TableHead {
  name: string;
  columns: readonly Column[];
  kind?: string;
  sort?: Sort;
  /** Rows that are rendered already. They follow the other rows. */
  drawn?: Html;
}

/**
 * Renders a table that scrolls sideways if it is too wide, also with the keyboard. With a `sort`, its
 * headings are buttons that choose the column to sort by.
 */
export function renderTable<Row>(
  { name, columns, kind, sort, drawn }: TableHead,
  rows: readonly Row[] = [],
  cellsOf: (row: Row) => readonly Html[] = () => [],
) {
  const cells = (row: Row) => cellsOf(row).map((cell, place) => renderCell(cell, columns[place], place));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}>
    <table class=${kind}>
      <thead>
        <tr>
          ${columns.map((column, place) => renderHead(column, place, sort))}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => html`<tr>${cells(row)}</tr>`)}${drawn}
      </tbody>
    </table>
  </div>`;
}

/** Renders a cell. On a narrow screen, it shows the name of its column. */
function renderCell(cell: Html, column: Column = '', place = 0) {
  const { name, kind } = splitColumn(column);
  return html`<td class=${kind} data-of=${place > 0 && name !== '' ? name : undefined}>${cell}</td>`;
}

function splitColumn(column: Column) {
  return typeof column === 'string' ? { name: column, kind: undefined } : column;
}

function renderHead(column: Column, place: number, sort?: Sort) {
  const { name, kind } = splitColumn(column);
  if (name === '') return html`<td></td>`;
  if (sort === undefined || kind === 'unsorted') return html`<th scope="col" class=${kind}>${name}</th>`;
  const sorted = sort.column === place ? (sort.isDescending ? 'descending' : 'ascending') : undefined;
  return html`<th scope="col" class=${kind} aria-sort=${sorted}>
    <button type="button" class="sorter" onClick=${() => sort.chooseColumn(place, kind === 'num')}>
      <span>${name}</span>
    </button>
  </th>`;
}

/**
 * How a table is sorted. `column` is the index of the column by which it is sorted, or null if the table has
 * its original sequence. A click on a heading calls `chooseColumn`. The first click puts the largest numbers
 * or the first words first, the second click reverses that, and the third restores the original sequence.
 */
interface Sort {
  readonly column: number | null;
  readonly isDescending: boolean;
  readonly chooseColumn: (place: number, isNumber: boolean) => void;
}

/**
 * Returns the sort of a table. The address keeps it under the table's name: `sort Money=-3` sorts by the
 * fourth column, downwards.
 */
export function useSort(name: string): Sort {
  const [path = '', search] = location.hash.split('?');
  const query = new URLSearchParams(search);
  const [chosen, setChosen] = useState(query.get(`sort ${name}`));
  const column = chosen === null ? null : Math.abs(Number(chosen));
  const isDescending = chosen?.startsWith('-') === true;
  const chooseColumn = (clicked: number, isNumber: boolean) => {
    const ways = [`${isNumber ? '-' : ''}${clicked}`, `${isNumber ? '' : '-'}${clicked}`];
    const next = ways[clicked === column ? ways.indexOf(chosen ?? '') + 1 : 0] ?? null;
    if (next === null) query.delete(`sort ${name}`);
    else query.set(`sort ${name}`, next);
    history.replaceState(history.state, '', `${path}?${query}`);
    setChosen(next);
  };
  return { column, isDescending, chooseColumn };
}

/** Sorts rows. Rows without a value are last in both directions. `cellOf` returns the cell of a column. */
export function sortRows<Row>(
  rows: readonly Row[],
  { column, isDescending }: Sort,
  cellOf: (row: Row, place: number) => string | number | null,
) {
  if (column === null) return rows;
  return rows.toSorted((one, other) => {
    const [a, b] = [cellOf(one, column), cellOf(other, column)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const order = typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
    return isDescending ? -order : order;
  });
}

/** Declares columns of one kind. */
export function declareColumns(kind: ColumnKind, ...names: readonly string[]) {
  return names.map((name) => ({ name, kind }));
}

/** Declares columns of numbers. */
export function declareNumberColumns(...names: readonly string[]) {
  return declareColumns('num', ...names);
}
