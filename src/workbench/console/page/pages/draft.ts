import { askService, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import { renderReasonField, useProposal } from '#workbench/console/page/parts/confirm.ts';
import { renderCases } from '#workbench/console/page/parts/differences.ts';
import { goTo } from '#workbench/console/page/parts/form.ts';
import { count, counted } from '#workbench/console/page/parts/format.ts';
import { toVersionPath } from '#workbench/console/page/parts/links.ts';
import { renderAnswer, renderEmpty, Trouble, useAttempt } from '#workbench/console/page/parts/notice.ts';
import { DraftStatus, type OpenDraft, useDraft } from '#workbench/console/page/parts/open-draft.ts';
import { saveFile } from '#workbench/console/page/parts/save-file.ts';
import { useValueEdits } from '#workbench/console/page/parts/values.ts';
import { renderPill } from '#workbench/console/page/parts/verdict.ts';
import {
  startDraft,
  toWorkingCopy,
  useCheck,
  type WorkingCopy,
  withFile,
} from '#workbench/console/page/parts/working-copy.ts';
import type { CheckedDraft, Draft, RuleFolderList, Session } from '#workbench/console/page/questions.ts';
import {
  keptDraftQuestion,
  proposedDraftQuestion,
  releaseQuestion,
  ruleFolderQuestion,
  savedDraftQuestion,
} from '#workbench/console/page/questions.ts';
import { FileEditor, type Wanted } from './draft-files.ts';

interface DraftProps {
  readonly version: string;
  /** The platform keeps it; otherwise it lies in RULES_DIR alone. */
  readonly isKept: boolean;
  readonly list: RuleFolderList;
  readonly bytesMax: number;
  readonly session: Session;
}

/** Work on a draft: from a version that is opened to one that is released. */
export function DraftPage({ version, isKept, ...props }: DraftProps) {
  // Typing into a version that only RULES_DIR had makes it a draft; it is still the same work.
  const [wasKept] = useState(isKept);
  const draft = useAnswer(wasKept ? keptDraftQuestion(version) : null);
  const folder = useAnswer(wasKept ? null : ruleFolderQuestion(version));
  if (wasKept)
    return renderAnswer(draft, (found: Draft) => h(Workbench, { ...props, begun: toWorkingCopy(found) }));
  return renderAnswer(folder, (found) =>
    found.whole
      ? h(Workbench, { ...props, begun: startDraft(found, version) })
      : renderEmpty(
          `${version} is too long for this page`,
          html`Edit its files in RULES_DIR; <code>npx scoring rules check ${version}</code> checks them.`,
        ),
  );
}

type WorkbenchProps = Omit<DraftProps, 'version' | 'isKept'> & { readonly begun: WorkingCopy };

function Workbench({ begun, list, session, bytesMax }: WorkbenchProps) {
  const draft = useDraft(begun);
  const { copy, change } = draft;
  const [wanted, setWanted] = useState((): Wanted => ({ path: 'verdicts.yaml', at: null }));
  const check = useCheck(copy);
  const { checked, current } = check;
  const go = (at: CheckedDraft['problems'][number]['at']) =>
    setWanted({ path: at.file, at: { line: at.line, column: at.column } });
  const edit = (path: string, text: string) => change(withFile(copy, path, text));
  // The editor shows what was not typed into it, too.
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
    ${h(FileEditor, { copy, change, edit, checked, wanted, setWanted, rewritten: rounds, values })}
    <div class=${isStale ? 'stale' : undefined}>
      <p class="faint" role="status" hidden=${checked === null}>
        ${isStale ? STALE : 'Results of the text as it stands.'}
      </p>
      ${renderRemarks(check, go)}
      ${checked?.coverage && renderCases(checked.coverage, session, { copy, change: rewrite })}
      ${checked && renderUnreadCases(checked, go)}
    </div>
    ${h(Release, { draft, checked: current, list, session })}`;
}

const STALE = 'Results of the text before your last change; the new ones are on their way.';

/** While a file of cases cannot be read none is run: that is not to have none. */
function renderUnreadCases({ problems }: CheckedDraft, go: GoTo) {
  const unread = listUnreadCases(problems);
  if (unread.length === 0) return null;
  return html`<section class="card" aria-label="Cases">
    <h2>Cases ${renderPill('not run', 'bad')}</h2>
    <p>No case is run while a file of cases has a mistake:</p>
    ${renderRemarkList(unread, go)}
  </section>`;
}

function listUnreadCases(problems: readonly Remark[]) {
  return problems.filter(({ at }) => at.file.startsWith('cases/'));
}

interface ReleaseProps {
  draft: OpenDraft;
  checked: CheckedDraft | null;
  list: RuleFolderList;
  session: Session;
}

/** The last step: an operator releases, and whoever may not proposes it to those who may. */
function Release({ draft: { copy, standing, take }, checked, list, session }: ReleaseProps) {
  const { version, from, files, revision } = copy;
  const [told, setTold] = useState<string | null>(null);
  const { attempt, isBusy, trouble } = useAttempt();
  const { propose, dialog } = useProposal((done: string | null) =>
    done === null ? goTo('#/rules') : setTold(done),
  );
  const missing = [
    ...(standing === 'kept' ? [] : ['Wait until the draft is saved.']),
    ...listMissingSteps(version, checked),
  ];
  const mayRelease = isAllowed(session, 'operate');
  const discarded = async () => {
    if (revision !== null) await askService('DELETE', keptDraftQuestion(version, revision));
    take(copy);
    return null;
  };
  /** Puts it into RULES_DIR, in the place of what lies there. */
  const put = async () => {
    const lies = list.versions.some((one) => one.version === version);
    const replaces = lies ? (await askService('GET', ruleFolderQuestion(version))).filesDigest : null;
    return askService('PUT', savedDraftQuestion(version), { files, ...(replaces !== null && { replaces }) });
  };
  const release = () =>
    propose({
      title: `Release ${version} for good?`,
      action: `Release ${version}`,
      act: async ({ reason }) => {
        const { digest } = await put();
        await askService('POST', releaseQuestion(version), { digest, reason });
        return discarded();
      },
      children: html`<p>
          Its files cannot change afterwards. It decides nothing until somebody rolls it out.
        </p>
        ${renderBreaches(checked)}
        ${renderReasonField(session.who)}`,
    });
  const hand = () =>
    propose({
      title: `Propose the release of ${version}?`,
      action: 'Propose it',
      act: async ({ reason }) => {
        await askService('POST', proposedDraftQuestion(version, revision), { reason });
        return 'It is proposed: an operator of the installation sees it, and releases or returns it.';
      },
      children: html`<p>The draft is proposed as it is now. A later change needs a new proposal.</p>
        ${renderBreaches(checked)}
        ${renderReasonField(session.who)}`,
    });
  const discard = () =>
    propose({
      title: `Discard the draft ${version}?`,
      action: 'Discard',
      tone: 'bad',
      act: discarded,
      children: html`<p>
        It is gone for everybody on your platform. What was saved to RULES_DIR stays there.
      </p>`,
    });
  const lay = () =>
    attempt(() => put().then(() => setTold('Saved to RULES_DIR. It can be rolled out as a shadow.')));
  const tried = toVersionPath(version, 'results', { kind: 'backtest', against: from });
  const isStuck = missing.length > 0;
  return html`<section class="card" aria-label="Release">
    <h2>Release</h2>
    <p class="faint">
      Started from <a href=${toVersionPath(from)}>${from}</a>. See${' '}
      <a href=${toVersionPath(version, 'changes')}>what changes</a> and${' '}
      <a href=${tried}>what it would have decided</a>.
    </p>
    ${checked?.lostCases && renderLostCases(checked.lostCases)}
    ${isStuck && html`<ul class="plain">${missing.map((what) => html`<li>○ ${what}</li>`)}</ul>`}
    ${mayRelease && !list.writable && html`<p class="bad">${NOT_WRITABLE}</p>`}
    <div class="buttons">
      ${
        mayRelease
          ? html`<button type="button" class="button-accent" disabled=${isStuck || !list.writable}
                onClick=${release}>Release …</button>
              <button type="button" disabled=${checked?.sound !== true || isBusy || !list.writable}
                onClick=${lay}>Save to RULES_DIR</button>`
          : html`<button type="button" class="button-accent" disabled=${isStuck || revision === null}
              onClick=${hand}>Propose its release …</button>`
      }
      <button type="button" onClick=${() => downloadFiles(copy)}>Download</button>
      ${revision !== null && html`<button type="button" onClick=${discard}>Discard …</button>`}
    </div>
    <div role="status">${told}</div>
    ${trouble} ${dialog}
  </section>`;
}

const NOT_WRITABLE = `This node may not write to its RULES_DIR: download it, and put it there the way you
  bring rule sets there.`;

/** All files in one archive, in a folder of the version's name. */
async function downloadFiles({ version, files }: WorkingCopy) {
  const { strToU8, zipSync } = await import('fflate/browser');
  const packed = Object.entries(files).map(([path, text]) => [`${version}/${path}`, strToU8(text)]);
  saveFile(`${version}.zip`, 'application/zip', new Uint8Array(zipSync(Object.fromEntries(packed))));
}

/** What it does although callers and analysts are promised otherwise. */
function renderBreaches(checked: CheckedDraft | null) {
  const broken = checked?.notes.filter(({ promise }) => promise !== null) ?? [];
  return (
    broken.length > 0 &&
    html`<ul class="notice">
      ${broken.map(({ message }) => html`<li>${message}</li>`)}
    </ul>`
  );
}

/** Cases that are gone let wrong answers pass. */
function renderLostCases({ before, of, names }: NonNullable<CheckedDraft['lostCases']>) {
  return html`<details class="notice">
    <summary>
      ${count(names.length)} of the ${counted(of, 'case', 'cases')} of ${before} are missing here
    </summary>
    <ul>
      ${names.map((name) => html`<li>${name}</li>`)}
    </ul>
  </details>`;
}

function listMissingSteps(version: string, checked: CheckedDraft | null): readonly string[] {
  if (version.includes('-'))
    return ['Only a version named like p2.v11 can be released. Begin one with such a name.'];
  const { passed = 0, failed = 0 } = checked?.coverage ?? {};
  const [unread] = listUnreadCases(checked?.problems ?? []);
  if (unread !== undefined) {
    const { file, line } = unread.at;
    return [`Mend the cases first: ${file} cannot be read, from line ${line} on.`];
  }
  return [
    ...(checked?.problems.length === 0 ? [] : ['Fix the problems.']),
    ...(passed > 0 && failed === 0 ? [] : ['All cases must pass, and there must be at least one.']),
  ];
}

type Remark = CheckedDraft['problems'][number];

type GoTo = (at: Remark['at']) => void;

/** The remarks about the draft, each with a way to its place. */
function renderRemarks({ checked, checking, error }: ReturnType<typeof useCheck>, go: GoTo) {
  return html`<section class="card" aria-label="Problems" aria-busy=${checking ? 'true' : 'false'}>
    <h2>Problems ${checked && sum(checked)}</h2>
    ${error && h(Trouble, { error })}
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
