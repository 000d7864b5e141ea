import { ask, useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { count, dateTime } from '../../parts/format.js';
import { Answered, Empty, Trouble } from '../../parts/notice.js';
import { decisions } from '../../questions.js';
import { DecisionTable } from './decision-table.js';
import { Export } from './export.js';
import { asked, Filters, filterOf } from './filters.js';
import { OpenedDecision } from './opened-decision.js';

/**
 * @import { FoundDecisions, Session } from '../../answers.d.ts'
 * @import { Refusal } from '../../api.js'
 * @import { PageProps } from '../../page-props.d.ts'
 */

const PAGE_DECISIONS = 100;

/**
 * The newest decisions with a filter, or one of them opened.
 * @param {PageProps} props
 */
export function DecisionsPage({ place, session }) {
  if (place.item !== '')
    return html`<p><a href="#/decisions">← All decisions</a></p>
      <${OpenedDecision} key=${place.item} decisionId=${place.item} session=${session} />`;
  return html`<${DecisionList} query=${place.query} session=${session} />`;
}

/** @param {{ query: URLSearchParams, session: Session }} props */
function DecisionList({ query, session }) {
  const filter = filterOf(query);
  const question = asked(filter);
  question.set('limit', String(PAGE_DECISIONS));
  question.set('include', 'outcomes');
  const answer = useAnswer(decisions(question));
  const page = { key: question.toString(), question, filtered: filter.size > 0 };
  const listed = (/** @type {FoundDecisions} */ found) => html`<${Pages} ...${page} first=${found} />`;
  return html`
    <${Filters} key=${query.toString()} filter=${filter} session=${session} reload=${answer.reload} />
    <${Answered} answer=${answer}>${listed}<//>
    ${filter.has('orderRef') && answer.data && html`<${Newest} found=${answer.data} session=${session} />`}`;
}

/**
 * The first page and those that were asked for after it: each begins where the one before ended.
 * @param {{ first: FoundDecisions, question: URLSearchParams, filtered: boolean }} props
 */
function Pages({ first, question, filtered }) {
  const [kept, setKept] = useState({ first, more: /** @type {FoundDecisions[]} */ ([]) });
  // Behind a first page that was asked for again lies something else.
  const more = kept.first === first ? kept.more : [];
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const found = together([first, ...more]);
  const older = () => {
    const next = new URLSearchParams(question);
    next.set('after', found.lookedAt.next ?? '');
    setError(null);
    ask('GET', decisions(next)).then((page) => setKept({ first, more: [...more, page] }), setError);
  };
  return html`<${Matching} found=${found} filtered=${filtered} older=${older} />
    ${error && html`<${Trouble} error=${error} retry=${older} />`}`;
}

/**
 * @param {readonly FoundDecisions[]} pages
 * @returns {FoundDecisions}
 */
function together(pages) {
  const last = pages.at(-1)?.lookedAt ?? { backTo: null, complete: true, next: null };
  const outcomes = pages.flatMap((page) => page.outcomes ?? []);
  const decisions = pages.flatMap((page) => page.decisions);
  const lookedAt = { ...last, decisions: pages.reduce((sum, page) => sum + page.lookedAt.decisions, 0) };
  const unread = unreadOf(pages);
  if (unread.length === 0) return { decisions, lookedAt, outcomes };
  return { decisions, lookedAt: { ...lookedAt, complete: false, unread }, outcomes };
}

/**
 * What could not be read for any of the pages, each file once.
 * @param {readonly FoundDecisions[]} pages
 */
function unreadOf(pages) {
  const all = pages.flatMap((page) => page.lookedAt.unread ?? []);
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

/**
 * Who looks for an order wants to know why, so the newest decision about it is opened.
 * @param {{ found: FoundDecisions, session: Session }} props
 */
function Newest({ found: { decisions }, session }) {
  const [newest] = decisions;
  if (newest === undefined) return null;
  const { decisionId } = newest;
  return html`<${OpenedDecision} key=${decisionId} decisionId=${decisionId} session=${session} />`;
}

/** @param {{ found: FoundDecisions, filtered: boolean, older: () => void }} props */
function Matching({ found, filtered, older }) {
  const { decisions, lookedAt } = found;
  if (decisions.length === 0 && !filtered && lookedAt.complete)
    return html`<${Empty} title="No decision yet">
      Each POST /v1/client/verdict becomes one.
    <//>`;
  if (decisions.length === 0)
    return html`<${Empty} title="No decision fits">${nothingFits(lookedAt)} Names are compared exactly.<//>
      ${lookedAt.next !== null && html`<${Older} older=${older} />`}`;
  return html`<p class="faint" role="status">${howMany(decisions.length, filtered, lookedAt)}</p>
    <${DecisionTable} found=${found} />
    <${Export} found=${found} />
    ${lookedAt.next !== null && html`<${Older} older=${older} />`}`;
}

/** @param {{ older: () => void }} props */
function Older({ older }) {
  return html`<div><button type="button" onClick=${older}>Show older ones</button></div>`;
}

/** @param {FoundDecisions['lookedAt']} lookedAt */
function nothingFits(lookedAt) {
  const { decisions, backTo, upTo, unread } = lookedAt;
  const isPart = upTo !== undefined || unread !== undefined;
  if (isPart && isToTheEnd(lookedAt)) return `Nothing${except(lookedAt)}.`;
  if (decisions === 0) return 'Nothing of this name is kept.';
  if (isToTheEnd(lookedAt)) return `All ${count(decisions)} that are kept were looked at.`;
  const far = `The newest ${count(decisions)} were looked at, back to ${dateTime(backTo)}`;
  return `${far}; older ones were not.`;
}

/**
 * @param {number} listed
 * @param {boolean} filtered
 * @param {FoundDecisions['lookedAt']} lookedAt
 */
function howMany(listed, filtered, lookedAt) {
  return `${listedOf(listed, filtered, lookedAt)}${except(lookedAt)}`;
}

/**
 * @param {number} listed
 * @param {boolean} filtered
 * @param {FoundDecisions['lookedAt']} lookedAt
 */
function listedOf(listed, filtered, lookedAt) {
  const { decisions, backTo } = lookedAt;
  const complete = isToTheEnd(lookedAt);
  const isFull = listed >= PAGE_DECISIONS && !complete;
  if (isFull) return `The newest ${count(listed)}${filtered ? ' that fit' : ''}, back to ${dateTime(backTo)}`;
  const all = complete
    ? `all ${count(decisions)} that are kept`
    : `the newest ${count(decisions)}, back to ${dateTime(backTo)}; older ones were not looked at`;
  if (filtered && complete && listed === decisions) return `All ${count(listed)} that fit`;
  return filtered ? `${count(listed)} that fit, of ${all}` : `${all.charAt(0).toUpperCase()}${all.slice(1)}`;
}

/**
 * Whether nothing older is left to look at.
 * @param {FoundDecisions['lookedAt']} lookedAt
 */
function isToTheEnd({ complete, next, upTo, unread }) {
  return complete || ((upTo !== undefined || unread !== undefined) && next === null);
}

/**
 * What was not looked at: it is not archived yet, or cannot be read.
 * @param {FoundDecisions['lookedAt']} lookedAt
 */
function except({ upTo, unread = [] }) {
  const since =
    upTo === undefined
      ? []
      : [`, up to ${dateTime(upTo)}; what came since is not archived yet or cannot be read`];
  const files = unread.map(({ from, to, decisions }) => {
    const span = `from ${dateTime(from)} to ${dateTime(to)}`;
    return `; ${count(decisions)} decisions ${span} lie in a file that cannot be read`;
  });
  return [...since, ...files].join('');
}
