import { may, useAnswer } from '../api.js';
import { html, useMemo } from '../html.js';
import { Chart } from '../parts/chart.js';
import { count, dateTime, share, shortDigest } from '../parts/format.js';
import { Answered, Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Figures, GROUPS, Pill, VERDICTS } from '../parts/verdict.js';
import { LAST_HOUR, ROLLOUT_STATUS } from '../questions.js';

/**
 * @import { LastHour, NodeReport, Rollout, RolloutStatus, TrialCounts } from '../answers.d.ts'
 * @import { PageProps } from '../page-props.d.ts'
 * @typedef {LastHour['verdicts'][number]} VerdictMinute
 * @typedef {LastHour['requests'][number]} RequestMinute
 * @typedef {NonNullable<Rollout['candidate']>} Candidate
 */

const EVERY_MS = 10_000;
const WAIT_COLORS = /** @type {const} */ (['--wait-1', '--wait-2', '--wait-3', '--wait-4']);

/**
 * The last hour of this node, who decides, and which nodes there are.
 * @param {PageProps} props
 */
export function NowPage({ session }) {
  const hour = useAnswer(LAST_HOUR, EVERY_MS);
  const rollout = useAnswer(may(session, 'rules') ? ROLLOUT_STATUS : null, EVERY_MS);
  const deciding = (/** @type {RolloutStatus} */ status) => html`<${Deciding} status=${status} />`;
  const lastHour = (/** @type {LastHour} */ data) => html`<${Hour} data=${data} />`;
  return html`
    ${may(session, 'rules') && html`<${Answered} answer=${rollout}>${deciding}<//>`}
    <${Answered} answer=${hour}>${lastHour}<//>
    ${rollout.data?.nodes && html`<${Nodes} rollout=${rollout.data.rollout} nodes=${rollout.data.nodes} />`}
  `;
}

/** @param {{ status: RolloutStatus }} props */
function Deciding({ status: { rollout, trial } }) {
  if (rollout === null)
    return html`<${Empty} title="No version decides yet">
      Start a node; the first start chooses the first version.
    <//>`;
  const { active, candidate } = rollout;
  return html`<section class="card deciding">
    <div>
      <span class="faint">active</span>${' '}
      <a href=${`#/rules/${active.version}`}><b>${active.version}</b></a>${' '}
      <code>${shortDigest(active.digest)}</code>
    </div>
    ${
      candidate === null
        ? html`<div class="faint">no candidate</div>`
        : html`<${OnTrial} candidate=${candidate} trial=${trial} />`
    }
  </section>`;
}

/** @param {{ candidate: Candidate, trial: TrialCounts | null }} props */
function OnTrial({ candidate, trial }) {
  return html`<div>
      <span class="faint">${candidate.mode}</span> <a href="#/rollout"><b>${candidate.version}</b></a>
      ${candidate.mode === 'canary' && html` <span class="num">${candidate.percent} %</span>`}
      ${trial && html` <span class="faint">${trialText(candidate, trial)}</span>`}
    </div>
    <div><span class="faint">guard</span> ${guardText(candidate)}</div>`;
}

/**
 * @param {Candidate} candidate
 * @param {TrialCounts} trial
 */
function trialText({ mode }, { shadow, arms, candidateErrors }) {
  const errors = candidateErrors === 0 ? '' : `, threw ${count(candidateErrors)} times`;
  return mode === 'shadow'
    ? `${count(shadow.different)} of ${count(shadow.compared)} differ${errors}`
    : `decided ${count(arms.candidate.verdicts)}${errors}`;
}

/** @param {Candidate} candidate */
function guardText({ mode, guardPoints }) {
  if (mode === 'shadow') return html`<${Pill}>not needed<//>`;
  return guardPoints === null
    ? html`<${Pill} tone="note">off<//>`
    : html`<${Pill} tone="good">on, ${guardPoints} points<//>`;
}

/** @param {VerdictMinute} minute */
function allOf({ verdicts }) {
  return VERDICTS.reduce((sum, { name }) => sum + verdicts[name], 0);
}

/**
 * @template T
 * @param {readonly T[]} minutes
 * @param {(minute: T) => number} pick
 */
function sumOf(minutes, pick) {
  return minutes.reduce((sum, minute) => sum + pick(minute), 0);
}

