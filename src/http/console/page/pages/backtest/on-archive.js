import { ask, useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { REACHES, sinceDays } from '../../parts/evidence/span.js';
import { useJob, WorkedOut } from '../../parts/evidence/worked.js';
import { Field, formValues } from '../../parts/form.js';
import { dateTime } from '../../parts/format.js';
import { Answered, Trouble } from '../../parts/notice.js';
import { Table } from '../../parts/table.js';
import { Pill } from '../../parts/verdict.js';
import { BACKTEST, EVIDENCE_JOBS, RULE_FOLDERS } from '../../questions.js';
import { Report } from './report.js';

/**
 * @import { BacktestReport, EvidenceJob, EvidenceJobList, RuleFolderList, Worked } from '../../answers.d.ts'
 * @import { Answer, Refusal } from '../../api.js'
 * @import { FormEvent } from '../../parts/form.js'
 */

/**
 * Backtests on the archive: one that is opened, or a form for a new one above those of late.
 * @param {{ jobId: string }} props
 */
export function OnArchive({ jobId }) {
  if (jobId === '') return html`<${NewBacktest} /><${OfLate} />`;
  return html`<p><a href="#/backtest">← All backtests</a></p>
    <${Opened} key=${jobId} jobId=${jobId} />`;
}

/** @param {{ jobId: string }} props */
function Opened({ jobId }) {
  /** @type {Answer<Worked<BacktestReport>>} */
  const answer = useJob(jobId);
  const again = () => {
    location.hash = '#/backtest';
  };
  const shown = (/** @type {BacktestReport} */ report) => html`<${Report} report=${report} />`;
  return html`<${WorkedOut} evidence=${{ answer, refusal: null, again }}>${shown}<//>`;
}

function NewBacktest() {
  const folders = useAnswer(RULE_FOLDERS);
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const run = (/** @type {FormEvent} */ event) => {
    const { days = '', ...values } = formValues(event);
    setError(null);
    ask('POST', BACKTEST, { ...values, from: sinceDays(days) }).then(({ jobId }) => {
      location.hash = `#/backtest/${jobId}`;
    }, setError);
  };
  const form = (/** @type {RuleFolderList} */ { versions }) => {
    const sound = versions.filter((one) => one.sound).map(({ version }) => version);
    const options = sound.map((version) => html`<option>${version}</option>`);
    return html`<form class="filters" onSubmit=${run}>
      <${Field} label="version"><select name="version">${options}</select><//>
      <${Field} label="against">
        <select name="against"><option value="">what was recorded</option>${options}</select>
      <//>
      <${Field} label="how">
        <select name="mode">
          <option value="recorded">on recorded facts</option>
          <option value="closed-loop">lived through again</option>
        </select>
      <//>
      <${Field} label="on decisions of">
        <select name="days">
          ${REACHES.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
        </select>
      <//>
      <div class="buttons"><button type="submit" class="button-accent">Run</button></div>
    </form>`;
  };
  return html`<section class="card">
    <h2>Run on the archive</h2>
    <${Answered} answer=${folders}>${form}<//>
    ${error && html`<${Trouble} error=${error} />`}
  </section>`;
}

function OfLate() {
  const answer = useAnswer(EVIDENCE_JOBS, 5000);
  const listed = (/** @type {EvidenceJobList} */ { jobs }) => {
    const backtests = jobs.filter(({ kind }) => kind === 'backtest');
    if (backtests.length === 0)
      return html`<p class="faint">
        None yet. Results are kept for seven days, at an address of their own.
      </p>`;
    return html`<${Table} name="Backtests of late" columns=${['asked', 'version', 'against', 'how', 'state']}>
      ${backtests.map((job) => html`<${Row} key=${job.jobId} job=${job} />`)}
    <//>`;
  };
  return html`<section class="card">
    <h2>Of late</h2>
    <${Answered} answer=${answer}>${listed}<//>
  </section>`;
}

/** @param {{ job: EvidenceJob }} props */
function Row({ job: { jobId, askedAt, rules, against, mode, state } }) {
  const tone = state === 'done' ? 'good' : state === 'failed' ? 'bad' : 'note';
  return html`<tr>
    <td class="when"><a href=${`#/backtest/${jobId}`}>${dateTime(askedAt)}</a></td>
    <td>${rules?.ruleVersion}</td>
    <td>${against?.ruleVersion ?? 'what was recorded'}</td>
    <td>${mode}</td>
    <td><${Pill} tone=${tone}>${state}<//></td>
  </tr>`;
}
