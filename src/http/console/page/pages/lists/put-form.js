import { ask } from '../../api.js';
import { html } from '../../html.js';
import { endAfter, Field, formValues, LastDay } from '../../parts/form.js';
import { listEntry } from '../../questions.js';

/**
 * @import { SharedLists } from '../../answers.d.ts'
 * @import { Proposal } from '../../parts/change/confirm.js'
 * @import { FormEvent } from '../../parts/form.js'
 * @typedef {SharedLists['lists'][number]['kind']} Kind
 */

/**
 * Puts a value on a list; the first value of a list says what it holds.
 * @param {{ name: string, kind: Kind | null, propose: (change: Proposal<object | null>) => void }} props
 */
export function PutForm({ name, kind, propose }) {
  const put = (/** @type {FormEvent} */ event) => {
    const { list = name, value = '', lastDay, ...body } = formValues(event);
    const { expires, howLong } = endAfter(lastDay, 'until somebody removes it');
    propose({
      title: `Put ${value} on ${list}?`,
      action: 'Put it on the list',
      act: async () => {
        await ask('PUT', listEntry(list, value), { ...body, ...expires });
        location.hash = `#/lists/${list}`;
        return null;
      },
      children: html`<p>Within 2 seconds every verdict counts it${howLong}. Reason: ${body['reason']}</p>`,
    });
  };
  return html`<form onSubmit=${put}>
    <div class="fields">
    ${
      name === '' &&
      html`<${Field} label="List" hint="The name that rules use, like blocked-devices">
      <input name="list" required maxlength="64" pattern="[a-z][a-z0-9]*(-[a-z0-9]+)*" />
    <//>`
    }
    ${
      kind === null &&
      html`<${Field} label="Holds">
      <select name="kind">
        <option value="client">clients</option>
        <option value="fingerprint">fingerprints</option>
        <option value="ip">IP addresses and ranges</option>
        <option value="method">methods</option>
        <option value="sellPoint">points of sale</option>
      </select>
    <//>`
    }
    <${Field} label="Value" hint=${HINTS[kind ?? 'any']}><input name="value" required maxlength="256" /><//>
    <${Field} label="Reason"><input name="reason" required maxlength="500" /><//>
    <${LastDay} otherwise="until it is removed" />
    </div>
    <button type="submit" class="button-accent">Put it on the list …</button>
  </form>`;
}

const HINTS = /** @type {const} */ ({
  any: 'As callers send it',
  client: 'The clientIdKey',
  fingerprint: 'As callers send it; only its HMAC is kept',
  ip: 'An address, of which only the HMAC is kept, or a range like 203.0.113.0/24, which is kept as it is',
  method: 'As callers name it',
  sellPoint: 'The sellPointKey',
});
