import { html, useState } from '../html.js';
import { Field } from '../parts/dialog.js';
import { count, dateTime, share, shortDigest } from '../parts/format.js';
import { Empty, Trouble } from '../parts/notice.js';
import { Figures, VERDICTS, Verdict } from '../parts/verdict.js';

const MAX_BYTES = 20_000_000;

/** A result file of `rules backtest --json`, read in the browser and sent nowhere. */
export function BacktestPage() {
  const [state, setState] = useState({ report: null, error: null, name: '' });
  const open = async (event) => {
    const [file] = event.currentTarget.files;
    if (file === undefined) return;
    try {
      setState({ report: await readReport(file), error: null, name: file.name });
    } catch (error) {
      setState({ report: null, error, name: file.name });
    }
  };
  return html`
    <div class="card"><${Field} label="Result file" hint="Made by: npx scoring rules backtest p2.v11 --journal journal.ndjson --json > result.json. It is read here and sent nowhere.">
      <input type="file" accept=".json,application/json" onChange=${open} />
    <//></div>
    ${state.error && html`<${Trouble} error=${state.error} />`}
    ${state.report === null && state.error === null && html`<${Empty} title="No file opened">A backtest compares a rule set with what was decided, or with another version, on an exported journal.<//>`}
    ${state.report && html`<${Report} report=${state.report} />`}`;
}

async function readReport(file) {
  if (file.size > MAX_BYTES)
    throw new Error(`${file.name} has more than 20 MB; a result of a backtest is small.`);
  let report = null;
  try {
    report = JSON.parse(await file.text());
  } catch {
    throw new Error(`${file.name} is not JSON. Run the backtest with --json and open what it prints.`);
  }
  const missing = ['ruleVersion', 'journal', 'transitions', 'changes', 'outcomes', 'ladder'].filter(
    (name) => typeof report?.[name] !== 'object' && typeof report?.[name] !== 'string',
  );
  if (missing.length > 0)
    throw new Error(
      `${file.name} is no result of a backtest: it lacks ${missing.join(', ')}. Run the backtest with --json and open what it prints.`,
    );
  return report;
}

function Report({ report }) {
  const { journal, bots, groups = [] } = report;
  const base = report.against ?? 'what was recorded';
  const notes = notesOn(report);
  return html`
    <section class="card"><h2>${report.ruleVersion} against ${base}</h2>
      <${Figures} items=${[
        ['mode', report.mode],
        ['compared', count(report.compared)],
        [
          'changed',
          html`${count(report.changed)} <span class="faint">${share(report.changed, report.compared)}</span>`,
        ],
        [
          'bot flags',
          html`${count(bots.base)} → ${count(bots.candidate)} <span class="faint">+${count(bots.gained)} −${count(bots.lost)}</span>`,
        ],
        [
          'journal',
          html`<span class="when">${dateTime(journal.from)}</span> to <span class="when">${dateTime(journal.to)}</span>`,
        ],
        ['digest', html`<code>${shortDigest(report.digest)}</code>`],
        ...(report.waits
          ? [['waits', `${count(report.waits.longer)} longer, ${count(report.waits.shorter)} shorter`]]
          : []),
        ...(report.undecidable?.count > 0 ? [['undecidable', count(report.undecidable.count)]] : []),
        [
          'client groups',
          groups.length === 0
            ? 'no change'
            : groups.map(({ from, to, count: times }) => html`<div>${from} → ${to} ${count(times)}</div>`),
        ],
      ]} />
      ${notes.length > 0 && html`<ul class="notes">${notes.map((note) => html`<li>${note}</li>`)}</ul>`}
    </section>
    ${report.compared === 0 ? html`<${Empty} title="Nothing to compare">The journal holds no decision that both could decide. Export one with verdicts in it: scoring journal export --output journal.ndjson.<//>` : html`<${Comparison} report=${report} base=${base} />`}`;
}

/** What a reader must know before trusting the figures; the command line says the same. */
function notesOn({ journal, undecidable, mode, reproduced, compared, against }) {
  const notes = [];
  if (journal.torn) notes.push('The last line of the journal is incomplete and was left out.');
  if (undecidable?.count > 0)
    notes.push(
      `${count(undecidable.count)} decisions cannot be decided again: their records lack ${undecidable.facts.join(', ')}. The mode closed-loop counts these anew.`,
    );
  if (mode === 'recorded')
    notes.push(
      'Each decision was made again on its recorded facts, so another ladder, currency or smoothing does not show. The mode closed-loop lives through the journal again and shows it.',
    );
  if (typeof reproduced === 'number' && against === null && reproduced < compared)
    notes.push(
      `Lived through again, the recorded versions repeat ${count(reproduced)} of ${count(compared)} recorded verdicts: the journal does not begin with an empty state, or clients were erased.`,
    );
  return notes;
}

function Comparison({ report, base }) {
  return html`
    <div class="two two-wide">
      <section class="card"><h2>Verdicts, from row to column</h2><${Matrix} transitions=${report.transitions} compared=${report.compared} /></section>
      <section class="card"><h2>Mix</h2><${Mix} name=${base} amounts=${rowSums(report.transitions)} /><${Mix} name=${report.ruleVersion} amounts=${columnSums(report.transitions)} /></section>
    </div>
    <section class="card"><h2>Changes by rule</h2><${ByRule} changes=${report.changes} /></section>
    <div class="two">
      <section class="card"><h2>Orders with a known outcome</h2><${Outcomes} outcomes=${report.outcomes} base=${base} candidate=${report.ruleVersion} /></section>
      <section class="card"><h2>After a wait</h2><${AfterWait} ladder=${report.ladder} names=${{ base: report.against ?? 'recorded', candidate: report.ruleVersion }} /></section>
    </div>`;
}

function Matrix({ transitions, compared }) {
  const names = VERDICTS.map(({ name }) => name);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Transition matrix"><table class="matrix">
    <thead><tr><td></td>${names.map((name) => html`<th scope="col"><${Verdict} verdict=${name} /></th>`)}</tr></thead>
    <tbody>${names.map(
      (from) =>
        html`<tr><th scope="row"><${Verdict} verdict=${from} /></th>${names.map((to) => html`<td class=${cellClass(from, to, transitions[from][to], compared)}>${count(transitions[from][to])}</td>`)}</tr>`,
    )}</tbody>
  </table></div>`;
}

