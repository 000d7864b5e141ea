import { ask, may, useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { Field, formValues } from '../../parts/form.js';
import { toVersion } from '../../parts/links.js';
import { Trouble } from '../../parts/notice.js';
import { takenName, VERSION_NAME } from '../../parts/rules/version-name.js';
import { copyOf, keep, renamedCopy, withValues } from '../../parts/rules/working-copy.js';
import { RULE_FOLDERS, ruleFolder, savedDraft } from '../../questions.js';

/**
 * @import { OpenedRuleFolder, Session } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 */

/**
 * What was found about a version: other values of constants by their paths, or other texts of files.
 * @typedef {object} Found
 * @property {string} from the version
 * @property {Readonly<Record<string, string>>} [values]
 * @property {Readonly<Record<string, string>>} [files]
 */

/**
 * A draft with what was found: in RULES_DIR where key and node allow it, otherwise one to be worked on and
 * downloaded.
 * @param {{ session: Session, found: Found }} props
 */
export function MakeDraft({ session, found }) {
  const folders = useAnswer(RULE_FOLDERS);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [made, setMade] = useState(/** @type {string | null} */ (null));
  if (folders.data === null) return null;
  const { versions, writable } = folders.data;
  const keeps = writable && may(session, 'operate');
  const make = (/** @type {FormEvent} */ event) => {
    const { version = '' } = formValues(event);
    setError(null);
    if (versions.some((one) => one.version === version)) return setError(takenName(version));
    if (keeps) return ask('PUT', savedDraft(version), found).then(() => setMade(version), setError);
    return ask('GET', ruleFolder(found.from))
      .then((folder) => workOn(folder, version, found))
      .catch(setError);
  };
  if (made !== null)
    return html`<p role="status">
      <a href=${toVersion(made)}>${made}</a> is a draft in RULES_DIR. Its cases may pin old values;
      nobody is decided by it before it is released and rolled out.
    </p>`;
  return html`<form class="filters" onSubmit=${make}>
      <${Field} label="make a draft" hint="like p2.v12, or p2.v12-chain">
        <input name="version" required pattern=${VERSION_NAME} />
      <//>
      <div class="buttons">
        <button type="submit">${keeps ? 'Save to RULES_DIR' : 'Work on it'}</button>
      </div>
    </form>
    ${error && html`<${Trouble} error=${error} />`}`;
}

/**
 * @param {OpenedRuleFolder} folder
 * @param {string} version
 * @param {Found} found
 */
async function workOn(folder, version, { values = {}, files = {} }) {
  if (!folder.whole) throw new Error(`${folder.version} is too long for this page.`);
  const missing = Object.keys(values).find((path) => folder.constants.every((one) => one.path !== path));
  if (missing !== undefined)
    throw new Error(`${folder.version} does not write ${missing}; add it to the draft by hand.`);
  // The places of the constants are those in the texts under the old name.
  const same = withValues(copyOf(folder, folder.version), folder.constants, values);
  const copy = renamedCopy(same, version);
  await keep({ ...copy, files: { ...copy.files, ...files } });
  location.hash = toVersion(version, 'draft');
}
