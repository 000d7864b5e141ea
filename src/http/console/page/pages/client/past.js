import { may, useAnswer } from '../../api.js';
import { html, useEffect, useRef, useState } from '../../html.js';
import { dateTime } from '../../parts/format.js';
import { Answered, Empty } from '../../parts/notice.js';
import { TimeLine } from '../../parts/time-line/time-line.js';
import { clientHistory } from '../../questions.js';

/** @import { ClientHistory, ClientView, HistoryEntry, Session } from '../../answers.d.ts' */

const ENTRIES_AT_FIRST = 100;
const ENTRIES_MAX = 500;

/**
 * What happened, newest first; more of it is asked for only when somebody wants it.
 * @param {{ view: ClientView, changes: number, session: Session }} props
 */
export function Past({ view, changes, session }) {
  const [limit, setLimit] = useState(ENTRIES_AT_FIRST);
  const answer = useAnswer(clientHistory(view.clientIdKey, limit));
  const shown = useRef(/** @type {ClientHistory | null} */ (null));
  useEffect(() => {
    if (changes > 0) answer.reload();
  }, [changes]);
  // While more is on its way the shorter line stays, so that the page does not jump.
  if (answer.data !== null) shown.current = answer.data;
  const mayLook = may(session, 'decisions');
  const showMore = () => setLimit(ENTRIES_MAX);
  const line = (/** @type {ClientHistory} */ { entries, complete }) => {
    if (entries.length === 0) return html`<${NoEntries} view=${view} mayLook=${mayLook} />`;
    // Repeats of outcomes are left out: fewer entries than were asked for do not mean that there are no more.
    const older = { view, entries, mayLook, more: limit < ENTRIES_MAX };
    return html`<${TimeLine} entries=${entries} mayLook=${mayLook} />
      ${!complete && html`<${Older} ...${older} showMore=${showMore} />`}`;
  };
  return html`<section class="card history">
    <h2>History</h2>
    <${Answered} answer=${{ ...answer, data: shown.current }}>${line}<//>
  </section>`;
}

/** @param {{ view: ClientView, mayLook: boolean }} props */
function NoEntries({ view, mayLook }) {
  return html`<${Empty} title="No entry is kept any more">
    The journal keeps the newest million entries of all clients, and this one has been away for longer.${' '}
    ${mayLook && html`<${DecisionsLink} view=${view} /> have a page of their own.`}
  <//>`;
}

/**
 * @param {{
 *   view: ClientView, entries: readonly HistoryEntry[], mayLook: boolean, more: boolean,
 *   showMore: () => void,
 * }} props
 */
function Older({ view, entries, mayLook, more, showMore }) {
  const ends = `The line ends at ${dateTime(entries.at(-1)?.at)}`;
  const beyond = 'What is older than this line is not kept in the journal, or beyond what one page shows.';
  return html`<div class="notice">
    <strong>Older entries are not shown</strong>
    <p>
      ${ends}; the client is known since ${dateTime(view.firstSeenAt)}. ${!more && `${beyond} `}
      ${mayLook && html`<${DecisionsLink} view=${view} /> have a page of their own.`}
    </p>
    ${more && html`<button type="button" onClick=${showMore}>Show up to ${ENTRIES_MAX}</button>`}
  </div>`;
}

/** @param {{ view: ClientView }} props */
function DecisionsLink({ view }) {
  const href = `#/decisions?clientIdKey=${encodeURIComponent(view.clientIdKey)}`;
  return html`<a href=${href}>Its decisions</a>`;
}
