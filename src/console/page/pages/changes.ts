import { ask, may, useAnswer } from '../api.ts';
import { h, html, useEffect, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { differencesOf } from '../parts/differences.ts';
import { choice, goTo } from '../parts/form.ts';
import { toVersion } from '../parts/links.ts';
import { answered, empty, Loading, Trouble } from '../parts/notice.ts';
import type { Draft, RuleDiff } from '../questions.ts';
import { COMPARE_DRAFT, DRAFTS, keptDraft, RULE_FOLDERS, ruleDiff } from '../questions.ts';

/** How a version, released or a draft, differs from another, and payers whom the two answer differently. */
export function ChangesPage({ place: { version, query }, session }: PageProps) {
  const folders = useAnswer(RULE_FOLDERS);
  const drafts = useAnswer(may(session, 'rules') ? DRAFTS : null);
  const isKept = drafts.data?.drafts.some((one) => one.version === version) === true;
  const draft = useAnswer(isKept ? keptDraft(version) : null);
  return answered(folders, ({ versions }) => {
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
            ? answered(draft, (one) => h(OfDraft, { key: before, draft: one, before }))
            : h(OfVersion, { before, after: version })
        }
      </section>`;
  });
}

function OfVersion({ before, after }: { before: string; after: string }) {
  return answered(useAnswer(ruleDiff(before, after)), differencesOf);
}

function OfDraft({ draft: { version, files }, before }: { draft: Draft; before: string }) {
  const [diff, setDiff] = useState<RuleDiff | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    ask('POST', COMPARE_DRAFT, { version, files, before }).then(setDiff, setError);
  }, []);
  if (error) return h(Trouble, { error });
  return diff === null ? h(Loading, {}) : differencesOf(diff);
}
