import { useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { Confirm } from '../../parts/change/confirm.js';
import { counted, dateTime } from '../../parts/format.js';
import { Answered, Empty } from '../../parts/notice.js';
import { numbers, Table } from '../../parts/table.js';
import { LISTS } from '../../questions.js';
import { OpenedList } from './opened-list.js';
import { PutForm } from './put-form.js';

/**
 * @import { SharedLists } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @import { Proposal } from '../../parts/change/confirm.js'
 * @typedef {SharedLists['lists'][number]} SharedList
 */

/**
 * The shared lists, which rules ask about and people change without a release.
 * @param {PageProps} props
 */
export function ListsPage({ place }) {
  const answer = useAnswer(LISTS);
  const [change, setChange] = useState(/** @type {Proposal<object | null> | null} */ (null));
  const [changes, setChanges] = useState(0);
  const done = () => {
    setChange(null);
    setChanges((number) => number + 1);
    answer.reload();
  };
  const shown = (/** @type {SharedLists} */ { lists, isStale }) => {
    const chosen = lists.find((one) => one.list === place.item && !one.ofInstallation);
    return html`
      ${isStale && html`<p class="notice notice-bad">This copy is old: the store does not answer.</p>`}
      <${AllLists} lists=${lists} chosen=${place.item} />
      ${
        place.item !== '' &&
        html`<${OpenedList} key=${place.item} name=${place.item} changes=${changes}
        before=${place.query.get('before')} propose=${setChange} />`
      }
      <section class="card">
        <h2>${place.item === '' ? 'Start a list' : `Put on ${place.item}`}</h2>
        <${PutForm} name=${place.item} kind=${chosen?.kind ?? null} propose=${setChange} />
      </section>
      ${change && html`<${Confirm} ...${change} done=${done} cancel=${() => setChange(null)} />`}
    `;
  };
  return html`<${Answered} answer=${answer}>${shown}<//>`;
}

/** @param {{ lists: readonly SharedList[], chosen: string }} props */
function AllLists({ lists, chosen }) {
  if (lists.length === 0)
    return html`<${Empty} title="No shared list yet">
      Rules ask about a list with the fact “listed”. A list is there as soon as something is put on it.
    <//>`;
  const columns = /** @type {const} */ ([
    'list',
    'holds',
    ...numbers('entries', 'ended'),
    { name: 'last change', kind: 'roomy' },
  ]);
  return html`<section class="card">
    <h2>${counted(lists.length, 'list')}</h2>
    <${Table} name="Lists" columns=${columns}>
      ${lists.map((one) => {
        const isChosen = one.list === chosen && !one.ofInstallation;
        return html`<tr key=${`${one.list} ${one.ofInstallation}`} class=${isChosen ? 'chosen' : ''}>
          <td><${ListLink} one=${one} isChosen=${isChosen} /></td>
          <td>${KIND_WORDS[one.kind]}</td>
          <td class="num">${one.entries}</td>
          <td class="num">${one.ended}</td>
          <td class="roomy">${dateTime(one.changedAt)}</td>
        </tr>`;
      })}
    <//>
  </section>`;
}

/** @param {{ one: SharedList, isChosen: boolean }} props */
function ListLink({ one, isChosen }) {
  if (one.ofInstallation)
    return html`<b>${one.list}</b> <span class="faint">of the whole installation</span>`;
  return html`<a href=${`#/lists/${one.list}`} aria-current=${isChosen ? 'true' : undefined}>
    <b>${one.list}</b>
  </a>`;
}

const KIND_WORDS = /** @type {const} */ ({
  client: 'clients',
  fingerprint: 'fingerprints',
  ip: 'IP addresses and ranges',
  method: 'methods',
  sellPoint: 'points of sale',
});
