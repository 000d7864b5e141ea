import { useAnswer } from '../api.js';
import { html } from '../html.js';
import { decisions } from '../questions.js';
import { dateTime } from './format.js';
import { Answered, Empty } from './notice.js';
import { Table } from './table.js';
import { groupTone, Pill, Verdict } from './verdict.js';

/** @import { Decision, FoundDecisions } from '../answers.d.ts' */

const LOOKED_AT = new URLSearchParams({ limit: '100' });
const LISTED_MAX = 20;

/**
 * The clients of the newest decisions, each with the last of them.
 * @param {{ to: (clientIdKey: string) => string }} props where a name leads
 */
export function LatelySeen({ to }) {
  const answer = useAnswer(decisions(LOOKED_AT));
  const listed = (/** @type {FoundDecisions} */ found) => {
    const last = [...Map.groupBy(found.decisions, ({ clientIdKey }) => clientIdKey).values()].flatMap(
      (ofClient) => ofClient.slice(0, 1),
    );
    if (last.length === 0)
      return html`<${Empty} title="No client was seen yet">
        A client is known from its first score, verdict or outcome on.
      <//>`;
    return html`<section class="card">
      <h2>Lately seen</h2>
      <${Table} name="Clients" columns=${['client', 'group', 'last verdict', 'time']}>
        ${last.slice(0, LISTED_MAX).map((decision) => html`<${Row} decision=${decision} to=${to} />`)}
      <//>
    </section>`;
  };
  return html`<${Answered} answer=${answer}>${listed}<//>`;
}

/** @param {{ decision: Decision, to: (clientIdKey: string) => string }} props */
function Row({ decision, to }) {
  const { clientIdKey, clientGroup, at, isBot } = decision;
  return html`<tr>
    <td><a href=${to(clientIdKey)}>${clientIdKey}</a></td>
    <td>
      <${Pill} tone=${groupTone(clientGroup)}>${clientGroup}<//>${isBot && html` <${Pill} tone="bad">bot<//>`}
    </td>
    <td><${Verdict} ...${decision} /></td>
    <td class="when">${dateTime(at)}</td>
  </tr>`;
}
