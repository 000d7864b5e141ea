import { useAnswer } from './api.js';
import { Field, formValues } from './dialog.js';
import { dateTime, shortDigest } from './format.js';
import { html, useState } from './html.js';
import { LadderMove } from './ladder.js';
import { Answered, Empty } from './notice.js';
import { FactsTable, RulesTrace } from './trace.js';
import { Figures, Pill, VERDICTS, Verdict } from './verdict.js';

const LOOKED_AT = 500;
const SHOWN_AT_FIRST = 50;
const SHOWN_MORE = 150;
const FILTERS = ['orderRef', 'clientIdKey', 'verdict', 'rule', 'ruleVersion'];

/** The newest decisions with a filter, or one of them opened. */
export function DecisionsPage({ place, session }) {
  if (place.item !== '')
    return html`<${OpenedDecision} key=${place.item} decisionId=${place.item} session=${session} />`;
  return html`<${DecisionList} query=${place.query} />`;
}

function DecisionList({ query }) {
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']));
  const answer = useAnswer(`decisions?${listQuery(wanted)}`);
  const submit = (event) => {
    const values = new URLSearchParams(formValues(event));
    location.hash = `#/decisions${values.size === 0 ? '' : `?${values}`}`;
    answer.reload();
  };
  return html`
    <form class="filters" key=${query.toString()} onSubmit=${submit} onReset=${() => (location.hash = '#/decisions')}>
      <${Field} label="orderRef"><input name="orderRef" defaultValue=${wanted.orderRef} maxlength="256" /><//>
      <${Field} label="clientIdKey"><input name="clientIdKey" defaultValue=${wanted.clientIdKey} maxlength="256" /><//>
      <${Field} label="verdict"><select name="verdict">
        <option value="">any</option>
        ${VERDICTS.map(({ name }) => html`<option value=${name} selected=${name === wanted.verdict}>${name}</option>`)}
      </select><//>
      <${Field} label="rule"><input name="rule" defaultValue=${wanted.rule} placeholder="asked-too-early" /><//>
      <${Field} label="ruleVersion"><input name="ruleVersion" defaultValue=${wanted.ruleVersion} placeholder="p2.v10" /><//>
      <div class="buttons"><button type="submit" class="button-accent">Show</button><button type="reset">Clear</button></div>
    </form>
    <${Answered} answer=${answer}>${({ decisions }) => html`<${Matching} decisions=${decisions} wanted=${wanted} />`}<//>`;
}

/** The store looks up an order or a client; the other filters are applied to what it gives. */
function listQuery({ orderRef, clientIdKey }) {
  const query = new URLSearchParams({ limit: String(LOOKED_AT) });
  if (orderRef !== '') query.set('orderRef', orderRef);
  else if (clientIdKey !== '') query.set('clientIdKey', clientIdKey);
  return query;
}

function Matching({ decisions, wanted }) {
  const [shown, setShown] = useState(SHOWN_AT_FIRST);
  const matching = decisions.filter((decision) =>
    FILTERS.every((name) => wanted[name] === '' || decision[name] === wanted[name]),
  );
  if (decisions.length === 0 && FILTERS.every((name) => wanted[name] === '')) {
    return html`<${Empty} title="No decision yet">Each POST /v1/client/verdict becomes one, and is kept for 90 days.<//>`;
  }
  if (matching.length === 0) {
    return html`<${Empty} title="No decision fits">The newest ${decisions.length} were looked at. Names are compared exactly; an orderRef or clientIdKey looks further back.<//>`;
  }
  return html`<p class="faint" role="status">${matching.length} of the newest ${decisions.length}</p>
    <${DecisionTable} decisions=${matching.slice(0, shown)} />
    ${matching.length > shown && html`<button type="button" onClick=${() => setShown(shown + SHOWN_MORE)}>Show more of the ${matching.length}</button>`}`;
}

