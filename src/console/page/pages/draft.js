import { ask, may, useAnswer } from '../api.js';
import { html, useEffect, useState } from '../html.js';
import { Choice, Field, formValues } from '../parts/form.js';
import { dateTime, versionAfter } from '../parts/format.js';
import { toVersion } from '../parts/links.js';
import { Answered, Empty, Loading, Trouble } from '../parts/notice.js';
import { Cases } from '../parts/rules/cases.js';
import { Differences } from '../parts/rules/differences.js';
import { useCheck } from '../parts/rules/use-check.js';
import { takenName, VERSION_NAME } from '../parts/rules/version-name.js';
import {
  copyOf,
  FULL,
  forgetCopy,
  keepCopy,
  keptCopies,
  keptCopy,
  keyOfCopy,
  savedCopyOf,
  withFile,
} from '../parts/rules/working-copy.js';
import { Table } from '../parts/table.js';
import { Pill } from '../parts/verdict.js';
import { COMPARE_DRAFT, RULE_FOLDERS, ruleFolder } from '../questions.js';
import { FileEditor, Keep, WhereItIs } from './draft-files.js';
import { Release, TryOut } from './draft-release.js';

/**
 * @import { OpenedRuleFolder, RuleFolderList, Session, CheckedDraft, RuleDiff } from '../answers.d.ts'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { WorkingCopy } from '../parts/rules/working-copy.js'
 * @import { Wanted } from './draft-files.js'
 * @import { FormEvent } from '../parts/form.js'
 * @import { Refusal } from '../api.js'
 */

/**
 * A form that opens a version as a new draft, and the drafts that there are.
 * @param {PageProps} props
 */
export function DraftsPage({ place: { query } }) {
  const shown = (/** @type {RuleFolderList} */ list) =>
    html`<${Begin} list=${list} from=${query.get('from')} /><${Begun} list=${list} />`;
  return html`<${Answered} answer=${useAnswer(RULE_FOLDERS)}>${shown}<//>`;
}

/**
 * Work on a draft: from a version that is opened to one that is released.
 * @param {PageProps} props
 */
export function DraftPage({ place: { version }, session }) {
  const folders = useAnswer(RULE_FOLDERS);
  const shown = (/** @type {RuleFolderList} */ list) =>
    html`<${OpenedDraft} key=${version} version=${version} list=${list} session=${session}
      again=${folders.reload} />`;
  return html`<${Answered} answer=${folders}>${shown}<//>`;
}

/**
 * @typedef {object} OpenedProps
 * @property {string} version
 * @property {RuleFolderList} list
 * @property {Session} session
 * @property {() => void} again asks for the list again
 */

/** What is kept in this browser, or else what lies in RULES_DIR. @param {OpenedProps} props */
function OpenedDraft({ version, list, session, again }) {
  const [copy, setCopy] = useState(() => keptCopy(version));
  const lying = list.versions.find((one) => one.version === version);
  const answer = useAnswer(copy === null && lying !== undefined ? ruleFolder(version) : null);
  const [isKept, setIsKept] = useState(true);
  const [others, setOthers] = useState(0);
  const change = (/** @type {WorkingCopy} */ changed) => {
    setIsKept(keepCopy(changed));
    setCopy(changed);
  };
  useEffect(() => {
    // Another tab works on it, too: both show what was typed last, and neither overwrites it unseen.
    const follow = (/** @type {StorageEvent} */ { key }) => {
      if (key !== keyOfCopy(version)) return;
      setCopy(keptCopy(version));
      setOthers((number) => number + 1);
    };
    addEventListener('storage', follow);
    return () => removeEventListener('storage', follow);
  }, [version]);
  const discard = () => {
    forgetCopy(version);
    setCopy(null);
    again();
  };
  if (copy !== null)
    return html`
      ${!isKept && html`<${Trouble} error=${FULL} />`}
      ${others > 0 && html`<p class="notice" role="status">This draft was changed in another tab.</p>`}
      <${Workbench} key=${others} copy=${copy} change=${change} discard=${discard} list=${list}
        session=${session} again=${again} />`;
  if (lying === undefined)
    return html`<${Empty} title="No such draft">
      Nothing of ${version} is in this browser or on this node.
      ${' '}<a href="#/rules/drafts">Begin a new draft</a>.
    <//>`;
  const opened = (/** @type {OpenedRuleFolder} */ folder) =>
    folder.released || !folder.whole
      ? html`<${NotForEditing} folder=${folder} />`
      : html`<${Workbench} copy=${savedCopyOf(folder)} change=${change} discard=${discard} list=${list}
          session=${session} again=${again} />`;
  return html`<${Answered} answer=${answer}>${opened}<//>`;
}

