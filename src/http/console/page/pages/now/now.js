import { may, useAnswer } from '../../api.js';
import { html, useMemo } from '../../html.js';
import { count, dateTime } from '../../parts/format.js';
import { Answered, Empty } from '../../parts/notice.js';
import { LAST_HOUR, ROLLOUT_STATUS, verdictHistory } from '../../questions.js';
import { Deciding } from './deciding.js';
import { Nodes } from './nodes.js';
import { RequestCharts } from './request-charts.js';
import { VerdictCharts, VerdictFigures, verdictsIn } from './verdict-charts.js';

/**
 * @import { LastHour, RolloutStatus, VerdictHistory } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @typedef {LastHour['verdicts']} VerdictSlots
 * @typedef {RolloutStatus['rollout']} Rollout
 */

const EVERY_MS = 10_000;

/** How far back, with what a slot is called. */
const SPANS = /** @type {const} */ ([
  { span: 'hour', note: 'a minute' },
  { span: 'day', note: 'each half hour' },
  { span: 'week', note: 'each three hours' },
  { span: 'month', note: 'each half day' },
  { span: 'quarter', note: 'a day' },
]);

/**
 * What all nodes answered lately or over weeks, who decides, and which nodes there are.
 * @param {PageProps} props
 */
export function NowPage({ session, place }) {
  const chosen = SPANS.find(({ span }) => span === place.query.get('span')) ?? SPANS[0];
  const hour = useAnswer(LAST_HOUR, EVERY_MS);
  const history = useAnswer(verdictHistory(chosen.span), EVERY_MS);
  const rollout = useAnswer(may(session, 'rules') ? ROLLOUT_STATUS : null, EVERY_MS);
  const deciding = (/** @type {RolloutStatus} */ status) => html`<${Deciding} status=${status} />`;
  const ofFleet = (/** @type {VerdictHistory} */ { history: found }) =>
    html`<${Fleet} ...${{ found, chosen, hour: hour.data, rollout: rollout.data?.rollout ?? null }} />`;
  const ofNode = (/** @type {LastHour} */ { requests }) => html`<${RequestCharts} minutes=${requests} />`;
  return html`
    ${may(session, 'rules') && html`<${Answered} answer=${rollout}>${deciding}<//>`}
    <nav class="tabs" aria-label="How far back">
      ${SPANS.map(
        ({ span }) => html`<a
          href=${`#/now?span=${span}`}
          aria-current=${span === chosen.span ? 'page' : undefined}
          >${span}</a
        >`,
      )}
    </nav>
    <${Answered} answer=${history}>${ofFleet}<//>
    <${Answered} answer=${hour}>${ofNode}<//>
    ${rollout.data?.nodes && html`<${Nodes} rollout=${rollout.data.rollout} nodes=${rollout.data.nodes} />`}
  `;
}

/**
 * @param {{
 *   found: VerdictHistory['history'], chosen: typeof SPANS[number], hour: LastHour | null, rollout: Rollout,
 * }} props
 */
function Fleet({ found, chosen: { span, note }, hour, rollout }) {
  // Without an archive there is what this node counted since its start.
  const slots = found?.slots ?? (span === 'hour' ? hour?.verdicts : undefined);
  const marks = useMemo(() => marksOf(rollout, slots), [rollout?.revision, slots]);
  if (slots === undefined)
    return html`<${Empty} title="This node keeps no archive">
      Only the last hour of this node is known. Set ARCHIVE_DIR, or ask a node that has it.
    <//>`;
  return html`
    <${VerdictFigures} slots=${slots} name=${span} />
    ${
      verdictsIn(slots) === 0 &&
      html`<${Empty} title=${`No verdict in the last ${span}`}>
        When a checkout calls POST /v1/client/verdict, the charts fill.
      <//>`
    }
    <${VerdictCharts} ...${{ slots, note, marks }} />
    ${marks.length > 0 && html`<${Marks} marks=${marks} />`}
    ${found?.gaps.map(
      (gap) => html`<p class="bad">
        About ${count(gap.entries)} entries between ${dateTime(gap.from)} and ${dateTime(gap.to)} are lost.
      </p>`,
    )}
    <p class="faint">
      ${
        found === null
          ? 'Counted by the node that answers this page since its start'
          : 'Of all nodes, from the archive, which gets decisions within ten seconds'
      }, for the platform of your key.
    </p>`;
}

/**
 * What happened to the rollout within the slots.
 * @param {Rollout} rollout
 * @param {VerdictSlots | undefined} slots
 */
function marksOf(rollout, slots) {
  const from = slots?.[0]?.at ?? Number.POSITIVE_INFINITY;
  return (rollout?.history ?? [])
    .filter(({ at }) => at >= from)
    .map(({ at, action, to, who, reason }) => ({ at, text: `${action} ${to}, by ${who}: ${reason}` }));
}

/** @param {{ marks: ReturnType<typeof marksOf> }} props */
function Marks({ marks }) {
  return html`<section class="card">
    <h2>Rollouts in this time</h2>
    <ul class="plain">
      ${marks
        .toReversed()
        .map(({ at, text }) => html`<li><span class="when">${dateTime(at)}</span> ${text}</li>`)}
    </ul>
  </section>`;
}
