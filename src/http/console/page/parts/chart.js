import { html, useEffect, useRef, useState } from '../html.js';
import UPlot from '../packages/uplot.js';
import { clockTime, count as countText } from './format.js';

const HEIGHT = 150;

/** Seconds; so that the first and the last bar are whole. */
const HALF_MINUTE = 30;

/** Whole things are counted in whole steps. */
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000];

/**
 * Minutes as stacked bars or as lines, with a legend that reads the minute under the pointer, and the
 * same numbers as a table.
 * @param {{
 *   title: string, note?: string, kind: 'bars' | 'lines', at: number[],
 *   series: { name: string, color: string, values: (number | null)[], total?: string }[],
 *   format?: (value: number) => string,
 * }} props `color` names a custom property of the style sheet
 */
export function Chart({ title, note, kind, at, series, format = countText }) {
  const [place, setPlace] = useState(null);
  const box = useRef(null);
  const scheme = useScheme();
  useEffect(() => drawInto(box.current, kind, at, series, setPlace), [kind, at, series, scheme]);
  const shown = ({ values, total }) => (place === null ? (total ?? '') : reading(values[place], format));
  return html`<figure class="chart">
    <figcaption>
      <h3>${title}</h3>
      <span class="faint num">${place === null ? note : clockTime(at[place])}</span>
    </figcaption>
    <div ref=${box} class="plot" aria-hidden="true"></div>
    <ul class="legend">
      ${series.map((one) => html`<li><i style=${{ background: `var(${one.color})` }}></i>${one.name} <b class="num">${shown(one)}</b></li>`)}
    </ul>
    <${MinuteTable} title=${title} at=${at} series=${series} format=${format} />
  </figure>`;
}

function reading(value, format) {
  return value === null || value === undefined ? '–' : format(value);
}

function MinuteTable({ title, at, series, format }) {
  const rows = at.map((_, index) => index).filter((index) => series.some(({ values }) => values[index]));
  return html`<details class="minutes">
    <summary>${title} as a table</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${`${title} by minute`}>
      <table>
        <thead><tr><th scope="col">minute</th>${series.map(({ name }) => html`<th scope="col" class="num">${name}</th>`)}</tr></thead>
        <tbody>
          ${rows.toReversed().map(
            (index) => html`<tr><td class="num">${clockTime(at[index])}</td>
              ${series.map(({ values }) => html`<td class="num">${reading(values[index], format)}</td>`)}</tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

/** Changes when the reader's colour scheme does, so that canvases are drawn again. */
function useScheme() {
  const [dark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const follow = () => setDark(query.matches);
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, []);
  return dark;
}

/** Draws into the element and gives the way to take it down again. */
function drawInto(element, kind, at, series, setPlace) {
  const seconds = at.map((ms) => ms / 1000);
  const columns = kind === 'bars' ? stacked(series) : series.map(({ values }) => values);
  const plot = new UPlot(options(element, kind, series, setPlace), [seconds, ...columns], element);
  const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  watch.observe(element);
  return () => {
    watch.disconnect();
    plot.destroy();
  };
}

/** Each column holds its own values and those below it; the tallest comes first, so that it lies behind. */
function stacked(series) {
  const sums = series[0]?.values.map(() => 0) ?? [];
  const columns = series.map(({ values }) =>
    values.map((value, index) => {
      sums[index] += value ?? 0;
      return sums[index];
    }),
  );
  return columns.toReversed();
}

function options(element, kind, series, setPlace) {
  const ink = colorOf('--ink-faint');
  const line = { stroke: colorOf('--line'), width: 1 };
  const drawn = kind === 'bars' ? series.toReversed() : series;
  const axis = { stroke: ink, grid: line, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: kind === 'lines' }, drag: { x: false, y: false } },
    hooks: { setCursor: [({ cursor }) => setPlace(cursor.idx ?? null)] },
    scales: {
      x: { range: (_plot, min, max) => [min - HALF_MINUTE, max + HALF_MINUTE] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        values: (_plot, splits) => splits.map((s) => clockTime(s * 1000)),
        space: 60,
      },
      { ...axis, size: 40, space: 28, ...(kind === 'bars' ? { incrs: WHOLE_STEPS } : {}) },
    ],
    series: [{}, ...drawn.map((one) => seriesOptions(kind, colorOf(one.color)))],
  };
}

function seriesOptions(kind, color) {
  if (kind === 'lines')
    return { stroke: color, width: 1.75, points: { size: 4, fill: color }, spanGaps: false };
  return {
    stroke: color,
    fill: color,
    width: 0,
    points: { show: false },
    paths: UPlot.paths.bars({ size: [0.8, 14] }),
  };
}

function colorOf(property) {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}
