import { may, useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { Field, formValues } from '../../parts/form.js';
import { VERDICTS } from '../../parts/verdict.js';
import { ROLLOUT_STATUS, ruleFolder } from '../../questions.js';

/**
 * @import { Session } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @typedef {ReadonlyMap<string, string>} Filter what somebody looks for, by the parameter of the API
 */

/** An orderRef goes before a clientIdKey. */
const NAMES = /** @type {const} */ (['orderRef', 'clientIdKey', 'verdict', 'rule', 'ruleVersion']);

/**
 * The filter in an address; what the API does not know is left out.
 * @param {URLSearchParams} query
 * @returns {Filter}
 */
export function filterOf(query) {
  return new Map(
    NAMES.map((name) => [name, query.get(name) ?? '']).flatMap(([name = '', value = '']) =>
      value === '' ? [] : [/** @type {const} */ ([name, value])],
    ),
  );
}

/** @param {{ filter: Filter, session: Session, reload: () => void }} props */
export function Filters({ filter, session, reload }) {
  const submit = (/** @type {FormEvent} */ event) => {
    const values = new URLSearchParams(formValues(event));
    location.hash = `#/decisions${values.size === 0 ? '' : `?${values}`}`;
    reload();
  };
  const clear = () => {
    location.hash = '#/decisions';
  };
  const name = (/** @type {string} */ one) => ({ name: one, defaultValue: filter.get(one), maxlength: 256 });
  const version = { pattern: 'p[0-9]+[.]v[0-9]+', title: 'A rule version, like p2.v10' };
  return html`<form class="filters" onSubmit=${submit} onReset=${clear}>
    <${Field} label="orderRef"><input ...${name('orderRef')} /><//>
    <${Field} label="clientIdKey"><input ...${name('clientIdKey')} /><//>
    <${Field} label="verdict">
      <${Choice} name="verdict" chosen=${filter.get('verdict')} values=${VERDICTS.map((one) => one.name)} />
    <//>
    <${Field} label="rule"><input ...${name('rule')} list="rules" /><//>
    ${may(session, 'rules') && html`<${RuleNames} version=${filter.get('ruleVersion')} />`}
    <${Field} label="ruleVersion"><input ...${name('ruleVersion')} ...${version} placeholder="p2.v10" /><//>
    <div class="buttons">
      <button type="submit" class="button-accent">Show</button><button type="reset">Clear</button>
    </div>
  </form>`;
}

/** @param {{ name: string, chosen: string | undefined, values: readonly string[] }} props */
function Choice({ name, chosen, values }) {
  return html`<select name=${name}>
    <option value="">any</option>
    ${values.map((value) => html`<option value=${value} selected=${value === chosen}>${value}</option>`)}
  </select>`;
}

/**
 * The rules to choose from: those that give verdicts in the version asked for, or in the active one.
 * @param {{ version: string | undefined }} props
 */
function RuleNames({ version }) {
  const status = useAnswer(version === undefined ? ROLLOUT_STATUS : null);
  const wanted = version ?? status.data?.rollout?.active.version;
  const folder = useAnswer(wanted === undefined ? null : ruleFolder(wanted));
  const rules = folder.data?.rules.filter(({ at }) => at.file === 'verdicts.yaml') ?? [];
  const names = [...rules.map(({ name }) => name), 'otherwise'];
  return html`<datalist id="rules">${names.map((name) => html`<option value=${name} />`)}</datalist>`;
}
