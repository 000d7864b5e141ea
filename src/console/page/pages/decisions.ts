import type { Decision, FoundDecisions, Session } from '../answers.ts';
import { ask, may, type Refusal, useAnswer } from '../api.ts';
import { html, useEffect, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { amountOf, DecisionTable, methodOf, outcomeOf } from '../parts/decision-table.ts';
import { Choice, Field, goTo, sent } from '../parts/form.ts';
import { count, dateTime } from '../parts/format.ts';
import { answered, Empty, Trouble } from '../parts/notice.ts';
import { csvText, linesOf, saveFile } from '../parts/save-file.ts';
import { outcomeText } from '../parts/time-line.ts';
import { inUtc, MinuteField, spanOf } from '../parts/time-span.ts';
import { GROUPS, VERDICTS } from '../parts/verdict.ts';
import { decisions, ROLLOUT_STATUS, ruleFolder } from '../questions.ts';
import { Left } from '../visits.ts';
import { OpenedDecision } from './opened-decision.ts';

const PAGE_DECISIONS = 100;

/** The list that was looked at last, with its filter. */
let lastList = '#/decisions';

/**
 * A first page and those behind it, with the question they answer: while the address changes, the list of
 * the
 * one before may still be kept under the new one.
 */
interface Listed {
  key: string;
  first: FoundDecisions;
  more: readonly FoundDecisions[];
}

const lists: Left<Listed> = new Left();

/** The newest decisions with a filter, or one of them opened. */
export function DecisionsPage({ place, session }: PageProps) {
  if (place.item !== '')
    return html`<p><a href=${lastList}>← Back to the decisions</a></p>
      <${OpenedDecision} key=${place.item} decisionId=${place.item} session=${session} />`;
  return html`<${DecisionList} key=${place.query} query=${place.query} session=${session} />`;
}

function leftFor(key: string) {
  const left = lists.get();
  return left?.key === key ? left : null;
}

function DecisionList({ query, session }: { query: URLSearchParams; session: Session }) {
  const filter = filterOf(query);
  const question = asked(filter);
  question.set('limit', String(PAGE_DECISIONS));
  question.set('include', 'outcomes');
  const key = question.toString();
  const [left, setLeft] = useState(() => leftFor(key));
  const fresh = useAnswer(left === null ? decisions(question) : null);
  const again = () => {
    setLeft(null);
    fresh.reload();
  };
  const answer = left === null ? fresh : { data: left.first, error: null, reload: again };
  lastList = location.hash;
  const page = { key, question, filtered: filter.size > 0 };
  return html`
    <${Filters} key=${query.toString()} filter=${filter} session=${session} reload=${again} />
    ${answered(answer, (found) => html`<${Pages} ...${page} first=${found} left=${left} />`)}
    ${filter.has('orderRef') && answer.data && html`<${Newest} found=${answer.data} session=${session} />`}`;
}

/** The first page and those that were asked for after it: each begins where the one before ended. */
function Pages({
  first,
  left,
  question,
  filtered,
}: {
  first: FoundDecisions;
  left: Listed | null;
  question: URLSearchParams;
  filtered: boolean;
}) {
  const key = question.toString();
  const [kept, setKept] = useState((): Listed => left ?? { key, first, more: [] });
  // After the first page was asked for again, the pages behind it no longer fit.
  const more = kept.first === first ? kept.more : [];
  useEffect(() => lists.set({ key, first, more }), [first, kept]);
  const [error, setError] = useState<Refusal | null>(null);
  const found = together([first, ...more]);
  const older = () => {
    const next = new URLSearchParams(question);
    next.set('after', found.next ?? '');
    setError(null);
    ask('GET', decisions(next)).then((page) => setKept({ key, first, more: [...more, page] }), setError);
  };
  return html`<${Matching} found=${found} filtered=${filtered} older=${older} />
    ${error && html`<${Trouble} error=${error} retry=${older} />`}`;
}

function together(pages: readonly FoundDecisions[]): FoundDecisions {
  const last = pages.at(-1)?.lookedAt ?? { backTo: null, complete: true };
  const next = pages.at(-1)?.next ?? null;
  const outcomes = pages.flatMap((page) => page.outcomes ?? []);
  const decisions = pages.flatMap((page) => page.decisions);
  const lookedAt = { ...last, decisions: pages.reduce((sum, page) => sum + page.lookedAt.decisions, 0) };
  const unread = unreadOf(pages);
  if (unread.length === 0) return { decisions, next, lookedAt, outcomes };
  return { decisions, next, lookedAt: { ...lookedAt, complete: false, unread }, outcomes };
}

/** What could not be read for any of the pages, each file once. */
function unreadOf(pages: readonly FoundDecisions[]) {
  const all = pages.flatMap((page) => page.lookedAt.unread ?? []);
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

/** Who looks for an order wants to know why, so the newest decision about it is opened. */
function Newest({ found: { decisions }, session }: { found: FoundDecisions; session: Session }) {
  const [newest] = decisions;
  if (newest === undefined) return null;
  const { decisionId } = newest;
  return html`<${OpenedDecision} key=${decisionId} decisionId=${decisionId} session=${session} />`;
}

function Matching({
  found,
  filtered,
  older,
}: {
  found: FoundDecisions;
  filtered: boolean;
  older: () => void;
}) {
  const { decisions, lookedAt } = found;
  if (decisions.length === 0 && !filtered && lookedAt.complete)
    return html`<${Empty} title="No decision yet">
      Each POST /v1/client/verdict becomes one.
    <//>`;
  if (decisions.length === 0)
    return html`<${Empty} title="No decision fits">${nothingFits(found)} Names are compared exactly.<//>
      ${found.next !== null && html`<${Older} older=${older} />`}`;
  return html`<p class="faint" role="status">${howMany(found, filtered)}</p>
    <${DecisionTable} found=${found} />
    <${Export} found=${found} />
    ${found.next !== null && html`<${Older} older=${older} />`}`;
}

function Older({ older }: { older: () => void }) {
  return html`<div><button type="button" onClick=${older}>Show older ones</button></div>`;
}

function nothingFits(found: FoundDecisions) {
  const { lookedAt } = found;
  const { decisions, backTo, upTo, unread } = lookedAt;
  const isPart = upTo !== undefined || unread !== undefined;
  if (isPart && isToTheEnd(found)) return `Nothing${except(lookedAt)}.`;
  if (decisions === 0) return 'Nothing of this name is kept.';
  if (isToTheEnd(found)) return `All ${count(decisions)} that are kept were looked at.`;
  const far = `The newest ${count(decisions)} were looked at, back to ${dateTime(backTo)}`;
  return `${far}; older ones were not.`;
}

function howMany(found: FoundDecisions, filtered: boolean) {
  return `${listedOf(found, filtered)}${except(found.lookedAt)}`;
}

function listedOf(found: FoundDecisions, filtered: boolean) {
  const { decisions, backTo } = found.lookedAt;
  const listed = found.decisions.length;
  const complete = isToTheEnd(found);
  const isFull = listed >= PAGE_DECISIONS && !complete;
  if (isFull) return `The newest ${count(listed)}${filtered ? ' that fit' : ''}, back to ${dateTime(backTo)}`;
  const all = complete
    ? `all ${count(decisions)} that are kept`
    : `the newest ${count(decisions)}, back to ${dateTime(backTo)}; older ones were not looked at`;
  if (filtered && complete && listed === decisions) return `All ${count(listed)} that fit`;
  return filtered ? `${count(listed)} that fit, of ${all}` : `${all.charAt(0).toUpperCase()}${all.slice(1)}`;
}

/** Whether nothing older is left to look at. */
function isToTheEnd({ next, lookedAt: { complete, upTo, unread } }: FoundDecisions) {
  return complete || ((upTo !== undefined || unread !== undefined) && next === null);
}

const UNREAD = {
  ...{ away: 'is out of reach', damaged: 'cannot be read', noRoom: 'exceeds ARCHIVE_CACHE_MAX' },
  tooMany: 'waits to be shipped',
};

/** What was not looked at: it was not read yet, or cannot be read. */
function except({ upTo, unread = [] }: FoundDecisions['lookedAt']) {
  const parts = unread.map(({ from, to, decisions, why = 'damaged' }) => {
    const span = `from ${dateTime(Number(from))} to ${dateTime(Number(to))}`;
    return `; ${count(decisions)} decisions ${span} lie in a file that ${UNREAD[why]}`;
  });
  if (upTo !== undefined) parts.unshift(`, up to ${dateTime(upTo)}; some of what came since was not read`);
  return parts.join('');
}

type Filter = ReadonlyMap<string, string>;

/** An orderRef goes before a clientIdKey. */
const NAMES = [
  ...['orderRef', 'clientIdKey', 'verdict', 'rule', 'ruleVersion', 'clientGroup', 'signal', 'sellPointKey'],
  ...['method', 'arm', 'outcome', 'amountMin', 'amountMax', 'from', 'to'],
];

const OUTCOMES = ['PAID', 'UNPAID', 'UNKNOWN'];
const VERDICT_NAMES = VERDICTS.map(({ name }) => name);
const GROUP_NAMES = GROUPS.map(({ name }) => name);

/** The filter in an address; what the API does not know is left out. */
function filterOf(query: URLSearchParams): Filter {
  return new Map(
    NAMES.map((name) => [name, (query.get(name) ?? '').trim()]).flatMap(([name = '', value = '']) =>
      value === '' ? [] : [[name, value] as const],
    ),
  );
}

/** The filter as the API takes it: minutes become the moments at which they begin and end. */
function asked(filter: Filter) {
  const query = new URLSearchParams([...filter]);
  const span = spanOf({ from: filter.get('from'), to: filter.get('to') });
  for (const [name, at] of Object.entries(span)) query.set(name, String(at));
  return query;
}

function Filters({ filter, session, reload }: { filter: Filter; session: Session; reload: () => void }) {
  const submit = sent((local) => {
    const values = new URLSearchParams(inUtc(local));
    goTo(`#/decisions${values.size === 0 ? '' : `?${values}`}`);
    reload();
  });
  const clear = () => goTo('#/decisions');
  const name = (one: string) => ({ name: one, defaultValue: filter.get(one), maxlength: 256 });
  const choice = (one: string, values: readonly string[]) => ({
    ...{ name: one, chosen: filter.get(one), values, any: 'any' },
  });
  const version = { pattern: 'p[0-9]+[.]v[0-9]+(-[a-z][a-z0-9]*)?', title: 'A rule version, like p2.v10' };
  return html`<form class="filters" onSubmit=${submit} onReset=${clear}>
    <${Field} label="orderRef"><input ...${name('orderRef')} /><//>
    <${Field} label="clientIdKey"><input ...${name('clientIdKey')} /><//>
    <${Choice} label="verdict" ...${choice('verdict', VERDICT_NAMES)} />
    <${Field} label="rule"><input ...${name('rule')} list="rules" /><//>
    ${may(session, 'rules:read') && html`<${RuleNames} version=${filter.get('ruleVersion')} />`}
    <${Field} label="ruleVersion"><input ...${name('ruleVersion')} ...${version} placeholder="p2.v10" /><//>
    <${Choice} label="group" ...${choice('clientGroup', GROUP_NAMES)} />
    <${Field} label="signal"><input ...${name('signal')} list="signals" /><//>
    <${Field} label="point of sale"><input ...${name('sellPointKey')} /><//>
    <${Field} label="method"><input ...${name('method')} /><//>
    <${Choice} label="arm" ...${choice('arm', ['active', 'candidate'])} />
    <${Choice} label="outcome" ...${choice('outcome', OUTCOMES)} />
    <${Field} label="amount from"><input ...${name('amountMin')} ...${AMOUNT} /><//>
    <${Field} label="amount to"><input ...${name('amountMax')} ...${AMOUNT} /><//>
    <${MinuteField} name="from" minute=${filter.get('from')} />
    <${MinuteField} name="to" minute=${filter.get('to')} />
    <div class="buttons">
      <button type="submit" class="button-accent">Show</button><button type="reset">Clear</button>
    </div>
  </form>`;
}

const AMOUNT = { inputmode: 'decimal', pattern: '[0-9]+([.][0-9]+)?', title: 'A number, like 25.00' };

/** The rules to choose from: those that give verdicts in the version asked for, or in the active one. */
function RuleNames({ version }: { version: string | undefined }) {
  const status = useAnswer(version === undefined ? ROLLOUT_STATUS : null);
  const wanted = version ?? status.data?.rollout?.active.version;
  const folder = useAnswer(wanted === undefined ? null : ruleFolder(wanted));
  const named = (file: string) =>
    (folder.data?.rules ?? []).filter(({ at }) => at.file === file).map(({ name }) => name);
  const options = (names: readonly string[]) => names.map((name) => html`<option value=${name} />`);
  return html`<datalist id="rules">${options([...named('verdicts.yaml'), 'otherwise'])}</datalist>
    <datalist id="signals">${options(named('bot-signals.yaml'))}</datalist>`;
}

/** A decision with what was reported about its order. */
type ExportedDecision = Decision & { readonly outcome: ReturnType<typeof outcomeOf> };

const CSV_COLUMNS: readonly (readonly [name: string, pick: (decision: ExportedDecision) => unknown])[] = [
  ['decidedAt', ({ at }) => new Date(at).toISOString()],
  ['decisionId', ({ decisionId }) => decisionId],
  ['orderRef', ({ orderRef }) => orderRef],
  ['clientIdKey', ({ clientIdKey }) => clientIdKey],
  ['sellPointKey', ({ sellPointKey }) => sellPointKey],
  ['amount', amountOf],
  ['method', methodOf],
  ['outcome', ({ outcome }) => (outcome === null ? '' : outcomeText(outcome))],
  ['verdict', ({ verdict }) => verdict],
  ['waitSeconds', ({ waitSeconds }) => waitSeconds ?? ''],
  ['rule', ({ rule }) => rule],
  ['ruleVersion', ({ ruleVersion }) => ruleVersion],
  ['clientGroup', ({ clientGroup }) => clientGroup],
  ['isBot', ({ isBot }) => isBot],
  ['paymentScore', ({ paymentScore }) => paymentScore],
  ['reason', ({ reason }) => reason],
];

/** The decisions that are shown, as a file. */
function Export({ found: { decisions, outcomes } }: { found: FoundDecisions }) {
  const shown = decisions.map((one) => ({ ...one, outcome: outcomeOf(one, outcomes) }));
  const csv = () => saveFile('decisions.csv', 'text/csv', csvOf(shown));
  const ndjson = () => saveFile('decisions.ndjson', 'application/x-ndjson', linesOf(shown));
  return html`<div class="buttons">
    <button type="button" onClick=${csv}>Save these as CSV</button>
    <button type="button" onClick=${ndjson}>Save these as NDJSON</button>
  </div>`;
}

function csvOf(decisions: readonly ExportedDecision[]) {
  const rows = decisions.map((decision) => CSV_COLUMNS.map(([, pick]) => pick(decision)));
  return csvText([CSV_COLUMNS.map(([name]) => name), ...rows]);
}
