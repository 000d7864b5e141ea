import { SPLIT_MEMBERS } from '#decision/filter-members.ts';
import { useAnswer } from '#workbench/console/page/api.ts';
import { useMemo } from '#workbench/console/page/html.ts';
import { COUNT_FIELDS } from '#workbench/console/page/parts/filter-field.ts';
import { parseMoment, toMomentText } from '#workbench/console/page/parts/format.ts';
import { toDecisionsPath } from '#workbench/console/page/parts/links.ts';
import { formatUtcMinute, type ShownTime } from '#workbench/console/page/parts/time-span.ts';
import { type ExplorationAnswer, explorationQuestion } from '#workbench/console/page/questions.ts';

/** The counts of decisions as the service answers them: by slots of time, and split by one property. */
export type ExploredCounts = ExplorationAnswer['exploration'];

/** The properties by which decisions are split, in the sequence in which the page lists them. */
export const SPLIT_DIMENSIONS = [
  ...(['verdict', 'rule', 'signal', 'flag', 'group', 'bot', 'waitLevel', 'platform'] as const),
  ...(['pointOfSale', 'method', 'version', 'arm'] as const),
];

/** Matches a split by an attribute that callers state about payers, like `attribute(cardCountry)`. */
const ATTRIBUTE_SPLIT = /^attribute\((\w+)\)$/;

const PARAMETERS: ReadonlyMap<string, string> = new Map(Object.entries(SPLIT_MEMBERS));

/** The parameters that narrow the counted decisions. */
export const COUNT_FILTER_NAMES = COUNT_FIELDS.map(({ name }) => name);

export const DAY_MS = 86_400_000;
export const WEEK_MS = 7 * DAY_MS;

/**
 * The view of the page Today that the address asks for: a time, the counted figure, and the property by
 * which it is split.
 */
export interface TodayView {
  readonly query: URLSearchParams;
  readonly time: ShownTime;
  readonly by: string;
  readonly verdict: string | null;
  readonly measure: string;
}

export function readTodayView(query: URLSearchParams, time: ShownTime): TodayView {
  const [by, measure] = [query.get('by') ?? 'verdict', query.get('measure') ?? 'count'];
  return { query, time, by, verdict: query.get('verdict'), measure };
}

/**
 * Returns the search parameter of a dimension (a property by which decisions are split). With it, a search
 * finds the decisions that have a certain value. Returns null if there is none.
 */
export function findSearchParameterOfDimension(dimension: string) {
  return PARAMETERS.get(dimension) ?? null;
}

function toNarrowedQuery({ query, by, verdict, measure }: TodayView) {
  const [, attribute] = ATTRIBUTE_SPLIT.exec(by) ?? [];
  const split = attribute === undefined ? { by } : { attribute };
  const asked = new URLSearchParams({ ...split, ...(verdict && { verdict }) });
  for (const name of COUNT_FILTER_NAMES) if (query.has(name)) asked.set(name, query.get(name) ?? '');
  if (measure === 'money') asked.set('include', 'money');
  return asked;
}

/** The longest span that is counted at once. */
const LONGEST = 'quarter';

/**
 * Returns the query for the view. A time with a name is sent by its name, and the service then counts whole
 * slots.
 */
export function toExploreQuery(view: TodayView) {
  const { name, span } = view.time;
  const asked = toNarrowedQuery(view);
  if (name !== null) asked.set('span', name === 'all' ? LONGEST : name);
  else if (span.from !== undefined) asked.set('from', toMomentText(span.from));
  if (name === null && span.to !== undefined) asked.set('to', toMomentText(span.to));
  if (span.asOf !== undefined) asked.set('asOf', toMomentText(span.asOf));
  return asked;
}

/** Returns the span from the first slot to the end of the last slot, or to now. */
export function getSpanOfAllSlots({ slots, stepMs }: ExploredCounts) {
  const [first, last] = [slots[0], slots.at(-1)].map((slot) => (slot === undefined ? 0 : parseMoment(slot)));
  const from = first ?? 0;
  const now = Math.floor(Date.now() / 10_000) * 10_000;
  return { from, to: Math.max(from + 1, Math.min(now, (last ?? 0) + stepMs)) };
}

/**
 * The decisions of the same time a day and a week earlier. Null if that time would overlap the shown time,
 * or while the answer is awaited.
 */
export interface EarlierDecisions {
  readonly day: ExploredCounts | null;
  readonly week: ExploredCounts | null;
  /**
   * The decisions of the earlier time with which the page compares. `agoMs` says how long before the shown
   * time it is.
   */
  readonly against: ExploredCounts | null;
  readonly agoMs: number;
}

