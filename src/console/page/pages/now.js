import { may, useAnswer } from '../api.js';
import { html, useMemo } from '../html.js';
import { Chart, Happened } from '../parts/chart.js';
import { goTo, sent } from '../parts/form.js';
import { count, dateTime, duration, percent, share, shortDigest } from '../parts/format.js';
import { toVersion } from '../parts/links.js';
import { marksOf } from '../parts/marks.js';
import { answered, Empty, UnreadableRollout } from '../parts/notice.js';
import { inUtc, MinuteField, spanOf } from '../parts/time-span.js';
import { Figures, GROUPS, Pill, VERDICTS } from '../parts/verdict.js';
import { exploration, REPORTING, ROLLOUT_STATUS } from '../questions.js';
import { Nodes } from './now-nodes.js';

/**
 * @import { Explored, Reporting, Rollout, RolloutStatus, TrialCounts } from '../answers.d.ts'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { Mark } from '../parts/marks.js'
 */

/** @typedef {Explored['exploration']} Exploration */

const EVERY_MS = 10_000;

/** How far back, with what a slot is called, and how often the service counts anew. */
const SPANS = /** @type {const} */ ([
  { span: 'hour', note: 'a minute', everyMs: EVERY_MS },
  { span: 'day', note: 'each half hour', everyMs: 30_000 },
  { span: 'week', note: 'each three hours', everyMs: 60_000 },
  { span: 'month', note: 'each half day', everyMs: 60_000 },
  { span: 'quarter', note: 'a day', everyMs: 60_000 },
]);

/**
 * What all nodes answered lately or over weeks, who decides, and which nodes there are.
 * @param {PageProps} props
 */
export function NowPage({ session, place }) {
  const chosen = SPANS.find(({ span }) => span === place.query.get('span')) ?? SPANS[0];
  const { to } = spanOf({ to: place.query.get('to') });
  const everyMs = to === undefined ? chosen.everyMs : 0;
  const verdicts = useAnswer(splitBy('verdict', chosen.span, to), everyMs);
  const groups = useAnswer(splitBy('group', chosen.span, to), everyMs);
  const bots = useAnswer(splitBy('bot', chosen.span, to), everyMs);
  const waits = useAnswer(splitBy('waitLevel', chosen.span, to), everyMs);
  const parts = [groups, bots, waits].map(({ data }) => data?.exploration ?? null);
  const reporting = useAnswer(REPORTING, EVERY_MS);
  const rollout = useAnswer(may(session, 'rules:read') ? ROLLOUT_STATUS : null, EVERY_MS);
  const upTo = place.query.get('to');
  const fleet = { chosen, parts, isPast: to !== undefined, rollout: rollout.data?.rollout ?? null };
  return html`
    ${reporting.data?.stopped && html`<${ReportsStopped} ...${reporting.data} />`}
    ${may(session, 'rules:read') && answered(rollout, (status) => html`<${Deciding} status=${status} />`)}
    <nav class="tabs" aria-label="How far back">
      ${SPANS.map(
        ({ span }) => html`<a
          href=${addressOf(span, upTo ?? undefined)}
          aria-current=${span === chosen.span ? 'page' : undefined}
          >${span}</a
        >`,
      )}
    </nav>
    <${UpTo} key=${place.query} span=${chosen.span} minute=${upTo} />
    ${answered(verdicts, (all) => html`<${Fleet} ...${fleet} found=${all.exploration} />`)}
    ${rollout.data?.nodes && html`<${Nodes} rollout=${rollout.data.rollout} nodes=${rollout.data.nodes} />`}
  `;
}

/** @param {Reporting} props */
function ReportsStopped({ newestAt, awaited, awaitedSince, usualMs }) {
  return html`<div class="notice notice-bad" role="alert">
    <strong>Nothing is reported any more of what becomes of the orders</strong>
    <p>
      The newest report came at ${dateTime(newestAt ?? 0)}. Of the ${count(awaited)} orders that were granted
      since ${dateTime(awaitedSince ?? 0)} nothing is known, and usually 95 % of the reports come within
      ${' '}${duration(usualMs ?? 0)}. Until reports come again, attempts stay open, so the next orders of
      customers who paid are told to wait. Look at what sends them to POST /v1/platform/outcomes; reports
      may be late.
    </p>
  </div>`;
}

