import { ask, may, useAnswer } from '../api.js';
import { html, useMemo, useState } from '../html.js';
import { recordedAs } from '../parts/change/second-look.js';
import { Chart } from '../parts/chart.js';
import { Notes, ShownTable } from '../parts/evidence/shown.js';
import { Choice } from '../parts/form.js';
import { Answered } from '../parts/notice.js';
import { ChangedSince } from '../parts/rules/differences.js';
import { EXPERIMENT, ROLL_BACK, ROLL_OUT } from '../questions.js';

/**
 * @import { Experiment, Following, Rollout, Session } from '../answers.d.ts'
 * @import { Proposal } from '../parts/change/confirm.js'
 * @import { ChoiceEvent, InputEvent } from '../parts/form.js'
 */

/**
 * What the versions on trial are worth, worked out when somebody asks, and the two ways to end the trial.
 * @param {{
 *   rollout: Rollout, session: Session, propose: (change: Proposal<Following>) => void,
 * }} props
 */
export function ExperimentPart({ rollout, session, propose }) {
  const [isAsked, setIsAsked] = useState(false);
  const answer = useAnswer(isAsked ? EXPERIMENT : null);
  const canaries = rollout.candidates.filter(({ mode }) => mode === 'canary');
  if (canaries.length === 0 || !may(session, 'rules')) return null;
  const work = () => setIsAsked(true);
  return html`<section class="card">
    <h2>What they are worth</h2>
    ${
      isAsked
        ? html`<${Answered} answer=${answer}>
            ${(/** @type {Experiment} */ { notes, tables, trend }) => html`
              <${Notes} notes=${notes} />
              ${trend.length > 0 && html`<${Trend} trend=${trend} />`}
              ${tables.map(
                (table) => html`<div key=${table.title}>
                  <h3>${table.title}</h3>
                  <${ShownTable} table=${table} />
                </div>`,
              )}`}
          <//>`
        : html`<p>
            Orders, money, requisites and waits of the clients of each version, from the archive.
            <button type="button" onClick=${work}>Work it out</button>
          </p>`
    }
    ${
      may(session, 'operate') &&
      html`<div class="buttons">
        ${canaries.map(({ version }) => {
          const ends = { rollout, session, version };
          return html`
            <button type="button" class="button-accent" onClick=${() => propose(promoted(ends))}>
              Make ${version} active …
            </button>
            <button type="button" class="button-bad" onClick=${() => propose(takenBack(ends))}>
              End ${version} …
            </button>`;
        })}
      </div>`
    }
  </section>`;
}

/**
 * How the difference to the active version went, from moment to moment, each as it was known then.
 * @param {Pick<Experiment, 'trend'>} props
 */
function Trend({ trend }) {
  const [metric, setMetric] = useState('paid');
  const choose = (/** @type {ChoiceEvent} */ event) => setMetric(event.currentTarget.value);
  const metrics = [...new Set(trend.map((one) => one.metric))];
  const versions = [...new Set(trend.map((one) => one.version))];
  return html`<h3>How the differences went</h3>
    <${Choice} label="Of" chosen=${metric} values=${metrics} go=${choose} />
    ${versions.map((version) => html`<${TrendChart} key=${version} ...${{ trend, version, metric }} />`)}`;
}

/** @param {Pick<Experiment, 'trend'> & { version: string, metric: string }} props */
function TrendChart({ trend, version, metric }) {
  const [at, series] = useMemo(() => {
    const seen = trend.filter((one) => one.version === version && one.metric === metric);
    const line = (/** @type {string} */ name, /** @type {'value' | 'low' | 'high'} */ figure) => ({
      ...{ name, color: figure === 'value' ? '--accent' : '--ink-faint' },
      values: seen.map((one) => 1000 * one[figure]),
      total: thousandths(1000 * (seen.at(-1)?.[figure] ?? 0)),
    });
    return [
      seen.map((one) => one.at),
      [line('from', 'low'), line('to', 'high'), line('difference', 'value')],
    ];
  }, [trend, version, metric]);
  const note = 'for each 1,000 clients; 95 % at all times together';
  const chart = { kind: 'interval', title: `${metric}: ${version}`, note, format: thousandths };
  return html`<${Chart} ...${chart} at=${at} series=${series} />`;
}

/** @param {number} value */
function thousandths(value) {
  return value.toFixed(1);
}

/** @typedef {{ rollout: Rollout, session: Session, version: string }} Ends */

/**
 * @param {Ends} ends
 * @returns {Proposal<Following>}
 */
function promoted({ rollout: { active, revision }, session, version }) {
  const body = { version, mode: 'active', reason: 'by the experiment', revision };
  let accepts = false;
  const accept = (/** @type {InputEvent} */ event) => {
    accepts = event.currentTarget.checked;
  };
  const others = `${active.version} stays on the nodes; taking back returns to it.`;
  return {
    title: `Make ${version} active?`,
    action: `Make ${version} active`,
    act: () => ask('POST', ROLL_OUT, accepts ? { ...body, acceptDifference: true } : body),
    children: html`<p>It decides for everybody. ${others}</p>
      <${ChangedSince} before=${active.version} after=${version} />
      <label class="choice">
        <input type="checkbox" onChange=${accept} /> It may answer much otherwise than ${active.version}
      </label>
      <p>${recordedAs(session)}</p>`,
  };
}

/**
 * @param {Ends} ends
 * @returns {Proposal<Following>}
 */
function takenBack({ rollout: { active, revision }, session, version }) {
  const body = { version, reason: 'by the experiment', revision };
  return {
    title: `Take ${version} back?`,
    action: `Take ${version} back`,
    tone: 'bad',
    act: () => ask('POST', ROLL_BACK, body),
    children: html`<p>${active.version} decides for its clients; other candidates stay on trial.</p>
      <p>${recordedAs(session)}</p>`,
  };
}
