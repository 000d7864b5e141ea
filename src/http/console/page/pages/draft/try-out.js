import { html, useState } from '../../html.js';
import { BacktestForm } from '../../parts/evidence/backtest-form.js';
import { useJob, WorkedOut } from '../../parts/evidence/worked.js';
import { count, counted } from '../../parts/format.js';

/**
 * @import { BacktestReport, RuleFolderList, Worked } from '../../answers.d.ts'
 * @import { Answer } from '../../api.js'
 * @import { WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/**
 * What the draft would have decided on what happened. It is worked out of the files in RULES_DIR.
 * @param {{ copy: WorkingCopy, list: RuleFolderList }} props
 */
export function TryOut({ copy: { version, saved, from }, list }) {
  const [jobId, setJobId] = useState(/** @type {string | null} */ (null));
  const sound = list.versions.filter((one) => one.sound && one.version !== version);
  const against = sound.map((one) => html`<option selected=${one.version === from}>${one.version}</option>`);
  const button = html`<button type="submit" disabled=${!saved}>Backtest</button>`;
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
    <${BacktestForm} ...${{ against, mode: 'closed-loop', button, onJob: setJobId }}>
      <input type="hidden" name="version" value=${version} />
    <//>
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
