import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { BACKTEST } from '../../questions.js';
import { Field, formValues } from '../form.js';
import { Trouble } from '../notice.js';
import { Reach, sinceDays } from './span.js';

/**
 * @import { Refusal } from '../../api.js'
 * @import { ComponentChildren } from '../../packages/preact.js'
 * @import { FormEvent } from '../form.js'
 * @import { WorkingCopy } from '../rules/working-copy.js'
 */

const MODES = /** @type {const} */ ([
  ['recorded', 'on recorded facts'],
  ['closed-loop', 'replayed from an empty state'],
]);

/**
 * Asks for a backtest on the archive. The children name the version that is asked, or `rules` are a draft as
 * it stands; `against` are the options for what it is compared with, `mode` is chosen at first.
 * @param {{
 *   children?: ComponentChildren,
 *   rules?: { readonly version: string, readonly files?: WorkingCopy['files'] },
 *   against: ComponentChildren,
 *   mode: 'recorded' | 'closed-loop',
 *   button: ComponentChildren,
 *   onJob: (jobId: string) => void,
 * }} props
 */
export function BacktestForm({ children, rules, against, mode, button, onJob }) {
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const run = (/** @type {FormEvent} */ event) => {
    const { days = '', ...values } = formValues(event);
    setError(null);
    const body = { ...rules, ...values, from: sinceDays(days) };
    ask('POST', BACKTEST, body).then(({ jobId }) => onJob(jobId), setError);
  };
  return html`<form class="filters" onSubmit=${run}>
      ${children}
      <${Field} label="against">
        <select name="against"><option value="">what was recorded</option>${against}</select>
      <//>
      <${Field} label="how">
        <select name="mode">
          ${MODES.map(
            ([value, text]) => html`<option value=${value} selected=${value === mode}>${text}</option>`,
          )}
        </select>
      <//>
      <${Reach} />
      <div class="buttons">${button}</div>
    </form>
    ${error && html`<${Trouble} error=${error} />`}`;
}
