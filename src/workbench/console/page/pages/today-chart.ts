import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, h, html, useMemo, useState } from '#workbench/console/page/html.ts';
import { Chart, MarkList } from '#workbench/console/page/parts/chart.ts';
import {
  COUNT_FIELDS,
  RuleNameOptions,
  renderFilterField,
} from '#workbench/console/page/parts/filter-field.ts';
import { goTo, onSubmit, renderChoice } from '#workbench/console/page/parts/form.ts';
import {
  formatCount,
  formatDateTime,
  formatPercent,
  formatShare,
  groupDigits,
  parseMoment,
} from '#workbench/console/page/parts/format.ts';
import { listTimeMarks } from '#workbench/console/page/parts/marks.ts';
import { saveFile, toCsv } from '#workbench/console/page/parts/save-file.ts';
import { declareNumberColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import { formatUtcMinute, toThisPageWithParameters } from '#workbench/console/page/parts/time-span.ts';
import { assignColors, VERDICTS_IN_CHART_ORDER } from '#workbench/console/page/parts/verdict.ts';
import { LISTS, type RolloutStatus, type Session } from '#workbench/console/page/questions.ts';
import type { EarlierDecisions, ExploredCounts, TodayView } from './today-view.ts';
import {
  COUNT_FILTER_NAMES,
  computeEarlierLine,
  findSearchParameterOfDimension,
  getSpanOfAllSlots,
  SPLIT_DIMENSIONS,
  sumUp,
  toDecisionsAddress,
} from './today-view.ts';

const MEASURES = ['count', 'share', 'money'] as const;

interface ExploredProps {
  found: ExploredCounts;
  view: TodayView;
  session: Session;
  status: RolloutStatus | null;
  /** The names of the attributes that callers sent lately. */
  attributes: readonly string[];
  earlier: EarlierDecisions;
  children: Html;
}

/** Decisions of a time span, split by one property: chart, table, and marks of releases and list changes. */
export function SplitDecisions({
  found,
  view,
  session,
  status,
  attributes,
  earlier,
  children,
}: ExploredProps) {
  const lists = useAnswer(isAllowed(session, 'lists:read') ? LISTS : null).data?.lists;
  const rollout = status?.rollout;
  const { by, verdict, measure } = view;
  const marks = useMemo(
    () => listTimeMarks({ rollout, lists, gaps: found.gaps }, getSpanOfAllSlots(found)),
    [rollout?.revision, lists, found],
  );
  const at = useMemo(() => found.slots.map(parseMoment), [found]);
  const series = useMemo(() => toSeries(found, measure), [found, measure]);
  const before = useMemo(
    () => computeEarlierLine(found, earlier, view),
    [found, earlier.against, earlier.agoMs, view],
  );
  const brush = (from: number, to: number) =>
    goTo(toThisPageWithParameters({ span: null, from: formatUtcMinute(from), to: formatUtcMinute(to - 1) }));
  const title = `${verdict ?? 'Decisions'} by ${by}`;
  const note = 'drag across the chart to zoom in';
  const chart = { title, note, kind: 'bars' as const, at, series, marks, before, brush };
  return html`<section class="card">
      <h2 class="only-read">What was decided</h2>
      ${h(Controls, { view, attributes, session })}
      <div class="split">
        ${h(Chart, { ...chart, format: measure === 'share' ? formatPercent : groupDigits })}
        <div class="beside">${h(ExploredValues, { found, view })}</div>
      </div>
      ${found.asOf && h(AsKnown, found.asOf)}
    </section>
    ${children}
    ${h(MarkList, { title: 'What happened in this time', marks: marks.toReversed() })}`;
}

function Controls({ view, attributes, session }: Pick<ExploredProps, 'view' | 'attributes' | 'session'>) {
  const { query, by, verdict, measure } = view;
  const splits = [...SPLIT_DIMENSIONS, ...attributes.map((name) => `attribute(${name})`)];
  const go = (name: string) => (value: string) => goTo(toThisPageWithParameters({ [name]: value }));
  const set = COUNT_FIELDS.filter(({ name }) => query.get(name));
  return html`<form class="filters" onSubmit=${(event: Event) => event.preventDefault()}>
      ${renderChoice('Verdict', VERDICTS_IN_CHART_ORDER, {
        chosen: verdict,
        any: 'all verdicts',
        go: go('verdict'),
      })}
      ${renderChoice('Split by', splits, { chosen: by, go: go('by') })}
      ${renderChoice('As', MEASURES, { chosen: measure, go: go('measure') })}
      <div class="buttons">
        ${set.map(
          ({ name, label }) => html`<a class="chip" href=${toThisPageWithParameters({ [name]: null })}
            aria-label=${`Remove the filter ${label} ${query.get(name)}`}>
            ${label}: ${query.get(name)} <span aria-hidden="true">✕</span>
          </a>`,
        )}
      </div>
    </form>
    ${h(FoldedFilters, { query, session })}`;
}

/** The filters, which are hidden at first. They request nothing before somebody opens them. */
function FoldedFilters({ query, session }: { query: URLSearchParams; session: Session }) {
  const [isOpen, setIsOpen] = useState(false);
  const toggle = (event: { currentTarget: HTMLDetailsElement }) => setIsOpen(event.currentTarget.open);
  return html`<details onToggle=${toggle}>
    <summary>Filters</summary>
    ${isOpen && h(Filters, { key: query.toString(), query, session })}
  </details>`;
}

/** Filters that narrow the counted decisions by several properties at once. */
function Filters({ query, session }: { query: URLSearchParams; session: Session }) {
  const none = Object.fromEntries(COUNT_FILTER_NAMES.map((name) => [name, null]));
  const submit = onSubmit((values) => goTo(toThisPageWithParameters({ ...none, ...values })));
  const version = query.get('ruleVersion') ?? undefined;
  return html`<form class="filters" onSubmit=${submit} onReset=${() => goTo(toThisPageWithParameters(none))}>
    ${COUNT_FIELDS.map((one) => renderFilterField(one, query.get(one.name) ?? undefined))}
    ${isAllowed(session, 'rules:read') && h(RuleNameOptions, { version })}
    <div class="buttons">
      <button type="submit" class="button-accent">Apply</button><button type="reset">Clear</button>
    </div>
  </form>`;
}

function AsKnown({ at, erasedPayers }: NonNullable<ExploredCounts['asOf']>) {
  const erased =
    erasedPayers > 0 &&
    ` ${formatCount(erasedPayers, 'payer')} erased since were counted then and are no more.`;
  return html`<p class="faint">As known at ${formatDateTime(at)}.${erased}</p>`;
}

function toSeries({ values, all }: ExploredCounts, measure: string) {
  const currency = findMainCurrency(values);
  const colors = assignColors(values.map(({ value }) => value ?? ''));
  return values.map(({ value, decisions, money }) => ({
    name: value ?? 'others',
    color: (value !== null && colors.get(value)) || '--ink-faint',
    values:
      {
        count: decisions,
        share: decisions.map((number, slot) => (all[slot] ? (100 * number) / all[slot] : null)),
        money: money[currency] ?? decisions.map(() => 0),
      }[measure] ?? decisions,
    total:
      measure === 'money'
        ? `${groupDigits(Math.round(sumUp(money[currency] ?? [])))} ${currency}`
        : groupDigits(sumUp(decisions)),
  }));
}

function findMainCurrency(values: ExploredCounts['values']) {
  const sums = new Map<string, number>();
  for (const { money } of values)
    for (const [currency, amounts] of Object.entries(money))
      sums.set(currency, (sums.get(currency) ?? 0) + sumUp(amounts));
  return [...sums].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '–';
}

/**
 * Shows a table of the values by which decisions are split. A value links to a finer split (a verdict to
 * its rules), and a number to the decisions that it counts.
 */
function ExploredValues({ found, view }: { found: ExploredCounts; view: TodayView }) {
  const { by, measure } = view;
  const save = () => saveFile(`decisions-by-${by}.csv`, 'text/csv', toCountsCsv(found, view));
  const money = measure === 'money';
  const columns = [
    by,
    ...declareNumberColumns('decisions', 'of all', ...(money ? ['asked for', 'paid of granted'] : [])),
  ];
  const parameter = findSearchParameterOfDimension(by);
  return html`${renderTable(
    { name: `By ${by}`, columns },
    found.values,
    ({ value, decisions, money: amounts, orders }) => {
      const own = value !== null && parameter !== null ? { [parameter]: value } : null;
      const number = groupDigits(sumUp(decisions));
      const deeper = by === 'rule' ? {} : { by: 'rule' };
      return [
        own === null
          ? (value ?? 'others')
          : html`<a href=${toThisPageWithParameters({ ...own, ...deeper })}>${value}</a>`,
        own === null ? number : html`<a href=${toDecisionsAddress(view, found, own)}>${number}</a>`,
        formatShare(sumUp(decisions), sumUp(found.all)),
        ...(money
          ? [
              Object.entries(amounts).map(
                ([name, asked]) => `${groupDigits(Math.round(sumUp(asked)))} ${name} `,
              ),
              orders === null ? '–' : formatShare(sumUp(orders.paid), sumUp(orders.granted)),
            ]
          : []),
      ];
    },
  )}
    <div><button type="button" onClick=${save}>Save as CSV</button></div>`;
}

function toCountsCsv({ slots, all, values }: ExploredCounts, { by }: TodayView) {
  const currency = findMainCurrency(values);
  const counts = values.flatMap(({ value, decisions, money, orders }) =>
    slots.map((at, slot) => ({
      from: at,
      [by]: value ?? 'others',
      decisions: decisions[slot],
      of: all[slot],
      [currency]: money[currency]?.[slot] ?? 0,
      granted: orders?.granted[slot],
      paid: orders?.paid[slot],
    })),
  );
  return toCsv(counts);
}
