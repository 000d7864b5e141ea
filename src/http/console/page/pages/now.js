import { useAnswer } from '../api.js';
import { html, useMemo } from '../html.js';
import { Chart } from '../parts/chart.js';
import { count, dateTime, share, shortDigest } from '../parts/format.js';
import { Answered, Empty } from '../parts/notice.js';
import { Figures, GROUPS, Pill, VERDICTS } from '../parts/verdict.js';

const EVERY_MS = 10_000;
const WAIT_COLORS = ['--wait-1', '--wait-2', '--wait-3', '--wait-4'];

/** The last hour of this node, who decides, and which nodes there are. */
export function NowPage({ session }) {
  const hour = useAnswer('last-hour', EVERY_MS);
  const rollout = useAnswer(session.operations.includes('rules') ? 'rules' : null, EVERY_MS);
  return html`
    ${session.operations.includes('rules') && html`<${Answered} answer=${rollout}>${(status) => html`<${Deciding} status=${status} />`}<//>`}
    <${Answered} answer=${hour}>${(data) => html`<${Hour} data=${data} />`}<//>
    ${rollout.data && html`<${Nodes} status=${rollout.data} />`}
  `;
}

function Deciding({ status: { rollout, trial } }) {
  if (rollout === null)
    return html`<${Empty} title="No version decides yet">Start a node; the first start chooses the first version.<//>`;
  const { active, candidate } = rollout;
  return html`<section class="card deciding">
    <div><span class="faint">active</span> <a href=${`#/rules/${active.version}`}><b>${active.version}</b></a> <code>${shortDigest(active.digest)}</code></div>
    ${
      candidate === null
        ? html`<div class="faint">no candidate</div>`
        : html`<div><span class="faint">${candidate.mode}</span> <a href="#/rollout"><b>${candidate.version}</b></a>
            ${candidate.mode === 'canary' && html` <span class="num">${candidate.percent} %</span>`}
            ${trial && html` <span class="faint">${trialText(candidate, trial)}</span>`}</div>
            <div><span class="faint">guard</span> ${guardText(candidate)}</div>`
    }
  </section>`;
}

function trialText({ mode }, { shadow, arms, candidateErrors }) {
  const errors = candidateErrors === 0 ? '' : `, threw ${count(candidateErrors)} times`;
  return mode === 'shadow'
    ? `${count(shadow.different)} of ${count(shadow.compared)} differ${errors}`
    : `decided ${count(arms.candidate.verdicts)}${errors}`;
}

function guardText({ mode, guardPoints }) {
  if (mode === 'shadow') return html`<${Pill}>not needed<//>`;
  return guardPoints === null
    ? html`<${Pill} tone="note">off<//>`
    : html`<${Pill} tone="good">on, ${guardPoints} points<//>`;
}

