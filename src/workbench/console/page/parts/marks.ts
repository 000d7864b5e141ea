import type { Explored, Rollout, SharedLists } from '#workbench/console/page/questions.ts';
import { count, formatDateTime, readMoment } from './format.ts';

interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Something that happened, drawn as a line across the time. An alert is one that the service raised itself
 * and keeps: those of Prometheus it does not know.
 */
export interface Mark {
  readonly at: number;
  readonly text: string;
  /** A few letters of it, to stand in a chart; null: only its line does. */
  readonly label: string | null;
  readonly isAlert: boolean;
}

/** What happened within a time, the first first. */
export function listMarks(
  {
    rollout,
    lists = [],
    gaps,
  }: {
    rollout?: Rollout | null | undefined;
    lists?: SharedLists['lists'] | undefined;
    gaps: Explored['exploration']['gaps'];
  },
  { from, to }: Span,
): readonly Mark[] {
  return [
    ...(rollout?.history ?? []).map(toRolloutMark),
    ...lists.map(({ list, changedAt }) =>
      createMark(readMoment(changedAt), `the list ${list} was last changed`, null),
    ),
    ...gaps.map((gap) => createMark(Math.max(readMoment(gap.from), from), describeGap(gap), 'lost', true)),
  ]
    .filter(({ at }) => at >= from && at < to)
    .sort((a, b) => a.at - b.at);
}

function createMark(at: number, text: string, label: string | null, isAlert = false): Mark {
  return { at, text, label, isAlert };
}

function toRolloutMark({ at, action, from, to, who, reason, emergency = false }: Rollout['history'][number]) {
  const changedAt = readMoment(at);
  if (action === 'guard')
    return createMark(
      changedAt,
      `the guard took ${from ?? 'a candidate'} back: ${reason}`,
      `${from} taken back`,
      true,
    );
  const alone = emergency ? ' without anybody else’s approval' : '';
  const isBack = action === 'rollback';
  const what = isBack ? `back to ${to}` : `${action} ${to}`;
  const label = isBack ? what : `${to} ${action}`;
  return createMark(changedAt, `${what}, by ${who}${alone}: ${reason}`, label, emergency);
}

function describeGap({ from, to, entries }: Explored['exploration']['gaps'][number]) {
  return `about ${count(entries)} entries between ${formatDateTime(from)} and ${formatDateTime(to)} are lost`;
}

/** What made the active version active; empty when the history is too long to tell. */
export function describeActivation({ active, history }: Rollout) {
  let came: Rollout['history'][number] | null = null;
  // A candidate that is taken back leaves active what was active.
  for (const entry of history)
    if (!['shadow', 'canary'].includes(entry.action) && entry.to !== came?.to) came = entry;
  if (came?.to !== active.version) return '';
  return `Since ${formatDateTime(came.at)}, by ${came.who}: ${came.reason}`;
}
