import { html } from '../html.js';
import { EvidenceTables, Notes, useEvidence, workedOut } from '../parts/evidence.js';
import { Field, goTo, sent } from '../parts/form.js';
import { toVersion } from '../parts/links.js';
import { Empty } from '../parts/notice.js';
import { inUtc, TimeFields, timeIn } from '../parts/time-span.js';
import { CALIBRATION, DRIFT, SUGGESTION } from '../questions.js';
import { RulePage, RulesOnOutcomes } from './rule-evidence.js';
import { MakeDraft, SweepOf } from './sweep.js';

/**
 * @import { Calibration, Session, SmoothingQuality } from '../answers.d.ts'
 * @import { Html } from '../html.js'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { EvidenceTime } from '../parts/time-span.js'
 */

// What rules, their constants and the payment score were worth on what happened.
/** All rules, or the one that the address names: `evidence/verdicts/attempt-unpaid`. */
export const EvidencePage = onTime(
  (props) => html`<${props.item === '' ? RulesOnOutcomes : RulePage} ...${props} />`,
);
export const SweepPage = onTime(SweepOf);
export const SuggestPage = onTime(SuggestionOf);
export const CalibrationPage = onTime(Reliability);

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

/**
 * Rules and thresholds that would have stopped more unpaid orders, within a budget.
 * @param {{ version: string, time: EvidenceTime, query: URLSearchParams, session: Session }} props
 */
function SuggestionOf({ version, time, query, session }) {
  const budget = query.get('budget');
  const body = budget === null ? null : { version, ...time.span, budgetPercent: Number(budget) };
  const evidence = useEvidence(SUGGESTION, body);
  const submit = sent((values) => goTo(toVersion(version, 'suggest', { ...time.words, ...values })));
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
        : workedOut(
            evidence,
            ({ version: from, files, notes, tables }) => html`
              <${Notes} notes=${notes} />
              <${EvidenceTables} tables=${tables} />
              ${files && html`<${MakeDraft} session=${session} found=${{ from, files }} />`}`,
          )
    }`;
}

/** @typedef {SmoothingQuality['reliability'][number]} Decile */

/**
 * Whether the payment score is a true probability, as it is and with the smoothing that fits best.
 * @param {{ version: string, time: EvidenceTime, session: Session }} props
 */
function Reliability({ version, time, session }) {
  const evidence = useEvidence(CALIBRATION, { version, ...time.span });
  return html`${workedOut(evidence, (found) => html`<${Calibrated} found=${found} session=${session} />`)}
    <${DriftOf} version=${version} time=${time} />`;
}

/** @param {{ found: Calibration, session: Session }} props */
function Calibrated({ found, session }) {
  const { version, before, after, notes, tables } = found;
  const isOther = after !== null && JSON.stringify(valuesOf(after)) !== JSON.stringify(valuesOf(before));
  return html`
    <${Notes} notes=${notes} />
    ${
      after &&
      html`<div class="two">
        <${Side} title=${`${version} as it is`} quality=${before} />
        ${isOther && html`<${Side} title="With the smoothing that fits best" quality=${after} />`}
      </div>`
    }
    ${isOther && html`<${MakeDraft} ...${{ session, found: { from: version, values: valuesOf(after) } }} />`}
    <${EvidenceTables} tables=${tables} />`;
}

/** Its constants by their paths. @param {SmoothingQuality} quality */
function valuesOf({ smoothing: { prior, weight } }) {
  return { 'ruleset.smoothing.prior': String(prior), 'ruleset.smoothing.weight': String(weight) };
}

/** @param {{ title: string, quality: SmoothingQuality }} props */
function Side({ title, quality: { reliability } }) {
  return html`<section class="card">
    <h2>${title}</h2>
    <${Diagram} deciles=${reliability} />
  </section>`;
}

const SIZE = 220;
const EDGE = 20;
const TOP = 22;

/**
 * Paid share over score: on the diagonal the score is a true probability. The table has the same numbers.
 * @param {{ deciles: readonly Decile[] }} props
 */
function Diagram({ deciles }) {
  const x = (/** @type {number} */ share) => EDGE + share * SIZE;
  const y = (/** @type {number} */ share) => TOP + (1 - share) * SIZE;
  const [width, height] = [EDGE + SIZE + 8, TOP + SIZE + 24];
  return html`<svg class="diagram diagram-square" aria-hidden="true" viewBox=${`0 0 ${width} ${height}`}>
    <rect class="diagram-frame" x=${EDGE} y=${TOP} width=${SIZE} height=${SIZE} />
    <line class="diagram-ideal" x1=${x(0)} y1=${y(0)} x2=${x(1)} y2=${y(1)} />
    ${deciles.map(({ meanScore, paidShare: { low, high } }) => {
      const line = { x1: x(meanScore), x2: x(meanScore), y1: y(low), y2: y(high) };
      return html`<line class="diagram-interval" ...${line} />`;
    })}
    ${deciles.map(
      ({ meanScore, paidShare }) =>
        html`<circle class="diagram-point" cx=${x(meanScore)} cy=${y(paidShare.value)} r="4" />`,
    )}
    <text x=${EDGE} y=${height - 8}>0</text>
    <text x=${EDGE + SIZE} y=${height - 8} text-anchor="end">score 1</text>
    <text x=${EDGE - 6} y=${y(0)} text-anchor="end">0</text>
    <text x=${EDGE - 6} y=${TOP + 10} text-anchor="end">1</text>
    <text x=${EDGE} y="14">paid share</text>
  </svg>`;
}

/**
 * What has changed between two parts of the time: answers, outcomes, calibration and facts.
 * @param {{ version: string, time: EvidenceTime }} props
 */
function DriftOf({ version, time }) {
  const drift = workedOut(
    useEvidence(DRIFT, { version, ...time.span }),
    ({ notes, tables }) => html`<${Notes} notes=${notes} /><${EvidenceTables} tables=${tables} />`,
  );
  return html`<h2>Drift of the decisions of ${version}</h2>${drift}`;
}
