import { useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { TimeFields, timeIn } from '../../parts/evidence/span.js';
import { Field } from '../../parts/form.js';
import { Answered, Empty } from '../../parts/notice.js';
import { unsavedCopy } from '../../parts/rules/working-copy.js';
import { valuesInUtc } from '../../parts/time-span.js';
import { ROLLOUT_STATUS, RULE_FOLDERS } from '../../questions.js';
import { Reliability } from './reliability.js';
import { RulesOnOutcomes } from './rules-report.js';
import { SuggestionOf } from './suggestion.js';
import { SweepOf } from './sweep.js';

/**
 * @import { RuleFolderList } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { FormEvent } from '../../parts/form.js'
 */

/** What is looked at, by the address; each takes the version, the time, and the rest of the query. */
const TABS = /** @type {const} */ ([
  { item: '', title: 'Rules', view: RulesOnOutcomes },
  { item: 'sweep', title: 'Sweep', view: SweepOf },
  { item: 'suggest', title: 'Suggest', view: SuggestionOf },
  { item: 'calibration', title: 'Calibration and drift', view: Reliability },
]);

/**
 * What rules, their constants and the payment score were worth on what happened.
 * @param {PageProps} props
 */
export function EvidencePage({ place, session }) {
  const folders = useAnswer(RULE_FOLDERS);
  const status = useAnswer(ROLLOUT_STATUS);
  const chosen = place.query.get('version') ?? status.data?.rollout?.active.version;
  const time = timeIn(place.query);
  const given = { query: place.query, session };
  const tab = TABS.find(({ item }) => item === place.item) ?? TABS[0];
  const shown = (/** @type {RuleFolderList} */ { versions }) => {
    const sound = versions.filter((one) => one.sound).map(({ version }) => version);
    const version = chosen ?? sound[0];
    if (version === undefined)
      return html`<${Empty} title="No rule set on this node">
        Set RULES_DIR to the folder of rule sets.
      <//>`;
    // A draft may be swept as it stands in this browser.
    const versionsShown =
      sound.includes(version) || unsavedCopy(version) === null ? sound : [version, ...sound];
    const query = new URLSearchParams({ version, ...time.words });
    return html`
      <nav class="tabs" aria-label="Evidence">
        ${TABS.map(
          ({ item, title }) => html`<a
            href=${addressOf(item, query)}
            aria-current=${item === tab.item ? 'page' : undefined}
            >${title}</a
          >`,
        )}
      </nav>
      <${Choice} key=${`${tab.item} ${query}`} versions=${versionsShown}
        ...${{ version, words: time.words, item: tab.item }} />
      ${status.data && html`<${tab.view} key=${tab.item} ...${{ ...given, version, time }} />`}`;
  };
  return html`<${Answered} answer=${folders}>${shown}<//>`;
}

/**
 * @param {string} item
 * @param {URLSearchParams} query
 */
function addressOf(item, query) {
  return `#/evidence${item === '' ? '' : `/${item}`}?${query}`;
}

/**
 * @param {{
 *   versions: readonly string[], version: string, words: EvidenceTime['words'], item: string,
 * }} props
 */
function Choice({ versions, version, words, item }) {
  const choose = (/** @type {FormEvent} */ event) => {
    const { days, ...values } = valuesInUtc(event);
    const isBetween = values['from'] !== undefined || values['to'] !== undefined;
    const words = isBetween || days === undefined ? values : { ...values, days };
    location.hash = addressOf(item, new URLSearchParams(words));
  };
  return html`<form class="filters" onSubmit=${choose}>
    <${Field} label="rules of">
      <select name="version">
        ${versions.map((one) => html`<option selected=${one === version}>${one}</option>`)}
      </select>
    <//>
    <${TimeFields} words=${words} />
    <div class="buttons"><button type="submit" class="button-accent">Show</button></div>
  </form>`;
}
