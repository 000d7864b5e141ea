import { useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { Field, formValues } from '../parts/dialog.js';
import { count, dateTime, shortDigest } from '../parts/format.js';
import { LadderMove } from '../parts/ladder.js';
import { Answered, Empty } from '../parts/notice.js';
import { FactsTable, RulesTrace } from '../parts/trace.js';
import { Figures, Pill, VERDICTS, Verdict } from '../parts/verdict.js';

const LISTED_AT_FIRST = 100;
const MOST_LISTED = 500;
const FILTERS = ['orderRef', 'clientIdKey', 'verdict', 'rule', 'ruleVersion'];

/** The newest decisions with a filter, or one of them opened. */
export function DecisionsPage({ place, session }) {
  if (place.item !== '')
    return html`<${OpenedDecision} key=${place.item} decisionId=${place.item} session=${session} />`;
  return html`<${DecisionList} query=${place.query} />`;
}

function DecisionList({ query }) {
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']));
  const [limit, setLimit] = useState(LISTED_AT_FIRST);
  const answer = useAnswer(`decisions?${listQuery(wanted, limit)}`);
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
      <${Field} label="ruleVersion"><input name="ruleVersion" defaultValue=${wanted.ruleVersion} placeholder="p2.v10" pattern="p[0-9]+[.]v[0-9]+" title="A rule version, like p2.v10" /><//>
      <div class="buttons"><button type="submit" class="button-accent">Show</button><button type="reset">Clear</button></div>
    </form>
    <${Answered} answer=${answer}>${(found) => html`<${Matching} found=${found} wanted=${wanted} limit=${limit} showMore=${() => setLimit(MOST_LISTED)} />`}<//>`;
}

/** The service looks for what fits; an orderRef goes before a clientIdKey. */
function listQuery(wanted, limit) {
  const query = new URLSearchParams({ limit: String(limit) });
  for (const name of FILTERS) if (wanted[name] !== '') query.set(name, wanted[name]);
  return query;
}

function Matching({ found: { decisions, lookedAt }, wanted, limit, showMore }) {
  const filtered = FILTERS.some((name) => wanted[name] !== '');
  if (decisions.length === 0 && !filtered && lookedAt.complete)
    return html`<${Empty} title="No decision yet">Each POST /v1/client/verdict becomes one, and is kept for 90 days.<//>`;
  if (decisions.length === 0)
    return html`<${Empty} title="No decision fits">${nothingFits(lookedAt)} Names are compared exactly.<//>`;
  const full = decisions.length === limit && !lookedAt.complete;
  return html`<p class="faint" role="status">${howMany(decisions.length, full, filtered, lookedAt)}</p>
    <${DecisionTable} decisions=${decisions} />
    ${full && limit < MOST_LISTED && html`<button type="button" onClick=${showMore}>Show up to ${MOST_LISTED}</button>`}
    ${full && limit === MOST_LISTED && html`<p class="faint">More are not listed. An orderRef or a clientIdKey leads to older ones.</p>`}`;
}

function nothingFits({ decisions, backTo, complete }) {
  if (decisions === 0) return 'Nothing of this name is kept.';
  if (complete) return `All ${count(decisions)} that are kept were looked at.`;
  return `The newest ${count(decisions)} were looked at, back to ${dateTime(backTo)}; older ones were not. An orderRef or a clientIdKey looks further back.`;
}

function howMany(listed, full, filtered, { decisions, backTo, complete }) {
  if (full) return `The newest ${count(listed)}${filtered ? ' that fit' : ''}, back to ${dateTime(backTo)}`;
  const all = complete
    ? `all ${count(decisions)} that are kept`
    : `the newest ${count(decisions)}, back to ${dateTime(backTo)}; older ones were not looked at`;
  return filtered ? `${count(listed)} of ${all}` : `${all.charAt(0).toUpperCase()}${all.slice(1)}`;
}

/** Decisions as rows, each leading to its explanation. */
export function DecisionTable({ decisions }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Decisions"><table class="decisions">
    <thead><tr><th scope="col">time</th><th scope="col">verdict</th><th scope="col">order</th><th scope="col">client</th><th scope="col">rule</th><th scope="col">version</th><th scope="col">group</th><th scope="col" class="num">score</th></tr></thead>
    <tbody>${decisions.map(
      (decision) => html`<tr key=${decision.decisionId}>
        <td class="num"><a href=${linkTo(decision.decisionId)}><${DayAndTime} at=${decision.at} /></a></td>
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

/** In one line, or in two where there is little room. */
function DayAndTime({ at }) {
  const [day, time] = dateTime(at).split(' ');
  return html`<span class="when">${day}</span> <span class="when">${time}</span>`;
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
