import { ask, useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { Confirm } from '../parts/change/confirm.js';
import { Copy } from '../parts/copy.js';
import { Choice, formValues } from '../parts/form.js';
import { counted, dateTime } from '../parts/format.js';
import { Answered } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Pill } from '../parts/verdict.js';
import { accessKey, ISSUE_KEY, KEYS } from '../questions.js';

/**
 * @import { AccessKeyList, IssuedKey } from '../answers.d.ts'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { Proposal } from '../parts/change/confirm.js'
 * @import { FormEvent } from '../parts/form.js'
 */

/** @typedef {AccessKeyList['keys'][number]} AccessKey */

/**
 * Who may call for the platform: its keys, without their secrets, and a form for a new one.
 * @param {PageProps} props
 */
export function KeysPage({ session }) {
  const answer = useAnswer(KEYS);
  const [change, setChange] = useState(/** @type {Proposal<IssuedKey | null> | null} */ (null));
  const [issued, setIssued] = useState(/** @type {IssuedKey | null} */ (null));
  const done = (/** @type {IssuedKey | null} */ made) => {
    setChange(null);
    setIssued(made);
    answer.reload();
  };
  const shown = (/** @type {AccessKeyList} */ { keys, mayGive }) => html`
    ${issued && html`<${Issued} issued=${issued} />`}
    <section class="card">
      <h2>${counted(keys.length, 'key')}</h2>
      <${Table} name="Keys" kind="in-lines" columns=${COLUMNS}>
        ${keys.map((one) => html`<${Row} key=${one.id} one=${one} propose=${setChange} />`)}
      <//>
    </section>
    <section class="card">
      <h2>Issue a key for ${session.platform}</h2>
      <${IssueForm} mayGive=${mayGive} propose=${setChange} />
    </section>
    ${change && html`<${Confirm} ...${change} done=${done} cancel=${() => setChange(null)} />`}
  `;
  return html`<${Answered} answer=${answer}>${shown}<//>`;
}

const COLUMNS = ['key', 'platform', 'owner', 'may', 'issued', 'ends', ''];

/** @param {{ issued: IssuedKey }} props */
function Issued({ issued: { key, record } }) {
  return html`<div class="notice" role="status">
    <strong>Key ${record.id} is issued. It is shown only now.</strong>
    <p>Keep it as a secret, where the program that sends it finds it.</p>
    <${Copy} label="Key" text=${key} />
  </div>`;
}

/** @typedef {(change: Proposal<IssuedKey | null>) => void} Propose */

/** @param {{ one: AccessKey, propose: Propose }} props */
function Row({ one: { id, platform, owner, operations, status, issuedAt, expiresAt, revokedAt }, propose }) {
  const revoke = () =>
    propose({
      title: `Revoke the key ${id}?`,
      action: 'Revoke it',
      tone: 'bad',
      act: async () => {
        await ask('DELETE', accessKey(id));
        return null;
      },
      children: html`<p>
        Within a second every node refuses it, and who signed in with it is signed out. Nothing brings it
        back.
      </p>`,
    });
  const end = revokedAt ?? expiresAt;
  return html`<tr>
    <td><code>${id}</code> ${status !== 'live' && html`<${Pill} tone="faint">${status}<//>`}</td>
    <td data-of="platform">${platform}</td>
    <td data-of="owner">${owner ?? html`<span class="faint">nobody</span>`}</td>
    <td class="wide" data-of="may">${operations.join(', ')}</td>
    <td data-of="issued">${dateTime(Date.parse(issuedAt))}</td>
    <td data-of="ends">
      ${end === null ? html`<span class="faint">no end</span>` : dateTime(Date.parse(end))}
    </td>
    <td>${status === 'live' && html`<button type="button" onClick=${revoke}>Revoke …</button>`}</td>
  </tr>`;
}

/** @param {{ mayGive: AccessKeyList['mayGive'], propose: Propose }} props */
function IssueForm({ mayGive, propose }) {
  const issue = (/** @type {FormEvent} */ event) => {
    const { days = '', ...ticked } = formValues(event);
    const operations = mayGive.filter((one) => one in ticked);
    propose({
      title: `Issue a key for ${operations.join(', ') || 'nothing'}?`,
      action: 'Issue it',
      act: () => ask('POST', ISSUE_KEY, { operations, days: Number(days) }),
      children: html`<p>Whoever holds it may do that for ${days} days. You answer for it.</p>`,
    });
  };
  return html`<form onSubmit=${issue}>
    <fieldset>
      <legend>What it may do</legend>
      <div class="fields">
        ${mayGive.map(
          (one) => html`<label class="choice"><input type="checkbox" name=${one} /> ${one}</label>`,
        )}
      </div>
    </fieldset>
    <div class="filters">
      <${Choice} label="Days" name="days" chosen="365" values=${['1', '30', '90', '365']} />
    </div>
    <button type="submit" class="button-accent">Issue it …</button>
  </form>`;
}
