import { useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useEffect } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { DraftDifferences, renderDifferences } from '#workbench/console/page/parts/differences.ts';
import { goTo, renderChoice } from '#workbench/console/page/parts/form.ts';
import { useDrafts } from '#workbench/console/page/parts/kept-drafts.ts';
import { toVersionPath } from '#workbench/console/page/parts/links.ts';
import { Loading, renderAnswer, renderEmpty } from '#workbench/console/page/parts/notice.ts';
import { keptDraftQuestion, RULE_FOLDERS, ruleDiffQuestion } from '#workbench/console/page/questions.ts';

/** How often the page looks whether the draft was changed. */
const FOLLOWED_EVERY_MS = 3000;

/**
 * The differences between a version and another one, and payers to whom the two give different answers.
 * The version may be a draft.
 */
export function VersionChangesPage({ place: { version, query }, session }: PageProps) {
  const folders = useAnswer(RULE_FOLDERS);
  const drafts = useDrafts(session, FOLLOWED_EVERY_MS);
  const isKept = drafts.isDraft(version);
  const draft = useAnswer(isKept ? keptDraftQuestion(version) : null);
  const revision = drafts.data?.drafts.find((one) => one.version === version)?.revision;
  const isOutdated = draft.data !== null && revision !== undefined && draft.data.revision < revision;
  useEffect(() => {
    if (isOutdated) draft.reload();
  }, [isOutdated, revision]);
  return renderAnswer(folders, ({ versions }) => {
    if (drafts.isAwaited || (isKept && draft.data === null && draft.error === null)) return h(Loading, {});
    const sound = versions.filter((one) => one.sound).map((one) => one.version);
    const others = sound.filter((one) => one !== version);
    const begun = draft.data?.from ?? others[sound.indexOf(version)] ?? others[0];
    const before = query.get('before') ?? begun;
    if (before === undefined)
      return renderEmpty(
        'No other version',
        html`What changes between two versions stands here. <a href="#/rules">Begin a draft</a> first.`,
      );
    const go = (other: string) => goTo(toVersionPath(version, 'changes', { before: other }));
    return html`<div class="filters">${renderChoice('compared with', others, { chosen: before, go })}</div>
      <section class="card">
        <h2>${version} against ${before}</h2>
        ${
          isKept
            ? renderAnswer(draft, ({ files }) =>
                h(DraftDifferences, { key: before, version, files, before, isOutdated }),
              )
            : h(OfVersion, { before, after: version })
        }
      </section>`;
  });
}

function OfVersion({ before, after }: { before: string; after: string }) {
  return renderAnswer(useAnswer(ruleDiffQuestion(before, after)), renderDifferences);
}
