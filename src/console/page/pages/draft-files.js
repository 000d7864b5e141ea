import { ask } from '../api.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { useProposal } from '../parts/confirm.js';
import { Choice, Field, goTo, sent } from '../parts/form.js';
import { takenName, VERSION_NAME } from '../parts/format.js';
import { toVersion } from '../parts/links.js';
import { Trouble, useAttempt } from '../parts/notice.js';
import { saveFile } from '../parts/save-file.js';
import { Values } from '../parts/values.js';
import { Pill } from '../parts/verdict.js';
import { keep, pathsOf, renamedCopy, withFile, withoutFile } from '../parts/working-copy.js';
import { keptDraft, savedDraft } from '../questions.js';

/**
 * @import { CheckedDraft, RuleFolderList } from '../answers.d.ts'
 * @import { CodeEditor, FileRemark } from '../parts/editor/code-editor.js'
 * @import { OpenDraft } from '../parts/open-draft.js'
 * @import { ValueEdits } from '../parts/values.js'
 * @import { WorkingCopy } from '../parts/working-copy.js'
 */

/** Where somebody wants to be. */
/** @typedef {{ readonly path: string, readonly at: FileRemark['at'] | null }} Wanted */

/**
 * @typedef {object} FileEditorProps
 * @property {WorkingCopy} copy
 * @property {(copy: WorkingCopy) => void} change
 * @property {(path: string, text: string) => void} edit
 * @property {CheckedDraft | null} checked
 * @property {Wanted} wanted
 * @property {(wanted: Wanted) => void} setWanted
 * @property {number} rewritten how often it was changed other than in the editor
 * @property {ValueEdits} values
 */

/** The files of a draft, one of them open. @param {FileEditorProps} props */
export function FileEditor({ copy, change, edit, checked, wanted, setWanted, rewritten, values }) {
  const paths = pathsOf(copy);
  const path = paths.includes(wanted.path) ? wanted.path : (paths[0] ?? '');
  const remove = () => change(withoutFile(copy, path));
  const isOptional = /^(?:cases|lists)\//.test(path);
  const remarks = remarksOn(path, checked);
  const go = (/** @type {FileRemark['at']} */ at) => setWanted({ path, at: { ...at } });
  return html`<section class="card">
    <h2>Files</h2>
    <div class="tabs" role="group" aria-label="Files">
      ${paths.map((one) => {
        const wrong = (checked?.problems ?? []).some(({ at }) => at.file === one);
        const pressed = { 'aria-pressed': one === path ? 'true' : 'false' };
        const choose = () => setWanted({ path: one, at: null });
        return html`<button type="button" ...${pressed} onClick=${choose}>${one}${wrong && ' ✗'}</button>`;
      })}
    </div>
    <div class="two">
      <div>
        <${Code} copy=${copy} path=${path} at=${wanted.path === path ? wanted.at : null} edit=${edit}
          rewritten=${rewritten} remarks=${remarks} />
        <p class="faint">
          Ctrl+F searches, Escape and then Tab leaves the editor.
        </p>
      </div>
      <${Values} key=${path} path=${path} checked=${checked} remarks=${remarks} values=${values} go=${go} />
    </div>
    <details>
      <summary>Add or remove a file</summary>
      <${AddFile} copy=${copy} change=${change} setWanted=${setWanted} />
      ${
        isOptional &&
        html`<div class="buttons"><button type="button" onClick=${remove}>Remove ${path}</button></div>`
      }
    </details>
  </section>`;
}

/**
 * @param {string} path
 * @param {CheckedDraft | null} checked
 * @returns {readonly FileRemark[]}
 */
function remarksOn(path, checked) {
  if (checked === null) return [];
  const of = (/** @type {CheckedDraft['notes']} */ remarks, /** @type {FileRemark['severity']} */ severity) =>
    remarks
      .filter(({ at }) => at.file === path)
      .map(({ at, message, example }) => ({
        at,
        severity,
        message: example === null ? message : `${message}\nFor example: ${example}`,
      }));
  return [...of(checked.problems, 'error'), ...of(checked.notes, 'info')];
}

/**
 * @typedef {object} CodeProps
 * @property {WorkingCopy} copy
 * @property {string} path
 * @property {FileRemark['at'] | null} at
 * @property {FileEditorProps['edit']} edit
 * @property {number} rewritten
 * @property {readonly FileRemark[]} remarks
 */

/** The editor itself, which is loaded when it is first needed. @param {CodeProps} props */
function Code({ copy, path, at, edit, rewritten, remarks }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [editor, setEditor] = useState(/** @type {CodeEditor | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  // The editor always calls the functions of the last drawing.
  const latest = useRef({ copy, edit });
  latest.current = { copy, edit };
  useEffect(() => {
    let left = false;
    /** @type {CodeEditor | null} */
    let made = null;
    import('../parts/editor/code-editor.js').then(({ CodeEditor }) => {
      if (left || place.current === null) return;
      made = new CodeEditor(place.current, {
        // What the editor was told is no news.
        onChange: (changed, text) => {
          if (latest.current.copy.files[changed] !== text) latest.current.edit(changed, text);
        },
      });
      setEditor(made);
    }, setError);
    return () => {
      left = true;
      made?.close();
    };
  }, []);
  useEffect(() => editor?.open(path, copy.files[path] ?? ''), [editor, path, rewritten]);
  useEffect(() => editor?.mark(remarks), [editor, path, rewritten, remarks]);
  useEffect(() => (at === null ? undefined : editor?.goTo(at)), [editor, at]);
  return html`${error && html`<${Trouble} error=${error} />`}
    ${editor === null && error === null && html`<p class="faint" role="status">Loading the editor …</p>`}
    <div class="editor" ref=${place}></div>`;
}

