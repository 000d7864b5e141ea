import { html } from '../../html.js';
import { TimeFields, timeIn } from '../../parts/evidence/span.js';
import { valuesInUtc } from '../../parts/time-span.js';
import { Reliability } from './reliability.js';
import { RulePage } from './rule-page.js';
import { RulesOnOutcomes } from './rules-report.js';
import { SuggestionOf } from './suggestion.js';
import { SweepOf } from './sweep.js';

/**
 * @import { Session } from '../../answers.d.ts'
 * @import { Html } from '../../html.js'
 * @import { PageProps } from '../../page-props.d.ts'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { FormEvent } from '../../parts/form.js'
 */

// What rules, their constants and the payment score were worth on what happened.
export const EvidencePage = onTime(Evidence);
export const SweepPage = onTime(SweepOf);
export const SuggestPage = onTime(SuggestionOf);
export const CalibrationPage = onTime(Reliability);

/**
 * @typedef {{
 *   version: string, item: string, time: EvidenceTime, query: URLSearchParams, session: Session,
 * }} OnTime
 */

/**
 * A view of a version on the time that the address names.
 * @param {(props: OnTime) => Html} view
 */
function onTime(view) {
  return (/** @type {PageProps} */ { place: { version, item, query }, session }) => {
    const time = timeIn(query);
    return html`<${TimeChoice} key=${query} words=${time.words} by=${query.get('by')} />
      <${view} key=${`${version} ${item}`} ...${{ version, item, time, query, session }} />`;
  };
}

/** All rules, or the one that the address names: `evidence/verdicts/attempt-unpaid`. @param {OnTime} props */
function Evidence(props) {
  return props.item === '' ? html`<${RulesOnOutcomes} ...${props} />` : html`<${RulePage} ...${props} />`;
}

/** @param {{ words: EvidenceTime['words'], by: string | null }} props */
function TimeChoice({ words, by }) {
  const choose = (/** @type {FormEvent} */ event) => {
    const { days, ...values } = valuesInUtc(event);
    const isBetween = values['from'] !== undefined || values['to'] !== undefined;
    const chosen = new URLSearchParams(isBetween || days === undefined ? values : { ...values, days });
    if (by !== null) chosen.set('by', by);
    location.hash = `${location.hash.split('?')[0]}?${chosen}`;
  };
  return html`<form class="filters" onSubmit=${choose}>
    <${TimeFields} words=${words} />
    <div class="buttons"><button type="submit" class="button-accent">Show</button></div>
  </form>`;
}
