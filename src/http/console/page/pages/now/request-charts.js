import { html, useMemo } from '../../html.js';
import { Chart } from '../../parts/chart.js';
import { count } from '../../parts/format.js';
import { Figures } from '../../parts/verdict.js';
import { summed, sumOf } from './summed.js';

/**
 * @import { LastHour } from '../../answers.d.ts'
 * @typedef {LastHour['requests'][number]} RequestMinute
 * @typedef {{ at: readonly number[], minutes: readonly RequestMinute[] }} RequestChartProps
 */

/**
 * How this node answered all callers within the last hour.
 * @param {{ minutes: readonly RequestMinute[] }} props
 */
export function RequestCharts({ minutes }) {
  const at = useMemo(() => minutes.map((minute) => minute.at), [minutes]);
  const failed = sumOf(minutes, (minute) => minute.failed);
  const figures = [
    ['requests to this node', count(sumOf(minutes, (minute) => minute.requests))],
    ['failed (5xx)', html`<span class=${failed > 0 ? 'bad' : ''}>${count(failed)}</span>`],
  ];
  return html`<section class="card">
    <h2>This node in the last hour, for all callers</h2>
    <${Figures} items=${figures} />
    <div class="charts">
      <${Latency} at=${at} minutes=${minutes} />
      <${Errors} at=${at} minutes=${minutes} />
    </div>
  </section>`;
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
