import { useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import { renderCaseResults } from '#workbench/console/page/parts/differences.ts';
import { RefusalNotice, renderAnswer, renderEmpty } from '#workbench/console/page/parts/notice.ts';
import { DraftStatus, useOpenDraft } from '#workbench/console/page/parts/open-draft.ts';
import { useValueEdits } from '#workbench/console/page/parts/values.ts';
import { renderPill } from '#workbench/console/page/parts/verdict.ts';
import {
  createWorkingCopy,
  listCaseFileProblems,
  replaceFileText,
  toWorkingCopy,
  useDraftCheck,
  type WorkingCopy,
} from '#workbench/console/page/parts/working-copy.ts';
import type { CheckedDraft, Draft, RuleFolderList, Session } from '#workbench/console/page/questions.ts';
import { keptDraftQuestion, ruleFolderQuestion } from '#workbench/console/page/questions.ts';
import { DraftFilesEditor, type WantedPosition } from './draft-files.ts';
import { ReleaseStep } from './draft-release.ts';

interface DraftProps {
  readonly version: string;
  /** Whether the platform keeps the draft. Otherwise it lies only in RULES_DIR. */
  readonly isKept: boolean;
  readonly list: RuleFolderList;
  readonly bytesMax: number;
  readonly session: Session;
}

/** The page on which a person edits, checks and releases a draft. */
export function DraftPage({ version, isKept, ...props }: DraftProps) {
  // When somebody types into a version that only RULES_DIR has, it becomes a stored draft. The page then
  // goes on as it began.
  const [wasKept] = useState(isKept);
  const draft = useAnswer(wasKept ? keptDraftQuestion(version) : null);
  const folder = useAnswer(wasKept ? null : ruleFolderQuestion(version));
  if (wasKept)
    return renderAnswer(draft, (found: Draft) => h(Workbench, { ...props, begun: toWorkingCopy(found) }));
  return renderAnswer(folder, (found) =>
    found.whole
      ? h(Workbench, { ...props, begun: createWorkingCopy(found, version) })
      : renderEmpty(
          `${version} is too long for this page`,
          html`Edit its files in RULES_DIR; <code>npx scoring rules check ${version}</code> checks them.`,
        ),
  );
}

type WorkbenchProps = Omit<DraftProps, 'version' | 'isKept'> & { readonly begun: WorkingCopy };

function Workbench({ begun, list, session, bytesMax }: WorkbenchProps) {
  const draft = useOpenDraft(begun);
  const { copy, change } = draft;
  const [wanted, setWanted] = useState((): WantedPosition => ({ path: 'verdicts.yaml', at: null }));
  const check = useDraftCheck(copy);
  const { checked, current } = check;
  const go = (at: CheckedDraft['problems'][number]['at']) =>
    setWanted({ path: at.file, at: { line: at.line, column: at.column } });
  const edit = (path: string, text: string) => change(replaceFileText(copy, path, text));
  // How often the files were changed other than by typing. The editor also shows these changes.
  const [rewritten, setRewritten] = useState(0);
  const rewrite = (changed: WorkingCopy) => {
    change(changed);
    setRewritten((number) => number + 1);
  };
  const rounds = rewritten + draft.round;
  const values = useValueEdits(copy, current, rewrite);
  const isStale = checked !== null && current === null;
  return html`
    ${h(DraftStatus, { draft, bytesMax })}
    ${h(DraftFilesEditor, {
      copy,
      change,
      edit,
      checked,
      wanted,
      setWanted,
      rewritten: rounds,
      values,
      session,
    })}
    <div class=${isStale ? 'results-of-text stale' : 'results-of-text'}>
      <p class="faint" role="status" hidden=${checked === null}>
        ${isStale ? STALE : 'Results of the text as it stands.'}
      </p>
      ${renderRemarks(check, go)}
      ${checked?.coverage && renderCaseResults(checked.coverage, session, { copy, change: rewrite })}
      ${checked && renderUnreadCases(checked, go)}
    </div>
    ${h(ReleaseStep, { draft, checked: current, list, session })}`;
}

const STALE = 'Results of the text before your last change; the new ones are on their way.';

/**
 * Says that no case was run, because a file of cases cannot be read. That is different from having no
 * cases.
 */
function renderUnreadCases(checked: CheckedDraft, go: GoTo) {
  const unread = listCaseFileProblems(checked);
  if (unread.length === 0) return null;
  return html`<section class="card" aria-label="Cases">
    <h2>Cases ${renderPill('not run', 'bad')}</h2>
    <p>No case is run while a file of cases has a mistake:</p>
    ${renderRemarkList(unread, go)}
  </section>`;
}

type Remark = CheckedDraft['problems'][number];

type GoTo = (at: Remark['at']) => void;

/** The remarks about the draft, each with a link to its position. */
function renderRemarks({ checked, checking, error }: ReturnType<typeof useDraftCheck>, go: GoTo) {
  return html`<section class="card" aria-label="Problems" aria-busy=${checking ? 'true' : 'false'}>
    <h2>Problems ${checked && sum(checked)}</h2>
    ${error && h(RefusalNotice, { error })}
    ${
      error &&
      error.retryAfterSeconds !== null &&
      html`<p class="faint" role="status">
        It is checked again in ${error.retryAfterSeconds} s.
      </p>`
    }
    ${checked === null && error === null && html`<p class="faint" role="status">Checking …</p>`}
    ${checked && html`<p class="faint">${summarizeCheck(checked)}</p>`}
    ${checked && renderRemarkList(checked.problems, go)}
    ${
      checked &&
      checked.notes.length > 0 &&
      html`<h3>Notes</h3>
        ${renderRemarkList(checked.notes, go)}`
    }
  </section>`;
}

function sum({ problems, sound }: CheckedDraft) {
  if (problems.length === 0) return renderPill('none', 'good');
  return renderPill(problems.length, sound ? 'note' : 'bad');
}

function summarizeCheck({ problems, sound }: CheckedDraft) {
  if (!sound) return 'Nodes would refuse this version. Fix these problems first.';
  if (problems.length > 0) return 'It can be saved. It can be released when these are fixed.';
  return 'Nodes accept this version.';
}

function renderRemarkList(remarks: readonly Remark[], go: GoTo) {
  return html`<ul class="remarks">
    ${remarks.map(
      ({ at, message, example }) => html`<li>
        <button type="button" onClick=${() => go(at)}>${at.file}:${at.line}:${at.column}</button>
        <span>${message}${example && html`<br /><span class="faint">For example: ${example}</span>`}</span>
      </li>`,
    )}
  </ul>`;
}
