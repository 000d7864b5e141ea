import type UPlot from 'uplot';
import { html, useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import { formatClock, formatDateTime, formatDay, formatMinute, groupDigits } from './format.ts';
import type { TimeMark } from './marks.ts';
import { useMediaTest } from './media.ts';
import { declareNumberColumns, renderTable } from './table.ts';
import { renderPill } from './verdict.ts';

/**
 * A series with one value for each slot of time. `color` names a custom property of the style sheet.
 * `total` stands in the legend while the pointer is on no slot.
 */
interface Series {
  readonly name: string;
  readonly color: string;
  readonly values: readonly (number | null)[];
  readonly total?: string;
}

/**
 * The kind of a chart. An interval has a lower end, an upper end and a figure between them, for each
 * moment.
 */
type ChartKind = 'bars' | 'interval';

interface ChartProps {
  readonly title: string;
  readonly note?: string;
  readonly kind: ChartKind;
  readonly at: readonly number[];
  readonly series: readonly Series[];
  readonly format?: (value: number) => string;
  readonly marks?: readonly TimeMark[];
  /** The values of another time for each slot, which are drawn over the bars as a dashed line. */
  readonly before?: Pick<Series, 'name' | 'values'> | null;
  /** Receives the beginning and the end of a dragged selection, epoch ms. */
  readonly brush?: (from: number, to: number) => void;
}

interface Drawing extends Pick<ChartProps, 'kind' | 'at' | 'series' | 'brush' | 'before'> {
  /** Receives the index of the slot under the pointer, or null if the pointer is on no slot. */
  readonly setPlace: (place: number | null) => void;
  readonly marks: readonly TimeMark[];
  /** The largest value that is drawn for each slot: the sum of the series, or the value of the other time. */
  readonly heights: readonly number[];
}

/**
 * The heights of charts, in pixels. They are the same as in the style sheet, which reserves the room
 * before a chart is drawn.
 */
const HEIGHTS: Readonly<Record<ChartKind, number>> = { bars: 220, interval: 160 };

/** The room above the bars for the labels of marks, in pixels. */
const LABELS_HEIGHT = 24;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The steps of an axis that counts whole things. */
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000];

/**
 * Draws slots as stacked bars or as lines, with a legend for the slot under the pointer, and the same
 * numbers as a table.
 */
export function Chart(props: ChartProps) {
  const {
    title,
    note,
    kind,
    at,
    series,
    format = groupDigits,
    marks = NO_MARKS,
    before = null,
    brush,
  } = props;
  const [place, setPlace] = useState<number | null>(null);
  const [isDrawn, setIsDrawn] = useState(true);
  const box = useRef<HTMLElement | null>(null);
  const plot = useRef<UPlot | null>(null);
  const scheme = useMediaTest('(prefers-color-scheme: dark)');
  const isInterval = kind === 'interval';
  const heights = isInterval
    ? []
    : at.map((_, slot) => Math.max(computeHeight(series, slot), before?.values[slot] ?? 0));
  const drawing = { kind, at, series, setPlace, marks, before, heights, ...(brush ? { brush } : {}) };
  // The data that a kept plot reads when it is drawn again.
  const now = useRef(drawing);
  now.current = drawing;
  const names = series.map(({ name }) => name);
  const look = `${kind} ${scheme} ${names} ${computeSpan(at) <= DAY_MS} ${formatMinute(0)}`;
  useEffect(() => {
    let left = false;
    let takeDown = () => {};
    // The figures are shown first, and the plot is loaded after them.
    import('uplot').then(
      ({ default: Plot }) => {
        setIsDrawn(true);
        if (!left && box.current !== null) takeDown = drawInto(Plot, box.current, now, plot);
      },
      () => setIsDrawn(false),
    );
    return () => {
      left = true;
      takeDown();
    };
  }, [look]);
  useEffect(() => plot.current?.setData(toPlotData(drawing)), [at, series, marks, before]);
  const pointedAt = place === null ? undefined : at[place];
  const shown = ({ values, total }: Series) =>
    place === null ? (total ?? '') : formatReading(values[place], format);
  return html`<figure class=${`chart chart-${kind}`}>
    <figcaption>
      <h3>${title}</h3>
      <span
        class="faint num">${pointedAt === undefined ? note : formatSlotTime(pointedAt, at, isInterval)}</span>
    </figcaption>
    ${!isDrawn && html`<p class="faint">The chart could not be loaded. The table below has its numbers.</p>`}
    <div ref=${box} class="plot" aria-hidden="true"></div>
    <ul class="legend">
      ${series.map(
        (one) => html`<li>
          <i style=${{ background: `var(${one.color})` }}></i>${one.name} <b class="num">${shown(one)}</b>
        </li>`,
      )}
      ${
        before &&
        html`<li>
          <i class="dashed"></i>${before.name}
          <b class="num">${place !== null && formatReading(before.values[place], format)}</b>
        </li>`
      }
    </ul>
    ${renderMinuteTable(props)}
  </figure>`;
}

