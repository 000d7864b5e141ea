import { html, useEffect, useRef, useState } from '../html.js';
import UPlot from '../packages/uplot.js';
import { clockTime, count as countText, day } from './format.js';
import { numbers, Table } from './table.js';

/**
 * A series of one value a slot of time; `color` names a custom property of the style sheet, `total` stands in
 * the legend while no slot is pointed at.
 * @typedef {object} Series
 * @property {string} name
 * @property {string} color
 * @property {readonly (number | null)[]} values
 * @property {string} [total]
 */

/** @typedef {'bars' | 'lines'} ChartKind */

/** Something that happened, drawn as a line across the time. */
/** @typedef {{ readonly at: number, readonly text: string }} Mark */

/** Told the place of the slot under the pointer. @typedef {(place: number | null) => void} SetPlace */

/**
 * @typedef {object} Drawing
 * @property {ChartKind} kind
 * @property {readonly number[]} at
 * @property {readonly Series[]} series
 * @property {SetPlace} setPlace
 * @property {readonly Mark[]} marks
 */

const HEIGHT = 150;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Whole things are counted in whole steps. */
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000];

/**
 * Slots as stacked bars or as lines, with a legend that reads the slot under the pointer, and the
 * same numbers as a table.
 * @param {{
 *   title: string, note?: string, kind: ChartKind, at: readonly number[], series: readonly Series[],
 *   format?: (value: number) => string, marks?: readonly Mark[],
 * }} props
 */
export function Chart({ title, note, kind, at, series, format = countText, marks = NO_MARKS }) {
  const [place, setPlace] = useState(/** @type {number | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const scheme = useScheme();
  useEffect(
    () => (box.current === null ? undefined : drawInto(box.current, { kind, at, series, setPlace, marks })),
    [kind, at, series, scheme, marks],
  );
  const pointedAt = place === null ? undefined : at[place];
  const shown = (/** @type {Series} */ { values, total }) =>
    place === null ? (total ?? '') : reading(values[place], format);
  return html`<figure class="chart">
    <figcaption>
      <h3>${title}</h3>
      <span class="faint num">${pointedAt === undefined ? note : slotTime(pointedAt, at)}</span>
    </figcaption>
    <div ref=${box} class="plot" aria-hidden="true"></div>
    <ul class="legend">
      ${series.map(
        (one) => html`<li>
          <i style=${{ background: `var(${one.color})` }}></i>${one.name} <b class="num">${shown(one)}</b>
        </li>`,
      )}
    </ul>
    <${MinuteTable} title=${title} at=${at} series=${series} format=${format} />
  </figure>`;
}

/**
 * @param {number | null | undefined} value
 * @param {(value: number) => string} format
 */
function reading(value, format) {
  return value === null || value === undefined ? '–' : format(value);
}

/**
 * @param {{
 *   title: string, at: readonly number[], series: readonly Series[], format: (value: number) => string,
 * }} props
 */
function MinuteTable({ title, at, series, format }) {
  const rows = [...at.entries()].filter(([index]) => series.some(({ values }) => values[index]));
  const columns = ['time', ...numbers(...series.map(({ name }) => name))];
  return html`<details class="minutes">
    <summary>${title} as a table</summary>
    <${Table} name=${`${title} by time`} columns=${columns}>
      ${rows.toReversed().map(
        ([index, minute]) => html`<tr>
          <td class="num">${slotTime(minute, at)}</td>
          ${series.map(({ values }) => html`<td class="num">${reading(values[index], format)}</td>`)}
        </tr>`,
      )}
    <//>
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

/** @type {readonly Mark[]} */
const NO_MARKS = [];

/**
 * `14:03` within a day, with the date where slots are of several days.
 * @param {number} slot
 * @param {readonly number[]} at
 */
function slotTime(slot, at) {
  return spanOf(at) <= DAY_MS ? clockTime(slot) : `${day(slot).slice(5)} ${clockTime(slot)}`;
}

/** @param {readonly number[]} at */
function spanOf(at) {
  return (at.at(-1) ?? 0) - (at[0] ?? 0);
}

/**
 * Draws into the element and gives the way to take it down again.
 * @param {HTMLElement} element
 * @param {Drawing} drawing
 */
function drawInto(element, drawing) {
  const { kind, at, series } = drawing;
  const seconds = at.map((ms) => ms / 1000);
  const columns = kind === 'bars' ? stacked(series) : series.map(({ values }) => [...values]);
  const plot = new UPlot(options(element, drawing), [seconds, ...columns], element);
  const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  watch.observe(element);
  return () => {
    watch.disconnect();
    plot.destroy();
  };
}

/**
 * Each column holds its own values and those below it; the tallest comes first, so that it lies behind.
 * @param {readonly Series[]} series
 */
function stacked(series) {
  const sums = series[0]?.values.map(() => 0) ?? [];
  const columns = series.map(({ values }) =>
    values.map((value, index) => {
      const sum = (sums[index] ?? 0) + (value ?? 0);
      sums[index] = sum;
      return sum;
    }),
  );
  return columns.toReversed();
}

/**
 * @param {HTMLElement} element
 * @param {Drawing} drawing
 * @returns {UPlot.Options}
 */
function options(element, { kind, at, series, setPlace, marks }) {
  const drawn = kind === 'bars' ? series.toReversed() : series;
  // So that the first and the last bar are whole.
  const halfSlot = ((at[1] ?? MINUTE_MS) - (at[0] ?? 0)) / 2000;
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    // At the right, half of the last time.
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: kind === 'lines' }, drag: { x: false, y: false } },
    hooks: {
      setCursor: [({ cursor }) => setPlace(cursor.idx ?? null)],
      draw: [(plot) => drawMarks(plot, marks)],
    },
    scales: {
      x: { range: (_plot, min, max) => [min - halfSlot, max + halfSlot] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: axesOf(kind, spanOf(at) <= DAY_MS ? clockTime : (ms) => day(ms).slice(5)),
    series: [{}, ...drawn.map((one) => seriesOptions(kind, colorOf(one.color)))],
  };
}

/**
 * @param {UPlot} plot
 * @param {readonly Mark[]} marks
 */
function drawMarks({ ctx, bbox, valToPos }, marks) {
  ctx.save();
  ctx.strokeStyle = colorOf('--accent');
  ctx.setLineDash([4, 3]);
  for (const { at } of marks) {
    const x = valToPos(at / 1000, 'x', true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/**
 * @param {ChartKind} kind
 * @param {(ms: number) => string} label
 * @returns {UPlot.Axis[]}
 */
function axesOf(kind, label) {
  const both = {
    stroke: colorOf('--ink-faint'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return [
    {
      ...both,
      grid: { show: false },
      size: 24,
      values: (_plot, splits) => splits.map((seconds) => label(seconds * 1000)),
      space: 60,
    },
    { ...both, size: 40, space: 28, ...(kind === 'bars' ? { incrs: WHOLE_STEPS } : {}) },
  ];
}

/**
 * @param {ChartKind} kind
 * @param {string} color
 * @returns {UPlot.Series}
 */
function seriesOptions(kind, color) {
  if (kind === 'lines')
    return { stroke: color, width: 1.75, points: { size: 4, fill: color }, spanGaps: false };
  const bars = UPlot.paths.bars?.({ size: [0.8, 14] });
  return {
    stroke: color,
    fill: color,
    width: 0,
    points: { show: false },
    ...(bars === undefined ? {} : { paths: bars }),
  };
}

/**
 * A colour of the style sheet as the canvas needs it: worked out for the reader's colour scheme.
 * @param {string} property
 */
function colorOf(property) {
  const probe = document.createElement('i');
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
