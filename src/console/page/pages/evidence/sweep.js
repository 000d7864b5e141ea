import { useAnswer } from '../../api.js';
import { html, useMemo, useState } from '../../html.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { Field, formValues } from '../../parts/form.js';
import { toVersion } from '../../parts/links.js';
import { Answered, Empty, Loading, Trouble } from '../../parts/notice.js';
import { useCheck } from '../../parts/rules/use-check.js';
import { keptCopyOf } from '../../parts/rules/working-copy.js';
import { DRAFTS, keptDraft, ruleFolder, SWEEP } from '../../questions.js';
import { TradeOffCurve } from './trade-off.js';

/**
 * @import { DraftList, OpenedRuleFolder, Session, SweepReport } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 * @import { Constant, WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/** What most sweeps begin with. */
const FIRST_PATH = /unpaidChain$/;

/**
 * @typedef {object} SweepProps
 * @property {string} version
 * @property {EvidenceTime} time
 * @property {URLSearchParams} query
 * @property {Session} session
 */

/**
 * What other values of a constant would have done to orders: of a version in RULES_DIR, or of a draft as it
 * stands.
 * @param {SweepProps} props
 */
export function SweepOf(props) {
  const shown = (/** @type {DraftList} */ { drafts }) =>
    drafts.some(({ version, saved }) => version === props.version && !saved)
      ? html`<${SweepOfDraft} ...${props} />`
      : html`<${SweepOfFolder} ...${props} />`;
  return html`<${Answered} answer=${useAnswer(DRAFTS)}>${shown}<//>`;
}

/** @param {SweepProps} props */
function SweepOfDraft(props) {
  const draft = useAnswer(keptDraft(props.version));
  const copy = useMemo(() => draft.data && keptCopyOf(draft.data), [draft.data]);
  const shown = () => copy && html`<${SweepOfCopy} ...${props} copy=${copy} />`;
  return html`<${Answered} answer=${draft}>${shown}<//>`;
}

/** @param {SweepProps} props */
function SweepOfFolder(props) {
  const folder = useAnswer(ruleFolder(props.version));
  const shown = (/** @type {OpenedRuleFolder} */ { constants }) =>
    html`<${Sweep} ...${props} constants=${constants} copy=${null} />`;
  return html`<${Answered} answer=${folder}>${shown}<//>`;
}

/** @param {SweepProps & { copy: WorkingCopy }} props */
function SweepOfCopy({ copy, ...props }) {
  const { checked, error } = useCheck(copy);
  if (error) return html`<${Trouble} error=${error} />`;
  if (checked === null) return html`<${Loading} />`;
  if (!checked.sound)
    return html`<${Empty} title="${copy.version} is not sound yet">
      <a href=${toVersion(copy.version, 'draft')}>Mend its problems</a>, then its constants can be varied.
    <//>`;
  return html`<p class="faint">
      ${copy.version} as it stands <a href=${toVersion(copy.version, 'draft')}>as a draft</a>; its files
      go along with the question, and are kept for that alone.
    </p>
    <${Sweep} ...${props} constants=${checked.constants} copy=${copy} />`;
}

/** @param {SweepProps & { constants: readonly Constant[], copy: WorkingCopy | null }} props */
function Sweep({ version, time, query, session, constants, copy }) {
  const [path, values] = [query.get('path'), query.get('values')];
  const rules = copy === null ? { version } : { version, files: copy.files };
  const body =
    path === null || values === null ? null : { ...rules, ...time.span, vary: [`${path}=${values}`] };
  /** @type {Evidence<SweepReport>} */
  const evidence = useEvidence(SWEEP, body);
  const draft = copy === null ? null : { copy, constants };
  const shown = (/** @type {SweepReport} */ report) =>
    html`<${TradeOffCurve} key=${`${path} ${values}`} report=${report} session=${session} draft=${draft} />`;
  return html`<${Variation} key=${`${version} ${path}`} ...${{ constants, version, time, path, values }} />
    ${
      body === null
        ? html`<${Empty} title="Choose a constant and its values">
            History is replayed once for each value, with only those outcomes that its grants let happen.
            The later half of the time is shown; nothing is changed by it.
          <//>`
        : html`<${WorkedOut} evidence=${evidence}>${shown}<//>`
    }`;
}

/**
 * @param {{
 *   constants: readonly Constant[], version: string, time: EvidenceTime, path: string | null,
 *   values: string | null,
 * }} props
 */
function Variation({ constants, version, time, path, values }) {
  const first =
    constants.find((one) => one.path === path) ?? constants.find((one) => FIRST_PATH.test(one.path));
  const [chosen, setChosen] = useState(first ?? constants[0]);
  if (chosen === undefined) return null;
  const choose = (/** @type {{ currentTarget: HTMLSelectElement }} */ { currentTarget }) =>
    setChosen(constants.find((one) => one.path === currentTarget.value));
  const submit = (/** @type {FormEvent} */ event) => {
    location.hash = toVersion(version, 'sweep', { ...time.words, ...formValues(event) });
  };
  const suggested = chosen.path === path && values !== null ? values : around(chosen.text);
  return html`<form class="filters" onSubmit=${submit}>
    <${Field} label="constant" hint=${`now ${chosen.text}`}>
      <select name="path" onChange=${choose}>
        ${constants.map(
          (one) => html`<option value=${one.path} selected=${one === chosen}>${one.path}</option>`,
        )}
      </select>
    <//>
    <${Field} label="values to try" hint="like 2..8, or 15s,30s,60s">
      <input name="values" key=${chosen.path} defaultValue=${suggested} required maxlength="100" />
    <//>
    <div class="buttons"><button type="submit" class="button-accent">Sweep</button></div>
  </form>`;
}

/**
 * Values around the one that holds, in its own form.
 * @param {string} text
 */
function around(text) {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(text) ?? [];
  const number = Number(digits);
  if (digits === '') return text;
  if (unit === '' && Number.isInteger(number) && number < 20)
    return `${Math.max(0, number - 3)}..${number + 4}`;
  const factors = [0.25, 0.5, 1, 2, 4].map((factor) => number * factor);
  const tried = unit === '' && !Number.isInteger(number) ? factors : factors.map(Math.ceil);
  return [...new Set(tried)].map((one) => `${one}${unit}`).join(',');
}
