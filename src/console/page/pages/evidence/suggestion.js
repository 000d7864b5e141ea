import { html } from '../../html.js';
import { EvidenceTables, Notes } from '../../parts/evidence/shown.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { Field, formValues } from '../../parts/form.js';
import { toVersion } from '../../parts/links.js';
import { Empty } from '../../parts/notice.js';
import { SUGGESTION } from '../../questions.js';
import { MakeDraft } from './make-draft.js';

/**
 * @import { Session, Suggestion } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 */

/**
 * Rules and thresholds that would have stopped more unpaid orders, within a budget.
 * @param {{ version: string, time: EvidenceTime, query: URLSearchParams, session: Session }} props
 */
export function SuggestionOf({ version, time, query, session }) {
  const budget = query.get('budget');
  const body = budget === null ? null : { version, ...time.span, budgetPercent: Number(budget) };
  /** @type {Evidence<Suggestion>} */
  const evidence = useEvidence(SUGGESTION, body);
  const shown = (/** @type {Suggestion} */ found) => html`<${Found} found=${found} session=${session} />`;
  const submit = (/** @type {FormEvent} */ event) => {
    location.hash = toVersion(version, 'suggest', { ...time.words, ...formValues(event) });
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
function Found({ found: { version, files, notes, tables }, session }) {
  return html`
    <${Notes} notes=${notes} />
    <${EvidenceTables} tables=${tables} />
    ${files && html`<${MakeDraft} session=${session} found=${{ from: version, files }} />`}`;
}
