import type { Explored, Reporting, Rollout, RolloutStatus, TrialCounts } from '../answers.ts';
import { may, useAnswer } from '../api.ts';
import { html, useMemo } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { Chart, Happened } from '../parts/chart.ts';
import { goTo, sent } from '../parts/form.ts';
import { count, dateTime, duration, percent, share, shortDigest } from '../parts/format.ts';
import { toVersion } from '../parts/links.ts';
import { type Mark, marksOf } from '../parts/marks.ts';
import { answered, Empty, UnreadableRollout } from '../parts/notice.ts';
import { inUtc, MinuteField, spanOf } from '../parts/time-span.ts';
import { Figures, GROUPS, Pill, VERDICTS } from '../parts/verdict.ts';
import { exploration, REPORTING, ROLLOUT_STATUS } from '../questions.ts';
import { Nodes } from './now-nodes.ts';

type Exploration = Explored['exploration'];

const EVERY_MS = 10_000;

/** How far back, with what a slot is called, and how often the service counts anew. */
const SPANS = [
  { span: 'hour', note: 'a minute', everyMs: EVERY_MS },
  { span: 'day', note: 'each half hour', everyMs: 30_000 },
  { span: 'week', note: 'each three hours', everyMs: 60_000 },
  { span: 'month', note: 'each half day', everyMs: 60_000 },
  { span: 'quarter', note: 'a day', everyMs: 60_000 },
] as const;