function Hour({ data: { verdicts, requests } }) {
  const at = useMemo(() => verdicts.map((minute) => minute.at), [verdicts]);
  const total = (pick) => verdicts.reduce((sum, minute) => sum + pick(minute), 0);
  const all = total((minute) => VERDICTS.reduce((sum, { name }) => sum + minute.verdicts[name], 0));
  const bots = total(({ bots }) => bots);
  const failed = requests.reduce((sum, minute) => sum + minute.failed, 0);
  return html`
    <${Figures} items=${[
      ['verdicts in the last hour', count(all)],
      ['bot share', share(bots, all)],
      [
        'told to wait',
        share(
          total((minute) => minute.verdicts.WAIT),
          all,
        ),
      ],
      [
        'blocked',
        share(
          total((minute) => minute.verdicts.BLOCK),
          all,
        ),
      ],
      ['requests to this node', count(requests.reduce((sum, minute) => sum + minute.requests, 0))],
      ['failed (5xx)', html`<span class=${failed > 0 ? 'bad' : ''}>${count(failed)}</span>`],
    ]} />
    ${all === 0 && html`<${Empty} title="No verdict in the last hour">This node counts since its start. When a checkout calls POST /v1/client/verdict on it, the charts fill.<//>`}
    <div class="charts">
      <${VerdictMix} at=${at} minutes=${verdicts} all=${all} />
      <${BotShare} at=${at} minutes=${verdicts} all=${all} />
      <${Groups} at=${at} minutes=${verdicts} all=${all} />
      <${Waits} at=${at} minutes=${verdicts} />
      <${Latency} at=${at} minutes=${requests} />
      <${Errors} at=${at} minutes=${requests} />
    </div>
    <p class="faint">Counted by the node that answers this page, for the platform of your key; latency and errors are of all its callers.</p>`;
}

/** Series of one minute value each, with the hour's sum and its share. */
function summed(minutes, all, parts) {
  return parts.map(({ name, color, pick }) => {
    const values = minutes.map(pick);
    const sum = values.reduce((one, other) => one + other, 0);
    return { name, color, values, total: all === null ? count(sum) : share(sum, all) };
  });
}

function VerdictMix({ at, minutes, all }) {
  const series = useMemo(
    () =>
      summed(
        minutes,
        all,
        VERDICTS.map(({ name, color }) => ({ name, color, pick: ({ verdicts }) => verdicts[name] })),
      ),
    [minutes],
  );
  return html`<${Chart} title="Verdicts" note="a minute" kind="bars" at=${at} series=${series} />`;
}

function BotShare({ at, minutes, all }) {
  const series = useMemo(() => {
    const values = minutes.map(({ bots, verdicts }) => {
      const asked = VERDICTS.reduce((sum, { name }) => sum + verdicts[name], 0);
      return asked === 0 ? null : (100 * bots) / asked;
    });
    const bots = minutes.reduce((sum, minute) => sum + minute.bots, 0);
    return [{ name: 'bot flag', color: '--block', values, total: share(bots, all) }];
  }, [minutes]);
  return html`<${Chart} title="Bot share" note="% of verdicts" kind="lines" at=${at} series=${series} format=${percentText} />`;
}

function percentText(value) {
  return `${value.toFixed(1)} %`;
}

function Groups({ at, minutes, all }) {
  const series = useMemo(
    () =>
      summed(
        minutes,
        all,
        GROUPS.map(({ name, color }) => ({ name, color, pick: ({ groups }) => groups[name] })),
      ),
    [minutes],
  );
  return html`<${Chart} title="Client groups" note="verdicts a minute" kind="bars" at=${at} series=${series} />`;
}

function Waits({ at, minutes }) {
  const series = useMemo(() => {
    const levels = [...new Set(minutes.flatMap(({ waits }) => Object.keys(waits)))].sort((a, b) => a - b);
    const shown = levels.length === 0 ? ['1'] : levels;
    const parts = shown.map((level, index) => ({
      name: `level ${level}`,
      color: WAIT_COLORS[Math.min(index, WAIT_COLORS.length - 1)],
      pick: ({ waits }) => waits[level] ?? 0,
    }));
    return summed(minutes, null, parts);
  }, [minutes]);
  return html`<${Chart} title="Waits by ladder level" note="a minute" kind="bars" at=${at} series=${series} />`;
}

function Latency({ at, minutes }) {
  const series = useMemo(
    () =>
      [
        ['p50', '--get-new'],
        ['p95', '--wait'],
        ['p99', '--block'],
      ].map(([name, color]) => {
        const values = minutes.map(({ latencyMs }) => latencyMs?.[name] ?? null);
        const worst = Math.max(0, ...values);
        return { name, color, values, total: worst === 0 ? '–' : `≤ ${worst} ms` };
      }),
    [minutes],
  );
  return html`<${Chart} title="Latency" note="ms; score and verdict" kind="lines" at=${at} series=${series} format=${milliseconds} />`;
}

function milliseconds(value) {
  return `${value} ms`;
}

function Errors({ at, minutes }) {
  const series = useMemo(
    () =>
      summed(minutes, null, [
        { name: 'refused (4xx)', color: '--wait', pick: ({ refused }) => refused },
        { name: 'failed (5xx)', color: '--block', pick: ({ failed }) => failed },
      ]),
    [minutes],
  );
  return html`<${Chart} title="Errors" note="a minute" kind="bars" at=${at} series=${series} />`;
}

function Nodes({ status: { nodes, rollout } }) {
  if (nodes.length === 0)
    return html`<${Empty} title="No node was heard of in the last 10 s">Nodes report themselves to the store. Look at their logs, and at whether they reach it.<//>`;
  return html`<section class="card">
    <h2>Nodes</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Nodes"><table>
      <thead><tr><th scope="col">node</th><th scope="col">state</th><th scope="col">revision</th><th scope="col">versions</th><th scope="col">seen</th></tr></thead>
      <tbody>${nodes.map(
        (node) => html`<tr>
          <td><b>${node.host}</b>/<span class="num">${node.pid}</span></td>
          <td>${node.trouble === null ? html`<${Pill} tone="good">follows<//>` : html`<span class="bad">${node.trouble}</span>`}</td>
          <td class="when">${node.revision} of ${rollout?.revision ?? '–'}</td>
          <td><ul class="plain">${node.versions.map(({ version, digest, released }) => html`<li>${version} <code>${shortDigest(digest)}</code> ${!released && html`<${Pill}>draft<//>`}</li>`)}
            ${node.refused.map(({ version }) => html`<li>${version} <${Pill} tone="bad">refused<//></li>`)}</ul></td>
          <td class="when">${dateTime(node.seenAt)}</td>
        </tr>`,
      )}</tbody>
    </table></div>
  </section>`;
}
