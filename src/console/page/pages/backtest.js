import { useAnswer } from '../api.js';
import { html } from '../html.js';
import {
  BacktestForm,
  EvidenceTables,
  intervalText,
  isUnderWay,
  Notes,
  useJob,
  workedOut,
} from '../parts/evidence.js';
import { goTo } from '../parts/form.js';
import { count, dateTime } from '../parts/format.js';
import { SampleOrders, toVersion } from '../parts/links.js';
import { answered } from '../parts/notice.js';
import { columns, numbers, Table } from '../parts/table.js';
import { Figures, Pill, VERDICTS, Verdict } from '../parts/verdict.js';
import { BACKTEST, EVIDENCE_JOBS, RULE_FOLDERS } from '../questions.js';

/**
 * @import { BacktestReport, EvidenceJob, VerdictCommand, VerdictMix } from '../answers.d.ts'
 * @import { PageProps } from '../page-props.d.ts'
 */

/**
 * A version held against history, worked out from the archive.
 * @param {PageProps} props
 */
export function BacktestPage({ place: { version, item } }) {
  if (item === '') return html`<${NewBacktest} version=${version} /><${OfLate} />`;
  return html`<p><a href=${toVersion(version, 'backtest')}>← All backtests</a></p>
    <${Opened} key=${item} version=${version} jobId=${item} />`;
}

/** @param {{ version: string, jobId: string }} props */
function Opened({ version, jobId }) {
  const again = () => goTo(toVersion(version, 'backtest'));
  return workedOut({ answer: useJob(jobId, BACKTEST), refusal: null, again }, reported);
}

/** @param {{ version: string }} props */
function NewBacktest({ version }) {
  const folders = useAnswer(RULE_FOLDERS);
  const open = (/** @type {string} */ jobId) => goTo(toVersion(version, `backtest/${jobId}`));
  const form = answered(folders, ({ versions }) => {
    const sound = versions.filter((one) => one.sound).map(({ version }) => version);
    const button = html`<button type="submit" class="button-accent">Run</button>`;
    const form = { rules: { version }, against: { values: sound }, mode: 'recorded', button, onJob: open };
    return html`<${BacktestForm} ...${form} />`;
  });
  return html`<section class="card"><h2>Run on the archive</h2>${form}</section>`;
}

const COLUMNS = [...columns('when', 'asked'), 'platform', 'version', 'against', 'how', 'state'];

/** While one is under way, and otherwise, for those of others. */
const [FOLLOW_MS, LOOK_MS] = [5_000, 60_000];

function OfLate() {
  const late = useAnswer(EVIDENCE_JOBS, ({ jobs }) => (jobs.some(isUnderWay) ? FOLLOW_MS : LOOK_MS));
  const listed = answered(late, ({ jobs }) => {
    const backtests = jobs.filter(({ kind }) => kind === 'backtest');
    if (backtests.length === 0)
      return html`<p class="faint">
        None yet. Results are kept for seven days, at an address of their own.
      </p>`;
    // The owner of the installation sees what is under way of other platforms, too.
    return html`<${Table} name="Backtests of late" columns=${COLUMNS} rows=${backtests.map(cellsOf)} />`;
  });
  return html`<section class="card"><h2>Of late</h2>${listed}</section>`;
}

/** @param {EvidenceJob} job */
function cellsOf({ jobId, platform, askedAt, rules, against, mode, state }) {
  const tone = state === 'done' ? 'good' : state === 'failed' ? 'bad' : 'note';
  const to = toVersion(rules?.ruleVersion ?? '', `backtest/${jobId}`);
  return [
    ...[html`<a href=${to}>${dateTime(askedAt)}</a>`, platform, rules?.ruleVersion],
    ...[against?.ruleVersion ?? 'what was recorded', mode, html`<${Pill} tone=${tone}>${state}<//>`],
  ];
}

/** Tables that are drawn here, with more than their figures. */
const DRAWN = ['verdicts', 'mix', 'changes'];