/** Requests the decisions of the earlier times. The same time is requested only once. */
export function useEarlierDecisions(found: ExploredCounts | null, view: TodayView): EarlierDecisions {
  const { from, to } = found === null ? { from: 0, to: 0 } : getSpanOfAllSlots(found);
  const longMs = to - from;
  const against = view.query.get('against') ?? (longMs <= DAY_MS ? 'day' : 'week');
  const agoMs = Math.max(against === 'day' ? DAY_MS : against === 'week' ? WEEK_MS : 0, longMs);
  const ask = (ms: number, isAsked: boolean) => {
    const query = useMemo(() => toEarlierQuery(found, view, ms), [from, view, ms]);
    return useAnswer(query !== null && isAsked ? explorationQuestion(query) : null).data?.exploration ?? null;
  };
  const [day, week] = [ask(DAY_MS, longMs <= DAY_MS), ask(WEEK_MS, longMs <= WEEK_MS)];
  const other = ask(agoMs, agoMs !== DAY_MS && agoMs !== WEEK_MS);
  return { day, week, against: agoMs === DAY_MS ? day : agoMs === WEEK_MS ? week : other, agoMs };
}

/** Describes how much earlier the compared time is. */
export function describeEarlierTime(agoMs: number) {
  if (agoMs === DAY_MS) return 'a day earlier';
  return agoMs === WEEK_MS ? 'a week earlier' : 'the time before';
}

/** The splits under which one decision may count several times. */
const COUNTED_TWICE: readonly string[] = ['signal', 'flag'];

/**
 * Returns the decisions of the earlier time as a line, with a value for each slot of the shown time.
 * Returns null if there are none, or if one line cannot show them.
 */
export function computeEarlierLine(
  found: ExploredCounts,
  { against, agoMs }: EarlierDecisions,
  { by, verdict, measure }: TodayView,
): { readonly name: string; readonly values: readonly (number | null)[] } | null {
  const isLine = measure === 'count' ? !COUNTED_TWICE.includes(by) : measure === 'share' && verdict !== null;
  if (against === null || !isLine || against.stepMs !== found.stepMs) return null;
  const places = new Map(against.slots.map((slot, place) => [parseMoment(slot) + agoMs, place]));
  const counted =
    verdict === null ? against.all : against.values.find((one) => one.value === verdict)?.decisions;
  const values = found.slots.map((slot) => {
    const place = places.get(parseMoment(slot));
    if (place === undefined) return null;
    const [part = 0, whole = 0] = [counted?.[place], against.all[place]];
    if (measure === 'count') return part;
    return whole === 0 ? null : (100 * part) / whole;
  });
  return values.every((value) => !value) ? null : { name: describeEarlierTime(agoMs), values };
}

function toEarlierQuery(found: ExploredCounts | null, view: TodayView, agoMs: number) {
  if (found === null) return null;
  const { from, to } = getSpanOfAllSlots(found);
  const asked = toNarrowedQuery({ ...view, by: 'verdict', verdict: null, measure: 'count' });
  asked.set('from', toMomentText(from - agoMs));
  asked.set('to', toMomentText(to - agoMs));
  return asked;
}

/** Returns the query that explains why the share of a verdict changed since the earlier time. */
export function toVerdictChangeQuery(found: ExploredCounts, view: TodayView, verdict: string, agoMs: number) {
  const { from, to } = getSpanOfAllSlots(found);
  const asked = toNarrowedQuery({ ...view, by: 'verdict', verdict, measure: 'count' });
  const times = { from, to, againstFrom: from - agoMs, againstTo: to - agoMs };
  for (const [name, at] of Object.entries(times)) asked.set(name, toMomentText(at));
  return asked;
}

/** Computes a share of all decisions, in percent. */
export function computePercentOfAll(found: ExploredCounts, value: string) {
  const all = sumUp(found.all);
  return all === 0
    ? 0
    : (100 * sumUp(found.values.find((one) => one.value === value)?.decisions ?? [])) / all;
}

export function sumUp(numbers: readonly number[]) {
  return numbers.reduce((total, number) => total + number, 0);
}

/**
 * Returns the address of the list of decisions of this time, narrowed further by parameters of the page
 * Find.
 */
export function toDecisionsAddress(
  { query, verdict }: TodayView,
  found: ExploredCounts,
  more: Readonly<Record<string, string>>,
) {
  const { from, to } = getSpanOfAllSlots(found);
  const listed = new URLSearchParams({
    from: formatUtcMinute(from),
    to: formatUtcMinute(to - 1),
    ...(verdict && { verdict }),
  });
  for (const name of COUNT_FILTER_NAMES) if (query.has(name)) listed.set(name, query.get(name) ?? '');
  for (const [name, value] of Object.entries(more)) listed.set(name, value);
  return toDecisionsPath(Object.fromEntries(listed));
}
