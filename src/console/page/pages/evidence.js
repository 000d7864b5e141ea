import { html } from '../html.js';
import { goTo, sent } from '../parts/form.js';
import { inUtc, TimeFields, timeIn } from '../parts/time-span.js';
import { RulePage, RulesOnOutcomes } from './rule-evidence.js';

/**
 * @import { Session } from '../answers.d.ts'
 * @import { Html } from '../html.js'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { EvidenceTime } from '../parts/time-span.js'
 */

// What rules were worth on what happened.
/** All rules, or the one that the address names: `evidence/verdicts/attempt-unpaid`. */
export const EvidencePage = onTime(
  (props) => html`<${props.item === '' ? RulesOnOutcomes : RulePage} ...${props} />`,
);

/**
 * @typedef {{
 *   version: string, item: string, time: EvidenceTime, query: URLSearchParams, session: Session,
 * }} OnTime
 */

/** A view of a version on the time that the address names. @param {(props: OnTime) => Html} view */
function onTime(view) {
  return (/** @type {PageProps} */ { place: { version, item, query }, session }) => {
    const time = timeIn(query);
    return html`<${TimeChoice} key=${query} words=${time.words} by=${query.get('by')} />
      <${view} key=${`${version} ${item}`} ...${{ version, item, time, query, session }} />`;
  };
}

/** @param {{ words: EvidenceTime['words'], by: string | null }} props */
function TimeChoice({ words, by }) {
  const choose = sent((local) => {
    const { days, ...values } = inUtc(local);
    const isBetween = values['from'] !== undefined || values['to'] !== undefined;
    const chosen = new URLSearchParams(isBetween || days === undefined ? values : { ...values, days });
    if (by !== null) chosen.set('by', by);
    goTo(`${location.hash.split('?')[0]}?${chosen}`);
  });
  return html`<form class="filters" onSubmit=${choose}>
    <${TimeFields} words=${words} />
    <div class="buttons"><button type="submit" class="button-accent">Show</button></div>
  </form>`;
}
