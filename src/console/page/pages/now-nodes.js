import { html } from '../html.js';
import { dateTime, shortDigest } from '../parts/format.js';
import { Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Pill } from '../parts/verdict.js';

/** @import { NodeReport, Rollout, RolloutStatus } from '../answers.d.ts' */

/**
 * Which nodes there are, and whether they follow the rollout.
 * @param {{ rollout: Rollout | null, nodes: NonNullable<RolloutStatus['nodes']> }} props
 */
export function Nodes({ rollout, nodes }) {
  if (nodes.length === 0)
    return html`<${Empty} title="No node was heard of in the last 10 s">
      Nodes report themselves to the store. Look at their logs, and at whether they reach it.
    <//>`;
  const columns = ['node', 'state', 'revision', 'versions', 'seen'];
  return html`<section class="card">
    <h2>Nodes</h2>
    <${Table} name="Nodes" columns=${columns}>
      ${nodes.map((node) => html`<${NodeRow} key=${node.nodeId} node=${node} rollout=${rollout} />`)}
    <//>
  </section>`;
}

/** @param {{ node: NodeReport, rollout: Rollout | null }} props */
function NodeRow({ node, rollout }) {
  const { host, pid, trouble, revision, versions, refused, seenAt, hasStaleLists } = node;
  return html`<tr>
    <td><b>${host}</b>/<span class="num">${pid}</span></td>
    <td>
      ${trouble === null ? html`<${Pill} tone="good">follows<//>` : html`<span class="bad">${trouble}</span>`}
      ${hasStaleLists === true && html`<${Pill} tone="bad">old shared lists<//>`}
    </td>
    <td class="when">${revision} of ${rollout?.revision ?? '–'}</td>
    <td>
      <ul class="plain">
        ${versions.map(
          ({ version, digest, released }) => html`<li>
            ${version} <code>${shortDigest(digest)}</code> ${!released && html`<${Pill}>draft<//>`}
          </li>`,
        )}
        ${refused.map(({ version }) => html`<li>${version} <${Pill} tone="bad">refused<//></li>`)}
      </ul>
    </td>
    <td class="when">${dateTime(seenAt)}</td>
  </tr>`;
}
