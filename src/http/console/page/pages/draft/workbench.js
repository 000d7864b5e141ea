import { may } from '../../api.js';
import { html, useState } from '../../html.js';
import { Cases } from '../../parts/rules/cases.js';
import { useCheck } from '../../parts/rules/use-check.js';
import { withFile } from '../../parts/rules/working-copy.js';
import { Compare } from './compare.js';
import { FileEditor } from './file-editor.js';
import { Keep } from './keep.js';
import { Release } from './release.js';
import { Remarks } from './remarks.js';
import { TryOut } from './try-out.js';

/**
 * @import { CheckedDraft, RuleFolderList, Session } from '../../answers.d.ts'
 * @import { Wanted } from './file-editor.js'
 * @import { WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/**
 * All that is done with a draft.
 * @typedef {object} WorkbenchProps
 * @property {WorkingCopy} copy
 * @property {(copy: WorkingCopy) => void} change
 * @property {() => void} discard forgets what is in this browser
 * @property {RuleFolderList} list
 * @property {Session} session
 * @property {() => void} again
 */

/** @param {WorkbenchProps} props */
export function Workbench({ copy, change, discard, list, session, again }) {
  const [wanted, setWanted] = useState(/** @returns {Wanted} */ () => ({ path: 'verdicts.yaml', at: null }));
  const { checked, checking, error } = useCheck(copy);
  const mayOperate = may(session, 'operate');
  const go = (/** @type {CheckedDraft['problems'][number]['at']} */ at) =>
    setWanted({ path: at.file, at: { line: at.line, column: at.column } });
  const edit = (/** @type {string} */ path, /** @type {string} */ text) => change(withFile(copy, path, text));
  return html`
    <${Keep} copy=${copy} change=${change} discard=${discard} checked=${checked} list=${list}
      mayOperate=${mayOperate} again=${again} />
    <${FileEditor} copy=${copy} change=${change} edit=${edit} checked=${checked} wanted=${wanted}
      setWanted=${setWanted} />
    <${Remarks} checked=${checked} checking=${checking} error=${error} go=${go} />
    ${checked?.coverage && html`<${Cases} run=${checked.coverage} />`}
    <${Compare} copy=${copy} checked=${checked} list=${list} />
    <${TryOut} copy=${copy} checked=${checked} list=${list} />
    <${Release} copy=${copy} checked=${checked} session=${session} mayOperate=${mayOperate} />`;
}
