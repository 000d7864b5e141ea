import { useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { Answered, Empty } from '../../parts/notice.js';
import { forgetCopy, keepCopy, keptCopy, savedCopyOf } from '../../parts/rules/working-copy.js';
import { RULE_FOLDERS, ruleFolder } from '../../questions.js';
import { NewDraft } from './new-draft.js';
import { Workbench } from './workbench.js';

/**
 * @import { OpenedRuleFolder, RuleFolderList, Session } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @import { WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/**
 * Work on a draft: from a version that is opened to one that is released.
 * @param {PageProps} props
 */
export function DraftPage({ place: { item, query }, session }) {
  const folders = useAnswer(RULE_FOLDERS);
  const shown = (/** @type {RuleFolderList} */ list) =>
    item === ''
      ? html`<${NewDraft} list=${list} from=${query.get('from')} />`
      : html`<p><a href="#/draft">← All drafts</a></p>
          <${OpenedDraft} key=${item} version=${item} list=${list} session=${session}
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
  const change = (/** @type {WorkingCopy} */ changed) => {
    keepCopy(changed);
    setCopy(changed);
  };
  const discard = () => {
    forgetCopy(version);
    setCopy(null);
    again();
  };
  if (copy !== null)
    return html`<${Workbench} copy=${copy} change=${change} discard=${discard} list=${list}
      session=${session} again=${again} />`;
  if (lying === undefined)
    return html`<${Empty} title="No such draft">
      Nothing of ${version} is in this browser or on this node. <a href="#/draft">Begin a new draft</a>.
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
      <a href="#/rollout">Roll it out</a> ·
      <a href=${`#/draft?from=${encodeURIComponent(version)}`}>Begin a new draft with it</a>
    </p>
  </div>`;
}
