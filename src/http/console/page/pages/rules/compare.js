import { useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { Field, formValues } from '../../parts/form.js';
import { Answered } from '../../parts/notice.js';
import { Differences } from '../../parts/rules/differences.js';
import { ruleDiff } from '../../questions.js';

/**
 * @import { RuleDiff, RuleFolderList } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 */

/** @param {{ list: RuleFolderList['versions'] }} props */
export function Compare({ list }) {
  const sound = list.filter((one) => one.sound).map(({ version }) => version);
  const [pair, setPair] = useState(/** @type {{ before: string, after: string } | null} */ (null));
  const answer = useAnswer(pair === null ? null : ruleDiff(pair.before, pair.after));
  const [newest, second] = sound;
  if (newest === undefined) return null;
  if (second === undefined) {
    return html`<p class="faint">
      Two versions can be compared. <a href=${`#/draft?from=${newest}`}>Begin a draft</a> for a second one.
    </p>`;
  }
  const compare = (/** @type {FormEvent} */ event) => {
    const { before = second, after = newest } = formValues(event);
    setPair({ before, after });
  };
  const shown = (/** @type {RuleDiff} */ diff) => html`<${Differences} diff=${diff} />`;
  return html`<section class="card">
    <h2>Compare two versions</h2>
    <form class="filters" onSubmit=${compare}>
      <${Version} name="before" versions=${sound} preferred=${second} />
      <${Version} name="after" versions=${sound} preferred=${newest} />
      <div class="buttons"><button type="submit">Compare</button></div>
    </form>
    ${pair && html`<${Answered} answer=${answer}>${shown}<//>`}
  </section>`;
}

/** @param {{ name: string, versions: readonly string[], preferred: string }} props */
function Version({ name, versions, preferred }) {
  return html`<${Field} label=${name}>
    <select name=${name}>
      ${versions.map((version) => html`<option selected=${version === preferred}>${version}</option>`)}
    </select>
  <//>`;
}