/** @param {Pick<FileEditorProps, 'copy' | 'change' | 'setWanted'>} props */
function AddFile({ copy, change, setWanted }) {
  const { attempt, trouble } = useAttempt();
  const add = sent(({ kind = '', name = '' }) =>
    attempt(async () => {
      const path = kind === 'limits' ? 'limits.yaml' : `${kind}/${name}.yaml`;
      if (copy.files[path] !== undefined) throw new Error(`${path} is there already.`);
      change(withFile(copy, path, BEGINNINGS[kind] ?? ''));
      setWanted({ path, at: null });
    }),
  );
  return html`<form class="filters" onSubmit=${add}>
      <${Choice} label="what" name="kind" values=${ADDED} />
      <${Field} label="name" hint="of cases or a list, like night">
        <input name="name" pattern="[a-z][a-z0-9]*(-[a-z0-9]+)*" defaultValue="mine" />
      <//>
      <div class="buttons"><button type="submit">Add</button></div>
    </form>
    ${trouble}`;
}

const ADDED = /** @type {const} */ ([
  ['cases', 'cases: what the rules are expected to answer'],
  ['lists', 'a list of the rule set'],
  ['limits', 'limits.yaml'],
]);

/** @type {Readonly<Record<string, string>>} */
const BEGINNINGS = {
  cases: '# What the rules are expected to answer.\ncases:\n',
  lists: '# Who or what is on the list.\nentries:\n  - \n',
  limits: '# The most that a client should be let pay at once, by group.\n',
};

/**
 * @typedef {object} KeepProps
 * @property {OpenDraft} draft
 * @property {CheckedDraft | null} checked
 * @property {RuleFolderList} list
 * @property {boolean} mayOperate
 * @property {() => void} again
 */

/** Where the draft is kept, and where else it may be kept. @param {KeepProps} props */
export function Keep({ draft, checked, list, mayOperate, again }) {
  const { copy, change, take } = draft;
  const { attempt, isBusy, trouble } = useAttempt();
  const { propose, dialog } = useProposal(() => {
    take(copy);
    goTo('#/rules/drafts');
  });
  const { version, from, files, replaces, revision, saved } = copy;
  // Somebody may type on while it is being saved.
  const latest = useRef(copy);
  latest.current = copy;
  const save = () =>
    attempt(async () => {
      const { digest } = await ask('PUT', savedDraft(version), { files, ...(replaces && { replaces }) });
      const now = latest.current;
      change({ ...now, replaces: digest, saved: now.files === files });
      again();
    });
  const discard = () =>
    propose({
      title: `Discard the draft ${version}?`,
      action: 'Discard',
      tone: 'bad',
      act: () => ask('DELETE', keptDraft(version, revision)),
      children: html`<p>${saved ? STAYS : CANNOT_BE_BROUGHT_BACK}</p>`,
    });
  const maySave = mayOperate && list.writable;
  const isStuck = saved || isBusy || checked?.sound !== true;
  return html`<section class="card">
    <h2>${version} <${WhereItIs} saved=${saved} /></h2>
    <p class="faint">
      Begun with <a href=${toVersion(from)}>${from}</a>. ${whereToKeep(copy, mayOperate, list.writable)}
    </p>
    <div class="buttons">
      ${
        maySave &&
        html`<button type="button" class="button-accent" disabled=${isStuck} onClick=${save}>
          ${isBusy ? 'Saving …' : 'Save to RULES_DIR'}
        </button>`
      }
      <button type="button" onClick=${() => download(copy)}>Download</button>
      ${revision !== null && html`<button type="button" onClick=${discard}>Discard …</button>`}
    </div>
    ${trouble}
    <${Rename} draft=${draft} list=${list} />
    ${dialog}
  </section>`;
}

const STAYS = 'It stays in RULES_DIR as it is, and can be opened again.';
const CANNOT_BE_BROUGHT_BACK =
  'What is not in RULES_DIR cannot be brought back, for nobody of your platform.';
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
  const { strToU8, zipSync } = await import('fflate/browser');
  const packed = Object.entries(files).map(([path, text]) => [`${version}/${path}`, strToU8(text)]);
  saveFile(`${version}.zip`, 'application/zip', new Uint8Array(zipSync(Object.fromEntries(packed))));
}

/** @param {Pick<KeepProps, 'draft' | 'list'>} props */
function Rename({ draft: { copy, take }, list }) {
  const { attempt, trouble } = useAttempt();
  const rename = sent(({ version = '' }) =>
    attempt(async () => {
      if (list.versions.some((one) => one.version === version)) throw takenName(version);
      await keep(renamedCopy(copy, version));
      if (!copy.saved) await ask('DELETE', keptDraft(copy.version, copy.revision));
      take(copy);
      goTo(toVersion(version, 'draft'));
    }),
  );
  return html`<details>
    <summary>${copy.saved ? 'Go on under another name' : 'Rename'}</summary>
    <form class="filters" onSubmit=${rename}>
      <${Field} label="new name" hint="like p2.v12, or p2.v12-night">
        <input name="version" required pattern=${VERSION_NAME} />
      <//>
      <div class="buttons"><button type="submit">Rename</button></div>
    </form>
    ${trouble}
  </details>`;
}

/** Where a draft is kept. @param {{ saved: boolean }} props */
export function WhereItIs({ saved }) {
  return saved ? html`<${Pill} tone="good">in RULES_DIR<//>` : html`<${Pill} tone="note">draft<//>`;
}
