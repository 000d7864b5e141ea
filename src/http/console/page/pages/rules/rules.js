import { useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { shortDigest } from '../../parts/format.js';
import { Answered, Empty } from '../../parts/notice.js';
import { ChangedSince } from '../../parts/rules/differences.js';
import { Table } from '../../parts/table.js';
import { Pill } from '../../parts/verdict.js';
import { ROLLOUT_STATUS, RULE_FOLDERS } from '../../questions.js';
import { Compare } from './compare.js';
import { OpenedVersion } from './version.js';

/**
 * @import { Rollout, RuleFolderList } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @typedef {RuleFolderList['versions'][number]} RuleFolder
 */

/**
 * The rule sets on this node, what is in them, and how they differ.
 * @param {PageProps} props
 */
export function RulesPage({ place }) {
  const folders = useAnswer(RULE_FOLDERS);
  const status = useAnswer(ROLLOUT_STATUS);
  const rollout = status.data?.rollout ?? null;
  const listed = (/** @type {RuleFolderList} */ { versions }) => {
    if (versions.length === 0)
      return html`<${Empty} title="No rule set on this node">
        Set RULES_DIR to the folder of rule sets; each lies in a folder like p2.v10.
      <//>`;
    const chosen = place.item === '' ? rollout?.active.version : place.item;
    return html`
      <${Versions} list=${versions} rollout=${rollout} chosen=${chosen} />
      <${Compare} list=${versions} />
      ${chosen && html`<${OpenedVersion} key=${chosen} version=${chosen} />`}`;
  };
  return html`<${Answered} answer=${folders}>${listed}<//>`;
}

/** @param {{ list: readonly RuleFolder[], rollout: Rollout | null, chosen: string | undefined }} props */
function Versions({ list, rollout, chosen }) {
  const sound = list.filter((one) => one.sound);
  return html`<section class="card">
    <h2>Versions</h2>
    <${Table} name="Versions" kind="in-lines" columns=${['version, digest', 'state', 'what changed']}>
      ${list.map((one) => {
        const before = sound[sound.indexOf(one) + 1]?.version;
        return html`<tr key=${one.version} class=${one.version === chosen ? 'chosen' : ''}>
          <td><${VersionLink} one=${one} isChosen=${one.version === chosen} /></td>
          <td><${VersionState} one=${one} rollout=${rollout} /></td>
          <td class="wide"><${WhatChanged} one=${one} before=${before} /></td>
        </tr>`;
      })}
    <//>
  </section>`;
}

/** @param {{ one: RuleFolder, isChosen: boolean }} props */
function VersionLink({ one, isChosen }) {
  const current = isChosen ? 'true' : undefined;
  return html`<a href=${`#/rules/${one.version}`} aria-current=${current}><b>${one.version}</b></a>
    ${one.digest && html`<div><code>${shortDigest(one.digest)}</code></div>`}
    <div><a href=${draftAddress(one)}>${one.released ? 'Begin a draft' : 'Edit'}</a></div>`;
}

/** @param {RuleFolder} one */
function draftAddress({ version, released }) {
  return released ? `#/draft?from=${version}` : `#/draft/${version}`;
}

/** @param {{ one: RuleFolder, rollout: Rollout | null }} props */
function VersionState({ one, rollout }) {
  if (!one.sound) return html`<${Pill} tone="bad">has problems<//>`;
  if (rollout?.active.version === one.version) return html`<${Pill} tone="good">active<//>`;
  if (rollout?.candidate?.version === one.version)
    return html`<${Pill} tone="note">${rollout.candidate.mode}<//>`;
  return html`<${Pill}>${one.released ? 'released' : 'draft'}<//>`;
}

/** @param {{ one: RuleFolder, before: string | undefined }} props */
function WhatChanged({ one, before }) {
  if (!one.sound)
    return html`<span class="faint">Open it to read what is wrong, with line and column.</span>`;
  if (before === undefined) return one.description;
  return html`<${ChangedSince} before=${before} after=${one.version} />`;
}
