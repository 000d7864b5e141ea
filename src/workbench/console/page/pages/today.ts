import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, h, html, useMemo } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { useConfirmedChange } from '#workbench/console/page/parts/confirm.ts';
import { formatPercent, groupDigits } from '#workbench/console/page/parts/format.ts';
import { renderAnswer, renderEmpty } from '#workbench/console/page/parts/notice.ts';
import type { ShownTime } from '#workbench/console/page/parts/time-span.ts';
import { renderFigures, VERDICT_STYLES } from '#workbench/console/page/parts/verdict.ts';
import type { Reporting } from '#workbench/console/page/questions.ts';
import {
  explorationQuestion,
  PLATFORM_REPORTING,
  ROLLOUT_STATUS,
} from '#workbench/console/page/questions.ts';
import { SplitDecisions } from './today-chart.ts';
import { TodayStatus } from './today-status.ts';
import { renderDecidingVersions, renderNodesTable } from './today-versions.ts';
import type { EarlierDecisions, ExploredCounts, TodayView } from './today-view.ts';
import {
  COUNT_FILTER_NAMES,
  computePercentOfAll,
  readTodayView,
  sumUp,
  toDecisionsAddress,
  toExploreQuery,
  useEarlierDecisions,
} from './today-view.ts';
import { WhyVerdictsChanged } from './today-why.ts';

const EVERY_MS = 10_000;
const EVERY_MINUTE_MS = 60_000;

/**
 * Shows troubles first, then the deciding versions, the figures against earlier times, the decisions, and
 * why they changed.
 */
export function TodayPage({ session, place, time }: PageProps) {
  const view = useMemo(() => readTodayView(place.query, time), [place.query.toString()]);
  const everyMs = choosePollMs(time);
  const mayCount = isAllowed(session, 'figures') || isAllowed(session, 'rules');
  const ofVerdicts = toExploreQuery({ ...view, by: 'verdict', verdict: null, measure: 'count' });
  const asked = toExploreQuery(view);
  const verdicts = useAnswer(mayCount ? explorationQuestion(ofVerdicts) : null, everyMs);
  const isSame = asked.toString() === ofVerdicts.toString();
  const other = useAnswer(mayCount && !isSame ? explorationQuestion(asked) : null, everyMs);
  // The figures are requested first. If their request fails, the others are sent all the same.
  const isNext = !mayCount || verdicts.data !== null || verdicts.error !== null;
  const reporting = useAnswer(
    isAllowed(session, 'figures') && isNext ? PLATFORM_REPORTING : null,
    EVERY_MS,
  ).data;
  const rollout = useAnswer(isAllowed(session, 'rules:read') && isNext ? ROLLOUT_STATUS : null, EVERY_MS);
  const status = rollout.data;
  const { propose, dialog } = useConfirmedChange(rollout.reload);
  const found = verdicts.data?.exploration ?? null;
  const earlier = useEarlierDecisions(found, view);
  return html`
    ${h(TodayStatus, { session, found, reporting, status })}
    ${status && renderDecidingVersions(status, session, propose)}
    ${mayCount && renderAnswer(verdicts, (all) => renderCounts(all.exploration, view, reporting, earlier))}
    ${
      hasChart(found, view) &&
      renderAnswer(isSame ? verdicts : other, (all) => {
        const attributes = (reporting?.hints.attributes ?? []).map(({ name }) => name);
        const props = { found: all.exploration, view, session, status, attributes, earlier };
        const why = { ...props, found, propose };
        return h(SplitDecisions, props, h(WhyVerdictsChanged, why));
      })
    }
    ${status && renderNodesTable(status)}
    ${dialog}
  `;
}

/**
 * Whether the chart is shown: if there are verdicts to show, or if there are filters, so that they can be
 * removed.
 */
function hasChart(found: ExploredCounts | null, { query, verdict }: TodayView): found is ExploredCounts {
  if (found === null) return false;
  return sumUp(found.all) > 0 || verdict !== null || COUNT_FILTER_NAMES.some((name) => query.has(name));
}

/** Chooses how often to ask again. A time that is over does not change any more. */
function choosePollMs({ name, span }: ShownTime) {
  if (span.to !== undefined || span.asOf !== undefined) return 0;
  return name === 'hour' || name === 'day' ? EVERY_MS : EVERY_MINUTE_MS;
}

/**
 * The figures of a time against the same time a day and a week earlier. Each figure links to its decisions.
 */
function renderCounts(
  found: ExploredCounts,
  view: TodayView,
  reporting: Reporting | null,
  { day, week }: EarlierDecisions,
) {
  const decisions = sumUp(found.all);
  if (decisions === 0)
    return renderEmpty(
      'No verdict in this time',
      html`Figures and a chart stand here as soon as a checkout calls POST /v1/client/verdict. To see them
      with a made-up shop, run <code>npm run demo</code>.`,
    );
  const items = VERDICT_STYLES.map(({ name, color }) => {
    const to = toDecisionsAddress(view, found, { verdict: name });
    const value = html`<a href=${to}>${formatPercent(computePercentOfAll(found, name))}</a>`;
    const title = html`<i class="dot" style=${{ background: `var(${color})` }}></i>${name}`;
    return [
      title,
      value,
      [renderPointsSince(found, day, name, 'day'), renderPointsSince(found, week, name, 'week')],
    ] as const;
  });
  const unreported = reporting?.unreportedShare ?? null;
  return renderFigures([
    [
      'verdicts',
      html`<a href=${toDecisionsAddress(view, found, {})}>${groupDigits(decisions)}</a>`,
      [renderTimesSince(found, day, 'day'), renderTimesSince(found, week, 'week')],
    ],
    ...items,
    ...(unreported === null
      ? []
      : [['outcome unknown', formatPercent(100 * unreported), 'of orders, last 7 days'] as const]),
  ]);
}

/** Shows how much higher or lower a figure is than the earlier one, with its unit. */
function renderChange(difference: number, text: string, ago: string): Html {
  const way = difference === 0 ? '' : difference > 0 ? '↑ ' : '↓ ';
  return html`<div class="change"><b>${way}${text}</b> in a ${ago}</div>`;
}

function renderPointsSince(
  found: ExploredCounts,
  earlier: ExploredCounts | null,
  verdict: string,
  ago: string,
) {
  if (earlier === null || sumUp(earlier.all) === 0) return null;
  const points = Number(
    (computePercentOfAll(found, verdict) - computePercentOfAll(earlier, verdict)).toFixed(1),
  );
  return renderChange(points, `${Math.abs(points).toFixed(1)} points`, ago);
}

function renderTimesSince(found: ExploredCounts, earlier: ExploredCounts | null, ago: string) {
  const before = earlier === null ? 0 : sumUp(earlier.all);
  if (before === 0) return null;
  const share = Math.round((100 * (sumUp(found.all) - before)) / before);
  return renderChange(share, `${groupDigits(Math.abs(share))} %`, ago);
}
