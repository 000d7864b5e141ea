import { may, useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { Field, formValues } from '../../parts/form.js';
import { GROUPS, VERDICTS } from '../../parts/verdict.js';
import { ROLLOUT_STATUS, ruleFolder } from '../../questions.js';

/**
 * @import { Session } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @typedef {ReadonlyMap<string, string>} Filter what somebody looks for, by the parameter of the API
 */

/** An orderRef goes before a clientIdKey. */
const NAMES = /** @type {const} */ ([
  'orderRef',
  'clientIdKey',
  'verdict',
  'rule',
  'ruleVersion',
  'clientGroup',
  'signal',
  'outcome',
  'amountMin',
  'amountMax',
  'from',
  'to',
]);

const OUTCOMES = /** @type {const} */ (['PAID', 'UNPAID', 'UNKNOWN']);

const MINUTE_MS = 60_000;

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

/**
 * The filter as the API takes it: minutes become the moments at which they begin and end, in the reader's
 * time zone.
 * @param {Filter} filter
 */
export function asked(filter) {
  const query = new URLSearchParams([...filter]);
  const [from, to] = [startOf(filter.get('from')), startOf(filter.get('to'))];
  if (from !== null) query.set('from', String(from));
  if (to !== null) query.set('to', String(to + MINUTE_MS));
  return query;
}

/** @param {string | undefined} minute */
function startOf(minute) {
  const at = Date.parse(minute ?? '');
  return Number.isNaN(at) ? null : at;
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
  const version = { pattern: 'p[0-9]+[.]v[0-9]+(-[a-z][a-z0-9]*)?', title: 'A rule version, like p2.v10' };
  return html`<form class="filters" onSubmit=${submit} onReset=${clear}>
    <${Field} label="orderRef"><input ...${name('orderRef')} /><//>
    <${Field} label="clientIdKey"><input ...${name('clientIdKey')} /><//>
    <${Field} label="verdict">
      <${Choice} name="verdict" chosen=${filter.get('verdict')} values=${VERDICTS.map((one) => one.name)} />
    <//>
    <${Field} label="rule"><input ...${name('rule')} list="rules" /><//>
    ${may(session, 'rules') && html`<${RuleNames} version=${filter.get('ruleVersion')} />`}
    <${Field} label="ruleVersion"><input ...${name('ruleVersion')} ...${version} placeholder="p2.v10" /><//>
    <${Field} label="group">
      <${Choice}
        name="clientGroup"
        chosen=${filter.get('clientGroup')}
        values=${GROUPS.map((one) => one.name)}
      />
    <//>
    <${Field} label="signal"><input ...${name('signal')} list="signals" /><//>
    <${Field} label="outcome">
      <${Choice} name="outcome" chosen=${filter.get('outcome')} values=${OUTCOMES} />
    <//>
    <${Field} label="amount from"><input ...${name('amountMin')} ...${AMOUNT} /><//>
    <${Field} label="amount to"><input ...${name('amountMax')} ...${AMOUNT} /><//>
    <${Field} label="from"><input type="datetime-local" ...${name('from')} /><//>
    <${Field} label="to"><input type="datetime-local" ...${name('to')} /><//>
    <div class="buttons">
      <button type="submit" class="button-accent">Show</button><button type="reset">Clear</button>
    </div>
  </form>`;
}

const AMOUNT = { inputmode: 'decimal', pattern: '[0-9]+([.][0-9]+)?', title: 'A number, like 25.00' };

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
  const named = (/** @type {string} */ file) =>
    (folder.data?.rules ?? []).filter(({ at }) => at.file === file).map(({ name }) => name);
  const options = (/** @type {readonly string[]} */ names) =>
    names.map((name) => html`<option value=${name} />`);
  return html`<datalist id="rules">${options([...named('verdicts.yaml'), 'otherwise'])}</datalist>
    <datalist id="signals">${options(named('bot-signals.yaml'))}</datalist>`;
}
