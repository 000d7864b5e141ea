import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { REACHES, sinceDays } from '../../parts/evidence/span.js';
import { useJob, WorkedOut } from '../../parts/evidence/worked.js';
import { Field, formValues } from '../../parts/form.js';
import { count, counted } from '../../parts/format.js';
import { Trouble } from '../../parts/notice.js';
import { BACKTEST } from '../../questions.js';

/**
 * @import { BacktestReport, RuleFolderList, Worked } from '../../answers.d.ts'
 * @import { Answer } from '../../api.js'
 * @import { FormEvent } from '../../parts/form.js'
 * @import { WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/**
 * What the draft would have decided on what happened. It is worked out of the files in RULES_DIR.
 * @param {{ copy: WorkingCopy, list: RuleFolderList }} props
 */
export function TryOut({ copy: { version, saved, from }, list }) {
  const [jobId, setJobId] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const sound = list.versions.filter((one) => one.sound && one.version !== version);
  const run = (/** @type {FormEvent} */ event) => {
    const { days = '', ...values } = formValues(event);
    setError(null);
    ask('POST', BACKTEST, { version, ...values, from: sinceDays(days) }).then(
      (job) => setJobId(job.jobId),
      setError,
    );
  };
  const sweep = `#/evidence/sweep?${new URLSearchParams({ version, days: '30' })}`;
  return html`<section class="card" aria-label="Backtest">
    <h2>Try it on what happened</h2>
    ${
      saved
        ? html`<p class="faint">
            Other values of a threshold or a wait are tried by a <a href=${sweep}>sweep</a>.
          </p>`
        : html`<p class="faint">Save it first: a backtest is of what lies in RULES_DIR.</p>`
    }
    <form class="filters" onSubmit=${run}>
      <${Field} label="against">
        <select name="against">
          <option value="">what was recorded</option>
          ${sound.map((one) => html`<option selected=${one.version === from}>${one.version}</option>`)}
        </select>
      <//>
      <${Field} label="how">
        <select name="mode">
          <option value="closed-loop">lived through again</option>
          <option value="recorded">on recorded facts</option>
        </select>
      <//>
      <${Field} label="on decisions of">
        <select name="days">
          ${REACHES.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
        </select>
      <//>
      <div class="buttons"><button type="submit" disabled=${!saved}>Backtest</button></div>
    </form>
    ${error && html`<${Trouble} error=${error} />`}
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
