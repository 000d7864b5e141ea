import { html } from '../../html.js';
import { intervalText } from '../../parts/evidence/orders.js';
import { shareOf } from '../../parts/evidence/share-of.js';
import { Gaps, heldOutText } from '../../parts/evidence/span.js';
import { count, dateTime, shortDigest } from '../../parts/format.js';
import { SampleOrders } from '../../parts/links.js';
import { Empty } from '../../parts/notice.js';
import { numbers, Table } from '../../parts/table.js';
import { Figures, VERDICTS, Verdict } from '../../parts/verdict.js';
import { Scores } from './scores.js';
import { Matrix, Mix } from './transitions.js';

/**
 * @import { BacktestReport } from '../../answers.d.ts'
 */

/**
 * The result of a backtest as tables and bars.
 * @param {{ report: BacktestReport }} props
 */
export function Report({ report }) {
  const base = report.against ?? 'what was recorded';
  const notes = notesOn(report);
  return html`
    <section class="card">
      <h2>${report.ruleVersion} against ${base}</h2>
      <${Figures} items=${figuresOf(report)} />
      <${Gaps} gaps=${report.journal.gaps} />
      ${notes.length > 0 && html`<ul class="notes">${notes.map((note) => html`<li>${note}</li>`)}</ul>`}
    </section>
    ${
      report.compared === 0
        ? html`<${Empty} title="Nothing to compare">
            There is no decision within this time that both could decide. Choose a longer one, or export
            a journal with verdicts in it:${' '}
            <code>npx scoring journal export --output journal.ndjson</code>
          <//>`
        : html`<${Comparison} report=${report} base=${base} />`
    }`;
}

/** @param {BacktestReport} report */
function figuresOf(report) {
  const { compared, changed, changedShare, bots, journal, waits, undecidable, groups } = report;
  const changedPart = intervalText(changedShare ?? shareOf(changed, compared));
  const times = [journal.from, journal.to].map((at) => html`<span class="when">${dateTime(at)}</span>`);
  const changedGroups = groups.map(
    ({ from, to, count: times }) => html`<div>${from} → ${to} ${count(times)}</div>`,
  );
  return [
    ['mode', report.mode],
    ['compared', count(compared)],
    ['changed', html`${count(changed)} <span class="faint">${changedPart}</span>`],
    [
      'bot flags',
      html`${count(bots.base)} → ${count(bots.candidate)}${' '}
        <span class="faint">+${count(bots.gained)} −${count(bots.lost)}</span>`,
    ],
    ['decided', html`${times[0]} to ${times[1]}`],
    ['digest', html`<code>${shortDigest(report.digest)}</code>`],
    ...(waits ? [['waits', `${count(waits.longer)} longer, ${count(waits.shorter)} shorter`]] : []),
    ...(undecidable.count > 0 ? [['undecidable', count(undecidable.count)]] : []),
    ['client groups', groups.length === 0 ? 'no change' : changedGroups],
  ];
}

const COUNTED_ANEW = 'The mode closed-loop counts these again.';
const ON_RECORDED_FACTS =
  'Each decision was made again on its recorded facts; another ladder, currency or smoothing does not show.';
const LIVES_AGAIN = 'The mode closed-loop lives through the journal again and shows it.';
const ASSUMED = {
  granted:
    'Only orders that the version grants have an outcome; what stopped payers would have done is not known.',
  all: 'Every recorded outcome happens, as if payers who were stopped had paid, or not, all the same.',
};
const NOT_FROM_THE_START = 'the history does not begin with an empty state, or clients were erased.';

/**
 * What a reader must know before trusting the figures; the command line says the same.
 * @param {BacktestReport} report
 */
function notesOn({ journal, undecidable, mode, reproduced, compared, against, assumption, ...report }) {
  const notes = [];
  const undecided = `${count(undecidable.count)} decisions cannot be decided again`;
  const repeated = `repeat ${count(reproduced ?? 0)} of ${count(compared)} recorded verdicts`;
  if (journal.torn) notes.push('The last line of the journal is incomplete and was left out.');
  if (undecidable.count > 0)
    notes.push(`${undecided}: their records lack ${undecidable.facts.join(', ')}. ${COUNTED_ANEW}`);
  if (assumption !== null) notes.push(ASSUMED[assumption]);
  if (mode === 'recorded') notes.push(`${ON_RECORDED_FACTS} ${LIVES_AGAIN}`);
  if (reproduced !== null && against === null && reproduced < compared)
    notes.push(`Lived through again, the recorded versions ${repeated}: ${NOT_FROM_THE_START}`);
  // Results that an earlier version printed do not tell.
  const { emptyLists = [], heldOut = { base: [], candidate: [] } } = report;
  notes.push(
    ...heldOut.base.map((one) => heldOutText(against ?? 'what was recorded', one)),
    ...heldOut.candidate.map((one) => heldOutText(report.ruleVersion, one)),
  );
  if (emptyLists.length > 0)
    notes.push(`Nobody is on a shared list (${emptyLists.join(', ')}): the inputs do not tell who was.`);
  return notes;
}

/** @param {{ report: BacktestReport, base: string }} props */
function Comparison({ report, base }) {
  const { ruleVersion, transitions, outcomes, ladder } = report;
  const names = { base: report.against ?? 'recorded', candidate: ruleVersion };
  return html`
    <div class="two two-wide">
      <section class="card">
        <h2>Verdicts, from row to column</h2>
        <${Matrix} transitions=${transitions} compared=${report.compared} />
      </section>
      <section class="card">
        <h2>Mix</h2>
        <${Mix} name=${base} amounts=${rowSums(transitions)} shares=${report.mix?.base} />
        <${Mix} name=${ruleVersion} amounts=${columnSums(transitions)} shares=${report.mix?.candidate} />
      </section>
    </div>
    <section class="card"><h2>Changes by rule</h2><${ByRule} changes=${report.changes} /></section>
    <div class="two">
      <section class="card">
        <h2>Orders</h2>
        <${Outcomes} outcomes=${outcomes} base=${base} candidate=${ruleVersion} />
      </section>
      <div class="pile">
        <section class="card">
          <h2>After a wait</h2>
          <${AfterWait} ladder=${ladder} names=${names} />
        </section>
        <section class="card">
          <h2>paymentScore against what became of the order</h2>
          <${Scores} scores=${report.scores} names=${names} />
        </section>
      </div>
    </div>`;
}

/** @param {BacktestReport['transitions']} transitions */
function rowSums(transitions) {
  return VERDICTS.map(({ name }) =>
    Object.values(transitions[name]).reduce((sum, { decisions }) => sum + decisions, 0),
  );
}

/** @param {BacktestReport['transitions']} transitions */
function columnSums(transitions) {
  return VERDICTS.map(({ name }) =>
    VERDICTS.reduce((sum, { name: from }) => sum + transitions[from][name].decisions, 0),
  );
}

/** @param {{ changes: BacktestReport['changes'] }} props */
function ByRule({ changes }) {
  if (changes.length === 0) return html`<p class="faint">No verdict changed.</p>`;
  const most = Math.max(...changes.map((change) => change.count));
  const bar = /** @type {const} */ ({ name: 'share of the largest', kind: 'roomy' });
  const columns = [...numbers('count'), bar, 'from', 'to', 'sample orders'];
  const part = (/** @type {number} */ times) => ({ width: `${(100 * times) / most}%` });
  return html`<${Table} name="Changes by rule" columns=${columns}>
    ${changes.map(
      (change) => html`<tr>
        <td class="num">${count(change.count)}</td>
        <td class="roomy"><span class="bar"><i style=${part(change.count)}></i></span></td>
        <td><${Verdict} verdict=${change.from} /> ${change.fromRule}</td>
        <td><${Verdict} verdict=${change.to} /> ${change.toRule}</td>
        <td><${SampleOrders} orders=${change.samples} /></td>
      </tr>`,
    )}
  <//>`;
}

