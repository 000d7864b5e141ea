import { may, useAnswer } from '../api.js';
import { html, useEffect, useMemo, useState } from '../html.js';
import { Chart, Happened } from '../parts/chart.js';
import { goTo, sent } from '../parts/form.js';
import { count, dateTime, duration, percent, share, shortDigest } from '../parts/format.js';
import { toVersion } from '../parts/links.js';
import { marksOf } from '../parts/marks.js';
import { answered, Empty, UnreadableRollout } from '../parts/notice.js';
import { inUtc, MinuteField, spanOf } from '../parts/time-span.js';
import { Figures, GROUPS, Pill, VERDICTS } from '../parts/verdict.js';
import { LAST_HOUR, ROLLOUT_STATUS, verdictHistory } from '../questions.js';
import { Nodes } from './now-nodes.js';

/**
 * @import { LastHour, Rollout, RolloutStatus, Session, TrialCounts, VerdictHistory } from '../answers.d.ts'
 * @import { Html } from '../html.js'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { Mark } from '../parts/marks.js'
 */

/** @typedef {LastHour['verdicts']} VerdictSlots */

const EVERY_MS = 10_000;

/** This node's minutes, where those of all nodes come from the archive. */
const NODE_EVERY_MS = 30_000;

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
  const history = useAnswer(verdictHistory(chosen.span, to), to === undefined ? chosen.everyMs : 0);
  const hour = useAnswer(LAST_HOUR, history.data?.history ? NODE_EVERY_MS : EVERY_MS);
  const rollout = useAnswer(may(session, 'rules:read') ? ROLLOUT_STATUS : null, EVERY_MS);
  const upTo = place.query.get('to');
  const shown = { chosen, hour: to === undefined ? hour.data : null, isPast: to !== undefined };
  const fleet = { ...shown, rollout: rollout.data?.rollout ?? null };
  return html`
    ${hour.data?.reporting.stopped && html`<${ReportsStopped} ...${hour.data.reporting} />`}
    ${session.platform === 'demo' && html`<${FirstSteps} session=${session} />`}
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
    ${answered(history, (all) => html`<${Fleet} ...${fleet} found=${all.history} />`)}
    ${to === undefined && answered(hour, (own) => html`<${RequestCharts} minutes=${own.requests} />`)}
    ${rollout.data?.nodes && html`<${Nodes} rollout=${rollout.data.rollout} nodes=${rollout.data.nodes} />`}
  `;
}

/** @param {LastHour['reporting']} props */
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

/** Only somebody who tries the service out loads this. @param {{ session: Session }} props */
function FirstSteps({ session }) {
  const [card, setCard] = useState(/** @type {Html} */ (null));
  useEffect(() => {
    import('./first-steps.js').then(
      ({ FirstStepsCard }) => setCard(html`<${FirstStepsCard} session=${session} />`),
      () => {},
    );
  }, []);
  return card;
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
 *   found: VerdictHistory['history'], chosen: typeof SPANS[number], hour: LastHour | null,
 *   isPast: boolean, rollout: Rollout,
 * }} props
 */
function Fleet({ found, chosen: { span, note }, hour, isPast, rollout }) {
  const name = isPast ? `this ${span}` : `the last ${span}`;
  // Without an archive there is what this node counted since its start.
  const slots = found?.slots ?? (span === 'hour' ? hour?.verdicts : undefined);
  const marks = useMemo(() => marksIn(rollout, slots, found?.gaps), [rollout?.revision, slots]);
  if (slots === undefined)
    return html`<${Empty} title="This node keeps no archive">
      Only the last hour of this node is known. Set ARCHIVE_DIR, or ask a node that has it.
    <//>`;
  return html`
    <${VerdictFigures} slots=${slots} name=${name} />
    ${
      verdictsIn(slots) === 0 &&
      html`<${Empty} title=${`No verdict in ${name}`}>
        When a checkout calls POST /v1/client/verdict, the charts fill.
      <//>`
    }
    <${VerdictCharts} ...${{ slots, note, marks }} />
    <${Happened} title="Rollouts and alerts in this time" marks=${marks.toReversed()} />
    <p class="faint">
      ${
        found === null
          ? 'Counted by the node that answers this page since its start'
          : 'Of all nodes, from the archive, which gets decisions within ten seconds'
      }, for the platform of your key.
    </p>`;
}

/**
 * What happened within the slots.
 * @param {Rollout} rollout
 * @param {VerdictSlots | undefined} slots
 * @param {NonNullable<VerdictHistory['history']>['gaps']} [gaps]
 */
function marksIn(rollout, slots, gaps = []) {
  const from = slots?.[0]?.at ?? Number.POSITIVE_INFINITY;
  const step = (slots?.[1]?.at ?? from) - from;
  return marksOf({ rollout, gaps }, { from, to: (slots?.at(-1)?.at ?? from) + step });
}

/** @typedef {LastHour['verdicts'][number]} VerdictSlot */

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
function verdictsIn(slots) {
  return sumOf(slots, allOf);
}

/**
 * The figures of a span, each with its name.
 * @param {{ slots: readonly VerdictSlot[], name: string }} props
 */
function VerdictFigures({ slots, name }) {
  const all = verdictsIn(slots);
  const of = (/** @type {'WAIT' | 'BLOCK'} */ verdict) => sumOf(slots, ({ verdicts }) => verdicts[verdict]);
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
  ...{ name, color, pick: (/** @type {VerdictSlot} */ { verdicts }) => verdicts[name] },
}));
const GROUP_PARTS = GROUPS.map(({ name, color }) => ({
  ...{ name, color, pick: (/** @type {VerdictSlot} */ { groups }) => groups[name] },
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
 * @typedef {LastHour['requests'][number]} RequestMinute
 * @typedef {{ at: readonly number[], minutes: readonly RequestMinute[] }} RequestChartProps
 */

/**
 * How this node answered all callers within the last hour.
 * @param {{ minutes: readonly RequestMinute[] }} props
 */
function RequestCharts({ minutes }) {
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
  const format = (/** @type {number} */ value) => `${value} ms`;
  const chart = { title: 'Latency', note: 'ms; score and verdict', kind: 'lines', format };
  return html`<${Chart} ...${chart} at=${at} series=${series} />`;
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
