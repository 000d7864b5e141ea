import { ask } from '../../api.js';
import { html, useRef, useState } from '../../html.js';
import { Confirm } from '../../parts/change/confirm.js';
import { Field, formValues } from '../../parts/form.js';
import { Trouble } from '../../parts/notice.js';
import { takenName, VERSION_NAME } from '../../parts/rules/version-name.js';
import { forgetCopy, keepCopy, renamedCopy } from '../../parts/rules/working-copy.js';
import { saveFile } from '../../parts/save-file.js';
import { savedDraft } from '../../questions.js';
import { WhereItIs } from './where-it-is.js';

/**
 * @import { CheckedDraft, RuleFolderList } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @import { WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/**
 * @typedef {object} KeepProps
 * @property {WorkingCopy} copy
 * @property {(copy: WorkingCopy) => void} change
 * @property {() => void} discard
 * @property {CheckedDraft | null} checked
 * @property {RuleFolderList} list
 * @property {boolean} mayOperate
 * @property {() => void} again
 */

/** Where the draft is kept, and where else it may be kept. @param {KeepProps} props */
export function Keep({ copy, change, discard, checked, list, mayOperate, again }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [discarding, setDiscarding] = useState(false);
  const { version, from, files, replaces, saved } = copy;
  // Somebody may type on while it is being saved.
  const latest = useRef(copy);
  latest.current = copy;
  const save = () => {
    setBusy(true);
    setError(null);
    const body = replaces === null ? { files } : { files, replaces };
    ask('PUT', savedDraft(version), body)
      .then(({ digest }) => {
        const now = latest.current;
        change({ ...now, replaces: digest, saved: now.files === files });
        again();
      }, setError)
      .finally(() => setBusy(false));
  };
  const maySave = mayOperate && list.writable;
  const isStuck = saved || busy || checked?.sound !== true;
  return html`<section class="card">
    <h2>${version} <${WhereItIs} saved=${saved} /></h2>
    <p class="faint">
      Begun with <a href=${`#/rules/${from}`}>${from}</a>. ${whereToKeep(copy, mayOperate, list.writable)}
    </p>
    <div class="buttons">
      ${
        maySave &&
        html`<button type="button" class="button-accent" disabled=${isStuck} onClick=${save}>
          ${busy ? 'Saving …' : 'Save to RULES_DIR'}
        </button>`
      }
      <button type="button" onClick=${() => download(copy)}>Download</button>
      <button type="button" onClick=${() => setDiscarding(true)}>
        ${saved ? 'Close' : 'Discard …'}
      </button>
    </div>
    ${error && html`<${Trouble} error=${error} />`}
    <${Rename} copy=${copy} list=${list} />
    ${discarding && html`<${Discard} copy=${copy} discard=${discard} cancel=${() => setDiscarding(false)} />`}
  </section>`;
}

/**
 * Asks once more before this browser forgets the draft.
 * @param {Pick<KeepProps, 'copy' | 'discard'> & { cancel: () => void }} props
 */
function Discard({ copy: { version, saved }, discard, cancel }) {
  return html`<${Confirm}
    title=${saved ? `Close ${version}?` : `Discard what is not saved of ${version}?`}
    action=${saved ? 'Close' : 'Discard'}
    tone=${saved ? 'accent' : 'bad'}
    act=${async () => discard()}
    done=${() => {
      location.hash = '#/draft';
    }}
    cancel=${cancel}
  >
    <p>${saved ? STAYS : CANNOT_BE_BROUGHT_BACK}</p>
  <//>`;
}

const STAYS = 'It stays in RULES_DIR, and can be opened again.';
const CANNOT_BE_BROUGHT_BACK = 'It is in this browser only, and cannot be brought back.';
const NOT_BY_THIS_KEY = `This key may not save it: that takes a key of the installation with operate.
  Download it for somebody who has one.`;
const NOT_WRITABLE = `This node may not write to its RULES_DIR: download it, and put it there the way you
  bring rule sets there.`;
const WHAT_SAVING_DOES = `Saving puts it into RULES_DIR of this node, where it decides nothing before it is
  released and rolled out.`;

/**
 * @param {WorkingCopy} copy
 * @param {boolean} mayOperate
 * @param {boolean} writable
 */
function whereToKeep({ saved }, mayOperate, writable) {
  if (saved) return 'It lies in RULES_DIR of this node as you see it. Nobody is decided by it.';
  if (!mayOperate) return NOT_BY_THIS_KEY;
  if (!writable) return NOT_WRITABLE;
  return WHAT_SAVING_DOES;
}

/** All files in one archive, in a folder of the version's name. @param {WorkingCopy} copy */
async function download({ version, files }) {
  const { strToU8, zipSync } = await import('../../packages/fflate.js');
  const packed = Object.entries(files).map(([path, text]) => [`${version}/${path}`, strToU8(text)]);
  saveFile(`${version}.zip`, 'application/zip', new Uint8Array(zipSync(Object.fromEntries(packed))));
}

/** @param {Pick<KeepProps, 'copy' | 'list'>} props */
function Rename({ copy, list }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const rename = (/** @type {FormEvent} */ event) => {
    const { version = '' } = formValues(event);
    if (list.versions.some((one) => one.version === version)) return setError(takenName(version));
    if (!copy.saved) forgetCopy(copy.version);
    keepCopy({ ...renamedCopy(copy, version), saved: false });
    location.hash = `#/draft/${version}`;
  };
  return html`<details>
    <summary>${copy.saved ? 'Go on under another name' : 'Rename'}</summary>
    <form class="filters" onSubmit=${rename}>
      <${Field} label="new name" hint="like p2.v12, or p2.v12-night">
        <input name="version" required pattern=${VERSION_NAME} />
      <//>
      <div class="buttons"><button type="submit">Rename</button></div>
    </form>
    ${error && html`<${Trouble} error=${error} />`}
  </details>`;
}
