import { ask, useAnswer } from '../../api.js';
import { html, useEffect } from '../../html.js';
import { counted, dateTime } from '../../parts/format.js';
import { Answered, Empty } from '../../parts/notice.js';
import { Table } from '../../parts/table.js';
import { Pill } from '../../parts/verdict.js';
import { listEntries, listEntry } from '../../questions.js';

/**
 * @import { ListEntries } from '../../answers.d.ts'
 * @import { Proposal } from '../../parts/change/confirm.js'
 * @typedef {ListEntries['entries'][number]} ListEntry
 * @typedef {(change: Proposal<object | null>) => void} Propose
 */

const COLUMNS = ['value', 'reason', 'by', 'since', 'until', ''];

/**
 * The entries of a list, a page at a time; asked for again whenever there are more `changes`.
 * @param {{ name: string, before: string | null, changes: number, propose: Propose }} props
 */
export function OpenedList({ name, before, changes, propose }) {
  const answer = useAnswer(listEntries(name, before));
  useEffect(() => {
    if (changes > 0) answer.reload();
  }, [changes]);
  const shown = (/** @type {ListEntries} */ { entries, total, complete }) => {
    if (entries.length === 0)
      return html`<${Empty} title=${`Nothing is on the list ${name}`}>
        A rule that asks about it finds nobody. Put something on it below.
      <//>`;
    const older = `#/lists/${name}?before=${entries.at(-1)?.change}`;
    return html`<section class="card">
      <h2>${name}: ${counted(total, 'entry', 'entries')}</h2>
      <${Table} name=${`Entries of ${name}`} kind="in-lines" columns=${COLUMNS}>
        ${entries.map((one) => html`<${Row} key=${one.change} list=${name} one=${one} propose=${propose} />`)}
      <//>
      ${before !== null && html`<p><a href=${`#/lists/${name}`}>Newest entries</a></p>`}
      ${!complete && html`<p><a href=${older}>Older entries</a></p>`}
    </section>`;
  };
  return html`<${Answered} answer=${answer}>${shown}<//>`;
}

/** @param {{ list: string, one: ListEntry, propose: Propose }} props */
function Row({ list, one, propose }) {
  const { value, reason, who, addedAt, expiresAt, hasEnded } = one;
  const remove = () =>
    propose({
      title: `Take ${value} off ${list}?`,
      action: 'Take it off the list',
      tone: 'bad',
      act: () => ask('DELETE', listEntry(list, value)),
      children: html`<p>Within 2 seconds no verdict counts it any more. It was put there for: ${reason}</p>`,
    });
  return html`<tr>
    <td><code>${value}</code></td>
    <td class="wide">${reason}</td>
    <td data-of="by">${who}</td>
    <td data-of="since">${dateTime(addedAt)}</td>
    <td data-of="until">
      ${expiresAt === null ? html`<span class="faint">removed</span>` : dateTime(expiresAt)}
      ${hasEnded && html` <${Pill} tone="faint">ended<//>`}
    </td>
    <td><button type="button" onClick=${remove}>Remove …</button></td>
  </tr>`;
}