/** What all nodes answered lately or over weeks, who decides, and which nodes there are. */
export function NowPage({ session, place }: PageProps) {
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

function ReportsStopped({ newestAt, awaited, awaitedSince, usualMs }: Reporting) {
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

function splitBy(by: string, span: string, to: number | undefined) {
  return exploration(
    new URLSearchParams({ by, span, ...(to !== undefined && { to: new Date(to).toISOString() }) }),
  );
}

function addressOf(span: string, to: string | undefined) {
  return `#/explore/now?${new URLSearchParams({ span, ...(to !== undefined && { to }) })}`;
}

/** Up to which time, so that a link shows everybody the same. */
function UpTo({ span, minute }: { span: string; minute: string | null }) {
  const submit = sent((values) => goTo(addressOf(span, inUtc(values)['to'])));
  return html`<form class="filters" onSubmit=${submit}>
    <${MinuteField} label="up to (empty: now)" name="to" minute=${minute} />
    <div class="buttons"><button type="submit">Show</button></div>
  </form>`;
}

function Fleet({
  found,
  parts,
  chosen: { span, note },
  isPast,
  rollout,
}: {
  found: Exploration;
  parts: readonly (Exploration | null)[];
  chosen: (typeof SPANS)[number];
  isPast: boolean;
  rollout: Rollout;
}) {
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

interface VerdictSlot {
  at: number;
  verdicts: Counts;
  groups: Counts;
  bots: number;
  waits: Counts;
}

type Counts = Readonly<Record<string, number>>;

/** What was answered within each slot; answers of a moment before count as well. */
function slotsOf(
  verdicts: Exploration,
  [groups = null, bots = null, waits = null]: readonly (Exploration | null)[],
): readonly VerdictSlot[] {
  return verdicts.slots.map((at) => ({
    at,
    verdicts: countsAt(verdicts, at),
    groups: countsAt(groups, at),
    bots: countsAt(bots, at)['bot'] ?? 0,
    waits: countsAt(waits, at),
  }));
}

function countsAt(found: Exploration | null, at: number) {
  const place = found?.slots.indexOf(at) ?? -1;
  const counted = (found?.values ?? []).map(({ value, decisions }) => [value, decisions[place] ?? 0]);
  return Object.fromEntries(counted.filter(([, decisions]) => decisions !== 0));
}

/** What happened within the slots. */
function marksIn(rollout: Rollout, slots: readonly VerdictSlot[], { gaps, stepMs }: Exploration) {
  const from = slots[0]?.at ?? Number.POSITIVE_INFINITY;
  return marksOf({ rollout, gaps }, { from, to: (slots.at(-1)?.at ?? from) + stepMs });
}

const WAIT_COLORS = ['--wait-1', '--wait-2', '--wait-3', '--wait-4'] as const;

interface VerdictChartProps {
  at: readonly number[];
  slots: readonly VerdictSlot[];
  all: number;
  note: string;
  marks: readonly Mark[];
}

function allOf({ verdicts }: VerdictSlot) {
  return VERDICTS.reduce((sum, { name }) => sum + (verdicts[name] ?? 0), 0);
}

function verdictsIn(slots: readonly VerdictSlot[]) {
  return sumOf(slots, allOf);
}

/** The figures of a span, each with its name. */
function VerdictFigures({ slots, name }: { slots: readonly VerdictSlot[]; name: string }) {
  const all = verdictsIn(slots);
  const of = (verdict: 'WAIT' | 'BLOCK') => sumOf(slots, ({ verdicts }) => verdicts[verdict] ?? 0);
  const bots = sumOf(slots, (slot) => slot.bots);
  const figures = [
    [`verdicts in ${name}`, count(all)],
    ['bot share', share(bots, all)],
    ['told to wait', share(of('WAIT'), all)],
    ['blocked', share(of('BLOCK'), all)],
  ];
  return html`<${Figures} items=${figures} />`;
}

/** What was answered, slot by slot, with what happened to the rollout. */
function VerdictCharts({
  slots,
  note,
  marks,
}: {
  slots: readonly VerdictSlot[];
  note: string;
  marks: readonly Mark[];
}) {
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
  ...{ name, color, pick: ({ verdicts }: VerdictSlot) => verdicts[name] ?? 0 },
}));
const GROUP_PARTS = GROUPS.map(({ name, color }) => ({
  ...{ name, color, pick: ({ groups }: VerdictSlot) => groups[name] ?? 0 },
}));

/** Stacked bars, slot by slot. */
function Mix({
  title,
  parts,
  at,
  slots,
  all,
  note,
  marks,
}: Omit<VerdictChartProps, 'all'> & {
  all: number | null;
  title: string;
  parts: readonly { name: string; color: string; pick: (slot: VerdictSlot) => number }[];
}) {
  const series = useMemo(() => summed(slots, all, parts), [slots]);
  return html`<${Chart} title=${title} kind="bars" ...${{ note, at, series, marks }} />`;
}

function BotShare({ at, slots, all, marks }: VerdictChartProps) {
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

function Waits(props: VerdictChartProps) {
  const levels = new Set(props.slots.flatMap(({ waits }) => Object.keys(waits)));
  const shown = levels.size === 0 ? ['1'] : [...levels].sort((a, b) => Number(a) - Number(b));
  const parts = shown.map((level, index) => ({
    name: `level ${level}`,
    color: WAIT_COLORS[index] ?? '--wait-4',
    pick: ({ waits }: VerdictSlot) => waits[level] ?? 0,
  }));
  return html`<${Mix} title="Waits by ladder level" ...${{ ...props, parts, all: null }} />`;
}

function sumOf<T>(slots: readonly T[], pick: (slot: T) => number) {
  return slots.reduce((sum, slot) => sum + pick(slot), 0);
}

/** Series of one value a slot, with the sum of the whole span, or its share of `all`. */
function summed<T>(
  slots: readonly T[],
  all: number | null,
  parts: readonly { name: string; color: string; pick: (slot: T) => number }[],
) {
  return parts.map(({ name, color, pick }) => {
    const sum = sumOf(slots, pick);
    return { name, color, values: slots.map(pick), total: all === null ? count(sum) : share(sum, all) };
  });
}

type Candidate = Rollout['candidates'][number];

function Deciding({ status: { rollout, unreadable, trials } }: { status: RolloutStatus }) {
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

function OnTrial({ candidate, trial }: { candidate: Candidate; trial: TrialCounts | null }) {
  return html`<div>
      <span class="faint">${candidate.mode}</span> <a href="#/rollouts"><b>${candidate.version}</b></a>
      ${candidate.mode === 'canary' && html` <span class="num">${candidate.percent} %</span>`}
      ${trial && html` <span class="faint">${trialText(candidate, trial)}</span>`}
    </div>
    <div><span class="faint">guard</span> ${guardText(candidate)}</div>`;
}

function trialText({ mode }: Candidate, { shadow, arms, candidateErrors }: TrialCounts) {
  const errors = candidateErrors === 0 ? '' : `, threw ${count(candidateErrors)} times`;
  return mode === 'shadow'
    ? `${count(shadow.different)} of ${count(shadow.compared)} differ${errors}`
    : `decided ${count(arms.candidate.verdicts)}${errors}`;
}

function guardText({ mode, guardPoints }: Candidate) {
  if (mode === 'shadow') return html`<${Pill}>not needed<//>`;
  return guardPoints === null
    ? html`<${Pill} tone="note">off<//>`
    : html`<${Pill} tone="good">on, ${guardPoints} points<//>`;
}
