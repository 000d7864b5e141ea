import type { ExplorationAnswer, Rollout, SharedLists } from '#workbench/console/page/questions.ts';
import { formatDateTime, groupDigits, parseMoment } from './format.ts';

/** The name of each act of a rollout, used everywhere on the page. */
export const ROLLOUT_ACT_NAMES: Readonly<Record<Rollout['history'][number]['action'], string>> = {
  start: 'first start',
  shadow: 'shadow',
  canary: 'canary',
  active: 'activated',
  rollback: 'taken back',
  guard: 'taken back by the guard',
  repair: 'repaired',
};

interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * An event that is drawn as a line across the time. An alert is an event that the service raised and keeps.
 * The service does not know the alerts of Prometheus.
 */
export interface TimeMark {
  readonly at: number;
  readonly text: string;
  /** A few letters for the chart. Null if only the line is drawn. */
  readonly label: string | null;
  readonly isAlert: boolean;
}

/** Lists the events within a span of time, oldest first. */
export function listTimeMarks(
  {
    rollout,
    lists = [],
    gaps,
  }: {
    rollout?: Rollout | null | undefined;
    lists?: SharedLists['lists'] | undefined;
    gaps: ExplorationAnswer['exploration']['gaps'];
  },
  { from, to }: Span,
): readonly TimeMark[] {
  return [
    ...(rollout?.history ?? []).map(toRolloutMark),
    ...lists.map(({ list, changedAt }) =>
      createMark(parseMoment(changedAt), `the list ${list} was last changed`, null),
    ),
    ...gaps.map((gap) => createMark(Math.max(parseMoment(gap.from), from), describeGap(gap), 'lost', true)),
  ]
    .filter(({ at }) => at >= from && at < to)
    .sort((a, b) => a.at - b.at);
}

function createMark(at: number, text: string, label: string | null, isAlert = false): TimeMark {
  return { at, text, label, isAlert };
}

function toRolloutMark(entry: Rollout['history'][number]) {
  const { at, action, from, to, percent, who, reason, emergency = false } = entry;
  const isGuard = action === 'guard';
  const isBack = isGuard || action === 'rollback';
  const label = `${isBack ? (from ?? 'a candidate') : to} ${ROLLOUT_ACT_NAMES[isBack ? 'rollback' : action]}`;
  const share = action === 'canary' && percent !== undefined ? ` ${percent} %` : '';
  const decides = isBack && !isGuard ? `, ${to} decides` : '';
  const alone = emergency ? ' without a second person’s approval' : '';
  const by = isGuard ? 'by the guard' : `by ${who}${alone}`;
  return createMark(
    parseMoment(at),
    `${label}${share}${decides}, ${by}: ${reason}`,
    label,
    isGuard || emergency,
  );
}

function describeGap({ from, to, entries }: ExplorationAnswer['exploration']['gaps'][number]) {
  const span = `between ${formatDateTime(from)} and ${formatDateTime(to)}`;
  return `about ${groupDigits(entries)} entries ${span} are lost`;
}

/**
 * Describes what made the active version active. Returns an empty text if the kept history no longer has
 * this act.
 */
export function describeActivation({ active, history }: Rollout) {
  let came: Rollout['history'][number] | null = null;
  // If a candidate is taken back, the active version stays.
  for (const entry of history)
    if (!['shadow', 'canary'].includes(entry.action) && entry.to !== came?.to) came = entry;
  if (came?.to !== active.version) return '';
  return `Since ${formatDateTime(came.at)}, by ${came.who}: ${came.reason}`;
}