/** @param {string} by @param {string} span @param {number | undefined} to */
function splitBy(by, span, to) {
  return exploration(
    new URLSearchParams({ by, span, ...(to !== undefined && { to: new Date(to).toISOString() }) }),
  );
}

/** @param {string} span @param {string | undefined} to */
function addressOf(span, to) {
  return `#/explore/now?${new URLSearchParams({ span, ...(to !== undefined && { to }) })}`;
}

/**
 * Up to which time, so that a link shows everybody the same.
 * @param {{ span: string, minute: string | null }} props
 */
function UpTo({ span, minute }) {
  const submit = sent((values) => goTo(addressOf(span, inUtc(values)['to'])));
  return html`<form class="filters" onSubmit=${submit}>
    <${MinuteField} label="up to (empty: now)" name="to" minute=${minute} />
    <div class="buttons"><button type="submit">Show</button></div>
  </form>`;
}

/**
 * @param {{
 *   found: Exploration, parts: readonly (Exploration | null)[], chosen: typeof SPANS[number],
 *   isPast: boolean, rollout: Rollout,
 * }} props
 */
function Fleet({ found, parts, chosen: { span, note }, isPast, rollout }) {
  const name = isPast ? `this ${span}` : `the last ${span}`;
  const slots = useMemo(() => slotsOf(found, parts), [found, ...parts]);
  const marks = useMemo(() => marksIn(rollout, slots, found), [rollout?.revision, slots]);
  return html`
    <${VerdictFigures} slots=${slots} name=${name} />
    ${
      verdictsIn(slots) === 0 &&
      html`<${Empty} title=${`No verdict in ${name}`}>
        When a checkout calls POST /v1/client/verdict, the charts fill. To look around in a made-up day, start
        npm run demo instead.
      <//>`
    }
    <${VerdictCharts} ...${{ slots, note, marks }} />
    <${Happened} title="Rollouts and alerts in this time" marks=${marks.toReversed()} />
    <p class="faint">Of all nodes, for the platform of your key.</p>`;
}

/** @typedef {{ at: number, verdicts: Counts, groups: Counts, bots: number, waits: Counts }} VerdictSlot */
/** @typedef {Readonly<Record<string, number>>} Counts */

/**
 * What was answered within each slot; answers of a moment before count as well.
 * @param {Exploration} verdicts
 * @param {readonly (Exploration | null)[]} parts
 * @returns {readonly VerdictSlot[]}
 */
function slotsOf(verdicts, [groups = null, bots = null, waits = null]) {
  return verdicts.slots.map((at) => ({
    at,
    verdicts: countsAt(verdicts, at),
    groups: countsAt(groups, at),
    bots: countsAt(bots, at)['bot'] ?? 0,
    waits: countsAt(waits, at),
  }));
}

/** @param {Exploration | null} found @param {number} at */
function countsAt(found, at) {
  const place = found?.slots.indexOf(at) ?? -1;
  const counted = (found?.values ?? []).map(({ value, decisions }) => [value, decisions[place] ?? 0]);
  return Object.fromEntries(counted.filter(([, decisions]) => decisions !== 0));
}

/**
 * What happened within the slots.
 * @param {Rollout} rollout
 * @param {readonly VerdictSlot[]} slots
 * @param {Exploration} found
 */
function marksIn(rollout, slots, { gaps, stepMs }) {
  const from = slots[0]?.at ?? Number.POSITIVE_INFINITY;
  return marksOf({ rollout, gaps }, { from, to: (slots.at(-1)?.at ?? from) + stepMs });
}

const WAIT_COLORS = /** @type {const} */ (['--wait-1', '--wait-2', '--wait-3', '--wait-4']);

/**
 * @typedef {{
 *   at: readonly number[], slots: readonly VerdictSlot[], all: number, note: string, marks: readonly Mark[],
 * }} VerdictChartProps
 */

/** @param {VerdictSlot} slot */
function allOf({ verdicts }) {
  return VERDICTS.reduce((sum, { name }) => sum + (verdicts[name] ?? 0), 0);
}

/** @param {readonly VerdictSlot[]} slots */
function verdictsIn(slots) {
  return sumOf(slots, allOf);
}

/**
 * The figures of a span, each with its name.
 * @param {{ slots: readonly VerdictSlot[], name: string }} props
 */
function VerdictFigures({ slots, name }) {
  const all = verdictsIn(slots);
  const of = (/** @type {'WAIT' | 'BLOCK'} */ verdict) =>
    sumOf(slots, ({ verdicts }) => verdicts[verdict] ?? 0);
  const bots = sumOf(slots, (slot) => slot.bots);
  const figures = [
    [`verdicts in ${name}`, count(all)],
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
function VerdictCharts({ slots, note, marks }) {
  const at = useMemo(() => slots.map((slot) => slot.at), [slots]);
  const props = { at, slots, all: verdictsIn(slots), note, marks };
  return html`<h2 class="only-read">What was answered</h2>
    <div class="charts charts-two">
      <${Mix} title="Verdicts" ...${props} parts=${VERDICT_PARTS} />
      <${BotShare} ...${props} />
      <${Mix} title="Client groups" ...${props} parts=${GROUP_PARTS} />
      <${Waits} ...${props} />
    </div>`;
}

const VERDICT_PARTS = VERDICTS.map(({ name, color }) => ({
  ...{ name, color, pick: (/** @type {VerdictSlot} */ { verdicts }) => verdicts[name] ?? 0 },
}));
const GROUP_PARTS = GROUPS.map(({ name, color }) => ({
  ...{ name, color, pick: (/** @type {VerdictSlot} */ { groups }) => groups[name] ?? 0 },
}));

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
    const bots = sumOf(slots, (slot) => slot.bots);
    return [{ name: 'bot flag', color: '--block', values, total: share(bots, all) }];
  }, [slots]);
  const chart = { title: 'Bot share', note: '% of verdicts', kind: 'lines', format: percent };
  return html`<${Chart} ...${chart} ...${{ at, series, marks }} />`;
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

/**
 * @template T
 * @param {readonly T[]} slots
 * @param {(slot: T) => number} pick
 */
function sumOf(slots, pick) {
  return slots.reduce((sum, slot) => sum + pick(slot), 0);
}

/**
 * Series of one value a slot, with the sum of the whole span, or its share of `all`.
 * @template T
 * @param {readonly T[]} slots
 * @param {number | null} all
 * @param {readonly { name: string, color: string, pick: (slot: T) => number }[]} parts
 */
function summed(slots, all, parts) {
  return parts.map(({ name, color, pick }) => {
    const sum = sumOf(slots, pick);
    return { name, color, values: slots.map(pick), total: all === null ? count(sum) : share(sum, all) };
  });
}

/** @typedef {Rollout['candidates'][number]} Candidate */

/** @param {{ status: RolloutStatus }} props */
function Deciding({ status: { rollout, unreadable, trials } }) {
  if (unreadable) return html`<${UnreadableRollout} />`;
  if (rollout === null)
    return html`<${Empty} title="No version decides yet">
      Start a node; the first start chooses the first version.
    <//>`;
  const { active, candidates } = rollout;
  return html`<section class="card deciding">
    <div>
      <span class="faint">active</span>${' '}
      <a href=${toVersion(active.version)}><b>${active.version}</b></a>${' '}
      <code>${shortDigest(active.digest)}</code>
    </div>
    ${
      candidates.length === 0
        ? html`<div class="faint">no candidate</div>`
        : candidates.map((one) => {
            const trial = trials.find(({ version }) => version === one.version) ?? null;
            return html`<${OnTrial} candidate=${one} trial=${trial} />`;
          })
    }
  </section>`;
}

/** @param {{ candidate: Candidate, trial: TrialCounts | null }} props */
function OnTrial({ candidate, trial }) {
  return html`<div>
      <span class="faint">${candidate.mode}</span> <a href="#/rollouts"><b>${candidate.version}</b></a>
      ${candidate.mode === 'canary' && html` <span class="num">${candidate.percent} %</span>`}
      ${trial && html` <span class="faint">${trialText(candidate, trial)}</span>`}
    </div>
    <div><span class="faint">guard</span> ${guardText(candidate)}</div>`;
}

/** @param {Candidate} candidate @param {TrialCounts} trial */
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