function cellClass(from, to, amount, compared) {
  if (amount === 0) return 'num cell-none';
  if (from === to) return 'num cell-same';
  return amount * 100 >= compared ? 'num cell-many' : 'num cell-some';
}

function rowSums(transitions) {
  return VERDICTS.map(({ name }) =>
    Object.values(transitions[name]).reduce((sum, amount) => sum + amount, 0),
  );
}

function columnSums(transitions) {
  return VERDICTS.map(({ name }) =>
    VERDICTS.reduce((sum, { name: from }) => sum + transitions[from][name], 0),
  );
}

/** The verdict mix as one bar, its parts in the colours of the verdicts and read out below. */
function Mix({ name, amounts }) {
  const total = amounts.reduce((sum, amount) => sum + amount, 0);
  return html`<figure class="mix"><figcaption>${name}</figcaption>
    <div class="mix-bar" aria-hidden="true">${VERDICTS.map(({ color }, index) => html`<i style=${{ width: `${total === 0 ? 0 : (100 * amounts[index]) / total}%`, background: `var(${color})` }}></i>`)}</div>
    <ul class="legend">${VERDICTS.map(({ name: verdict, color }, index) => html`<li><i style=${{ background: `var(${color})` }}></i>${verdict} <b class="num">${share(amounts[index], total)}</b></li>`)}</ul>
  </figure>`;
}

function ByRule({ changes }) {
  if (changes.length === 0) return html`<p class="faint">No verdict changed.</p>`;
  const most = Math.max(...changes.map((change) => change.count));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Changes by rule"><table>
    <thead><tr><th scope="col" class="num">count</th><th scope="col" class="roomy">share of the largest</th><th scope="col">from</th><th scope="col">to</th><th scope="col">sample orders</th></tr></thead>
    <tbody>${changes.map(
      ({
        from,
        to,
        fromRule,
        toRule,
        count: times,
        samples,
      }) => html`<tr><td class="num">${count(times)}</td><td class="roomy"><span class="bar"><i style=${{ width: `${(100 * times) / most}%` }}></i></span></td>
        <td><${Verdict} verdict=${from} /> ${fromRule}</td><td><${Verdict} verdict=${to} /> ${toRule}</td>
        <td>${samples.map((orderRef) => html`<a class="sample" href=${`#/decisions?orderRef=${encodeURIComponent(orderRef)}`}>${orderRef}</a> `)}</td></tr>`,
    )}</tbody>
  </table></div>`;
}

function Outcomes({
  outcomes: { paidOrders, unpaidOrders, base: before, candidate: after },
  base,
  candidate,
}) {
  if (paidOrders + unpaidOrders === 0)
    return html`<p class="faint">No outcome is known for any order of this journal.</p>`;
  const rows = [
    ['paid orders held back by a wait', before.paidHeldBack, after.paidHeldBack, paidOrders],
    ['paid orders blocked', before.paidBlocked, after.paidBlocked, paidOrders],
    ['unpaid orders stopped', before.unpaidStopped, after.unpaidStopped, unpaidOrders],
  ];
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Outcomes"><table>
    <thead><tr><td></td><th scope="col" class="num">${base}</th><th scope="col" class="num">${candidate}</th></tr></thead>
    <tbody>${rows.map(([name, was, is, all]) => html`<tr><th scope="row">${name}</th><td class="num">${count(was)} <span class="faint">${share(was, all)}</span></td><td class="num">${count(is)} <span class="faint">${share(is, all)}</span></td></tr>`)}</tbody>
  </table></div><p class="faint">Of ${count(paidOrders)} paid and ${count(unpaidOrders)} unpaid orders.</p>`;
}

function AfterWait({ ladder, names }) {
  const rows = ['base', 'candidate'].flatMap((side) => ladder[side].map((level) => ({ side, ...level })));
  if (rows.length === 0) return html`<p class="faint">Nobody was told to wait.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="After a wait"><table>
    <thead><tr><th scope="col">under</th><th scope="col" class="num">level</th><th scope="col" class="num">waits</th><th scope="col" class="num">clients</th><th scope="col" class="num">came back</th><th scope="col" class="num">paid</th></tr></thead>
    <tbody>${rows.map(({ side, level, waits, clients, cameBack, paid }) => html`<tr><td>${names[side]}</td><td class="num">${level}</td><td class="num">${count(waits)}</td><td class="num">${count(clients)}</td><td class="num">${share(cameBack, clients)}</td><td class="num">${share(paid, clients)}</td></tr>`)}</tbody>
  </table></div>`;
}