/** The result of a backtest as tables and bars. @param {BacktestReport} report */
function reported(report) {
  const { ruleVersion, against, mode, compared, changed, changedShare, notes, tables } = report;
  const figures = [
    ['mode', mode],
    ['compared', count(compared)],
    ['changed', html`${count(changed)} <span class="faint">${intervalText(changedShare)}</span>`],
  ];
  return html`
    <section class="card">
      <h2>${ruleVersion} against ${against ?? 'what was recorded'}</h2>
      <${Figures} items=${figures} />
      <${Notes} notes=${notes} />
    </section>
    ${compared > 0 && drawn(report)}
    <${EvidenceTables} tables=${tables.filter(({ name }) => !DRAWN.includes(name))} />`;
}

/** @param {BacktestReport} report */
function drawn({ ruleVersion, against, transitions, compared, mix, changes }) {
  return html`
    <div class="two two-wide">
      <section class="card">
        <h2>Verdicts, from row to column</h2>
        <${Matrix} transitions=${transitions} compared=${compared} />
      </section>
      <section class="card">
        <h2>Mix</h2>
        <${Mix} name=${against ?? 'what was recorded'} mix=${mix.base} />
        <${Mix} name=${ruleVersion} mix=${mix.candidate} />
      </section>
    </div>
    <section class="card"><h2>Changes by rule</h2><${ByRule} changes=${changes} /></section>`;
}

/** @param {{ changes: BacktestReport['changes'] }} props */
function ByRule({ changes }) {
  if (changes.length === 0) return html`<p class="faint">No verdict changed.</p>`;
  const most = Math.max(...changes.map((change) => change.count));
  const heads = [
    ...numbers('count'),
    ...columns('roomy', 'share of the largest'),
    'from',
    'to',
    'sample orders',
  ];
  const part = (/** @type {number} */ times) => ({ width: `${(100 * times) / most}%` });
  return html`<${Table} name="Changes by rule" columns=${heads}
    rows=${changes.map((change) => [
      count(change.count),
      html`<span class="bar"><i style=${part(change.count)}></i></span>`,
      html`<${Verdict} verdict=${change.from} /> ${change.fromRule}`,
      html`<${Verdict} verdict=${change.to} /> ${change.toRule}`,
      html`<${SampleOrders} orders=${change.samples} />`,
    ])} />`;
}

/**
 * From which verdict to which, and how often.
 * @param {{ transitions: BacktestReport['transitions'], compared: number }} props
 */
function Matrix({ transitions, compared }) {
  const cell = (/** @type {VerdictCommand} */ from, /** @type {VerdictCommand} */ to) => {
    const { decisions: times, paid, unpaid, unknown } = transitions[from][to];
    const orders = `of orders paid ${count(paid)}, unpaid ${count(unpaid)}, unknown ${count(unknown)}`;
    const changed = times * 100 >= compared ? 'many' : 'some';
    const kind = times === 0 ? 'none' : from === to ? 'same' : changed;
    return html`<td class=${`num cell-${kind}`} title=${orders}>${count(times)}</td>`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Transition matrix">
    <table class="matrix">
      <thead>
        <tr>
          <td></td>
          ${VERDICTS.map(({ name }) => html`<th scope="col"><${Verdict} verdict=${name} /></th>`)}
        </tr>
      </thead>
      <tbody>
        ${VERDICTS.map(
          ({ name }) => html`<tr>
            <th scope="row"><${Verdict} verdict=${name} /></th>
            ${VERDICTS.map(({ name: to }) => cell(name, to))}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/**
 * The verdict mix as one bar, its parts in the colours of the verdicts and read out below.
 * @param {{ name: string, mix: VerdictMix }} props
 */
function Mix({ name, mix }) {
  const parts = VERDICTS.map(({ name: verdict, color }) => ({
    verdict,
    share: intervalText(mix[verdict]),
    width: `${100 * (mix[verdict]?.value ?? 0)}%`,
    background: `var(${color})`,
  }));
  return html`<figure class="mix">
    <figcaption>${name}</figcaption>
    <div class="mix-bar" aria-hidden="true">
      ${parts.map(({ width, background }) => html`<i style=${{ width, background }}></i>`)}
    </div>
    <ul class="legend">
      ${parts.map(
        ({ verdict, share, background }) => html`<li>
          <i style=${{ background }}></i>${verdict} <b class="num">${share}</b>
        </li>`,
      )}
    </ul>
  </figure>`;
}
