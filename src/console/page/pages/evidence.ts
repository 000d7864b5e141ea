import type { Session } from '../answers.ts';
import { type Html, html } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { goTo, sent } from '../parts/form.ts';
import { type EvidenceTime, inUtc, TimeFields, timeIn } from '../parts/time-span.ts';
import { RulePage, RulesOnOutcomes } from './rule-evidence.ts';

// What rules were worth on what happened.
/** All rules, or the one that the address names: `evidence/verdicts/attempt-unpaid`. */
export const EvidencePage = onTime(
  (props) => html`<${props.item === '' ? RulesOnOutcomes : RulePage} ...${props} />`,
);

interface OnTime {
  version: string;
  item: string;
  time: EvidenceTime;
  query: URLSearchParams;
  session: Session;
}

/** A view of a version on the time that the address names. */
function onTime(view: (props: OnTime) => Html) {
  return ({ place: { version, item, query }, session }: PageProps) => {
    const time = timeIn(query);
    return html`<${TimeChoice} key=${query} words=${time.words} by=${query.get('by')} />
      <${view} key=${`${version} ${item}`} ...${{ version, item, time, query, session }} />`;
  };
}

function TimeChoice({ words, by }: { words: EvidenceTime['words']; by: string | null }) {
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
