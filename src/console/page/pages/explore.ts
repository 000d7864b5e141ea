import type { Explored, RolloutStatus, Session } from '../answers.ts';
import { may, useAnswer } from '../api.ts';
import { html, useMemo } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { Chart, Happened } from '../parts/chart.ts';
import { useProposal } from '../parts/confirm.ts';
import { Choice, Field, goTo, typedInto } from '../parts/form.ts';
import { count, counted, dateTime, percent, share } from '../parts/format.ts';
import { marksOf } from '../parts/marks.ts';
import { answered, Empty } from '../parts/notice.ts';
import { csvText, saveFile } from '../parts/save-file.ts';
import { numbers, Table } from '../parts/table.ts';
import { VERDICTS } from '../parts/verdict.ts';
import { exploration, LISTS, ROLLOUT_STATUS } from '../questions.ts';
import { TakeBack } from './take-back.ts';

type Exploration = Explored['exploration'];

type Value = Exploration['values'][number];

type Change = NonNullable<Exploration['change']>;

type Contribution = Change['contributions'][number];

const HOUR_MS = 3_600_000;

const SPANS = [
  ['hour', HOUR_MS],
  ['day', 24 * HOUR_MS],
  ['week', 168 * HOUR_MS],
  ['month', 720 * HOUR_MS],
] as const;

/** What decisions are split by, with the parameter that finds those of one value where there is one. */
const SPLITS = [
  ['verdict', 'verdict'],
  ['rule', 'rule'],
  ['signal', 'signal'],
  ['group', 'clientGroup'],
  ['platform', null],
  ['pointOfSale', 'sellPointKey'],
  ['method', 'method'],
  ['version', 'ruleVersion'],
  ['arm', 'arm'],
] as const;

const MEASURES = ['count', 'share', 'money'] as const;

/** The parameters that narrow what is counted. */
const FILTERS = SPLITS.flatMap(([, parameter]) =>
  parameter === null || parameter === 'verdict' ? [] : [parameter],
);

/** The first stands for all of them. */
const CAUSE_COLUMNS = ['', 'value', ...numbers('before', 'now', 'more than usual', 'of the difference')];

const COLORS = [
  ...['--get-new', '--block', '--wait', '--sticky', '--group-trusted', '--group-new'],
  ...['--wait-1', '--wait-2', '--wait-3', '--wait-4', '--accent', '--ink-faint'],
];

/**
 * The decisions of a time, split by what they have in common, and why the mix changed. The address
 * says all of it, in UTC.
 */
export function ExplorePage({ place, session }: PageProps) {
  const span = useMemo(() => spanOf(place.query), [place.query.toString()]);
  const query = new URLSearchParams(place.query);
  query.set('from', utc(span.from));
  query.set('to', utc(span.to));
  const view = { query, span, by: query.get('by') ?? 'verdict', verdict: query.get('verdict') };
  const asked = new URLSearchParams(query);
  asked.delete('measure');
  asked.set('include', 'money');
  const shown = answered(
    useAnswer(exploration(asked)),
    ({ exploration: found }) => html`<${Explanation} found=${found} view=${view} session=${session} />`,
  );
  return html`<${Controls} view=${view} />${shown}`;
}

interface Span {
  from: number;
  to: number;
}

interface View {
  query: URLSearchParams;
  span: Span;
  by: string;
  verdict: string | null;
}

function spanOf(query: URLSearchParams) {
  const asOf = knownAt(query) ?? Number.POSITIVE_INFINITY;
  const asked = Date.parse(query.get('to') ?? '') || Math.ceil(Date.now() / 1000) * 1000;
  const to = Math.min(asked, asOf + 1);
  return { from: Date.parse(query.get('from') ?? '') || to - 24 * HOUR_MS, to };
}

/** The moment as of whose knowledge decisions are counted; null for all that is known. */
function knownAt(query: URLSearchParams) {
  return Date.parse(query.get('asOf') ?? '') || null;
}

function utc(epochMs: number) {
  return new Date(epochMs).toISOString();
}

/** As addresses of lists of decisions name it. */
function minute(epochMs: number) {
  return `${utc(epochMs).slice(0, 16)}Z`;
}

function measureOf({ query }: View) {
  return query.get('measure') ?? 'count';
}

/** The address of another view. */
function address({ query }: View, changes: Readonly<Record<string, string | null>>) {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes))
    if (value === null) next.delete(name);
    else next.set(name, value);
  return `#/explore?${next}`;
}