function formatReading(value: number | null | undefined, format: (value: number) => string) {
  return value === null || value === undefined ? '–' : format(value);
}

function renderMinuteTable({ title, kind, at, series, format = groupDigits }: ChartProps) {
  const rows = [...at.entries()].filter(([index]) => series.some(({ values }) => values[index]));
  const columns = ['time', ...declareNumberColumns(...series.map(({ name }) => name))];
  return html`<details class="minutes">
    <summary>${title} as a table</summary>
    ${renderTable({ name: `${title} by time`, columns }, rows.toReversed(), ([index, minute]) => [
      formatSlotTime(minute, at, kind === 'interval'),
      ...series.map(({ values }) => formatReading(values[index], format)),
    ])}
  </details>`;
}

const NO_MARKS: readonly TimeMark[] = [];

/**
 * Formats the time of a slot: `14:03` within a day, with the date if slots are of several days. `isMoment`
 * says that the time is a moment and not the beginning of a slot.
 */
function formatSlotTime(slot: number, at: readonly number[], isMoment: boolean) {
  const time =
    computeSpan(at) <= DAY_MS ? formatClock(slot) : `${formatDay(slot).slice(5)} ${formatClock(slot)}`;
  return !isMoment && slot === at.at(-1) && isRunning(at) ? `${time} so far` : time;
}

/** Whether the last slot is not over yet. */
function isRunning(at: readonly number[]) {
  return (at.at(-1) ?? 0) + computeStep(at) > Date.now();
}

function computeStep(at: readonly number[]) {
  return at.length < 2 ? MINUTE_MS : (at[1] ?? 0) - (at[0] ?? 0);
}

function computeHeight(series: readonly Series[], slot: number) {
  const values = series.map(({ values }) => values[slot] ?? 0);
  return values.reduce((sum, value) => sum + value, 0);
}

function computeSpan(at: readonly number[]) {
  return (at.at(-1) ?? 0) - (at[0] ?? 0);
}

function toPlotData({ kind, at, series, before }: Drawing): UPlot.AlignedData {
  const columns =
    kind === 'bars'
      ? [...stackSeries(series), [...(before?.values ?? at.map(() => null))]]
      : series.map(({ values }) => [...values]);
  return [at.map((ms) => ms / 1000), ...columns];
}

/**
 * Draws into the element. Returns the function that removes the drawing. `kept` holds the plot, so that it
 * can be given other data.
 */
function drawInto(
  Plot: typeof UPlot,
  element: HTMLElement,
  now: { readonly current: Drawing },
  kept: { current: UPlot | null },
) {
  const plot = new Plot(createPlotOptions(Plot, element, now), toPlotData(now.current), element);
  kept.current = plot;
  const watch = new ResizeObserver(() =>
    plot.setSize({ width: element.clientWidth, height: HEIGHTS[now.current.kind] }),
  );
  watch.observe(element);
  return () => {
    watch.disconnect();
    kept.current = null;
    plot.destroy();
  };
}

/**
 * Stacks the series. Each column has the sums of the values of a series and of those below it. The tallest
 * column comes first, so that it lies behind the others.
 */
function stackSeries(series: readonly Series[]) {
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

function createPlotOptions(
  { paths }: typeof UPlot,
  element: HTMLElement,
  now: { readonly current: Drawing },
): UPlot.Options {
  const { kind, at, series, setPlace, brush } = now.current;
  const drawn = kind === 'bars' ? series.toReversed() : series;
  // Half a slot of room, so that the first and the last bar are whole.
  const halfSlot = () => computeStep(now.current.at) / 2000;
  return {
    width: element.clientWidth || 300,
    height: HEIGHTS[kind],
    // At the right, there is room for half of the last time label.
    padding: [kind === 'bars' ? LABELS_HEIGHT : 8, 18, 0, 0],
    legend: { show: false },
    // The plot places the labels of the axis by local time, so it gets dates whose local time is the time
    // in the shown zone.
    tzDate: (seconds) => new Date(formatMinute(seconds * 1000)),
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: brush !== undefined, y: false, setScale: false },
    },
    hooks: {
      setCursor: [({ cursor }) => setPlace(cursor.idx ?? null)],
      draw: [
        (plot) => drawUnfinished(plot, now.current),
        (plot) => drawMarks(plot, now.current),
        (plot) => kind === 'interval' && drawZero(plot),
      ],
      setSelect: brush === undefined ? [] : [(plot) => reportSelection(plot, now.current)],
    },
    scales: {
      x: { range: (_plot, min, max) => [min - halfSlot(), max + halfSlot()] },
      y: { range: (_plot, min, max) => chooseRange(now.current, min, max) },
    },
    axes: createAxes(kind, computeSpan(at) <= DAY_MS ? formatClock : (ms) => formatDay(ms).slice(5)),
    series: [
      {},
      ...drawn.map((one) => createSeriesOptions(paths, kind, readColor(one.color))),
      // The dashed line of another time. Its data may arrive later or never.
      ...(kind === 'bars' ? [createDashedLine()] : []),
    ],
    bands: kind === 'interval' ? [{ series: [2, 1], fill: readColor('--accent-soft') }] : [],
  };
}

