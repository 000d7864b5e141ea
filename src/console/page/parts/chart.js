import UPlot from 'uplot';
import { html, useEffect, useRef, useState } from '../html.js';
import { capOf } from './chart-cap.js';
import { clockTime, count as countText, dateTime, day } from './format.js';
import { numbers, Table } from './table.js';
import { Pill } from './verdict.js';

/** @import { Mark } from './marks.js' */

/**
 * A series of one value a slot of time; `color` names a custom property of the style sheet, `total` stands in
 * the legend while no slot is pointed at.
 * @typedef {object} Series
 * @property {string} name
 * @property {string} color
 * @property {readonly (number | null)[]} values
 * @property {string} [total]
 */

/**
 * An interval is a lower end, an upper end and a figure between them, at moments.
 * @typedef {'bars' | 'lines' | 'interval'} ChartKind
 */

/** Told the place of the slot under the pointer. @typedef {(place: number | null) => void} SetPlace */

/** Told the beginning and the end of what was dragged over, epoch ms. */
/** @typedef {(from: number, to: number) => void} Brush */

/**
 * @typedef {object} Drawing
 * @property {ChartKind} kind
 * @property {readonly number[]} at
 * @property {readonly Series[]} series
 * @property {SetPlace} setPlace
 * @property {readonly Mark[]} marks
 * @property {readonly number[]} heights of the slots
 * @property {Brush} [brush]
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
 *   format?: (value: number) => string, marks?: readonly Mark[], brush?: Brush,
 * }} props
 */
export function Chart({ title, note, kind, at, series, format = countText, marks = NO_MARKS, brush }) {
  const [place, setPlace] = useState(/** @type {number | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {UPlot | null} */ (null));
  const scheme = useScheme();
  const isInterval = kind === 'interval';
  const heights = isInterval ? [] : at.map((_, slot) => heightOf(kind, series, slot));
  const drawing = { kind, at, series, setPlace, marks, heights, ...(brush ? { brush } : {}) };
  // What a kept plot reads when it is drawn again.
  const now = useRef(drawing);
  now.current = drawing;
  const look = `${kind} ${scheme} ${series.map(({ name }) => name)} ${spanOf(at) <= DAY_MS}`;
  useEffect(() => (box.current === null ? undefined : drawInto(box.current, now, plot)), [look]);
  useEffect(() => plot.current?.setData(dataOf(drawing)), [at, series, marks]);
  const { cut } = capOf(heights);
  const pointedAt = place === null ? undefined : at[place];
  const shown = (/** @type {Series} */ { values, total }) =>
    place === null ? (total ?? '') : reading(values[place], format);
  return html`<figure class="chart">
    <figcaption>
      <h3>${title}</h3>
      <span class="faint num">${pointedAt === undefined ? note : slotTime(pointedAt, at, isInterval)}</span>
      ${cut > 0 && html`<span class="faint">▲ ${cut} taller, up to ${format(Math.max(...heights))}</span>`}
    </figcaption>
    <div ref=${box} class="plot" aria-hidden="true"></div>
    <ul class="legend">
      ${series.map(
        (one) => html`<li>
          <i style=${{ background: `var(${one.color})` }}></i>${one.name} <b class="num">${shown(one)}</b>
        </li>`,
      )}
    </ul>
    <${MinuteTable} ...${{ title, at, series, format, isInterval }} />
  </figure>`;
}

/** @param {number | null | undefined} value @param {(value: number) => string} format */
function reading(value, format) {
  return value === null || value === undefined ? '–' : format(value);
}

/**
 * @param {{
 *   title: string, at: readonly number[], series: readonly Series[], format: (value: number) => string,
 *   isInterval: boolean,
 * }} props
 */
