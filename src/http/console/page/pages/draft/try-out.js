import { html, useState } from '../../html.js';
import { BacktestForm } from '../../parts/evidence/backtest-form.js';
import { useJob, WorkedOut } from '../../parts/evidence/worked.js';
import { count, counted } from '../../parts/format.js';

/**
 * @import { BacktestReport, CheckedDraft, RuleFolderList, Worked } from '../../answers.d.ts'
 * @import { Answer } from '../../api.js'
 * @import { WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/**
 * What the draft would have decided on what happened, as it stands here: what is not saved goes along with
 * the question.
 * @param {{ copy: WorkingCopy, checked: CheckedDraft | null, list: RuleFolderList }} props
 */
export function TryOut({ copy: { version, files, saved, from }, checked, list }) {
  const [jobId, setJobId] = useState(/** @type {string | null} */ (null));
  const sound = list.versions.filter((one) => one.sound && one.version !== version);
  const against = sound.map((one) => html`<option selected=${one.version === from}>${one.version}</option>`);
  const isSound = saved || checked?.sound === true;
  const button = html`<button type="submit" disabled=${!isSound}>Backtest</button>`;
  const draft = saved ? { version } : { version, files };
  const sweep = `#/evidence/sweep?${new URLSearchParams({ version, days: '30' })}`;
  return html`<section class="card" aria-label="Backtest">
    <h2>Try it on what happened</h2>
    <p class="faint">
      ${!saved && 'As it stands here: its files go along with the question, and are kept for that alone. '}
      Other values of a threshold or a wait are tried by a <a href=${sweep}>sweep</a>.
    </p>
    <${BacktestForm} ...${{ against, mode: 'closed-loop', button, onJob: setJobId, rules: draft }} />
    ${jobId && html`<${Backtest} key=${jobId} jobId=${jobId} />`}
  </section>`;
}

/** @param {{ jobId: string }} props */
function Backtest({ jobId }) {
  /** @type {Answer<Worked<BacktestReport>>} */
  const answer = useJob(jobId);
  const shown = (/** @type {BacktestReport} */ { compared, undecidable }) =>
    html`<p role="status">
      ${counted(compared, 'decision was', 'decisions were')} compared${lacking(undecidable)}.${' '}
      <a href=${`#/backtest/${jobId}`}>Read the backtest</a>; it stays at this address for seven days.
    </p>`;
  return html`<${WorkedOut} evidence=${{ answer, refusal: null, again: answer.reload }}>${shown}<//>`;
}

/**
 * A rule that asks for something new cannot be asked about records that lack it.
 * @param {BacktestReport['undecidable']} undecidable
 */
function lacking({ count: number, facts }) {
  if (number === 0) return '';
  const why = `their records lack ${facts.join(', ')}`;
  return `; ${count(number)} could not be, because ${why}: live through them again`;
}
