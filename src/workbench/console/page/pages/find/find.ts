import { askService, isAllowed, type ServiceRefusal, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useEffect, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import {
  DecisionTable,
  findOutcome,
  formatAmount,
  formatMethod,
  formatOutcome,
} from '#workbench/console/page/parts/decision-table.ts';
import {
  RuleNameOptions,
  renderFilterField,
  SEARCH_FIELDS,
} from '#workbench/console/page/parts/filter-field.ts';
import { goTo, onSubmit } from '#workbench/console/page/parts/form.ts';
import { formatDateTime, groupDigits, toMomentText } from '#workbench/console/page/parts/format.ts';
import { toDecisionsPath } from '#workbench/console/page/parts/links.ts';
import { RefusalNotice, renderAnswer, renderEmpty } from '#workbench/console/page/parts/notice.ts';
import { saveFile, toCsv } from '#workbench/console/page/parts/save-file.ts';
import type { ShownTime } from '#workbench/console/page/parts/time-span.ts';
import { decisionsQuestion, type FoundDecisions, type Session } from '#workbench/console/page/questions.ts';
import { VisitCache } from '#workbench/console/page/visits.ts';
import { OpenedDecision } from './decision.ts';
import { FindBox } from './find-box.ts';
import { PayerDetails } from './payer.ts';

/** The page with the search box, and with the decisions that match a filter and a time. */
export function FindPage(props: PageProps) {
  const { session, place } = props;
  const { query: key } = place;
  return html`${h(FindBox, { key, session, hasFocus: key.size === 0 })}
    ${
      isAllowed(session, 'decisions')
        ? h(DecisionList, { key, ...props })
        : renderEmpty('What was found stands here', 'Type a name into the box above.')
    }`;
}

/** The page about one payer. */
export function PayerPage({ place: { item }, session }: PageProps) {
  return html`${h(FindBox, { key: item, session, hasFocus: item === '' })}
    ${item !== '' && h(PayerDetails, { key: item, clientIdKey: item, session })}`;
}

/** The page about one decision. */
export function DecisionPage({ place: { item }, session }: PageProps) {
  return html`${h(FindBox, { key: item, session, hasFocus: item === '' })}
    ${item !== '' && h(OpenedDecision, { key: item, decisionId: item, session })}`;
}

const PAGE_DECISIONS = 100;

/**
 * A list of decisions: the query `key` that it answers, its first page, and the pages after it. Right
 * after the address has changed, the kept list may still answer the previous query, so `key` is compared.
 */
interface Listed {
  readonly key: string;
  readonly first: FoundDecisions;
  readonly more: readonly FoundDecisions[];
}

const lists: VisitCache<Listed> = new VisitCache();

function findKeptList(key: string) {
  const left = lists.get();
  return left?.key === key ? left : null;
}

function DecisionList({ place: { query }, session, time: { span, parameters } }: PageProps) {
  const filter = readFilter(query);
  const question = toQuery(filter, span);
  const key = question.toString();
  const [left, setLeft] = useState(() => findKeptList(key));
  const fresh = useAnswer(left === null ? decisionsQuestion(question) : null);
  const again = () => {
    setLeft(null);
    fresh.reload();
  };
  const answer = left === null ? fresh : { data: left.first, error: null, reload: again };
  // A person who looks for an order wants to know the reason, so the newest decision about the order is
  // opened.
  const newest = filter.has('orderRef') ? answer.data?.decisions[0]?.decisionId : undefined;
  return html`${renderFilters(filter, session, parameters, again)}
    ${renderAnswer(answer, (first) => h(Pages, { first, left, question }))}
    ${newest && h(OpenedDecision, { key: newest, decisionId: newest, session })}`;
}

type PagesProps = Pick<Listed, 'first'> & { left: Listed | null; question: URLSearchParams };

/** The first page and the pages that were requested after it. Each begins where the one before ended. */
function Pages({ first, left, question }: PagesProps) {
  const key = question.toString();
  const [kept, setKept] = useState<Listed>(() => left ?? { key, first, more: [] });
  // When the first page was requested again, the pages after it no longer fit, so they are dropped.
  const more = kept.first === first ? kept.more : [];
  useEffect(() => lists.set({ key, first, more }), [first, kept]);
  const [error, setError] = useState<ServiceRefusal | null>(null);
  const found = mergePages([first, ...more]);
  const older = () => {
    const next = new URLSearchParams(question);
    next.set('after', found.next ?? '');
    setError(null);
    askService('GET', decisionsQuestion(next)).then(
      (page) => setKept({ key, first, more: [...more, page] }),
      setError,
    );
  };
  return html`${
    found.decisions.length === 0
      ? renderNone(found, question.size > 2)
      : html`<p
          class="faint" role="status">${describeFound(found, question.size > 2)}${describeUnread(
            found.lookedAt,
          )}</p>
          ${h(DecisionTable, { found })}`
  }
    <div class="buttons">
      ${found.next !== null && html`<button type="button" onClick=${older}>Show older ones</button>`}
      ${found.decisions.length > 0 && renderExport(found)}
    </div>
    ${error && h(RefusalNotice, { error, retry: older })}`;
}

function mergePages(pages: readonly FoundDecisions[]): FoundDecisions {
  const last = pages.at(-1)?.lookedAt ?? { backTo: null, complete: true };
  const next = pages.at(-1)?.next ?? null;
  const outcomes = pages.flatMap((page) => page.outcomes ?? []);
  const decisions = pages.flatMap((page) => page.decisions);
  const lookedAt = { ...last, decisions: pages.reduce((sum, page) => sum + page.lookedAt.decisions, 0) };
  // The files that could not be read for one of the pages, each listed once.
  const all = pages.flatMap((page) => page.lookedAt.unread ?? []);
  const unread = [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
  if (unread.length === 0) return { decisions, next, lookedAt, outcomes };
  return { decisions, next, lookedAt: { ...lookedAt, complete: false, unread }, outcomes };
}

function renderNone(found: FoundDecisions, isFiltered: boolean) {
  if (!isFiltered && found.lookedAt.decisions === 0 && isToTheEnd(found))
    return renderEmpty('No decision yet', FIRST_DECISION);
  return renderEmpty('No decision matches', html`${describeNothingFound(found)} Names are compared exactly.`);
}

const FIRST_DECISION = `Every verdict stands here, newest first, as soon as a checkout calls
  POST /v1/client/verdict.`;

function describeNothingFound(found: FoundDecisions) {
  const { lookedAt } = found;
  const { decisions, backTo, upTo, unread } = lookedAt;
  const isPart = upTo !== undefined || unread !== undefined;
  if (isPart && isToTheEnd(found)) return `Nothing${describeUnread(lookedAt)}.`;
  if (decisions === 0) return 'Nothing of this name is kept.';
  if (isToTheEnd(found)) return `All ${groupDigits(decisions)} that are kept were looked at.`;
  const far = `The newest ${groupDigits(decisions)} were looked at, back to ${formatDateTime(backTo)}`;
  return `${far}; older ones were not.`;
}

function describeFound(found: FoundDecisions, isFiltered: boolean) {
  const { decisions, backTo } = found.lookedAt;
  const { length } = found.decisions;
  const isComplete = isToTheEnd(found);
  const [fitting, back] = [isFiltered ? ' that fit' : '', `back to ${formatDateTime(backTo)}`];
  if (length >= PAGE_DECISIONS && !isComplete) return `The newest ${groupDigits(length)}${fitting}, ${back}`;
  if (isFiltered && isComplete && length === decisions) return `All ${groupDigits(length)} that fit`;
  const of = isComplete
    ? `all ${groupDigits(decisions)} that are kept`
    : `the newest ${groupDigits(decisions)}, ${back}; older ones were not looked at`;
  return isFiltered
    ? `${groupDigits(length)} that fit, of ${of}`
    : `${of.charAt(0).toUpperCase()}${of.slice(1)}`;
}

/** Whether everything that is kept was searched, apart from what cannot be read now. */
function isToTheEnd({ next, lookedAt: { complete, upTo, unread } }: FoundDecisions) {
  return complete || ((upTo !== undefined || unread !== undefined) && next === null);
}

const UNREAD = {
  away: 'is out of reach',
  damaged: 'cannot be read',
  noRoom: 'exceeds ARCHIVE_CACHE_MAX',
  tooMany: 'waits to be shipped',
};

/** Describes which decisions were not searched, because they were not read yet or cannot be read. */
function describeUnread({ upTo, unread = [] }: FoundDecisions['lookedAt']) {
  const parts = unread.map(({ from, to, decisions, why = 'damaged' }) => {
    const span = `from ${formatDateTime(from)} to ${formatDateTime(to)}`;
    return `; ${groupDigits(decisions)} decisions ${span} lie in a file that ${UNREAD[why]}`;
  });
  if (upTo !== undefined)
    parts.unshift(`, up to ${formatDateTime(upTo)}; some of what came since was not read`);
  return parts.join('');
}

/** The searched values, by the parameter of the API. */
type Filter = ReadonlyMap<string, string>;

/** The fields that the form shows without a click. */
const FIRST_NAMES = ['verdict', 'rule', 'outcome'];

const FIRST = FIRST_NAMES.flatMap((first) => SEARCH_FIELDS.filter(({ name }) => name === first));
const FOLDED = SEARCH_FIELDS.filter(({ name }) => !FIRST_NAMES.includes(name));

/** Reads the filter from an address. Parameters that the API does not know are left out. */
function readFilter(query: URLSearchParams): Filter {
  return new Map(
    SEARCH_FIELDS.flatMap(({ name }) => {
      const value = (query.get(name) ?? '').trim();
      return value === '' ? [] : [[name, value] as const];
    }),
  );
}

/**
 * Returns the query of the API for a filter and a time. If the page shows what was known at a moment
 * (`asOf`), the decisions end at that moment.
 */
function toQuery(filter: Filter, { from, to, asOf }: ShownTime['span']) {
  const end = to ?? (asOf === undefined ? undefined : asOf + 1);
  const query = new URLSearchParams([...filter]);
  if (from !== undefined) query.set('from', toMomentText(from));
  if (end !== undefined) query.set('to', toMomentText(end));
  query.set('limit', String(PAGE_DECISIONS));
  query.set('include', 'outcomes');
  return query;
}

function renderFilters(filter: Filter, session: Session, words: ShownTime['parameters'], reload: () => void) {
  const submit = onSubmit((values) => {
    goTo(toDecisionsPath({ ...words, ...values }));
    reload();
  });
  const set = FOLDED.flatMap(({ name, label }) => (filter.has(name) ? `${label} ${filter.get(name)}` : []));
  const fields = (some: typeof SEARCH_FIELDS) =>
    some.map((one) => renderFilterField(one, filter.get(one.name)));
  return html`<form class="filters" onSubmit=${submit} onReset=${() => goTo(toDecisionsPath(words))}>
    ${fields(FIRST)}
    ${isAllowed(session, 'rules:read') && h(RuleNameOptions, { version: filter.get('ruleVersion') })}
    <div class="buttons">
      <button type="submit" class="button-accent">Show</button><button type="reset">Clear</button>
    </div>
    <details>
      <summary>${['More filters', ...set].join(' · ')}</summary>
      <div class="filters">${fields(FOLDED)}</div>
    </details>
  </form>`;
}

/** Renders the button that saves the shown decisions as a file. */
function renderExport({ decisions, outcomes }: FoundDecisions) {
  const rows = decisions.map((decision) => {
    const outcome = findOutcome(decision, outcomes);
    return {
      decidedAt: decision.at,
      decisionId: decision.decisionId,
      requestId: decision.requestId,
      orderRef: decision.orderRef,
      clientIdKey: decision.clientIdKey,
      sellPointKey: decision.sellPointKey,
      amount: formatAmount(decision),
      method: formatMethod(decision),
      outcome: outcome === null ? '' : formatOutcome(outcome),
      verdict: decision.verdict,
      waitSeconds: decision.waitSeconds,
      rule: decision.rule,
      ruleVersion: decision.ruleVersion,
      clientGroup: decision.clientGroup,
      isBot: decision.isBot,
      paymentScore: decision.paymentScore,
      reason: decision.reason,
    };
  });
  const save = () => saveFile('decisions.csv', 'text/csv', toCsv(rows));
  return html`<button type="button" onClick=${save}>Save these as CSV</button>`;
}
