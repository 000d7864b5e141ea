import { type AnswerState, askService, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, h, html } from '#workbench/console/page/html.ts';
import {
  type Estimate,
  type EvidenceJob,
  type EvidenceTable,
  evidenceJobQuestion,
  type FinishedJob,
  type JobQuestion,
  type NotesAndTables,
  type OrderCounts,
} from '#workbench/console/page/questions.ts';
import { formatDateTime, formatShare, groupDigits, VERSION_NAME_PATTERN } from './format.ts';
import { Loading, RefusalNotice, useAction } from './notice.ts';
import { type ColumnKind, renderTable, sortRows, useSort } from './table.ts';

/** The outcomes of orders, in the sequence in which they are stacked. */
export const ORDER_STATUSES = [
  { name: 'paid', words: 'paid', color: '--get-new' },
  { name: 'unpaid', words: 'unpaid', color: '--block' },
  { name: 'turnedAway', words: 'turned away', color: '--wait' },
  { name: 'unknown', words: 'unknown', color: '--group-new' },
] as const;

export function countAllOrders({ paid, unpaid, turnedAway, unknown }: OrderCounts) {
  return paid + unpaid + turnedAway + unknown;
}

/**
 * Renders a bar of orders by outcome. `most` is the number of orders at which the bar has its full length.
 */
export function renderOrdersBar(orders: OrderCounts, most: number) {
  const words = ORDER_STATUSES.map(
    ({ name, words: status }) => `${groupDigits(orders[name])} ${status}`,
  ).join(', ');
  return html`<div class="orders" role="img" aria-label=${words} title=${words}>
    ${ORDER_STATUSES.map(({ name, color }) => {
      const width = `${most === 0 ? 0 : (100 * orders[name]) / most}%`;
      return html`<i style=${{ width, background: `var(${color})` }}></i>`;
    })}
  </div>`;
}

/** The meaning of the bars' colours. */
export function renderStatusLegend() {
  return html`<ul class="legend">
    ${ORDER_STATUSES.map(
      ({ words, color }) => html`<li><i style=${{ background: `var(${color})` }}></i>${words}</li>`,
    )}
  </ul>`;
}

/** Formats an interval like `56.4 % (55.0 to 57.9)`. Returns `–` for null. */
export function formatInterval(interval: Estimate | null) {
  return formatCell(interval, 'share');
}

/** Draws a share as a point on its 95 % interval, and the share of all as a line. */
export function renderIntervalBar(interval: Estimate | null, all: Estimate | null) {
  if (interval === null) return html`<span class="faint">unknown</span>`;
  const { value, low, high } = interval;
  const percent = (part: number) => `${100 * part}%`;
  return html`<div class="interval" aria-hidden="true">
      ${all && html`<u style=${{ left: percent(all.value) }}></u>`}
      <i style=${{ left: percent(low), width: percent(high - low) }}></i>
      <b style=${{ left: percent(value) }}></b>
    </div>
    <span class="num">${formatInterval(interval)}</span>`;
}

type Column = EvidenceTable['columns'][number];

type Cell = EvidenceTable['rows'][number][number];

/** Matches a moment as the service writes it. */
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** The result in short, and what a reader must know to trust it. */
export function renderNotes(notes: NotesAndTables['notes']) {
  return html`<ul class="notes">
    ${notes.map((note) => html`<li>${note.replace(MOMENT, formatDateTime)}</li>`)}
  </ul>`;
}

/** The tables of a result, each on a card of its own, which can be opened and closed. */
export function renderEvidenceTables(
  tables: readonly EvidenceTable[],
  open = true,
  wayOf?: ShownTableProps['wayOf'],
) {
  return html`${tables.map(
    (table) => html`<details class="card" key=${table.title} open=${open}>
      <summary><h2>${table.title}</h2></summary>
      ${h(EvidenceTableView, { table, wayOf })}
    </details>`,
  )}`;
}

interface ShownTableProps {
  table: EvidenceTable;
  /** Returns the address to which the first cell of a row links. Without this function, no row links. */
  wayOf?: ((row: EvidenceTable['rows'][number]) => string | null) | undefined;
}

export function EvidenceTableView({ table: { title, columns, rows }, wayOf }: ShownTableProps) {
  const heads = columns.map(({ name, kind }) => ({ name, kind: chooseColumnKind(name, kind) }));
  const sort = useSort(title);
  return renderTable({
    name: title,
    columns: heads,
    sort,
    drawn: sortRows(rows, sort, (row, place) => getSortValue(row[place] ?? null, columns[place]?.kind)).map(
      (row) => html`<tr>
        ${columns.map(({ kind }, place) => {
          const text = formatCell(row[place] ?? null, kind);
          const way = place === 0 ? wayOf?.(row) : null;
          const look = kind === 'text' ? undefined : 'num when';
          if (place > 0) return html`<td class=${look}>${text}</td>`;
          return html`<th scope="row" class=${look}>${way ? html`<a href=${way}>${text}</a>` : text}</th>`;
        })}
      </tr>`,
    ),
  });
}

