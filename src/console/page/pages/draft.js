import { ask, may, useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { Cases, Differences } from '../parts/differences.js';
import { Choice, Field, goTo, sent } from '../parts/form.js';
import { dateTime, takenName, VERSION_NAME, versionAfter } from '../parts/format.js';
import { toVersion } from '../parts/links.js';
import { answered, Empty, Loading, Trouble, useAttempt } from '../parts/notice.js';
import { Standing, useDraft } from '../parts/open-draft.js';
import { columns, Table } from '../parts/table.js';
import { useValueEdits } from '../parts/values.js';
import { Pill } from '../parts/verdict.js';
import { copyOf, keep, keptCopyOf, savedCopyOf, useCheck, withFile } from '../parts/working-copy.js';
import { COMPARE_DRAFT, DRAFTS, keptDraft, RULE_FOLDERS, ruleFolder } from '../questions.js';
import { FileEditor, Keep, WhereItIs } from './draft-files.js';
import { Release, TryOut } from './draft-release.js';

/**
 * @import {
 *   CheckedDraft, DraftList, OpenedRuleFolder, RuleDiff, RuleFolderList, Session,
 * } from '../answers.d.ts'
 * @import { Refusal } from '../api.js'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { WorkingCopy } from '../parts/working-copy.js'
 * @import { Wanted } from './draft-files.js'
 */

/** A form that opens a version as a new draft, and the drafts that there are. @param {PageProps} props */
export function DraftsPage({ place: { query } }) {
  const begun = useAnswer(DRAFTS);
  const folders = useAnswer(RULE_FOLDERS);
  return answered(folders, (list) =>
    answered(
      begun,
      (kept) => html`<${Begin} list=${list} kept=${kept} from=${query.get('from')} />
        <${Begun} list=${list} kept=${kept} />`,
    ),
  );
}

/** Work on a draft: from a version that is opened to one that is released. @param {PageProps} props */
export function DraftPage({ place: { version }, session }) {
  const begun = useAnswer(DRAFTS);
  const folders = useAnswer(RULE_FOLDERS);
  const own = { version, session, again: folders.reload };
  return answered(folders, (list) =>
    answered(begun, (kept) => html`<${OpenedDraft} key=${version} ...${{ ...own, list, kept }} />`),
  );
}

/**
 * @typedef {object} OpenedProps
 * @property {string} version
 * @property {RuleFolderList} list
 * @property {DraftList} kept
 * @property {Session} session
 * @property {() => void} again asks for the list again
 */

/** The draft that the platform keeps, or else the one in RULES_DIR. @param {OpenedProps} props */
function OpenedDraft({ version, list, kept, session, again }) {
  const isOf = (/** @type {{ readonly version: string }} */ one) => one.version === version;
  // Typing into a version that only RULES_DIR had makes it a draft; it is still the same work.
  const [isKept] = useState(() => kept.drafts.some(isOf));
  const lies = list.versions.some(isOf);
  const draft = useAnswer(isKept ? keptDraft(version) : null);
  const folder = useAnswer(!isKept && lies ? ruleFolder(version) : null);
  const props = { list, session, again, bytesMax: kept.bytesMax };
  if (isKept)
    return answered(draft, (found) => html`<${Workbench} ...${props} begun=${keptCopyOf(found)} />`);
  if (!lies)
    return html`<${Empty} title="No such draft">
      Your platform has no draft ${version}, and none lies on this node.
      ${' '}<a href="#/rules/drafts">Begin a new draft</a>.
    <//>`;
  return answered(folder, (found) =>
    found.released || !found.whole
      ? html`<${NotForEditing} folder=${found} />`
      : html`<${Workbench} ...${props} begun=${savedCopyOf(found)} />`,
  );
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
 * @property {WorkingCopy} begun
 * @property {RuleFolderList} list
 * @property {Session} session
 * @property {() => void} again
 * @property {number} bytesMax
 */

/** @param {WorkbenchProps} props */
function Workbench({ begun, list, session, again, bytesMax }) {
  const draft = useDraft(begun);
  const { copy, change } = draft;
  const [wanted, setWanted] = useState(/** @returns {Wanted} */ () => ({ path: 'verdicts.yaml', at: null }));
  const { checked, current, checking, error } = useCheck(copy);
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
  const values = useValueEdits(copy, current, rewrite);
  return html`
    <${Standing} draft=${draft} bytesMax=${bytesMax} />
    <${Keep} draft=${draft} checked=${checked} list=${list} mayOperate=${mayOperate} again=${again} />
    <${FileEditor} copy=${copy} change=${change} edit=${edit} checked=${checked}
      wanted=${wanted} setWanted=${setWanted} rewritten=${rewritten + draft.round} values=${values} />
    <${Remarks} checked=${checked} checking=${checking} error=${error} go=${go} />
    ${
      checked?.coverage &&
      html`<${Cases} run=${checked.coverage} session=${session} draft=${{ copy, change: rewrite }} />`
    }
    <${Compare} copy=${copy} checked=${checked} list=${list} />
    <${TryOut} copy=${copy} checked=${checked} />
    <${Release} copy=${copy} checked=${checked} session=${session} mayOperate=${mayOperate} />`;
}

/** @param {{ list: RuleFolderList, kept: DraftList, from: string | null }} props */
function Begin({ list: { versions }, kept: { drafts }, from }) {
  const { attempt, trouble } = useAttempt();
  const begin = sent(({ source = '', version = '' }) =>
    attempt(async () => {
      if (versions.some((one) => one.version === version)) throw takenName(version);
      const folder = await ask('GET', ruleFolder(source));
      if (!folder.whole) throw new Error(`${source} is too long for this page.`);
      await keep(copyOf(folder, version));
      goTo(toVersion(version, 'draft'));
    }),
  );
  const names = versions.map(({ version }) => version);
  const taken = [...names, ...drafts.map(({ version }) => version)];
  const preferred = names.find((name) => name === from) ?? versions.find((one) => one.sound)?.version;
  return html`<section class="card">
    <h2>Begin a draft</h2>
    <p class="faint">
      A draft begins with the files of a version, and decides nothing. It is saved as you type, for the
      people of your platform alone.
    </p>
    <form class="filters" onSubmit=${begin}>
      <${Choice} label="begin with" name="source" chosen=${preferred} values=${names} />
      <${Field} label="call it" hint="like p2.v11, or p2.v11-night">
        <input
          name="version"
          required
          pattern=${VERSION_NAME}
          title="p<number>.v<number>, or with a word at its end"
          defaultValue=${nextName(taken)}
        />
      <//>
      <div class="buttons"><button type="submit" class="button-accent">Begin</button></div>
    </form>
    ${trouble}
  </section>`;
}

/**
 * The first name after the newest version that neither the node nor the platform has.
 * @param {readonly string[]} taken newest first
 */
function nextName(taken) {
  let name = versionAfter((taken[0] ?? 'p2.v10').replace(/-.*/, ''));
  while (taken.includes(name)) name = versionAfter(name);
  return name;
}

/** @param {{ list: RuleFolderList, kept: DraftList }} props */
function Begun({ list: { versions }, kept: { drafts, draftsMax } }) {
  const lying = versions.filter(
    ({ released, version }) => !released && !drafts.some((one) => one.version === version),
  );
  if (drafts.length + lying.length === 0) return null;
  const link = (/** @type {string} */ version) =>
    html`<a href=${toVersion(version, 'draft')}><b>${version}</b></a>`;
  return html`<section class="card">
    <h2>Drafts</h2>
    <p class="faint">
      ${drafts.length} of the ${draftsMax} that a platform may have; one that nobody changes is forgotten in
      the end. Those in RULES_DIR count not.
    </p>
    <${Table} name="Drafts"
      columns=${['draft', 'where it is', ...columns('when', 'changed last', 'kept until')]}
      rows=${[
        ...drafts.map(({ version, from, saved, changedBy, changedAt, keptUntil }) => [
          link(version),
          html`<${WhereItIs} saved=${saved} />`,
          `${dateTime(changedAt)} by ${changedBy}, begun with ${from}`,
          dateTime(keptUntil),
        ]),
        ...lying.map(({ version, sound }) => [
          link(version),
          html`<${WhereItIs} saved=${true} /> ${!sound && html`<${Pill} tone="bad">has problems<//>`}`,
          ...['', ''],
        ]),
      ]} />
  </section>`;
}

/**
 * The last comparison: its texts and its result.
 * @typedef {object} Compared
 * @property {WorkingCopy['files']} files
 * @property {RuleDiff | null} diff
 * @property {Error | null} error
 */

/**
 * How the draft differs from a version, and payers whom the two answer differently.
 * @param {{ copy: WorkingCopy, checked: CheckedDraft | null, list: RuleFolderList }} props
 */
function Compare({ copy, checked, list }) {
  const [compared, setCompared] = useState(/** @type {Compared | null} */ (null));
  const { version, from, files } = copy;
  const others = list.versions
    .filter((one) => one.sound && one.version !== version)
    .map((one) => one.version);
  const compare = sent(({ before = from }) => {
    setCompared({ files, diff: null, error: null });
    ask('POST', COMPARE_DRAFT, { version, files, before }).then(
      (diff) => setCompared({ files, diff, error: null }),
      (error) => setCompared({ files, diff: null, error }),
    );
  });
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

/** @typedef {CheckedDraft['problems'][number]} Remark @typedef {(at: Remark['at']) => void} GoTo */

/**
 * The remarks about the draft, each with a way to its place.
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
