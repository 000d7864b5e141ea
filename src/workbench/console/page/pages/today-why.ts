import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useMemo } from '#workbench/console/page/html.ts';
import type { PlannedChange } from '#workbench/console/page/parts/confirm.ts';
import { formatPercent, groupDigits } from '#workbench/console/page/parts/format.ts';
import { renderSafeName } from '#workbench/console/page/parts/name.ts';
import { declareNumberColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import { toThisPageWithParameters } from '#workbench/console/page/parts/time-span.ts';
import { VERDICT_STYLES } from '#workbench/console/page/parts/verdict.ts';
import {
  type ChangedRollout,
  explorationQuestion,
  type RolloutStatus,
  type Session,
} from '#workbench/console/page/questions.ts';
import { RollBackButtons } from './roll-back-buttons.ts';
import type { EarlierDecisions, ExploredCounts, TodayView } from './today-view.ts';
import {
  computePercentOfAll,
  DAY_MS,
  findSearchParameterOfDimension,
  getSpanOfAllSlots,
  sumUp,
  toDecisionsAddress,
  toVerdictChangeQuery,
  WEEK_MS,
} from './today-view.ts';

type Contribution = NonNullable<ExploredCounts['change']>['contributions'][number];

/** The columns of the table. The first has no heading: it names the dimension of each row. */
const COLUMNS = [
  '',
  'value',
  ...declareNumberColumns('before', 'now', 'more than usual', 'of the difference'),
];

interface RemedyContext {
  readonly session: Session;
  readonly status: RolloutStatus | null;
  readonly propose: (change: PlannedChange<ChangedRollout>) => void;
}

interface WhyChangedProps extends RemedyContext {
  found: ExploredCounts;
  view: TodayView;
  earlier: EarlierDecisions;
}

/**
 * Explains why the share of a verdict rose since the earlier time. It is the share of the chosen verdict.
 * If none is chosen or the share of the chosen one fell, it is the share that rose most, because that
 * verdict took the place of the one that fell.
 */
export function WhyVerdictsChanged({ found, view, earlier, ...acts }: WhyChangedProps) {
  const { from, to } = getSpanOfAllSlots(found);
  const { against: before, agoMs } = earlier;
  const moved =
    before === null || sumUp(before.all) === 0 ? null : findMovedVerdicts(found, before, view.verdict);
  const query = useMemo(
    () => (moved === null ? null : toVerdictChangeQuery(found, view, moved.rose, agoMs)),
    [from, view, agoMs, moved?.rose],
  );
  const change =
    useAnswer(query === null ? null : explorationQuestion(query)).data?.exploration.change ?? null;
  const ways = renderEarlierTimes(to - from, agoMs);
  // The choice of another earlier time stays on the page. The time right before this span may have
  // decisions even if the chosen earlier time has none.
  if (before !== null && sumUp(before.all) === 0 && to - from < agoMs)
    return html`<section class="card">
      <h2>Why it changed</h2>
      ${ways}
      <p class="faint">Nothing was decided then.</p>
    </section>`;
  if (before === null || moved === null || change === null) return null;
  const { rose, fell } = moved;
  const words = (verdict: string) => {
    const percents = [before, found].map((one) => formatPercent(computePercentOfAll(one, verdict)));
    return `${verdict} ${percents.join(' → ')}`;
  };
  const row = (one: Contribution) => toContributionRow(one, { view, found, rose });
  return html`<section class="card">
    <h2>${describeChange(fell, rose, change.contributions.length > 0)}</h2>
    ${ways}
    <p>${[fell, rose]
      .filter((name) => name !== null)
      .map(words)
      .join(', ')} of all decisions.</p>
    ${
      change.contributions.length === 0
        ? html`<p class="faint">Chance explains a difference of this size.</p>`
        : html`${renderTable({ name: 'What contributes', columns: COLUMNS }, change.contributions, row)}
          ${renderRemedy(change.contributions[0], acts)}`
    }
  </section>`;
}

function describeChange(fell: string | null, rose: string, isBeyondChance: boolean) {
  if (!isBeyondChance) return 'No verdict changed by more than chance';
  return fell === null ? `Why ${rose} rose` : `Why ${fell} fell: ${rose} took its place`;
}

/** Renders a link for each earlier time with which a time of this length may be compared. */
function renderEarlierTimes(longMs: number, agoMs: number) {
  const ways = [
    ['day', 'a day earlier', DAY_MS],
    ['week', 'a week earlier', WEEK_MS],
    ['before', 'the time before', longMs],
  ] as const;
  return html`<nav class="segments" aria-label="Against">
    ${ways
      .filter(([, , ms]) => ms >= longMs)
      .map(([name, text, ms]) => {
        const current = ms === agoMs ? 'page' : undefined;
        const path = toThisPageWithParameters({ against: name });
        return html`<a href=${path} aria-current=${current}>${text}</a>`;
      })}
  </nav>`;
}

/**
 * Finds the verdict whose share rose most, and the one whose share fell most. If a verdict is chosen and
 * its share rose or stayed, finds this one alone. If its share fell, finds it and the one that rose most.
 * Returns null if no share rose.
 */
function findMovedVerdicts(found: ExploredCounts, before: ExploredCounts, chosen: string | null) {
  const moves = VERDICT_STYLES.map(({ name }) => ({
    name,
    points: computePercentOfAll(found, name) - computePercentOfAll(before, name),
  })).toSorted((a, b) => b.points - a.points);
  const [most, least] = [moves[0], moves.at(-1)];
  if (most === undefined || least === undefined || most.points <= 0) return null;
  const own = moves.find(({ name }) => name === chosen);
  if (own === undefined) return { rose: most.name, fell: least.name };
  return own.points < 0 ? { rose: most.name, fell: own.name } : { rose: own.name, fell: null };
}

function toContributionRow(
  { dimension, value, before, after, difference, share }: Contribution,
  { view, found, rose }: { view: TodayView; found: ExploredCounts; rose: string },
) {
  const parameter = findSearchParameterOfDimension(dimension);
  const narrow = parameter === null ? null : { [parameter]: value, verdict: rose };
  return [
    html`<a href=${toThisPageWithParameters({ by: dimension, verdict: rose })}>${dimension}</a>`,
    narrow === null
      ? value
      : html`<a href=${toDecisionsAddress(view, found, narrow)}>${renderSafeName(value)}</a>`,
    ...[groupDigits(before.part), groupDigits(after.part), groupDigits(Math.round(difference))],
    formatPercent(100 * share),
  ];
}

/** Renders a button that rolls back the version that is the likely cause. */
function renderRemedy(first: Contribution | undefined, { session, status, propose }: RemedyContext) {
  const rollout = status?.rollout ?? null;
  if (rollout === null || status === null || !isAllowed(session, 'operate')) return null;
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
  return html`<div class="buttons">${h(RollBackButtons, own)}</div>`;
}
