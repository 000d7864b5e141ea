import { ask } from '../api.js';
import { html, useState } from '../html.js';
import { listEntries, listLines } from '../questions.js';
import { endAfter, Field, formValues, LastDay } from './form.js';
import { counted } from './format.js';
import { Trouble } from './notice.js';
import { linesOf, saveFile } from './save-file.js';

/**
 * @import { ListEntries, SharedLists } from '../answers.d.ts'
 * @import { Refusal } from '../api.js'
 * @import { FormEvent } from './form.js'
 */

/**
 * Saves all entries of a list as lines that can be put on a list again.
 * @param {{ name: string }} props
 */
export function ExportList({ name }) {
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const save = () => {
    setError(null);
    allEntries(name).then((entries) => {
      const items = entries.map(({ value, reason, who, addedAt, expiresAt }) => ({
        value,
        reason,
        ...(expiresAt === null ? {} : { expiresAt }),
        who,
        addedAt,
      }));
      saveFile(`${name}.ndjson`, 'application/x-ndjson', linesOf(items));
    }, setError);
  };
  return html`<div class="buttons">
      <button type="button" onClick=${save}>Save all as NDJSON</button>
    </div>
    ${error && html`<${Trouble} error=${error} />`}`;
}

/** @param {string} name */
async function allEntries(name) {
  /** @type {ListEntries['entries'][number][]} */
  const all = [];
  /** @type {string | null} */
  let before = null;
  do {
    /** @type {ListEntries} */
    const { entries, complete } = await ask('GET', listEntries(name, { before, limit: 500 }));
    all.push(...entries);
    before = complete ? null : String(entries.at(-1)?.change);
  } while (before !== null);
  return all;
}

/**
 * Puts many values on a list at once: one a line, or the lines of a file that was saved.
 * @param {{ list: SharedLists['lists'][number], done: () => void }} props
 */
export function ImportList({ list: { list: name, kind }, done }) {
  const [told, setTold] = useState(/** @type {readonly string[]} */ ([]));
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const put = (/** @type {FormEvent} */ event) => {
    const { values = '', reason = '', lastDay } = formValues(event);
    const given = { reason, kind, ...endAfter(lastDay, '').expires };
    const lines = values.split('\n').flatMap((line) => lineOf(line.trim(), given));
    setError(null);
    ask('POST', listLines(name), `${lines.join('\n')}\n`).then((results) => {
      setTold(wordsOf(results));
      done();
    }, setError);
  };
  return html`<details>
    <summary>Put many on ${name}</summary>
    <form onSubmit=${put}>
      <${Field} label="Values" hint="One a line, as callers send it, or the lines of a saved list">
        <textarea name="values" rows="6" required spellcheck="false"></textarea>
      <//>
      <div class="fields">
        <${Field} label="Reason for all"><input name="reason" required maxlength="500" /><//>
        <${LastDay} otherwise="until it is removed" />
      </div>
      <button type="submit" class="button-accent">Put them on the list</button>
    </form>
    <div role="status">
      ${told.length > 0 && html`<ul class="notes">${told.map((line) => html`<li>${line}</li>`)}</ul>`}
    </div>
    ${error && html`<${Trouble} error=${error} />`}
  </details>`;
}

/**
 * @param {string} line
 * @param {object} given for values that come without anything else
 */
function lineOf(line, given) {
  if (line === '') return [];
  if (!line.startsWith('{')) return [JSON.stringify({ value: line, ...given })];
  const { value, reason, kind, expiresAt } = JSON.parse(line);
  return [
    JSON.stringify({ ...given, value, kind, ...(reason && { reason }), ...(expiresAt && { expiresAt }) }),
  ];
}

/**
 * How many lines did what, and why the first refused ones were refused.
 * @param {readonly { readonly line: number, readonly result?: string, readonly detail?: string }[]} results
 */
function wordsOf(results) {
  const counts = Map.groupBy(results, ({ result }) => result ?? 'refused');
  const refused = (counts.get('refused') ?? []).slice(0, 5);
  return [
    ...[...counts].map(([what, lines]) => `${counted(lines.length, 'line')} ${what}`),
    ...refused.map(({ line, detail }) => `line ${line}: ${detail}`),
  ];
}