const VERSION = new RegExp(`^${VERSION_NAME_PATTERN}$`);

/**
 * Chooses how a column is shown. A heading that is a version keeps its spelling, and figures stand at the
 * right.
 */
function chooseColumnKind(name: string, kind: Column['kind']): ColumnKind {
  if (kind !== 'text') return 'num';
  return VERSION.test(name) ? 'exact' : 'text';
}

/** Returns the value to sort by. Returns null for a word in a column of figures. */
function getSortValue(cell: Cell, kind: Column['kind'] | undefined) {
  if (typeof cell === 'string') return kind === 'text' ? cell : null;
  return cell !== null && typeof cell === 'object' ? cell.value : cell;
}

/** Formats a cell as the command line prints it: `56.4 % (55.0 to 57.9)`, and `–` if nothing is known. */
export function formatCell(cell: Cell, kind: Column['kind']) {
  if (cell === null) return '–';
  if (typeof cell === 'string') return cell;
  const unit = kind === 'share' ? ' %' : '';
  if (typeof cell === 'number') return `${formatNumber(cell, kind)}${unit}`;
  const { value, low, high } = cell;
  return `${formatNumber(value, kind)}${unit} (${formatNumber(low, kind)} to ${formatNumber(high, kind)})`;
}

function formatNumber(value: number, kind: Column['kind']) {
  switch (kind) {
    case 'text':
      return String(value);
    case 'count':
      return groupDigits(value);
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

const FOLLOW_MS = 1000;

/**
 * Follows a job by its id until it is over. `work` is the kind of the job, which gives the type of the
 * result.
 */
export function useFollowedJob<Result>(
  jobId: string | null,
  work: JobQuestion<Result>,
): AnswerState<FinishedJob<Result>> {
  const question = jobId === null ? null : evidenceJobQuestion(jobId, work);
  const answer = useAnswer(question, ({ job }) => (isJobUnderWay(job) ? FOLLOW_MS : 0));
  const { data, error } = answer;
  if (data === null || error?.status !== 404 || !isJobUnderWay(data.job)) return answer;
  // A job that is cancelled just as it ends is forgotten by the service, which then answers 404.
  return { ...answer, data: { ...data, job: { ...data.job, state: 'cancelled' } } };
}

export function isJobUnderWay({ state }: EvidenceJob) {
  return state === 'waiting' || state === 'running';
}

/**
 * Shows the result of a job when it is there, and the progress until then. `again` starts the job once
 * more.
 */
export function renderJobResult<Result>(
  { answer: { data, error }, again }: { answer: AnswerState<FinishedJob<Result>>; again: () => void },
  shown: (result: Result, job: EvidenceJob) => Html,
) {
  if (data === null) return error ? h(RefusalNotice, { error, retry: again }) : h(Loading, {});
  const { job, result } = data;
  if (result !== null) return shown(result, job);
  switch (job.state) {
    case 'waiting':
    case 'running':
      return h(UnderWay, { job });
    case 'failed':
      return h(Ended, { title: 'The run failed', again }, job.trouble);
    case 'cancelled':
      return h(Ended, { title: 'The run was cancelled', again }, 'It has no results.');
    default:
      return h(Ended, { title: 'The results are gone', again }, 'Results are kept for some time only.');
  }
}

function Ended({ title, again, children }: { title: string; again: () => void; children: string | null }) {
  return html`<div class="notice" role="status">
    <strong>${title}</strong>
    <p>${children}</p>
    <button type="button" onClick=${again}>Run again</button>
  </div>`;
}

function UnderWay({ job }: { job: EvidenceJob }) {
  const { attempt, trouble } = useAction();
  const cancel = () => attempt(() => askService('DELETE', evidenceJobQuestion(job.jobId)));
  const { done, of } = job.progress ?? { done: 0, of: 0 };
  return html`<div class="notice" role="status">
    <label class="field stack">
      <span class="num">${formatProgress(job.state, done, of)}</span>
      <progress max=${Math.max(of, 1)} value=${of === 0 ? undefined : done}></progress>
    </label>
    <button type="button" onClick=${cancel}>Cancel</button>
    ${trouble}
  </div>`;
}

/** Formats the progress. `done` and `of` count decisions. `of` is 0 before the decisions were counted. */
function formatProgress(state: EvidenceJob['state'], done: number, of: number) {
  if (state === 'waiting') return 'Waiting: a node does one run at a time.';
  if (of === 0) return 'Running: counting the decisions.';
  return `Running: ${groupDigits(done)} of ${groupDigits(of)} decisions, ${formatShare(done, of)}`;
}
