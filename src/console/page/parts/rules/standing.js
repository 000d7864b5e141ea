import { html, useState } from '../../html.js';
import { Field, formValues } from '../form.js';
import { toVersion } from '../links.js';
import { Trouble } from '../notice.js';
import { VERSION_NAME } from './version-name.js';
import { keep, renamedCopy } from './working-copy.js';

/**
 * @import { Session } from '../../answers.d.ts'
 * @import { FormEvent } from '../form.js'
 * @import { Conflict, OpenDraft } from './use-draft.js'
 * @import { WorkingCopy } from './working-copy.js'
 */

/** From this share on, the page says how full a draft is. */
const NEARLY_FULL = 0.8;

const STANDINGS = { kept: 'Saved.', keeping: 'Saving …', 'not kept': 'Not saved.' };

/**
 * Whether the typed text is kept, who else is here, and what to do when two people typed at once.
 * @param {{ draft: OpenDraft, session: Session, bytesMax: number }} props
 */
export function Standing({ draft, session, bytesMax }) {
  const { copy, standing, error, retry, conflict, alsoHere, changedBy } = draft;
  const names = alsoHere.map(({ who }) => (who === session.who ? 'you, in another tab' : who));
  const share = new Blob([JSON.stringify(copy)]).size / bytesMax;
  const told = [
    share > NEARLY_FULL && `This draft takes ${Math.ceil(share * 100)} % of what a draft may.`,
    names.length > 0 && `Also here: ${[...new Set(names)].join(', ')}`,
    changedBy !== null && `${changedBy} changed this draft; it is shown as it is now.`,
  ];
  const isKnown = copy.revision !== null || standing !== 'kept';
  return html`${isKnown && html`<p class="faint" role="status">${STANDINGS[standing]}</p>`}
    ${told.map((words) => words && html`<p class="notice" role="status">${words}</p>`)}
    ${error && html`<${Trouble} error=${error} retry=${retry} />`}
    ${conflict && html`<${TwoCopies} draft=${draft} conflict=${conflict} />`}`;
}

/** @param {{ draft: OpenDraft, conflict: Conflict }} props */
function TwoCopies({ draft: { copy, take }, conflict: { detail, theirs } }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const { version } = copy;
  const leave = () => {
    take(theirs ?? copy);
    if (theirs === null) location.hash = '#/rules/drafts';
  };
  const keepMine = (/** @type {FormEvent} */ event) => {
    const { name = '' } = formValues(event);
    const mine = { ...renamedCopy(copy, name), revision: null };
    keep(mine).then(({ revision }) => {
      take(name === version ? { ...mine, revision } : (theirs ?? copy));
      location.hash = toVersion(name, 'draft');
    }, setError);
  };
  const free = theirs === null ? version : `${version.replace(/-.*/, '')}-mine`;
  return html`<section class="notice notice-bad" role="alert" aria-label="Changed meanwhile">
    <strong>What you typed is not saved</strong>
    <p>${detail}</p>
    ${theirs && html`<${Lines} theirs=${theirs} mine=${copy} />`}
    <form class="filters" onSubmit=${keepMine}>
      <${Field} label="keep mine as">
        <input name="name" required pattern=${VERSION_NAME} defaultValue=${free} />
      <//>
      <div class="buttons">
        <button type="submit">Keep mine as a new draft</button>
        <button type="button" onClick=${leave}>${theirs ? 'Take theirs' : 'Leave it'}</button>
      </div>
    </form>
    ${error && html`<${Trouble} error=${error} />`}
  </section>`;
}

/** Where the two differ, file by file. @param {{ theirs: WorkingCopy, mine: WorkingCopy }} props */
function Lines({ theirs, mine }) {
  const paths = [...new Set([...Object.keys(theirs.files), ...Object.keys(mine.files)])];
  const differing = paths.filter((path) => theirs.files[path] !== mine.files[path]);
  return html`<details>
    <summary>See the difference</summary>
    ${differing.map((path) => {
      const { line, texts } = changedLines(theirs.files[path] ?? '', mine.files[path] ?? '');
      return html`<h3>${path}, from line ${line}</h3>
        <div class="two">
          <div><b>theirs</b><pre>${texts[0]}</pre></div>
          <div><b>mine</b><pre>${texts[1]}</pre></div>
        </div>`;
    })}
  </details>`;
}

/**
 * The lines between the beginning and the end that two texts share.
 * @param {string} theirs
 * @param {string} mine
 */
function changedLines(theirs, mine) {
  const both = [theirs.split('\n'), mine.split('\n')];
  const head = sameLines(both);
  const rest = both.map((lines) => lines.slice(head));
  const tail = sameLines(rest.map((lines) => lines.toReversed()));
  return { line: head + 1, texts: rest.map((lines) => lines.slice(0, lines.length - tail).join('\n')) };
}

/** How many equal lines the two begin with. @param {readonly (readonly string[])[]} both */
function sameLines([first = [], second = []]) {
  const other = first.findIndex((line, index) => line !== second[index]);
  return other === -1 ? first.length : other;
}
