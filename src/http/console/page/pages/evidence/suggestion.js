import { html } from '../../html.js';
import { intervalText } from '../../parts/evidence/orders.js';
import { HeldOut, NoDecision, Span, sinceDays } from '../../parts/evidence/span.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { Field, formValues } from '../../parts/form.js';
import { count, dateTime } from '../../parts/format.js';
import { Empty } from '../../parts/notice.js';
import { numbers, Table } from '../../parts/table.js';
import { SUGGESTION } from '../../questions.js';
import { MakeDraft } from './make-draft.js';

/**
 * @import { Session, SuggestedChange, Suggestion } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 */

/**
 * Rules and thresholds that would have stopped more unpaid orders, within a budget.
 * @param {{ version: string, days: string, query: URLSearchParams, session: Session }} props
 */
export function SuggestionOf({ version, days, query, session }) {
  const budget = query.get('budget');
  const body = budget === null ? null : { version, from: sinceDays(days), budgetPercent: Number(budget) };
  /** @type {Evidence<Suggestion>} */
  const evidence = useEvidence(SUGGESTION, body);
  const shown = (/** @type {Suggestion} */ found) => html`<${Found} found=${found} session=${session} />`;
  const submit = (/** @type {FormEvent} */ event) => {
    location.hash = `#/evidence/suggest?${new URLSearchParams({ version, days, ...formValues(event) })}`;
  };
  return html`<form class="filters" onSubmit=${submit}>
      <${Field} label="budget, %" hint="paid orders that may be refused besides">
        <input
          name="budget" type="number" min="0.01" max="99" step="any" required
          defaultValue=${budget ?? '0.5'}
        />
      <//>
      <div class="buttons"><button type="submit" class="button-accent">Look for changes</button></div>
    </form>
    ${
      body === null
        ? html`<${Empty} title="Say how many paid orders may be refused">
            Rules and other thresholds are looked for on the earlier half of the orders, and what they are
            worth is shown on the later half. Nothing is changed by it.
          <//>`
        : html`<${WorkedOut} evidence=${evidence}>${shown}<//>`
    }`;
}

/** @param {{ found: Suggestion, session: Session }} props */
function Found({ found, session }) {
  const { version, span, parts, changes, nothing, files } = found;
  const { earlier, later } = parts;
  if (span.decisions === 0) return html`<${NoDecision} />`;
  return html`
    <${Span} span=${span} />
    <${HeldOut} side=${version} heldOut=${found.heldOut} />
    <p class="faint">
      Looked for on ${count(earlier.orders.paid)} paid, ${count(earlier.orders.unpaid)} unpaid and
      ${' '}${count(earlier.orders.unknown)} unknown orders before ${dateTime(found.splitAt)};
      every figure is of the ${' '}${count(later.orders.paid)} paid, ${count(later.orders.unpaid)} unpaid and
      ${' '}${count(later.orders.unknown)} unknown orders since then.
    </p>
    ${nothing && html`<${Empty} title="Nothing is suggested">${nothing}<//>`}
    ${changes.length > 0 && html`<${Changes} changes=${changes} />`}
    ${changes.length > 0 && html`<${Effects} found=${found} />`}
    ${files && html`<${MakeDraft} session=${session} found=${{ from: version, files }} />`}`;
}

/** @param {{ changes: readonly SuggestedChange[] }} props */
function Changes({ changes }) {
  const contradicting = changes.some(({ contradicts }) => contradicts.length > 0);
  const columns = [
    'change',
    '',
    ...numbers('unpaid blocked'),
    '95 %',
    ...numbers('paid refused'),
    '95 %',
    ...(contradicting ? ['cases that say otherwise'] : []),
  ];
  return html`<section class="card">
    <h2>Changes, with what each adds to those before it</h2>
    <${Table} name="Changes" columns=${columns}>
      ${changes.map(
        (change) => html`<tr>
          <th scope="row" class=${change.kind === 'rule' ? 'when' : ''}>
            ${change.kind === 'rule' ? change.name : change.path}
          </th>
          <td>
            ${
              change.kind === 'rule'
                ? `blocks where ${change.conditions}`
                : `${change.to} instead of ${change.from}`
            }
          </td>
          <td class="num">${count(change.later.unpaid)}</td>
          <td class="when">${intervalText(change.later.unpaidShare)}</td>
          <td class="num">${count(change.later.paid)}</td>
          <td class="when">${intervalText(change.later.paidShare)}</td>
          ${contradicting && html`<td>${change.contradicts.join(', ')}</td>`}
        </tr>`,
      )}
    <//>
  </section>`;
}

const EFFECTS = /** @type {const} */ ([
  ['unpaidBlocked', 'unpaid orders blocked'],
  ['unpaidStopped', 'unpaid orders stopped'],
  ['paidRefused', 'paid orders blocked'],
  ['paidHeldBack', 'paid orders held back'],
]);

/** @param {{ found: Suggestion }} props */
function Effects({ found: { version, effects } }) {
  const columns = ['', 'if outcomes happen of', ...numbers(version), '95 %', ...numbers('with it'), '95 %'];
  return html`<section class="card">
    <h2>The later part, with and without</h2>
    <${Table} name="The later part" columns=${columns}>
      ${EFFECTS.map(([member, name]) =>
        effects.map(
          ({ outcomes, present, suggested }, place) => html`<tr>
            ${place === 0 && html`<th scope="rowgroup" rowspan=${effects.length}>${name}</th>`}
            <td>${outcomes === 'granted' ? 'what is granted' : 'every order'}</td>
            <td class="num">${count(present[member].orders)}</td>
            <td class="when">${intervalText(present[member].share)}</td>
            <td class="num">${count(suggested[member].orders)}</td>
            <td class="when">${intervalText(suggested[member].share)}</td>
          </tr>`,
        ),
      )}
    <//>
  </section>`;
}