/** Decisions as rows, each leading to its explanation. */
export function DecisionTable({ decisions }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Decisions"><table class="decisions">
    <thead><tr><th scope="col">time</th><th scope="col">verdict</th><th scope="col">order</th><th scope="col">client</th><th scope="col">rule</th><th scope="col">version</th><th scope="col">group</th><th scope="col" class="num">score</th></tr></thead>
    <tbody>${decisions.map(
      (decision) => html`<tr key=${decision.decisionId}>
        <td class="num"><a href=${linkTo(decision.decisionId)}>${dateTime(decision.at)}</a></td>
        <td><${Verdict} ...${decision} /></td>
        <td class="key">${decision.orderRef}</td>
        <td class="key"><a href=${`#/client/${encodeURIComponent(decision.clientIdKey)}`}>${decision.clientIdKey}</a></td>
        <td>${decision.rule}</td>
        <td>${decision.ruleVersion}${decision.arm === 'candidate' && html` <${Pill} tone="note">candidate<//>`}</td>
        <td>${decision.clientGroup}${decision.isBot && html` <${Pill} tone="bad">bot<//>`}</td>
        <td class="num">${decision.paymentScore}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;
}

function linkTo(decisionId) {
  return `#/decisions/${encodeURIComponent(decisionId)}`;
}

function OpenedDecision({ decisionId }) {
  const answer = useAnswer(`decisions/${encodeURIComponent(decisionId)}/explanation`);
  return html`<p><a href="#/decisions">← All decisions</a></p>
    <${Answered} answer=${answer}>${(explanation) => html`<${Explanation} explanation=${explanation} />`}<//>`;
}

function Explanation({ explanation }) {
  const { decision, rules, ladder, reproduced, differences, verification } = explanation;
  return html`<article>
    <section class="card">
      <h2 class="decision-title"><${Verdict} ...${decision} /> <span>${decision.reason}</span></h2>
      <${Figures} items=${[
        ['order', decision.orderRef],
        [
          'client',
          html`<a href=${`#/client/${encodeURIComponent(decision.clientIdKey)}`}>${decision.clientIdKey}</a>`,
        ],
        ['time', dateTime(decision.at)],
        ['rule', decision.rule],
        [
          'version',
          html`<a href=${`#/rules/${decision.ruleVersion}`}>${decision.ruleVersion}</a> <code>${shortDigest(decision.digest)}</code>`,
        ],
        ['group', decision.clientGroup],
        ['payment score', decision.paymentScore],
        ['bot', decision.isBot ? 'yes' : 'no'],
        ['point of sale', decision.sellPointKey],
      ]} />
      <p class="verification">
        ${reproduced ? html`<${Pill} tone="good">✓ reproduced<//>` : html`<${Pill} tone="bad">✗ not reproduced<//>`} ${verification}
      </p>
      ${differences.length > 0 && html`<${Differences} differences=${differences} />`}
      <${CopyLink} decisionId=${decision.decisionId} />
    </section>
    <section class="card"><h2>Ladder</h2><${LadderMove} before=${ladder.before} after=${ladder.after} at=${decision.at} /></section>
    <section class="card"><h2>Rule by rule</h2>
      ${rules === null ? html`<${Empty} title="The rules cannot be shown">${verification}<//>` : html`<${RulesTrace} rules=${rules} />`}
    </section>
    <section class="card"><h2>Facts</h2><${FactsTable} facts=${decision.facts} /></section>
  </article>`;
}

function Differences({ differences }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Differences"><table>
    <thead><tr><th scope="col">member</th><th scope="col">on record</th><th scope="col">asked again</th></tr></thead>
    <tbody>${differences.map(({ member, recorded, rerun }) => html`<tr><td>${member}</td><td>${JSON.stringify(recorded)}</td><td>${JSON.stringify(rerun)}</td></tr>`)}</tbody>
  </table></div>`;
}

function CopyLink({ decisionId }) {
  const [copied, setCopied] = useState(false);
  const link = `${location.origin}${location.pathname}${linkTo(decisionId)}`;
  const copy = async (event) => {
    const field = event.currentTarget.form.elements.namedItem('link');
    field.select();
    try {
      await navigator.clipboard.writeText(link);
      setCopied(true);
    } catch {
      // Without the right to write to the clipboard the link stays selected, to be copied by hand.
      setCopied(false);
    }
  };
  return html`<form class="copy" onSubmit=${(event) => event.preventDefault()}>
    <label><span class="faint">Link</span><input name="link" readonly value=${link} /></label>
    <button type="button" onClick=${copy}>${copied ? 'Copied' : 'Copy link'}</button>
  </form>`;
}
