import { html, useMemo } from '../../html.js';
import { Chart } from '../../parts/chart.js';
import { count, share } from '../../parts/format.js';
import { Figures, GROUPS, VERDICTS } from '../../parts/verdict.js';
import { summed, sumOf } from './summed.js';

/**
 * @import { LastHour } from '../../answers.d.ts'
 * @import { Mark } from '../../parts/chart.js'
 * @typedef {LastHour['verdicts'][number]} VerdictSlot
 */

const WAIT_COLORS = /** @type {const} */ (['--wait-1', '--wait-2', '--wait-3', '--wait-4']);

/**
 * @typedef {{
 *   at: readonly number[], slots: readonly VerdictSlot[], all: number, note: string, marks: readonly Mark[],
 * }} VerdictChartProps
 */

/** @param {VerdictSlot} slot */
function allOf({ verdicts }) {
  return VERDICTS.reduce((sum, { name }) => sum + verdicts[name], 0);
}

/** @param {readonly VerdictSlot[]} slots */
export function verdictsIn(slots) {
  return sumOf(slots, allOf);
}

/**
 * The figures of a span, each with its name.
 * @param {{ slots: readonly VerdictSlot[], name: string }} props
 */
export function VerdictFigures({ slots, name }) {
  const all = verdictsIn(slots);
  const of = (/** @type {'WAIT' | 'BLOCK'} */ verdict) => sumOf(slots, ({ verdicts }) => verdicts[verdict]);
  const bots = sumOf(slots, (slot) => slot.bots);
  const figures = [
    [`verdicts in the last ${name}`, count(all)],
    ['bot share', share(bots, all)],
    ['told to wait', share(of('WAIT'), all)],
    ['blocked', share(of('BLOCK'), all)],
  ];
  return html`<${Figures} items=${figures} />`;
}

/**
 * What was answered, slot by slot, with what happened to the rollout.
 * @param {{ slots: readonly VerdictSlot[], note: string, marks: readonly Mark[] }} props
 */
export function VerdictCharts({ slots, note, marks }) {
  const at = useMemo(() => slots.map((slot) => slot.at), [slots]);
  const props = { at, slots, all: verdictsIn(slots), note, marks };
  return html`<h2 class="only-read">What was answered</h2>
    <div class="charts charts-two">
      <${VerdictMix} ...${props} />
    <${BotShare} ...${props} />
    <${Groups} ...${props} />
    <${Waits} ...${props} />
    </div>`;
}

/** @param {VerdictChartProps} props */
function VerdictMix(props) {
  const parts = VERDICTS.map(({ name, color }) => ({
    ...{ name, color },
    pick: (/** @type {VerdictSlot} */ { verdicts }) => verdicts[name],
  }));
  return html`<${Mix} title="Verdicts" ...${{ ...props, parts }} />`;
}

/**
 * Stacked bars, slot by slot.
 * @param {Omit<VerdictChartProps, 'all'> & {
 *   all: number | null,
 *   title: string,
 *   parts: readonly { name: string, color: string, pick: (slot: VerdictSlot) => number }[],
 * }} props
 */
function Mix({ title, parts, at, slots, all, note, marks }) {
  const series = useMemo(() => summed(slots, all, parts), [slots]);
  return html`<${Chart} title=${title} kind="bars" ...${{ note, at, series, marks }} />`;
}

/** @param {VerdictChartProps} props */
function BotShare({ at, slots, all, marks }) {
  const series = useMemo(() => {
    const values = slots.map((slot) => {
      const asked = allOf(slot);
      return asked === 0 ? null : (100 * slot.bots) / asked;
    });
    const total = share(
      sumOf(slots, ({ bots }) => bots),
      all,
    );
    return [{ name: 'bot flag', color: '--block', values, total }];
  }, [slots]);
  const chart = { title: 'Bot share', note: '% of verdicts', kind: 'lines', format: percentText };
  return html`<${Chart} ...${chart} ...${{ at, series, marks }} />`;
}

/** @param {number} value */
function percentText(value) {
  return `${value.toFixed(1)} %`;
}

/** @param {VerdictChartProps} props */
function Groups(props) {
  const parts = GROUPS.map(({ name, color }) => ({
    ...{ name, color },
    pick: (/** @type {VerdictSlot} */ { groups }) => groups[name],
  }));
  return html`<${Mix} title="Client groups" ...${{ ...props, parts }} />`;
}

/** @param {VerdictChartProps} props */
function Waits(props) {
  const levels = new Set(props.slots.flatMap(({ waits }) => Object.keys(waits)));
  const shown = levels.size === 0 ? ['1'] : [...levels].sort((a, b) => Number(a) - Number(b));
  const parts = shown.map((level, index) => ({
    name: `level ${level}`,
    color: WAIT_COLORS[index] ?? '--wait-4',
    pick: (/** @type {VerdictSlot} */ { waits }) => waits[level] ?? 0,
  }));
  return html`<${Mix} title="Waits by ladder level" ...${{ ...props, parts, all: null }} />`;
}