/** Chooses the range of values, with some room: from zero up for bars, and around zero for an interval. */
function chooseRange({ kind, heights }: Drawing, min: number, max: number): [number, number] {
  if (kind === 'interval') return [Math.min(0, min) * 1.08, Math.max(0, max) * 1.08 || 1];
  return [0, Math.max(0, ...heights) * 1.08 || 1];
}

/** Draws the line at zero, where nothing differs. */
function drawZero({ ctx, bbox, valToPos }: UPlot) {
  const y = valToPos(0, 'y', true);
  ctx.save();
  ctx.fillStyle = readColor('--ink');
  ctx.fillRect(bbox.left, y, bbox.width, 1);
  ctx.restore();
}

/** Draws the last slot pale if it is not over yet, so that nobody reads it as a fall. */
function drawUnfinished({ ctx, bbox, valToPos }: UPlot, { kind, at }: Drawing) {
  if (kind === 'interval' || !isRunning(at)) return;
  const left = valToPos(((at.at(-1) ?? 0) - computeStep(at) / 2) / 1000, 'x', true);
  ctx.save();
  ctx.globalAlpha = 0.65;
  ctx.fillStyle = readColor('--card');
  ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
  ctx.restore();
}

/** Draws marks as vertical lines, each with its label if there is room for it. */
function drawMarks({ ctx, bbox, valToPos }: UPlot, { at: slots, marks }: Drawing) {
  const scale = devicePixelRatio;
  const end = bbox.left + bbox.width;
  ctx.save();
  ctx.font = `${11 * scale}px Inter, system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'bottom';
  let free = bbox.left;
  for (const { at, label, isAlert } of marks) {
    const color = readColor(isAlert ? '--block-text' : '--accent');
    ctx.strokeStyle = color;
    ctx.fillStyle = color;
    ctx.setLineDash([3 * scale, 3 * scale]);
    // The bar of a slot is centred at the beginning of the slot.
    const x = Math.max(bbox.left, valToPos((at - computeStep(slots) / 2) / 1000, 'x', true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - 2 * scale);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const wide = label === null ? 0 : ctx.measureText(label).width;
    const left = Math.min(x, end + 14 * scale - wide);
    if (label === null || left < free) continue;
    ctx.fillText(label, left, bbox.top - 4 * scale);
    free = left + wide + 8 * scale;
  }
  ctx.restore();
}

/** Reports the selection in whole slots. A click without a drag selects nothing. */
function reportSelection(plot: UPlot, { at, brush }: Drawing) {
  const { left, width } = plot.select;
  const [from, last] = [at[plot.posToIdx(left)], at[plot.posToIdx(left + width)]];
  if (width === 0 || from === undefined || last === undefined) return;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  brush?.(from, last + computeStep(at));
}

function createAxes(kind: ChartKind, label: (ms: number) => string): UPlot.Axis[] {
  const both = {
    stroke: readColor('--ink-faint'),
    grid: { stroke: readColor('--line'), width: 1 },
    ticks: { show: false },
    font: '11px Inter, system-ui, sans-serif',
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

function createDashedLine(): UPlot.Series {
  return { stroke: readColor('--ink-faint'), width: 1.5, dash: [4, 4], points: { show: false } };
}

function createSeriesOptions(paths: (typeof UPlot)['paths'], kind: ChartKind, color: string): UPlot.Series {
  if (kind === 'interval') return { stroke: color, width: 1.75, points: { show: false } };
  const bars = paths.bars?.({ size: [0.8, 14] });
  return {
    stroke: color,
    fill: color,
    width: 0,
    points: { show: false },
    ...(bars === undefined ? {} : { paths: bars }),
  };
}

/** Reads a colour of the style sheet in the form that the canvas needs, for the reader's colour scheme. */
function readColor(property: string) {
  const probe = document.createElement('i');
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** The marks of a chart in words. */
export function MarkList({ title, marks }: { title: string; marks: readonly TimeMark[] }) {
  if (marks.length === 0) return null;
  return html`<section class="card">
    <h2>${title}</h2>
    <ul class="plain">
      ${marks.map(
        ({ at, text, isAlert }) => html`<li>
          <span class="when">${formatDateTime(at)}</span>${' '}
          ${isAlert && renderPill('alert', 'bad')} ${text}
        </li>`,
      )}
    </ul>
  </section>`;
}
