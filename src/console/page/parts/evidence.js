import { ask, useAnswer, useHealing } from '../api.js';
import { html, useEffect, useState } from '../html.js';
import { evidenceJob } from '../questions.js';
import { count, share } from './format.js';
import { Loading, Trouble, useAttempt } from './notice.js';
import { sorted, Table, useSort } from './table.js';

/**
 * @import { EvidenceJob, EvidenceTable, OrderCounts, Estimate, Shown, Worked } from '../answers.d.ts'
 * @import { Answer, Refusal, Work } from '../api.js'
 * @import { ComponentChildren } from 'preact'
 */

/** What became of orders, in the order in which it is stacked. */
export const STATUSES = /** @type {const} */ ([
  { name: 'paid', words: 'paid', color: '--get-new' },
  { name: 'unpaid', words: 'unpaid', color: '--block' },
  { name: 'turnedAway', words: 'turned away', color: '--wait' },
  { name: 'unknown', words: 'unknown', color: '--group-new' },
]);

/** @param {OrderCounts} orders */
export function sumOf({ paid, unpaid, turnedAway, unknown }) {
  return paid + unpaid + turnedAway + unknown;
}

/**
 * Orders as a bar of what became of them, as long as their part of the `most`.
 * @param {{ orders: OrderCounts, most: number }} props
 */
export function OrdersBar({ orders, most }) {
  const words = STATUSES.map(({ name, words: status }) => `${count(orders[name])} ${status}`).join(', ');
  return html`<div class="orders" role="img" aria-label=${words} title=${words}>
    ${STATUSES.map(({ name, color }) => {
      const width = `${most === 0 ? 0 : (100 * orders[name]) / most}%`;
      return html`<i style=${{ width, background: `var(${color})` }}></i>`;
    })}
  </div>`;
}

/** What the colours of bars mean. */
export function StatusLegend() {
  return html`<ul class="legend">
    ${STATUSES.map(
      ({ words, color }) => html`<li><i style=${{ background: `var(${color})` }}></i>${words}</li>`,
    )}
  </ul>`;
}

/** `56.4 % (55.0 to 57.9)`; `–` without a case. @param {Estimate | null} interval */
export function intervalText(interval) {
  return cellText(interval, 'share');
}

/**
 * A share as a point on its 95 % interval, and the share of all as a line.
 * @param {{ interval: Estimate | null, all: Estimate | null }} props
 */
export function IntervalBar({ interval, all }) {
  if (interval === null) return html`<span class="faint">no outcome</span>`;
  const { value, low, high } = interval;
  const percent = (/** @type {number} */ part) => `${100 * part}%`;
  return html`<div class="interval" aria-hidden="true">
      ${all && html`<u style=${{ left: percent(all.value) }}></u>`}
      <i style=${{ left: percent(low), width: percent(high - low) }}></i>
      <b style=${{ left: percent(value) }}></b>
    </div>
    <span class="num">${intervalText(interval)}</span>`;
}

/**
 * @typedef {EvidenceTable['columns'][number]} Column
 * @typedef {EvidenceTable['rows'][number][number]} Cell
 */

/** The result in short, and what a reader must know to trust it. @param {Pick<Shown, 'notes'>} props */
export function Notes({ notes }) {
  return html`<ul class="notes">
    ${notes.map((note) => html`<li>${note}</li>`)}
  </ul>`;
}

