import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { Field, formValues } from '../../parts/form.js';
import { Loading, Trouble } from '../../parts/notice.js';
import { Differences } from '../../parts/rules/differences.js';
import { COMPARE_DRAFT } from '../../questions.js';

/**
 * @import { CheckedDraft, RuleDiff, RuleFolderList } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @import { WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/**
 * What has been compared: of which texts, with what came of it.
 * @typedef {object} Compared
 * @property {WorkingCopy['files']} files
 * @property {RuleDiff | null} diff
 * @property {Error | null} error
 */

/**
 * In what the draft differs from a version, and payers whom the two answer differently.
 * @param {{ copy: WorkingCopy, checked: CheckedDraft | null, list: RuleFolderList }} props
 */
export function Compare({ copy, checked, list }) {
  const [compared, setCompared] = useState(/** @type {Compared | null} */ (null));
  const { version, from, files } = copy;
  const others = list.versions.filter((one) => one.sound && one.version !== version);
  const compare = (/** @type {FormEvent} */ event) => {
    const { before = from } = formValues(event);
    setCompared({ files, diff: null, error: null });
    ask('POST', COMPARE_DRAFT, { version, files, before }).then(
      (diff) => setCompared({ files, diff, error: null }),
      (error) => setCompared({ files, diff: null, error }),
    );
  };
  return html`<section class="card" aria-label="Differences">
    <h2>What it changes</h2>
    <form class="filters" onSubmit=${compare}>
      <${Field} label="compared with">
        <select name="before">
          ${others.map((one) => html`<option selected=${one.version === from}>${one.version}</option>`)}
        </select>
      <//>
      <div class="buttons">
        <button type="submit" disabled=${checked?.sound !== true || others.length === 0}>Compare</button>
      </div>
    </form>
    ${compared && html`<${Outcome} compared=${compared} isOld=${compared.files !== files} />`}
  </section>`;
}

/** @param {{ compared: Compared, isOld: boolean }} props */
function Outcome({ compared: { diff, error }, isOld }) {
  if (error) return html`<${Trouble} error=${error} />`;
  if (diff === null) return html`<${Loading} />`;
  return html`${isOld && html`<p class="bad">The draft was edited since; compare it again.</p>`}
    <${Differences} diff=${diff} />`;
}
