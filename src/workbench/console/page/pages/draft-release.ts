import { askService, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import { renderReasonField, useConfirmedChange } from '#workbench/console/page/parts/confirm.ts';
import { goTo, renderField } from '#workbench/console/page/parts/form.ts';
import {
  createTakenNameError,
  formatCount,
  formatDateTime,
  groupDigits,
  isReleaseName,
  RELEASE_NAME_PATTERN,
  suggestNextVersion,
  VERSION_NAME_FORM_TEXT,
  VERSION_NAME_PATTERN,
} from '#workbench/console/page/parts/format.ts';
import { useDrafts } from '#workbench/console/page/parts/kept-drafts.ts';
import { toConsolePath, toVersionPath } from '#workbench/console/page/parts/links.ts';
import { useAction } from '#workbench/console/page/parts/notice.ts';
import type { OpenDraft } from '#workbench/console/page/parts/open-draft.ts';
import { saveFile } from '#workbench/console/page/parts/save-file.ts';
import {
  listCaseFileProblems,
  replaceDraftName,
  saveDraft,
  type WorkingCopy,
} from '#workbench/console/page/parts/working-copy.ts';
import type {
  CheckedDraft,
  ProposalList,
  RuleFolderList,
  Session,
} from '#workbench/console/page/questions.ts';
import {
  draftProposalQuestion,
  draftToRulesDirQuestion,
  keptDraftQuestion,
  OPEN_PROPOSALS,
  releaseQuestion,
  ruleFolderQuestion,
} from '#workbench/console/page/questions.ts';

interface ReleaseProps {
  readonly draft: OpenDraft;
  /** The service's check of the present text. Null until the service has checked it. */
  readonly checked: CheckedDraft | null;
  readonly list: RuleFolderList;
  readonly session: Session;
}

/**
 * The last step: an operator releases the draft. A person who may not release proposes it to those who may.
 */
export function ReleaseStep({ draft: { copy, saveState, take }, checked, list, session }: ReleaseProps) {
  const { version, from, revision } = copy;
  const [told, setTold] = useState<string | null>(null);
  const { attempt, isBusy, trouble } = useAction();
  const proposals = useAnswer(revision === null ? null : OPEN_PROPOSALS);
  const { propose, dialog } = useConfirmedChange((leadsTo: string | null) => {
    if (leadsTo === null) proposals.reload();
    else goTo(leadsTo);
  });
  const missing = [
    ...(saveState === 'kept' ? [] : ['Wait until the draft is saved.']),
    ...listMissingSteps(checked),
  ];
  const mayRelease = isAllowed(session, 'operate');
  const needsName = !isReleaseName(version);
  const discardDraft = async () => {
    if (revision !== null) await askService('DELETE', keptDraftQuestion(version, revision));
    take(copy);
  };
  /** Puts the draft into RULES_DIR. If the version has a folder there, the draft replaces it. */
  const put = async ({ version, files }: WorkingCopy) => {
    const lies = list.versions.some((one) => one.version === version);
    const replaces = lies ? (await askService('GET', ruleFolderQuestion(version))).filesDigest : null;
    return askService('PUT', draftToRulesDirQuestion(version), {
      files,
      ...(replaces !== null && { replaces }),
    });
  };
  /** Returns the draft under another name. Throws if a version in RULES_DIR has that name. */
  const renameTo = (name: string) => {
    if (list.versions.some((one) => one.version === name)) throw createTakenNameError(name);
    return replaceDraftName(copy, name);
  };
  const rename = () =>
    propose({
      title: `Rename ${version}?`,
      action: 'Rename',
      act: async ({ name = '' }) => {
        if (name === version) return null;
        await saveDraft(renameTo(name));
        await discardDraft();
        return toVersionPath(name);
      },
      children: renderField('Name', {
        ...{ name: 'name', required: true, pattern: VERSION_NAME_PATTERN, title: VERSION_NAME_FORM_TEXT },
        ...{ defaultValue: version, autocomplete: 'off', spellcheck: false, autofocus: true },
      }),
    });
  const release = () =>
    propose({
      title: `Release ${version} for good?`,
      action: needsName ? 'Release' : `Release ${version}`,
      act: async ({ reason, name }) => {
        const released = name === undefined ? copy : renameTo(name);
        const { digest } = await put(released);
        await askService('POST', releaseQuestion(released.version), { digest, reason });
        await discardDraft();
        return toConsolePath('rules');
      },
      children: html`${needsName && h(ReleaseName, { version, list, session })}
        <p>
          Its files cannot change afterwards. It decides nothing until somebody rolls it out.
        </p>
        ${renderBreaches(checked)}
        ${renderReasonField(session.who)}`,
    });
  const proposeRelease = () =>
    propose({
      title: `Propose the release of ${version}?`,
      action: 'Propose it',
      act: async ({ reason, name }) => {
        if (name === undefined) {
          await askService('POST', draftProposalQuestion(version, revision), { reason });
          return null;
        }
        const saved = await saveDraft(renameTo(name));
        try {
          await askService('POST', draftProposalQuestion(name, saved.revision), { reason });
        } catch (refusal) {
          await askService('DELETE', keptDraftQuestion(name, saved.revision));
          throw refusal;
        }
        await discardDraft();
        return toVersionPath(name);
      },
      children: html`${needsName && h(ReleaseName, { version, list, session })}
        <p>The draft is proposed as it is now. A later change needs a new proposal.</p>
        ${renderBreaches(checked)}
        ${renderReasonField(session.who)}`,
    });
  const discard = () =>
    propose({
      title: `Discard the draft ${version}?`,
      action: 'Discard',
      tone: 'bad',
      act: async () => {
        await discardDraft();
        return toConsolePath('rules');
      },
      children: html`<p>
        It is gone for everybody on your platform. What was saved to RULES_DIR stays there.
      </p>`,
    });
  const saveToRulesDir = () =>
    attempt(() => put(copy).then(() => setTold('Saved to RULES_DIR. It can be rolled out as a shadow.')));
  const tried = toVersionPath(version, 'results', { kind: 'backtest', against: from });
  const isStuck = missing.length > 0;
  return html`<section class="card" aria-label="Release">
    <h2>Release</h2>
    <p class="faint">
      Started from <a href=${toVersionPath(from)}>${from}</a>. See${' '}
      <a href=${toVersionPath(version, 'changes')}>what changes</a> and${' '}
      <a href=${tried}>what it would have decided</a>.
      ${
        revision !== null &&
        html` You can also
          <a href=${toConsolePath('rules', { from: version })}>begin another draft with it</a>.`
      }
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
                onClick=${saveToRulesDir}>Save to RULES_DIR</button>`
          : html`<button type="button" class="button-accent" disabled=${isStuck || revision === null}
              onClick=${proposeRelease}>Propose its release …</button>`
      }
      <button type="button" onClick=${() => downloadFiles(copy)}>Download</button>
      ${
        revision !== null &&
        html`<button type="button" disabled=${saveState !== 'kept'} onClick=${rename}>Rename …</button>
          <button type="button" onClick=${discard}>Discard …</button>`
      }
    </div>
    <div role="status">${told} ${renderOpenProposal(proposals.data, copy, session)}</div>
    ${trouble} ${dialog}
  </section>`;
}

/** Says that the draft waits for an operator, and whether it has changed since. */
function renderOpenProposal(
  list: ProposalList | null,
  { version, revision }: WorkingCopy,
  { platform }: Session,
) {
  const open = list?.proposals.find(
    ({ subject, draft }) => subject === version && draft?.platform === platform,
  );
  if (open === undefined) return null;
  const by = `Proposed by ${open.proposedBy}, ${formatDateTime(open.proposedAt)}.`;
  if (open.draft?.revision === revision)
    return `It is proposed: an operator of the installation sees it, and releases or returns it. ${by}`;
  return `${CHANGED_SINCE} ${by}`;
}

const CHANGED_SINCE = `It was changed since its release was proposed: propose it again, or the release will be
  refused.`;

interface ReleaseNameProps {
  readonly version: string;
  readonly list: RuleFolderList;
  readonly session: Session;
}

/** The field for the version's name under which a draft is released. It begins with the next free name. */
function ReleaseName({ version, list, session }: ReleaseNameProps) {
  const drafts = useDrafts(session).data?.drafts ?? [];
  const taken = [...list.versions, ...drafts].map((one) => one.version);
  let free = version.replace(/-.*/, '');
  while (taken.includes(free)) free = suggestNextVersion(free);
  return renderField(
    'Version',
    {
      ...{ key: free, name: 'name', required: true, pattern: RELEASE_NAME_PATTERN, title: 'like p2.v11' },
      ...{ defaultValue: free, autocomplete: 'off', spellcheck: false },
    },
    `${version} is the name of the draft. Its files are released under the name of a version.`,
  );
}

const NOT_WRITABLE = `This node may not write to its RULES_DIR: download it, and put it there the way you
  bring rule sets there.`;

/** Saves all files as one zip file, in a folder with the version's name. */
async function downloadFiles({ version, files }: WorkingCopy) {
  const { strToU8, zipSync } = await import('fflate/browser');
  const packed = Object.entries(files).map(([path, text]) => [`${version}/${path}`, strToU8(text)]);
  saveFile(`${version}.zip`, 'application/zip', new Uint8Array(zipSync(Object.fromEntries(packed))));
}

/** Shows the promises to callers and analysts that the version breaks. */
function renderBreaches(checked: CheckedDraft | null) {
  const broken = checked?.notes.filter(({ promise }) => promise !== null) ?? [];
  return (
    broken.length > 0 &&
    html`<ul class="notice">
      ${broken.map(({ message }) => html`<li>${message}</li>`)}
    </ul>`
  );
}

/** Shows which cases of the earlier version are missing, because without them wrong answers may pass. */
function renderLostCases({ before, of, names }: NonNullable<CheckedDraft['lostCases']>) {
  return html`<details class="notice">
    <summary>
      ${groupDigits(names.length)} of the ${formatCount(of, 'case', 'cases')} of ${before} are missing here
    </summary>
    <ul>
      ${names.map((name) => html`<li>${name}</li>`)}
    </ul>
  </details>`;
}

function listMissingSteps(checked: CheckedDraft | null): readonly string[] {
  const { passed = 0, failed = 0 } = checked?.coverage ?? {};
  const [unread] = checked === null ? [] : listCaseFileProblems(checked);
  if (unread !== undefined) {
    const { file, line } = unread.at;
    return [`Mend the cases first: ${file} cannot be read, from line ${line} on.`];
  }
  return [
    ...(checked?.problems.length === 0 ? [] : ['Fix the problems.']),
    ...(passed > 0 && failed === 0 ? [] : ['All cases must pass, and there must be at least one.']),
  ];
}
