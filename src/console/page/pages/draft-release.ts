import type { CheckedDraft, Session } from '../answers.ts';
import { ask } from '../api.ts';
import { html } from '../html.ts';
import { Reason, useProposal } from '../parts/confirm.ts';
import { count, counted } from '../parts/format.ts';
import { toVersion } from '../parts/links.ts';
import type { WorkingCopy } from '../parts/working-copy.ts';
import { keptDraft, releaseOf } from '../questions.ts';

interface ReleaseProps {
  readonly copy: WorkingCopy;
  readonly checked: CheckedDraft | null;
  readonly session: Session;
  readonly mayOperate: boolean;
}

/** The last step, kept apart because the version never changes after it. */
export function Release({ copy, checked, session, mayOperate }: ReleaseProps) {
  const { version, replaces, revision } = copy;
  const missing = stillMissing(copy, checked, mayOperate);
  // What somebody typed meanwhile stays a draft; all else is in the version.
  const { propose, dialog } = useProposal(() =>
    (revision === null ? Promise.resolve() : ask('DELETE', keptDraft(version, revision)))
      .catch(() => {})
      .finally(() => location.reload()),
  );
  const release = () =>
    propose({
      title: `Release ${version} for good?`,
      action: `Release ${version}`,
      act: ({ reason }) => ask('POST', releaseOf(version), { digest: replaces, reason }),
      children: html`<p>
          Its files never change from then on. Nobody is decided by it before it is rolled out.
        </p>
        <${Reason} session=${session} />`,
    });
  return html`<section class="card" aria-label="Release">
    <h2>Release it</h2>
    ${checked?.lostCases && html`<${LostCases} ...${checked.lostCases} />`}
    ${missing.length > 0 && html`<ul class="plain">${missing.map((what) => html`<li>○ ${what}</li>`)}</ul>`}
    <div class="buttons">
      <button type="button" disabled=${missing.length > 0} onClick=${release}>Release …</button>
    </div>
    ${dialog}
  </section>`;
}

/** Cases that are gone let wrong answers pass. */
function LostCases({ before, of, names }: NonNullable<CheckedDraft['lostCases']>) {
  return html`<details class="notice">
    <summary>
      ${count(names.length)} of the ${counted(of, 'case', 'cases')} of ${before}, which was released before
      it, are not in it
    </summary>
    <ul>
      ${names.map((name) => html`<li>${name}</li>`)}
    </ul>
  </details>`;
}

function stillMissing(
  { version, saved }: WorkingCopy,
  checked: CheckedDraft | null,
  mayOperate: boolean,
): readonly string[] {
  if (version.includes('-'))
    return ['A version with a word in its name stays a draft. Go on under a name like p2.v11.'];
  if (!mayOperate) return ['It takes a key of the installation with operate.'];
  return [
    ...(checked?.problems.length === 0 ? [] : ['Mend its problems.']),
    ...(checked?.coverage?.failed === 0 ? [] : ['Let all its cases pass.']),
    ...(saved ? [] : ['Save it.']),
  ];
}

/** What the draft would have decided on what happened, as it is kept now. */
export function TryOut({
  copy: { version, saved, from },
  checked,
}: {
  copy: WorkingCopy;
  checked: CheckedDraft | null;
}) {
  const to = toVersion(version, 'ask', {
    kind: 'backtest',
    against: from,
    days: '30',
    asked: 'yes',
  });
  const isSound = saved || checked?.sound === true;
  return html`<section class="card" aria-label="Backtest">
    <h2>Try it on what happened</h2>
    ${
      isSound
        ? html`<p><a href=${to}>Backtest ${version}</a>, with other values of its constants, too.</p>`
        : html`<p class="faint">Once it is sound.</p>`
    }
  </section>`;
}
