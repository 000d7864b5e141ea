import type {
  CheckedDraft,
  DraftList,
  OpenedRuleFolder,
  RuleDiff,
  RuleFolderList,
  Session,
} from '../answers.ts';
import { ask, may, type Refusal, useAnswer } from '../api.ts';
import { html, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { Cases, Differences } from '../parts/differences.ts';
import { Choice, Field, goTo, sent } from '../parts/form.ts';
import { dateTime, takenName, VERSION_NAME, versionAfter } from '../parts/format.ts';
import { toVersion } from '../parts/links.ts';
import { answered, Empty, Loading, Trouble, useAttempt } from '../parts/notice.ts';
import { Standing, useDraft } from '../parts/open-draft.ts';
import { columns, Table } from '../parts/table.ts';
import { useValueEdits } from '../parts/values.ts';
import { Pill } from '../parts/verdict.ts';
import {
  copyOf,
  keep,
  keptCopyOf,
  savedCopyOf,
  useCheck,
  type WorkingCopy,
  withFile,
} from '../parts/working-copy.ts';
import { COMPARE_DRAFT, DRAFTS, keptDraft, RULE_FOLDERS, ruleFolder } from '../questions.ts';
import { FileEditor, Keep, type Wanted, WhereItIs } from './draft-files.ts';
import { Release, TryOut } from './draft-release.ts';

/** A form that opens a version as a new draft, and the drafts that there are. */
export function DraftsPage({ place: { query } }: PageProps) {
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

/** Work on a draft: from a version that is opened to one that is released. */
export function DraftPage({ place: { version }, session }: PageProps) {
  const begun = useAnswer(DRAFTS);
  const folders = useAnswer(RULE_FOLDERS);
  const own = { version, session, again: folders.reload };
  return answered(folders, (list) =>
    answered(begun, (kept) => html`<${OpenedDraft} key=${version} ...${{ ...own, list, kept }} />`),
  );
}

interface OpenedProps {
  readonly version: string;
  readonly list: RuleFolderList;
  readonly kept: DraftList;
  readonly session: Session;
  /** Asks for the list again. */
  readonly again: () => void;
}

/** The draft that the platform keeps, or else the one in RULES_DIR. */
function OpenedDraft({ version, list, kept, session, again }: OpenedProps) {
  const isOf = (one: { readonly version: string }) => one.version === version;
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

function NotForEditing({ folder: { version, released } }: { folder: OpenedRuleFolder }) {
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

/** All that is done with a draft. */
interface WorkbenchProps {
  readonly begun: WorkingCopy;
  readonly list: RuleFolderList;
  readonly session: Session;
  readonly again: () => void;
  readonly bytesMax: number;
}

function Workbench({ begun, list, session, again, bytesMax }: WorkbenchProps) {
  const draft = useDraft(begun);
  const { copy, change } = draft;
  const [wanted, setWanted] = useState((): Wanted => ({ path: 'verdicts.yaml', at: null }));
  const { checked, current, checking, error } = useCheck(copy);
  const mayOperate = may(session, 'operate');
  const go = (at: CheckedDraft['problems'][number]['at']) =>
    setWanted({ path: at.file, at: { line: at.line, column: at.column } });
  const edit = (path: string, text: string) => change(withFile(copy, path, text));
  // The editor shows what was not typed into it, too.
  const [rewritten, setRewritten] = useState(0);
  const rewrite = (changed: WorkingCopy) => {
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

function Begin({
  list: { versions },
  kept: { drafts },
  from,
}: {
  list: RuleFolderList;
  kept: DraftList;
  from: string | null;
}) {
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
 * The first name after the newest version that neither the node nor the platform has. `taken`: newest
 * first.
 */
function nextName(taken: readonly string[]) {
  let name = versionAfter((taken[0] ?? 'p2.v10').replace(/-.*/, ''));
  while (taken.includes(name)) name = versionAfter(name);
  return name;
}

function Begun({
  list: { versions },
  kept: { drafts, draftsMax },
}: {
  list: RuleFolderList;
  kept: DraftList;
}) {
  const lying = versions.filter(
    ({ released, version }) => !released && !drafts.some((one) => one.version === version),
  );
  if (drafts.length + lying.length === 0) return null;
  const link = (version: string) => html`<a href=${toVersion(version, 'draft')}><b>${version}</b></a>`;
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

/** The last comparison: its texts and its result. */
interface Compared {
  readonly files: WorkingCopy['files'];
  readonly diff: RuleDiff | null;
  readonly error: Error | null;
}

/** How the draft differs from a version, and payers whom the two answer differently. */
function Compare({
  copy,
  checked,
  list,
}: {
  copy: WorkingCopy;
  checked: CheckedDraft | null;
  list: RuleFolderList;
}) {
  const [compared, setCompared] = useState<Compared | null>(null);
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

function Outcome({ compared: { diff, error }, isOld }: { compared: Compared; isOld: boolean }) {
  if (error) return html`<${Trouble} error=${error} />`;
  if (diff === null) return html`<${Loading} />`;
  return html`${isOld && html`<p class="bad">The draft was edited since; compare it again.</p>`}
    <${Differences} diff=${diff} />`;
}

type Remark = CheckedDraft['problems'][number];

type GoTo = (at: Remark['at']) => void;

/** The remarks about the draft, each with a way to its place. */
function Remarks({
  checked,
  checking,
  error,
  go,
}: {
  checked: CheckedDraft | null;
  checking: boolean;
  error: Refusal | null;
  go: GoTo;
}) {
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

function Sum({ checked: { problems, sound } }: { checked: CheckedDraft }) {
  if (problems.length === 0) return html`<${Pill} tone="good">none<//>`;
  return html`<${Pill} tone=${sound ? 'note' : 'bad'}>${problems.length}<//>`;
}

function wordsOn({ problems, sound }: CheckedDraft) {
  if (!sound)
    return 'Every node would refuse this version. Mend these first; cases and differences come after.';
  if (problems.length > 0) return 'It could be saved, but not be released before these are mended.';
  return 'Every node would take this version.';
}

function Listed({ remarks, go }: { remarks: readonly Remark[]; go: GoTo }) {
  return html`<ul class="remarks">
    ${remarks.map(
      ({ at, message, example }) => html`<li>
        <button type="button" onClick=${() => go(at)}>${at.file}:${at.line}:${at.column}</button>
        <span>${message}${example && html`<br /><span class="faint">For example: ${example}</span>`}</span>
      </li>`,
    )}
  </ul>`;
}
