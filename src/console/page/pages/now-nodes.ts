import type { NodeReport, Rollout, RolloutStatus } from '../answers.ts';
import { html } from '../html.ts';
import { dateTime, shortDigest } from '../parts/format.ts';
import { Empty } from '../parts/notice.ts';
import { columns, Table } from '../parts/table.ts';
import { Pill } from '../parts/verdict.ts';

/** Which nodes there are, and whether they follow the rollout. */
export function Nodes({
  rollout,
  nodes,
}: {
  rollout: Rollout | null;
  nodes: NonNullable<RolloutStatus['nodes']>;
}) {
  if (nodes.length === 0)
    return html`<${Empty} title="No node was heard of in the last 10 s">
      Nodes report themselves to the store. Look at their logs, and at whether they reach it.
    <//>`;
  return html`<section class="card">
    <h2>Nodes</h2>
    <${Table} name="Nodes" columns=${COLUMNS} rows=${nodes.map((node) => cellsOf(node, rollout))} />
  </section>`;
}

const COLUMNS = ['node', 'state', ...columns('when', 'revision'), 'versions', ...columns('when', 'seen')];

function cellsOf(
  { host, pid, trouble, revision, versions, refused, seenAt, hasStaleLists }: NodeReport,
  rollout: Rollout | null,
) {
  return [
    html`<b>${host}</b>/<span class="num">${pid}</span>`,
    html`${
      trouble === null ? html`<${Pill} tone="good">follows<//>` : html`<span class="bad">${trouble}</span>`
    }
      ${hasStaleLists === true && html`<${Pill} tone="bad">old shared lists<//>`}`,
    `${revision} of ${rollout?.revision ?? '–'}`,
    html`<ul class="plain">
      ${versions.map(
        ({ version, digest, released }) => html`<li>
          ${version} <code>${shortDigest(digest)}</code> ${!released && html`<${Pill}>draft<//>`}
        </li>`,
      )}
      ${refused.map(({ version }) => html`<li>${version} <${Pill} tone="bad">refused<//></li>`)}
    </ul>`,
    dateTime(seenAt),
  ];
}
