import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { Field, formValues } from '../../parts/form.js';
import { dateTime, versionAfter } from '../../parts/format.js';
import { Trouble } from '../../parts/notice.js';
import { takenName, VERSION_NAME } from '../../parts/rules/version-name.js';
import { copyOf, forgetCopy, keepCopy, keptCopies } from '../../parts/rules/working-copy.js';
import { Table } from '../../parts/table.js';
import { Pill } from '../../parts/verdict.js';
import { ruleFolder } from '../../questions.js';
import { WhereItIs } from './where-it-is.js';

/**
 * @import { RuleFolderList } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 */

/**
 * A form that opens a version as a new draft, and the drafts that there are.
 * @param {{ list: RuleFolderList, from: string | null }} props
 */
export function NewDraft({ list, from }) {
  return html`<${Begin} list=${list} from=${from} /><${Begun} list=${list} />`;
}

/** @param {{ list: RuleFolderList, from: string | null }} props */
function Begin({ list: { versions }, from }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const begin = (/** @type {FormEvent} */ event) => {
    const { source = '', version = '' } = formValues(event);
    const taken = [...versions, ...keptCopies()].some((one) => one.version === version);
    if (taken) return setError(takenName(version));
    ask('GET', ruleFolder(source)).then((folder) => {
      if (!folder.whole) return setError(new Error(`${source} is too long for this page.`));
      keepCopy(copyOf(folder, version));
      location.hash = `#/draft/${version}`;
    }, setError);
  };
  const names = versions.map(({ version }) => version);
  const preferred = names.find((name) => name === from) ?? versions.find((one) => one.sound)?.version;
  return html`<section class="card">
    <h2>Begin a draft</h2>
    <p class="faint">
      A draft begins with the files of a version, and decides nothing. It stays in this browser until you
      save it.
    </p>
    <form class="filters" onSubmit=${begin}>
      <${Field} label="begin with">
        <select name="source">
          ${names.map((name) => html`<option selected=${name === preferred}>${name}</option>`)}
        </select>
      <//>
      <${Field} label="call it" hint="like p2.v11, or p2.v11-night">
        <input
          name="version"
          required
          pattern=${VERSION_NAME}
          title="p<number>.v<number>, or with a word at its end"
          defaultValue=${nextName(names)}
        />
      <//>
      <div class="buttons"><button type="submit" class="button-accent">Begin</button></div>
    </form>
    ${error && html`<${Trouble} error=${error} />`}
  </section>`;
}

/**
 * The first name after the newest version that neither the node nor this browser has.
 * @param {readonly string[]} names newest first
 */
function nextName(names) {
  const taken = [...names, ...keptCopies().map(({ version }) => version)];
  let name = versionAfter((names[0] ?? 'p2.v10').replace(/-.*/, ''));
  while (taken.includes(name)) name = versionAfter(name);
  return name;
}

/** @param {{ list: RuleFolderList }} props */
function Begun({ list: { versions } }) {
  const [copies, setCopies] = useState(keptCopies);
  const drafts = versions.filter(
    ({ released, version }) => !released && !copies.some((one) => one.version === version),
  );
  const forget = (/** @type {string} */ version) => {
    forgetCopy(version);
    setCopies(keptCopies());
  };
  if (copies.length + drafts.length === 0) return null;
  return html`<section class="card">
    <h2>Drafts</h2>
    <${Table} name="Drafts" columns=${['draft', 'where it is', 'last edited', '']}>
      ${copies.map(
        ({ version, from, saved, editedAt }) => html`<tr key=${version}>
          <td><a href=${`#/draft/${version}`}><b>${version}</b></a></td>
          <td><${WhereItIs} saved=${saved} /></td>
          <td class="when">${dateTime(editedAt)}, begun with ${from}</td>
          <td><button type="button" onClick=${() => forget(version)}>Forget ${version} here</button></td>
        </tr>`,
      )}
      ${drafts.map(
        ({ version, sound }) => html`<tr key=${version}>
          <td><a href=${`#/draft/${version}`}><b>${version}</b></a></td>
          <td>
            <${WhereItIs} saved=${true} /> ${!sound && html`<${Pill} tone="bad">has problems<//>`}
          </td>
          <td></td>
          <td></td>
        </tr>`,
      )}
    <//>
  </section>`;
}