function Controls({ view }: { view: View }) {
  const { query, span, by, verdict } = view;
  const go = (name: string) => (value: string) => goTo(address(view, { [name]: value || null }));
  const until = knownAt(query) ?? Date.now();
  const before = { againstFrom: utc(2 * span.from - span.to), againstTo: utc(span.from) };
  const weekAgo = { againstFrom: utc(span.from - 168 * HOUR_MS), againstTo: utc(span.to - 168 * HOUR_MS) };
  const narrowed = FILTERS.filter((name) => query.has(name));
  return html`<nav class="tabs" aria-label="How far back">
      ${SPANS.map(
        ([name, ms]) =>
          html`<a href=${address(view, { from: utc(until - ms), to: utc(until) })}>last ${name}</a>`,
      )}
    </nav>
    <form class="filters" onSubmit=${(event: Event) => event.preventDefault()}>
      <${Choice} label="Verdict" chosen=${verdict} any="all verdicts"
        values=${VERDICTS.map(({ name }) => name)} go=${go('verdict')} />
      <${Choice} label="Split by" chosen=${by} values=${SPLITS.map(([name]) => name)} go=${go('by')} />
      <${Choice} label="As" chosen=${measureOf(view)} values=${MEASURES} go=${go('measure')} />
      <${Moment} label="From (UTC)" name="from" at=${span.from} view=${view} />
      <${Moment} label="To (UTC)" name="to" at=${span.to} view=${view} />
      <${Moment} label="As known at (UTC; empty: now)" name="asOf" at=${knownAt(query)} view=${view} />
    </form>
    <p class="buttons">
      <a href=${address(view, before)}>Compare with the time before</a>
      <a href=${address(view, weekAgo)}>Compare with a week earlier</a>
      ${
        query.has('againstFrom') &&
        html`<a href=${address(view, { againstFrom: null, againstTo: null })}>Compare with nothing</a>`
      }
      ${narrowed.map((name) => {
        const wider = address(view, { [name]: null });
        return html`<a href=${wider}>Not only ${query.get(name)} ✕</a>`;
      })}
    </p>`;
}

function Moment({ label, name, at, view }: { label: string; name: string; at: number | null; view: View }) {
  const go = typedInto((text) => {
    const chosen = Date.parse(`${text}Z`);
    if (!Number.isNaN(chosen)) goTo(address(view, { [name]: utc(chosen) }));
    else if (name === 'asOf') goTo(address(view, { asOf: null }));
  });
  return html`<${Field} label=${label}>
    <input type="datetime-local" value=${at === null ? '' : utc(at).slice(0, 16)} onChange=${go} />
  <//>`;
}

function Explanation({ found, view, session }: { found: Exploration; view: View; session: Session }) {
  const rollout = useAnswer(may(session, 'rules:read') ? ROLLOUT_STATUS : null);
  const lists = useAnswer(may(session, 'lists:read') ? LISTS : null);
  const marks = useMemo(
    () => marksOf({ rollout: rollout.data?.rollout, lists: lists.data?.lists, gaps: found.gaps }, view.span),
    [rollout.data, lists.data, found],
  );
  const measure = measureOf(view);
  const series = useMemo(() => seriesOf(found, measure), [found, measure]);
  const brush = (from: number, to: number) => goTo(address(view, { from: utc(from), to: utc(to) }));
  const title = `${view.verdict ?? 'Decisions'} by ${view.by}`;
  const note = 'drag over the bars to look closer';
  const chart = { title, note, kind: 'bars', at: found.slots, series, marks, brush };
  const status = { session, status: rollout.data, reload: rollout.reload };
  return html`${found.change && html`<${WhatChanged} change=${found.change} view=${view} ...${status} />`}
    <h2 class="only-read">What was decided</h2>
    <${Chart} ...${chart} format=${measure === 'share' ? percent : count} />
    <${Happened} title="What happened in this time" marks=${marks} />
    <${Values} found=${found} view=${view} />
    ${found.asOf && html`<${AsKnown} ...${found.asOf} />`}
    ${found.unreadable.map(
      ({ from, to, decisions }) => html`<p class="bad">
          Not counted: ${counted(decisions, 'decision')} from ${dateTime(from)} on, to ${dateTime(to)},
          in a file that cannot be read now.
        </p>`,
    )}
    ${
      found.upTo &&
      html`<p class="bad">What was decided since ${dateTime(found.upTo)} is not counted yet.</p>`
    }`;
}

function AsKnown({ at, erasedPayers }: NonNullable<Exploration['asOf']>) {
  const erased =
    erasedPayers > 0 && ` ${counted(erasedPayers, 'payer')} erased since were counted then and are no more.`;
  return html`<p class="faint">As known at ${dateTime(at)}.${erased}</p>`;
}

function seriesOf({ values, all }: Exploration, measure: string) {
  const currency = mainCurrency(values);
  return values.map(({ value, decisions, money }, place) => ({
    name: value ?? 'others',
    color: COLORS[place] ?? '--ink-faint',
    values:
      {
        count: decisions,
        share: decisions.map((number, slot) => (all[slot] ? (100 * number) / all[slot] : null)),
        money: money[currency] ?? decisions.map(() => 0),
      }[measure] ?? decisions,
    total:
      measure === 'money'
        ? `${count(Math.round(sum(money[currency] ?? [])))} ${currency}`
        : count(sum(decisions)),
  }));
}

function mainCurrency(values: readonly Value[]) {
  const sums = new Map();
  for (const { money } of values)
    for (const [currency, amounts] of Object.entries(money))
      sums.set(currency, (sums.get(currency) ?? 0) + sum(amounts));
  return [...sums].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '–';
}

function sum(numbers: readonly number[]) {
  return numbers.reduce((total, number) => total + number, 0);
}