/** @param {{ folder: OpenedRuleFolder }} props */
function NotForEditing({ folder: { version, released } }) {
  if (!released)
    return html`<${Empty} title="${version} is too long for this page">
      Edit its files in RULES_DIR, and check them with <code>npx scoring rules check ${version}</code>.
    <//>`;
  return html`<div class="notice notice-good" role="status">
    <strong>${version} is released and never changes</strong>
    <p>It decides once it is rolled out: first as a shadow, then for a share of the clients.</p>
    <p>
      <a href="#/rollouts">Roll it out</a> ·
      <a href=${`#/rules/drafts?from=${encodeURIComponent(version)}`}>Begin a new draft with it</a>
    </p>
  </div>`;
}

/**
 * All that is done with a draft.
 * @typedef {object} WorkbenchProps
 * @property {WorkingCopy} copy
 * @property {(copy: WorkingCopy) => void} change
 * @property {() => void} discard forgets what is in this browser
 * @property {RuleFolderList} list
 * @property {Session} session
 * @property {() => void} again
 */

/** @param {WorkbenchProps} props */
function Workbench({ copy, change, discard, list, session, again }) {
  const [wanted, setWanted] = useState(/** @returns {Wanted} */ () => ({ path: 'verdicts.yaml', at: null }));
  const { checked, checking, error } = useCheck(copy);
  const mayOperate = may(session, 'operate');
  const go = (/** @type {CheckedDraft['problems'][number]['at']} */ at) =>
    setWanted({ path: at.file, at: { line: at.line, column: at.column } });
  const edit = (/** @type {string} */ path, /** @type {string} */ text) => change(withFile(copy, path, text));
  // The editor shows what was not typed into it, too.
  const [rewritten, setRewritten] = useState(0);
  const rewrite = (/** @type {WorkingCopy} */ changed) => {
    change(changed);
    setRewritten((number) => number + 1);
  };
  return html`
    <${Keep} copy=${copy} change=${change} discard=${discard} checked=${checked} list=${list}
      mayOperate=${mayOperate} again=${again} />
    <${FileEditor} copy=${copy} change=${change} edit=${edit} checked=${checked} wanted=${wanted}
      setWanted=${setWanted} rewritten=${rewritten} />
    <${Remarks} checked=${checked} checking=${checking} error=${error} go=${go} />
    ${checked?.coverage && html`<${Cases} run=${checked.coverage} draft=${{ copy, change: rewrite }} />`}
    <${Compare} copy=${copy} checked=${checked} list=${list} />
    <${TryOut} copy=${copy} checked=${checked} list=${list} />
    <${Release} copy=${copy} checked=${checked} session=${session} mayOperate=${mayOperate} />`;
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
      if (!keepCopy(copyOf(folder, version))) return setError(FULL);
      location.hash = toVersion(version, 'draft');
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
      <${Choice} label="begin with" name="source" chosen=${preferred} values=${names} />
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
          <td><a href=${toVersion(version, 'draft')}><b>${version}</b></a></td>
          <td><${WhereItIs} saved=${saved} /></td>
          <td class="when">${dateTime(editedAt)}, begun with ${from}</td>
          <td><button type="button" onClick=${() => forget(version)}>Forget ${version} here</button></td>
        </tr>`,
      )}
      ${drafts.map(
        ({ version, sound }) => html`<tr key=${version}>
          <td><a href=${toVersion(version, 'draft')}><b>${version}</b></a></td>
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
function Compare({ copy, checked, list }) {
  const [compared, setCompared] = useState(/** @type {Compared | null} */ (null));
  const { version, from, files } = copy;
  const others = list.versions
    .filter((one) => one.sound && one.version !== version)
    .map((one) => one.version);
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
      <${Choice} label="compared with" name="before" chosen=${from} values=${others} />
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

/**
 * @typedef {CheckedDraft['problems'][number]} Remark
 * @typedef {(at: Remark['at']) => void} GoTo
 */

/**
 * What is to be told about the draft, each with a way to its place.
 * @param {{ checked: CheckedDraft | null, checking: boolean, error: Refusal | null, go: GoTo }} props
 */
function Remarks({ checked, checking, error, go }) {
  return html`<section class="card" aria-label="Problems" aria-busy=${checking ? 'true' : 'false'}>
    <h2>Problems ${checked && html`<${Sum} checked=${checked} />`}</h2>
    ${error && html`<${Trouble} error=${error} />`}
    ${
      error &&
      error.retryAfterSeconds !== null &&
      html`<p class="faint" role="status">
        It is checked again by itself after ${error.retryAfterSeconds} s.
      </p>`
    }
    ${checked === null && error === null && html`<p class="faint" role="status">Checking …</p>`}
    ${checked && html`<p class="faint">${wordsOn(checked)}</p>`}
    ${checked && html`<${Listed} remarks=${checked.problems} go=${go} />`}
    ${
      checked &&
      checked.notes.length > 0 &&
      html`<h3>Worth knowing</h3>
        <${Listed} remarks=${checked.notes} go=${go} />`
    }
  </section>`;
}

/** @param {{ checked: CheckedDraft }} props */
function Sum({ checked: { problems, sound } }) {
  if (problems.length === 0) return html`<${Pill} tone="good">none<//>`;
  return html`<${Pill} tone=${sound ? 'note' : 'bad'}>${problems.length}<//>`;
}

/** @param {CheckedDraft} checked */
function wordsOn({ problems, sound }) {
  if (!sound)
    return 'Every node would refuse this version. Mend these first; cases and differences come after.';
  if (problems.length > 0) return 'It could be saved, but not be released before these are mended.';
  return 'Every node would take this version.';
}

/** @param {{ remarks: readonly Remark[], go: GoTo }} props */
function Listed({ remarks, go }) {
  return html`<ul class="remarks">
    ${remarks.map(
      ({ at, message, example }) => html`<li>
        <button type="button" onClick=${() => go(at)}>${at.file}:${at.line}:${at.column}</button>
        <span>${message}${example && html`<br /><span class="faint">For example: ${example}</span>`}</span>
      </li>`,
    )}
  </ul>`;
}