function MinuteTable({ title, at, series, format, isInterval }) {
  const rows = [...at.entries()].filter(([index]) => series.some(({ values }) => values[index]));
  const columns = ['time', ...numbers(...series.map(({ name }) => name))];
  return html`<details class="minutes">
    <summary>${title} as a table</summary>
    <${Table} name=${`${title} by time`} columns=${columns}
      rows=${rows
        .toReversed()
        .map(([index, minute]) => [
          slotTime(minute, at, isInterval),
          ...series.map(({ values }) => reading(values[index], format)),
        ])} />
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
 * @param {boolean} isMoment rather than the beginning of a slot
 */
function slotTime(slot, at, isMoment) {
  const time = spanOf(at) <= DAY_MS ? clockTime(slot) : `${day(slot).slice(5)} ${clockTime(slot)}`;
  return !isMoment && slot === at.at(-1) && isRunning(at) ? `${time} so far` : time;
}

/** Whether the last slot is not over yet. @param {readonly number[]} at */
function isRunning(at) {
  return (at.at(-1) ?? 0) + stepOf(at) > Date.now();
}

/** @param {readonly number[]} at */
function stepOf(at) {
  return at.length < 2 ? MINUTE_MS : (at[1] ?? 0) - (at[0] ?? 0);
}

/**
 * @param {ChartKind} kind
 * @param {readonly Series[]} series
 * @param {number} slot
 */
function heightOf(kind, series, slot) {
  const values = series.map(({ values }) => values[slot] ?? 0);
  return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
}

/** @param {readonly number[]} at */
function spanOf(at) {
  return (at.at(-1) ?? 0) - (at[0] ?? 0);
}

/** @param {Drawing} drawing @returns {UPlot.AlignedData} */
function dataOf({ kind, at, series }) {
  const columns = kind === 'bars' ? stacked(series) : series.map(({ values }) => [...values]);
  return [at.map((ms) => ms / 1000), ...columns];
}

/**
 * Draws into the element and gives the way to take it down again.
 * @param {HTMLElement} element
 * @param {{ readonly current: Drawing }} now
 * @param {{ current: UPlot | null }} kept where it is found to be given other data
 */
function drawInto(element, now, kept) {
  const plot = new UPlot(options(element, now), dataOf(now.current), element);
  kept.current = plot;
  const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  watch.observe(element);
  return () => {
    watch.disconnect();
    kept.current = null;
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
 * @param {{ readonly current: Drawing }} now
 * @returns {UPlot.Options}
 */
function options(element, now) {
  const { kind, at, series, setPlace, brush } = now.current;
  const drawn = kind === 'bars' ? series.toReversed() : series;
  // So that the first and the last bar are whole.
  const halfSlot = () => stepOf(now.current.at) / 2000;
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    // At the right, half of the last time.
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: kind === 'lines' },
      drag: { x: brush !== undefined, y: false, setScale: false },
    },
    hooks: {
      setCursor: [({ cursor }) => setPlace(cursor.idx ?? null)],
      draw: [
        (plot) => drawUnfinished(plot, now.current),
        (plot) => drawMarks(plot, now.current),
        (plot) => kind === 'interval' && drawZero(plot),
      ],
      setSelect: brush === undefined ? [] : [(plot) => tellSelected(plot, now.current)],
    },
    scales: {
      x: { range: (_plot, min, max) => [min - halfSlot(), max + halfSlot()] },
      y: { range: (_plot, min, max) => rangeOf(now.current, min, max) },
    },
    axes: axesOf(kind, spanOf(at) <= DAY_MS ? clockTime : (ms) => day(ms).slice(5)),
    series: [{}, ...drawn.map((one) => seriesOptions(kind, colorOf(one.color)))],
    bands: kind === 'interval' ? [{ series: [2, 1], fill: colorOf('--accent-soft') }] : [],
  };
}

/**
 * From zero up, or around it, with some room.
 * @param {Drawing} drawing
 * @param {number} min
 * @param {number} max
 * @returns {[number, number]}
 */
function rangeOf({ kind, heights }, min, max) {
  if (kind === 'interval') return [Math.min(0, min) * 1.08, Math.max(0, max) * 1.08 || 1];
  return [0, capOf(heights).top * 1.08 || 1];
}

/** Where nothing differs. @param {UPlot} plot */
function drawZero({ ctx, bbox, valToPos }) {
  const y = valToPos(0, 'y', true);
  ctx.save();
  ctx.fillStyle = colorOf('--ink');
  ctx.fillRect(bbox.left, y, bbox.width, 1);
  ctx.restore();
}

/**
 * The slot that is not over yet is pale, so that nobody takes it for a fall.
 * @param {UPlot} plot
 * @param {Drawing} drawing
 */
function drawUnfinished({ ctx, bbox, valToPos }, { kind, at }) {
  if (kind === 'interval' || !isRunning(at)) return;
  const left = valToPos(((at.at(-1) ?? 0) - stepOf(at) / 2) / 1000, 'x', true);
  ctx.save();
  ctx.globalAlpha = 0.65;
  ctx.fillStyle = colorOf('--card');
  ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
  ctx.restore();
}

/**
 * What happened, across the time, and a tip on each slot that is taller than the chart.
 * @param {UPlot} plot
 * @param {Drawing} drawing
 */
function drawMarks({ ctx, bbox, valToPos }, { at: slots, marks, heights }) {
  const { top, cut } = capOf(heights);
  ctx.save();
  ctx.setLineDash([4, 3]);
  for (const { at, isAlert } of marks) {
    ctx.strokeStyle = colorOf(isAlert ? '--block' : '--accent');
    // A slot is drawn around its beginning.
    const x = valToPos((at - stepOf(slots) / 2) / 1000, 'x', true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.fillStyle = colorOf('--ink');
  ctx.font = '20px system-ui, sans-serif';
  ctx.textAlign = 'center';
  for (const [slot, height] of heights.entries())
    if (cut > 0 && height > top)
      ctx.fillText('▲', valToPos((slots[slot] ?? 0) / 1000, 'x', true), bbox.top + 16);
  ctx.restore();
}

/**
 * Whole slots; a click without a drag selects nothing.
 * @param {UPlot} plot
 * @param {Drawing} drawing
 */
function tellSelected(plot, { at, brush }) {
  const { left, width } = plot.select;
  const [from, last] = [at[plot.posToIdx(left)], at[plot.posToIdx(left + width)]];
  if (width === 0 || from === undefined || last === undefined) return;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  brush?.(from, last + stepOf(at));
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
  if (kind === 'interval') return { stroke: color, width: 1.75, points: { show: false } };
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

/**
 * The marks of a chart in words.
 * @param {{ title: string, marks: readonly import('./marks.js').Mark[] }} props
 */
export function Happened({ title, marks }) {
  if (marks.length === 0) return null;
  return html`<section class="card">
    <h2>${title}</h2>
    <ul class="plain">
      ${marks.map(
        ({ at, text, isAlert }) => html`<li>
          <span class="when">${dateTime(at)}</span>${' '}
          ${isAlert && html`<${Pill} tone="bad">alert<//>`} ${text}
        </li>`,
      )}
    </ul>
  </section>`;
}