function Values({ found, view }: { found: Exploration; view: View }) {
  const whole = sum(found.all);
  const save = () => saveFile(`explore-${view.by}.csv`, 'text/csv', csvOf(found, view));
  const columns = [view.by, ...numbers('decisions', 'of all', 'asked for'), ''];
  return html`<${Table} name=${`By ${view.by}`} columns=${columns}
      rows=${found.values.map(({ value, decisions, money }) => {
        const [to, narrow] = [toDecisions(view, view.by, value), parameterOf(view.by)];
        const [number, amounts] = [count(sum(decisions)), Object.entries(money)];
        const only = value === null || narrow === null ? null : address(view, { [narrow]: value });
        return [
          value ?? 'others',
          to === null ? number : html`<a href=${to}>${number}</a>`,
          share(sum(decisions), whole),
          amounts.map(([currency, asked]) => `${count(Math.round(sum(asked)))} ${currency} `),
          only && html`<a href=${only}>only ${value}</a>`,
        ];
      })} />
    <div><button type="button" onClick=${save}>Save as CSV</button></div>`;
}

function parameterOf(dimension: string) {
  return SPLITS.find(([name]) => name === dimension)?.[1] ?? null;
}

/** Where the decisions of a cell are listed; null where they cannot be. */
function toDecisions({ query, span, verdict }: View, dimension: string, value: string | null) {
  const parameter = parameterOf(dimension);
  if (value === null || parameter === null) return null;
  const found = new URLSearchParams({
    from: minute(span.from),
    to: minute(span.to - 1),
    ...(verdict ? { verdict } : {}),
  });
  for (const name of FILTERS) if (query.has(name)) found.set(name, query.get(name) ?? '');
  found.set(parameter, value);
  return `#/decisions?${found}`;
}

function csvOf({ slots, all, values, change }: Exploration, { by }: View) {
  const currency = mainCurrency(values);
  const counts = values.flatMap(({ value, decisions, money }) =>
    slots.map((at, slot) => [
      utc(at),
      value ?? 'others',
      decisions[slot],
      all[slot],
      money[currency]?.[slot] ?? 0,
    ]),
  );
  const table = csvText([['from', by, 'decisions', 'of', currency], ...counts]);
  if (change === null) return table;
  const causes = change.contributions.map(({ dimension, value, before, after, difference, share: part }) => [
    dimension,
    value,
    before.part,
    after.part,
    difference,
    part,
  ]);
  const head = ['dimension', 'value', 'before', 'after', 'difference', 'share'];
  return `${table}\r\n${csvText([head, ...causes])}`;
}

function WhatChanged({
  change: { before, after, contributions },
  view,
  session,
  status,
  reload,
}: {
  change: Change;
  view: View;
  session: Session;
  status: RolloutStatus | null;
  reload: () => void;
}) {
  if (view.verdict === null)
    return html`<${Empty} title="Choose a verdict to see why it changed">Like BLOCK, above.<//>`;
  if (contributions.length === 0)
    return html`<${Empty} title="Nothing to explain">
      ${before.whole === 0 ? 'Nothing was decided then.' : 'Its share is what it was, but for chance.'}
    <//>`;
  return html`<section class="card">
    <h2>Why ${view.verdict} changed</h2>
    <p>
      ${share(before.part, before.whole)} of ${count(before.whole)} decisions before,
      ${' '}${share(after.part, after.whole)} of ${count(after.whole)} now. The likely cause stands first.
    </p>
    <${Table} name="What contributes" columns=${CAUSE_COLUMNS}
      rows=${contributions.map((one) => {
        const to = toDecisions(view, one.dimension, one.value);
        return [
          html`<a href=${address(view, { by: one.dimension })}>${one.dimension}</a>`,
          to === null ? one.value : html`<a href=${to}>${one.value}</a>`,
          ...[count(one.before.part), count(one.after.part), count(Math.round(one.difference))],
          percent(100 * one.share),
        ];
      })} />
    <${Remedy} first=${contributions[0]} session=${session} status=${status} reload=${reload} />
  </section>`;
}

/**
 * Taking back the version that is the likely cause, where it was rolled out since shortly before this time.
 */
function Remedy({
  first,
  session,
  status,
  reload,
}: {
  first: Contribution | undefined;
  session: Session;
  status: RolloutStatus | null;
  reload: () => void;
}) {
  const { propose, dialog } = useProposal(reload);
  const rollout = status?.rollout ?? null;
  if (rollout === null || status === null || !may(session, 'operate')) return null;
  if (first?.dimension !== 'version' && first?.dimension !== 'arm') return null;
  const { active, candidates } = rollout;
  const blamed = candidates.filter(({ version }) => first.value === 'candidate' || version === first.value);
  if (blamed.length === 0 && active.version !== first.value) return null;
  if (blamed.length === 0 && candidates.length > 0)
    return html`<p>
      ${first.value} decides while others are on trial: <a href="#/rollouts">end these first</a>, then take it
      back.
    </p>`;
  const own = { rollout: { ...rollout, candidates: blamed }, previous: status.previous, session, propose };
  return html`<h3>Take it back</h3><${TakeBack} ...${own} />${dialog}`;
}
