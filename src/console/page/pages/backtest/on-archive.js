import { useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { BacktestForm } from '../../parts/evidence/backtest-form.js';
import { useJob, WorkedOut } from '../../parts/evidence/worked.js';
import { dateTime } from '../../parts/format.js';
import { toVersion } from '../../parts/links.js';
import { Answered } from '../../parts/notice.js';
import { Table } from '../../parts/table.js';
import { Pill } from '../../parts/verdict.js';
import { EVIDENCE_JOBS, RULE_FOLDERS } from '../../questions.js';
import { Report } from './report.js';

/**
 * @import { BacktestReport, EvidenceJob, EvidenceJobList, RuleFolderList, Worked } from '../../answers.d.ts'
 * @import { Answer } from '../../api.js'
 */

/**
 * Backtests on the archive: one that is opened, or a form for a new one above the newest ones.
 * @param {{ version: string, jobId: string }} props
 */
export function OnArchive({ version, jobId }) {
  if (jobId === '') return html`<${NewBacktest} version=${version} /><${OfLate} />`;
  return html`<p><a href=${toVersion(version, 'backtest')}>← All backtests</a></p>
    <${Opened} key=${jobId} version=${version} jobId=${jobId} />`;
}

/** @param {{ version: string, jobId: string }} props */
function Opened({ version, jobId }) {
  /** @type {Answer<Worked<BacktestReport>>} */
  const answer = useJob(jobId);
  const again = () => {
    location.hash = toVersion(version, 'backtest');
  };
  const shown = (/** @type {BacktestReport} */ report) => html`<${Report} report=${report} />`;
  return html`<${WorkedOut} evidence=${{ answer, refusal: null, again }}>${shown}<//>`;
}

/** @param {{ version: string }} props */
function NewBacktest({ version }) {
  const folders = useAnswer(RULE_FOLDERS);
  const open = (/** @type {string} */ jobId) => {
    location.hash = toVersion(version, `backtest/${jobId}`);
  };
  const form = (/** @type {RuleFolderList} */ { versions }) => {
    const sound = versions.filter((one) => one.sound).map(({ version }) => version);
    const options = sound.map((one) => html`<option>${one}</option>`);
    const button = html`<button type="submit" class="button-accent">Run</button>`;
    const form = { rules: { version }, against: options, mode: 'recorded', button, onJob: open };
    return html`<${BacktestForm} ...${form} />`;
  };
  return html`<section class="card">
    <h2>Run on the archive</h2>
    <${Answered} answer=${folders}>${form}<//>
  </section>`;
}

const COLUMNS = ['asked', 'platform', 'version', 'against', 'how', 'state'];

function OfLate() {
  const answer = useAnswer(EVIDENCE_JOBS, 5000);
  const listed = (/** @type {EvidenceJobList} */ { jobs }) => {
    const backtests = jobs.filter(({ kind }) => kind === 'backtest');
    if (backtests.length === 0)
      return html`<p class="faint">
        None yet. Results are kept for seven days, at an address of their own.
      </p>`;
    // The owner of the installation sees what is under way of other platforms, too.
    return html`<${Table} name="Backtests of late" columns=${COLUMNS}>
      ${backtests.map((job) => html`<${Row} key=${job.jobId} job=${job} />`)}
    <//>`;
  };
  return html`<section class="card">
    <h2>Of late</h2>
    <${Answered} answer=${answer}>${listed}<//>
  </section>`;
}

/** @param {{ job: EvidenceJob }} props */
function Row({ job: { jobId, platform, askedAt, rules, against, mode, state } }) {
  const tone = state === 'done' ? 'good' : state === 'failed' ? 'bad' : 'note';
  const to = toVersion(rules?.ruleVersion ?? '', `backtest/${jobId}`);
  return html`<tr>
    <td class="when"><a href=${to}>${dateTime(askedAt)}</a></td>
    <td>${platform}</td>
    <td>${rules?.ruleVersion}</td>
    <td>${against?.ruleVersion ?? 'what was recorded'}</td>
    <td>${mode}</td>
    <td><${Pill} tone=${tone}>${state}<//></td>
  </tr>`;
}
