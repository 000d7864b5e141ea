import { useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { count, dateTime } from '../../parts/format.js';
import { Answered, Empty } from '../../parts/notice.js';
import { decisions } from '../../questions.js';
import { DecisionTable } from './decision-table.js';
import { Export } from './export.js';
import { Filters, filterOf } from './filters.js';
import { OpenedDecision } from './opened-decision.js';

/**
 * @import { FoundDecisions, Session } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 */

const LISTED_AT_FIRST = 100;
const LISTED_MAX = 500;

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
  const [limit, setLimit] = useState(LISTED_AT_FIRST);
  const answer = useAnswer(decisions(new URLSearchParams([['limit', String(limit)], ...filter])));
  const showMore = () => setLimit(LISTED_MAX);
  const listed = (/** @type {FoundDecisions} */ found) =>
    html`<${Matching} found=${found} filtered=${filter.size > 0} limit=${limit} showMore=${showMore} />`;
  return html`
    <${Filters} key=${query.toString()} filter=${filter} session=${session} reload=${answer.reload} />
    <${Answered} answer=${answer}>${listed}<//>
    ${filter.has('orderRef') && answer.data && html`<${Newest} found=${answer.data} session=${session} />`}`;
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

/** @param {{ found: FoundDecisions, filtered: boolean, limit: number, showMore: () => void }} props */
function Matching({ found: { decisions, lookedAt }, filtered, limit, showMore }) {
  if (decisions.length === 0 && !filtered && lookedAt.complete)
    return html`<${Empty} title="No decision yet">
      Each POST /v1/client/verdict becomes one, and is kept for 90 days.
    <//>`;
  if (decisions.length === 0)
    return html`<${Empty} title="No decision fits">${nothingFits(lookedAt)} Names are compared exactly.<//>`;
  const full = decisions.length === limit && !lookedAt.complete;
  return html`<p class="faint" role="status">${howMany(decisions.length, full, filtered, lookedAt)}</p>
    <${DecisionTable} decisions=${decisions} />
    <${Export} decisions=${decisions} />
    ${
      full &&
      (limit < LISTED_MAX
        ? html`<button type="button" onClick=${showMore}>Show up to ${LISTED_MAX}</button>`
        : html`<p class="faint">
            More are not listed. An orderRef or a clientIdKey leads to older ones.
          </p>`)
    }`;
}

/** @param {FoundDecisions['lookedAt']} lookedAt */
function nothingFits({ decisions, backTo, complete }) {
  if (decisions === 0) return 'Nothing of this name is kept.';
  if (complete) return `All ${count(decisions)} that are kept were looked at.`;
  const far = `The newest ${count(decisions)} were looked at, back to ${dateTime(backTo)}`;
  return `${far}; older ones were not. An orderRef or a clientIdKey looks further back.`;
}

/**
 * @param {number} listed
 * @param {boolean} full
 * @param {boolean} filtered
 * @param {FoundDecisions['lookedAt']} lookedAt
 */
function howMany(listed, full, filtered, { decisions, backTo, complete }) {
  if (full) return `The newest ${count(listed)}${filtered ? ' that fit' : ''}, back to ${dateTime(backTo)}`;
  const all = complete
    ? `all ${count(decisions)} that are kept`
    : `the newest ${count(decisions)}, back to ${dateTime(backTo)}; older ones were not looked at`;
  return filtered ? `${count(listed)} of ${all}` : `${all.charAt(0).toUpperCase()}${all.slice(1)}`;
}
