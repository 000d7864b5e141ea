import { html } from '../../html.js';
import { intervalText } from '../../parts/evidence/orders.js';
import { EvidenceTables, Notes } from '../../parts/evidence/shown.js';
import { count } from '../../parts/format.js';
import { SampleOrders } from '../../parts/links.js';
import { numbers, Table } from '../../parts/table.js';
import { Figures, Verdict } from '../../parts/verdict.js';
import { Matrix, Mix } from './transitions.js';

/**
 * @import { BacktestReport } from '../../answers.d.ts'
 */

/** Tables that are drawn here, with more than their figures. */
const DRAWN = ['verdicts', 'mix', 'changes'];

/**
 * The result of a backtest as tables and bars.
 * @param {{ report: BacktestReport }} props
 */
export function Report({ report }) {
  const { ruleVersion, against, mode, compared, changed, changedShare, notes, tables } = report;
  const figures = [
    ['mode', mode],
    ['compared', count(compared)],
    ['changed', html`${count(changed)} <span class="faint">${intervalText(changedShare)}</span>`],
  ];
  return html`
    <section class="card">
      <h2>${ruleVersion} against ${against ?? 'what was recorded'}</h2>
      <${Figures} items=${figures} />
      <${Notes} notes=${notes} />
    </section>
    ${compared > 0 && html`<${Drawn} report=${report} />`}
    <${EvidenceTables} tables=${tables.filter(({ name }) => !DRAWN.includes(name))} />`;
}

/** @param {{ report: BacktestReport }} props */
function Drawn({ report }) {
  const { ruleVersion, against, transitions, compared, mix, changes } = report;
  return html`
    <div class="two two-wide">
      <section class="card">
        <h2>Verdicts, from row to column</h2>
        <${Matrix} transitions=${transitions} compared=${compared} />
      </section>
      <section class="card">
        <h2>Mix</h2>
        <${Mix} name=${against ?? 'what was recorded'} mix=${mix.base} />
        <${Mix} name=${ruleVersion} mix=${mix.candidate} />
      </section>
    </div>
    <section class="card"><h2>Changes by rule</h2><${ByRule} changes=${changes} /></section>`;
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