/** Tables of a result, each on a card of its own. @param {{ tables: readonly EvidenceTable[] }} props */
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
    ${sorted(rows, sort, (row, place) => cellOf(row[place] ?? null, columns[place]?.kind)).map(
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

/**
 * What is sorted by; a word among figures is none.
 * @param {Cell} cell
 * @param {Column['kind'] | undefined} kind
 */
function cellOf(cell, kind) {
  if (typeof cell === 'string') return kind === 'text' ? cell : null;
  return cell !== null && typeof cell === 'object' ? cell.value : cell;
}

/**
 * As the command line prints it: `56.4 % (55.0 to 57.9)`; `–` where nothing is known.
 * @param {Cell} cell
 * @param {Column['kind']} kind
 */
function cellText(cell, kind) {
  if (cell === null) return '–';
  if (typeof cell === 'string') return cell;
  const unit = kind === 'share' ? ' %' : '';
  if (typeof cell === 'number') return `${numberText(cell, kind)}${unit}`;
  const { value, low, high } = cell;
  return `${numberText(value, kind)}${unit} (${numberText(low, kind)} to ${numberText(high, kind)})`;
}

/** @param {number} value @param {Column['kind']} kind */
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

const FOLLOW_MS = 1000;

/**
 * What was asked for and how far it is; `again` asks once more.
 * @template Result
 * @typedef {{ answer: Answer<Worked<Result>>, refusal: Refusal | null, again: () => void }} Evidence
 */

/**
 * Evidence for a body, asked for whenever the body changes and followed until it is there. Null asks nothing.
 * @template Result
 * @param {Work<Result>} question
 * @param {object | null} body
 * @returns {Evidence<Result>}
 */
export function useEvidence(question, body) {
  const wanted = body === null ? null : JSON.stringify(body);
  const [asked, setAsked] = useState(() => nothingAsked());
  const [round, setRound] = useState(0);
  const again = () => setRound((number) => number + 1);
  useEffect(() => {
    if (wanted === null) return undefined;
    let left = false;
    ask('POST', question, JSON.parse(wanted)).then(
      ({ jobId }) => left || setAsked({ wanted, jobId, refusal: null }),
      (refusal) => left || setAsked({ wanted, jobId: null, refusal }),
    );
    return () => {
      left = true;
    };
  }, [wanted, round]);
  const { jobId, refusal } = asked.wanted === wanted ? asked : nothingAsked();
  useHealing(refusal, again);
  return { answer: useJob(jobId, question), refusal, again };
}

/** @returns {{ wanted: string | null, jobId: string | null, refusal: Refusal | null }} */
function nothingAsked() {
  return { wanted: null, jobId: null, refusal: null };
}

/**
 * A job by its id, followed until it is over.
 * @template Result
 * @param {string | null} jobId
 * @param {Work<Result>} work that it is for
 * @returns {Answer<Worked<Result>>}
 */
export function useJob(jobId, work) {
  const question = jobId === null ? null : evidenceJob(jobId, work);
  const answer = useAnswer(question, ({ job }) => (isUnderWay(job) ? FOLLOW_MS : 0));
  const { data, error } = answer;
  if (data === null || error?.status !== 404 || !isUnderWay(data.job)) return answer;
  // Who cancels a job at the moment at which it ends has the service forget it.
  return { ...answer, data: { ...data, job: { ...data.job, state: 'cancelled' } } };
}

/** @param {EvidenceJob} job */
export function isUnderWay({ state }) {
  return state === 'waiting' || state === 'running';
}

/**
 * The result of a job once it is there; until then, how far it is and what can be done.
 * @template Result
 * @param {Evidence<Result>} evidence
 * @param {(result: Result) => ComponentChildren} shown
 */
export function workedOut({ answer: { data, error }, refusal, again }, shown) {
  const trouble = refusal ?? (data === null ? error : null);
  if (trouble) return html`<${Trouble} error=${trouble} retry=${again} />`;
  if (data === null) return html`<${Loading} />`;
  const { job, result } = data;
  if (result !== null) return shown(result);
  switch (job.state) {
    case 'waiting':
    case 'running':
      return html`<${UnderWay} job=${job} />`;
    case 'failed':
      return html`<${Ended} title="This could not be worked out" again=${again}>${job.trouble}<//>`;
    case 'cancelled':
      return html`<${Ended} title="Cancelled" again=${again}>Nothing came of it.<//>`;
    default:
      return html`<${Ended} title="Not kept any more" again=${again}>The result is gone.<//>`;
  }
}

/** @param {{ title: string, again: () => void, children: string | null }} props */
function Ended({ title, again, children }) {
  return html`<div class="notice" role="status">
    <strong>${title}</strong>
    <p>${children}</p>
    <button type="button" onClick=${again}>Ask again</button>
  </div>`;
}

/** @param {{ job: EvidenceJob }} props */
function UnderWay({ job }) {
  const { attempt, trouble } = useAttempt();
  const cancel = () => attempt(() => ask('DELETE', evidenceJob(job.jobId)));
  const { done, of } = job.progress ?? { done: 0, of: 0 };
  return html`<div class="notice" role="status">
    <label class="under-way">
      <span class="num">${howFar(job.state, done, of)}</span>
      <progress max=${Math.max(of, 1)} value=${of === 0 ? undefined : done}></progress>
    </label>
    <button type="button" onClick=${cancel}>Cancel</button>
    ${trouble}
  </div>`;
}

/**
 * @param {EvidenceJob['state']} state
 * @param {number} done decisions
 * @param {number} of decisions; 0 before they were counted
 */
function howFar(state, done, of) {
  if (state === 'waiting') return 'Waiting: a node works on one thing at a time.';
  if (of === 0) return 'Working: the decisions are being counted.';
  return `Working: ${count(done)} of ${count(of)} decisions, ${share(done, of)}`;
}
