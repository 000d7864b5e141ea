import { useAnswer } from '#workbench/console/page/api.ts';
import { h, html } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { ComparedDraft, differencesOf } from '#workbench/console/page/parts/differences.ts';
import { choice, goTo } from '#workbench/console/page/parts/form.ts';
import { useDrafts } from '#workbench/console/page/parts/kept-drafts.ts';
import { toVersion } from '#workbench/console/page/parts/links.ts';
import { answered, empty, Loading } from '#workbench/console/page/parts/notice.ts';
import { keptDraft, RULE_FOLDERS, ruleDiff } from '#workbench/console/page/questions.ts';

/** How a version, released or a draft, differs from another, and payers whom the two answer differently. */
export function ChangesPage({ place: { version, query }, session }: PageProps) {
  const folders = useAnswer(RULE_FOLDERS);
  const drafts = useDrafts(session);
  const isKept = drafts.isDraft(version);
  const draft = useAnswer(isKept ? keptDraft(version) : null);
  return answered(folders, ({ versions }) => {
    if (drafts.isAwaited || (isKept && draft.data === null && draft.error === null)) return h(Loading, {});
    const sound = versions.filter((one) => one.sound).map((one) => one.version);
    const others = sound.filter((one) => one !== version);
    const begun = draft.data?.from ?? others[sound.indexOf(version)] ?? others[0];
    const before = query.get('before') ?? begun;
    if (before === undefined)
      return empty('No other version', html`<a href="#/rules">Begin a draft</a> for a second one.`);
    const go = (other: string) => goTo(toVersion(version, 'changes', { before: other }));
    return html`${choice('compared with', others, { chosen: before, go })}
      <section class="card">
        <h2>${version} against ${before}</h2>
        ${
          isKept
            ? answered(draft, ({ files }) => h(ComparedDraft, { key: before, version, files, before }))
            : h(OfVersion, { before, after: version })
        }
      </section>`;
  });
}

function OfVersion({ before, after }: { before: string; after: string }) {
  return answered(useAnswer(ruleDiff(before, after)), differencesOf);
}