/** @param {{ outcomes: BacktestReport['outcomes'], base: string, candidate: string }} props */
function Outcomes({ outcomes, base, candidate }) {
  const { orders } = outcomes.all;
  const rows = /** @type {const} */ ([
    ['blocked', 'blocked'],
    ['held back by a wait, never blocked', 'heldBack'],
    ['granted no requisite', 'stopped'],
  ]);
  const fates = /** @type {const} */ (['paid', 'unpaid', 'unknown']);
  const part = (/** @type {number} */ some, /** @type {number} */ all) =>
    html`<td class="num">
      ${count(some)} <span class="faint when">${intervalText(shareOf(some, all))}</span>
    </td>`;
  return html`<${Table} name="Outcomes" columns=${['', 'outcome', ...numbers(base, candidate)]}>
      ${rows.flatMap(([name, effect]) =>
        fates.map((fate) => {
          const [was, is] = [outcomes.base[effect].orders[fate], outcomes.candidate[effect].orders[fate]];
          const head = fate === 'paid' && html`<th scope="rowgroup" rowspan="3">${name}</th>`;
          return html`<tr>${head}<td>${fate}</td>${part(was, orders[fate])}${part(is, orders[fate])}</tr>`;
        }),
      )}
    <//>
    <p class="faint">
      Of ${count(orders.paid)} paid, ${count(orders.unpaid)} unpaid and ${count(orders.unknown)} unknown, with
      ${' '}95 % intervals. Orders of one client hang together: read them as somewhat wider.
    </p>`;
}

/** @param {{ ladder: BacktestReport['ladder'], names: { base: string, candidate: string } }} props */
function AfterWait({ ladder, names }) {
  const sides = /** @type {const} */ (['base', 'candidate']);
  const rows = sides.flatMap((side) => ladder[side].map((level) => ({ side, ...level })));
  if (rows.length === 0) return html`<p class="faint">Nobody was told to wait.</p>`;
  const columns = ['under', ...numbers('level', 'waits', 'clients', 'came back', 'paid')];
  return html`<${Table} name="After a wait" columns=${columns}>
    ${rows.map(
      ({ side, level, waits, clients, cameBack, paid }) => html`<tr>
        <td>${names[side]}</td>
        <td class="num">${level}</td>
        <td class="num">${count(waits)}</td>
        <td class="num">${count(clients)}</td>
        <td class="num when">${intervalText(shareOf(cameBack, clients))}</td>
        <td class="num when">${intervalText(shareOf(paid, clients))}</td>
      </tr>`,
    )}
  <//>`;
}
