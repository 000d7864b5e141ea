import { ask } from '../../api.js';
import { html } from '../../html.js';
import { endAfter, Field, formValues, LastDay } from '../../parts/form.js';
import { dateTime } from '../../parts/format.js';
import { groupTone, Pill } from '../../parts/verdict.js';
import { clientMember } from '../../questions.js';

/**
 * @import { Binding, ClientView, Override } from '../../answers.d.ts'
 * @import { Proposal } from '../../parts/change/confirm.js'
 * @import { FormEvent } from '../../parts/form.js'
 * @typedef {{ view: ClientView, propose: (change: Proposal<object | null>) => void }} ByHandProps
 */

/**
 * The override and the binding, each with the form to set it and the button to lift it.
 * @param {ByHandProps} props
 */
export function ByHand({ view, propose }) {
  const { override, binding } = view;
  return html`<div class="two">
    <section class="card">
      <h2>Override</h2>
      ${
        override === null
          ? html`<p class="faint">None: the rules decide the group.</p>`
          : html`<${OverrideSet} override=${override} />`
      }
      <${OverrideForm} view=${view} propose=${propose} />
    </section>
    <section class="card">
      <h2>Binding</h2>
      ${
        binding === null
          ? html`<p class="faint">None: each attempt gets a new requisite.</p>`
          : html`<${BindingSet} binding=${binding} />`
      }
      <${BindingForm} view=${view} propose=${propose} />
    </section>
  </div>`;
}

/** @param {{ override: Override }} props */
function OverrideSet({ override }) {
  const { group, at, by, reason } = override;
  return html`<p>
    <${Pill} tone=${groupTone(group)}>${group}<//> since ${dateTime(at)} by${' '}
    <b>${by}</b>${untilText(override)}: ${reason}
  </p>`;
}

/** @param {{ binding: Binding }} props */
function BindingSet({ binding }) {
  const { requisiteRef, method, acceptorKeys } = binding;
  return html`<p>
    Requisite <b>${requisiteRef}</b>${method && ` for ${method}`}${untilText(binding)}; acceptors
    ${' '}${acceptorKeys.join(', ')}
  </p>`;
}

/** @param {{ expiresAt: number | null }} set */
function untilText({ expiresAt }) {
  return expiresAt === null ? '' : ` until ${dateTime(expiresAt)}`;
}

/** @param {ByHandProps} props */
function OverrideForm({ view: { clientIdKey, override }, propose }) {
  const set = (/** @type {FormEvent} */ event) => {
    const { lastDay, ...body } = formValues(event);
    const blocks = body['group'] === 'BLOCKED';
    const { expires, howLong } = endAfter(lastDay, 'until somebody lifts it');
    propose({
      title: `${blocks ? 'Block' : 'Trust'} ${clientIdKey}?`,
      action: blocks ? 'Block the client' : 'Trust the client',
      tone: blocks ? 'bad' : 'accent',
      act: () => ask('PUT', clientMember(clientIdKey, 'override'), { ...body, ...expires }),
      children: html`<p>
        From the next request on the group is <b>${body['group']}</b>${howLong}. Reason: ${body['reason']}
      </p>`,
    });
  };
  const lift = () =>
    propose({
      title: `Lift the override of ${clientIdKey}?`,
      action: 'Lift the override',
      act: () => ask('DELETE', clientMember(clientIdKey, 'override')),
      children: html`<p>From the next request on the rules decide the group again.</p>`,
    });
  return html`<details>
      <summary>${override === null ? 'Set an override' : 'Change it'}</summary>
      <form class="stack" onSubmit=${set}>
        <${Field} label="Group">
          <select name="group">
            <option>BLOCKED</option>
            <option>TRUSTED</option>
          </select>
        <//>
        <${Field} label="Reason"><input name="reason" required maxlength="1000" /><//>
        <${Field} label="By" hint="Your name, for the record">
          <input name="by" required maxlength="256" autocomplete="name" />
        <//>
        <${LastDay} otherwise="until it is lifted" />
        <button type="submit" class="button-accent">Set the override …</button>
      </form>
    </details>
    ${override !== null && html`<button type="button" onClick=${lift}>Lift the override …</button>`}`;
}

/** @param {ByHandProps} props */
function BindingForm({ view: { clientIdKey, binding }, propose }) {
  const set = (/** @type {FormEvent} */ event) => {
    const { lastDay, acceptors = '', ...body } = formValues(event);
    const acceptorKeys = acceptors
      .split(',')
      .map((key) => key.trim())
      .filter((key) => key !== '');
    const { expires, howLong } = endAfter(lastDay, 'until somebody removes it');
    const bound = { ...body, acceptorKeys, ...expires };
    propose({
      title: `Bind ${clientIdKey}?`,
      action: 'Bind the client',
      act: () => ask('PUT', clientMember(clientIdKey, 'binding'), bound),
      children: html`<p>
        When no wait is due, the client is shown the requisite <b>${body['requisiteRef']}</b> again${howLong}.
      </p>`,
    });
  };
  const lift = () =>
    propose({
      title: `Unbind ${clientIdKey}?`,
      action: 'Remove the binding',
      act: () => ask('DELETE', clientMember(clientIdKey, 'binding')),
      children: html`<p>The next attempt gets a new requisite.</p>`,
    });
  return html`<details>
      <summary>${binding === null ? 'Set a binding' : 'Change it'}</summary>
      <form class="stack" onSubmit=${set}>
        <${Field} label="Requisite"><input name="requisiteRef" required maxlength="256" /><//>
        <${Field} label="Acceptors" hint="One or more keys, separated by commas">
          <input name="acceptors" required />
        <//>
        <${Field} label="Method" hint="Empty: it fits all methods"><input name="method" maxlength="256" /><//>
        <${LastDay} otherwise="until it is removed" />
        <button type="submit" class="button-accent">Set the binding …</button>
      </form>
    </details>
    ${binding !== null && html`<button type="button" onClick=${lift}>Remove the binding …</button>`}`;
}
