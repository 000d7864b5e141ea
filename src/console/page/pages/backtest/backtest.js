import { html, useState } from '../../html.js';
import { Field } from '../../parts/form.js';
import { Trouble } from '../../parts/notice.js';
import { OnArchive } from './on-archive.js';
import { Report } from './report.js';

/**
 * @import { BacktestReport } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @import { InputEvent } from '../../parts/form.js'
 */

const BYTES_MAX = 20_000_000;

const MEMBERS = /** @type {const} */ ([
  'ruleVersion',
  'journal',
  'transitions',
  'changes',
  'outcomes',
  'ladder',
  'notes',
  'tables',
]);

const HOW = 'npx scoring rules backtest p2.v11 --journal journal.ndjson --json > result.json';

/**
 * A version held against history: worked out from the archive, or opened from a file that the command wrote.
 * @param {PageProps} props
 */
export function BacktestPage({ place: { version, item } }) {
  return html`<${OnArchive} version=${version} jobId=${item} />
    ${item === '' && html`<${FromFile} />`}`;
}

/** A result file of `rules backtest --json`, read in the browser and sent nowhere. */
function FromFile() {
  const [report, setReport] = useState(/** @type {BacktestReport | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const open = async (/** @type {InputEvent} */ event) => {
    const file = event.currentTarget.files?.[0];
    if (file === undefined) return;
    const read = await readReport(file);
    setReport(read instanceof Error ? null : read);
    setError(read instanceof Error ? read : null);
  };
  return html`
    <div class="card">
      <h2>Open a result</h2>
      <${Field} label="Result file" hint=${`Made by: ${HOW}. It is read here and sent nowhere.`}>
        <input type="file" accept=".json,application/json" onChange=${open} />
      <//>
    </div>
    ${error && html`<${Trouble} error=${error} />`}
    ${report && html`<${Report} report=${report} />`}`;
}

/**
 * The report in a file, or why the file holds none.
 * @param {File} file
 * @returns {Promise<BacktestReport | Error>}
 */
async function readReport(file) {
  if (file.size > BYTES_MAX)
    return new Error(`${file.name} has more than 20 MB; a result of a backtest is small.`);
  const text = await file.text();
  const again = 'Run the backtest with --json and open what it prints.';
  try {
    const found = JSON.parse(text);
    const missing = MEMBERS.filter((name) => !['object', 'string'].includes(typeof found?.[name]));
    if (missing.length === 0) return found;
    return new Error(`${file.name} is no result of a backtest: it lacks ${missing.join(', ')}. ${again}`);
  } catch {
    return new Error(`${file.name} is not JSON. ${again}`);
  }
}