/** @param {{ data: LastHour }} props */
function Hour({ data: { verdicts, requests } }) {
  const at = useMemo(() => verdicts.map((minute) => minute.at), [verdicts]);
  const all = sumOf(verdicts, allOf);
  const of = (/** @type {'WAIT' | 'BLOCK'} */ name) => sumOf(verdicts, (minute) => minute.verdicts[name]);
  const failed = sumOf(requests, (minute) => minute.failed);
  const figures = [
    ['verdicts in the last hour', count(all)],
    [
      'bot share',
      share(
        sumOf(verdicts, ({ bots }) => bots),
        all,
      ),
    ],
    ['told to wait', share(of('WAIT'), all)],
    ['blocked', share(of('BLOCK'), all)],
    ['requests to this node', count(sumOf(requests, (minute) => minute.requests))],
    ['failed (5xx)', html`<span class=${failed > 0 ? 'bad' : ''}>${count(failed)}</span>`],
  ];
  return html`
    <${Figures} items=${figures} />
    ${
      all === 0 &&
      html`<${Empty} title="No verdict in the last hour">
        This node counts since its start. When a checkout calls POST /v1/client/verdict on it, the charts
        fill.
      <//>`
    }
    <div class="charts">
      <${VerdictMix} at=${at} minutes=${verdicts} all=${all} />
      <${BotShare} at=${at} minutes=${verdicts} all=${all} />
      <${Groups} at=${at} minutes=${verdicts} all=${all} />
      <${Waits} at=${at} minutes=${verdicts} />
      <${Latency} at=${at} minutes=${requests} />
      <${Errors} at=${at} minutes=${requests} />
    </div>
    <p class="faint">
      Counted by the node that answers this page, for the platform of your key; latency and errors are of all
      its callers.
    </p>`;
}

/** @typedef {{ at: readonly number[], minutes: readonly VerdictMinute[], all: number }} VerdictChartProps */
/** @typedef {{ at: readonly number[], minutes: readonly RequestMinute[] }} RequestChartProps */

/**
 * Series of one minute value each, with the hour's sum, or its share of `all`.
 * @template T
 * @param {readonly T[]} minutes
 * @param {number | null} all
 * @param {readonly { name: string, color: string, pick: (minute: T) => number }[]} parts
 */
function summed(minutes, all, parts) {
  return parts.map(({ name, color, pick }) => {
    const sum = sumOf(minutes, pick);
    return { name, color, values: minutes.map(pick), total: all === null ? count(sum) : share(sum, all) };
  });
}

/** @param {VerdictChartProps} props */
function VerdictMix({ at, minutes, all }) {
  const series = useMemo(() => {
    const parts = VERDICTS.map(({ name, color }) => ({
      ...{ name, color },
      pick: (/** @type {VerdictMinute} */ { verdicts }) => verdicts[name],
    }));
    return summed(minutes, all, parts);
  }, [minutes]);
  return html`<${Chart} title="Verdicts" note="a minute" kind="bars" at=${at} series=${series} />`;
}

/** @param {VerdictChartProps} props */
function BotShare({ at, minutes, all }) {
  const series = useMemo(() => {
    const values = minutes.map((minute) => {
      const asked = allOf(minute);
      return asked === 0 ? null : (100 * minute.bots) / asked;
    });
    const total = share(
      sumOf(minutes, ({ bots }) => bots),
      all,
    );
    return [{ name: 'bot flag', color: '--block', values, total }];
  }, [minutes]);
  const chart = { title: 'Bot share', note: '% of verdicts', kind: 'lines', format: percentText };
  return html`<${Chart} ...${chart} at=${at} series=${series} />`;
}

/** @param {number} value */
function percentText(value) {
  return `${value.toFixed(1)} %`;
}

/** @param {VerdictChartProps} props */
function Groups({ at, minutes, all }) {
  const series = useMemo(() => {
    const parts = GROUPS.map(({ name, color }) => ({
      ...{ name, color },
      pick: (/** @type {VerdictMinute} */ { groups }) => groups[name],
    }));
    return summed(minutes, all, parts);
  }, [minutes]);
  const chart = { title: 'Client groups', note: 'verdicts a minute', kind: 'bars' };
  return html`<${Chart} ...${chart} at=${at} series=${series} />`;
}

/** @param {Omit<VerdictChartProps, 'all'>} props */
function Waits({ at, minutes }) {
  const series = useMemo(() => {
    const levels = new Set(minutes.flatMap(({ waits }) => Object.keys(waits)));
    const shown = levels.size === 0 ? ['1'] : [...levels].sort((a, b) => Number(a) - Number(b));
    const parts = shown.map((level, index) => ({
      name: `level ${level}`,
      color: WAIT_COLORS[index] ?? '--wait-4',
      pick: (/** @type {VerdictMinute} */ { waits }) => waits[level] ?? 0,
    }));
    return summed(minutes, null, parts);
  }, [minutes]);
  const chart = { title: 'Waits by ladder level', note: 'a minute', kind: 'bars' };
  return html`<${Chart} ...${chart} at=${at} series=${series} />`;
}

const LATENCIES = /** @type {const} */ ([
  ['p50', '--get-new'],
  ['p95', '--wait'],
  ['p99', '--block'],
]);

/** @param {RequestChartProps} props */
function Latency({ at, minutes }) {
  const series = useMemo(
    () =>
      LATENCIES.map(([name, color]) => {
        const values = minutes.map(({ latencyMs }) => latencyMs?.[name] ?? null);
        const worst = Math.max(0, ...values.map((value) => value ?? 0));
        return { name, color, values, total: worst === 0 ? '–' : `≤ ${worst} ms` };
      }),
    [minutes],
  );
  const chart = { title: 'Latency', note: 'ms; score and verdict', kind: 'lines', format: milliseconds };
  return html`<${Chart} ...${chart} at=${at} series=${series} />`;
}

/** @param {number} value */
function milliseconds(value) {
  return `${value} ms`;
}

/** @param {RequestChartProps} props */
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

/** @param {{ rollout: Rollout | null, nodes: NonNullable<RolloutStatus['nodes']> }} props */
function Nodes({ rollout, nodes }) {
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
  const { host, pid, trouble, revision, versions, refused, seenAt } = node;
  return html`<tr>
    <td><b>${host}</b>/<span class="num">${pid}</span></td>
    <td>
      ${trouble === null ? html`<${Pill} tone="good">follows<//>` : html`<span class="bad">${trouble}</span>`}
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
