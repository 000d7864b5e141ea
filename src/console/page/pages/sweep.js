import { ask, may, useAnswer } from '../api.js';
import { html, useMemo, useState } from '../html.js';
import { EvidenceTables, intervalText, Notes, useEvidence, workedOut } from '../parts/evidence.js';
import { Choice, Field, goTo, sent } from '../parts/form.js';
import { count, takenName, VERSION_NAME } from '../parts/format.js';
import { toVersion } from '../parts/links.js';
import { answered, Empty, Loading, Trouble, useAttempt } from '../parts/notice.js';
import { numbers, Table } from '../parts/table.js';
import { Pill } from '../parts/verdict.js';
import { copyOf, keep, keptCopyOf, renamedCopy, useCheck, withValues } from '../parts/working-copy.js';
import { DRAFTS, keptDraft, RULE_FOLDERS, ruleFolder, SWEEP, savedDraft } from '../questions.js';

/**
 * @import { OpenedRuleFolder, Session, SweepReport, SweptCombination } from '../answers.d.ts'
 * @import { InputEvent } from '../parts/form.js'
 * @import { EvidenceTime } from '../parts/time-span.js'
 * @import { Constant, WorkingCopy } from '../parts/working-copy.js'
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
  return answered(useAnswer(DRAFTS), ({ drafts }) =>
    drafts.some(({ version, saved }) => version === props.version && !saved)
      ? html`<${SweepOfDraft} ...${props} />`
      : html`<${SweepOfFolder} ...${props} />`,
  );
}

/** @param {SweepProps} props */
function SweepOfDraft(props) {
  const draft = useAnswer(keptDraft(props.version));
  const copy = useMemo(() => draft.data && keptCopyOf(draft.data), [draft.data]);
  return answered(draft, () => copy && html`<${SweepOfCopy} ...${props} copy=${copy} />`);
}

/** @param {SweepProps} props */
function SweepOfFolder(props) {
  const folder = useAnswer(ruleFolder(props.version));
  return answered(folder, ({ constants }) => html`<${Sweep} ...${{ ...props, constants, copy: null }} />`);
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
  const evidence = useEvidence(SWEEP, body);
  const draft = copy === null ? null : { copy, constants };
  const shown = (/** @type {SweepReport} */ report) =>
    html`<${TradeOffCurve} key=${`${path} ${values}`} ...${{ report, session, draft }} />`;
  return html`<${Variation} key=${`${version} ${path}`} ...${{ constants, version, time, path, values }} />
    ${
      body === null
        ? html`<${Empty} title="Choose a constant and its values">
            History is replayed once for each value, with only those outcomes that its grants let happen.
            The later half of the time is shown; nothing is changed by it.
          <//>`
        : workedOut(evidence, shown)
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
  const choose = (/** @type {string} */ other) => setChosen(constants.find((one) => one.path === other));
  const submit = sent((tried) => goTo(toVersion(version, 'sweep', { ...time.words, ...tried })));
  const suggested = chosen.path === path && values !== null ? values : around(chosen.text);
  return html`<form class="filters" onSubmit=${submit}>
    <${Choice} label="constant" hint=${`now ${chosen.text}`} name="path" chosen=${chosen.path}
      values=${constants.map((one) => one.path)} go=${choose} />
    <${Field} label="values to try" hint="like 2..8, or 15s,30s,60s">
      <input name="values" key=${chosen.path} defaultValue=${suggested} required maxlength="100" />
    <//>
    <div class="buttons"><button type="submit" class="button-accent">Sweep</button></div>
  </form>`;
}

/** Values around the one that holds, in its own form. @param {string} text */
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

/** What a value costs and saves, as the columns say it. */
const EFFECTS = /** @type {const} */ ([
  ['unpaidStopped', 'unpaid orders stopped'],
  ['unpaidBlocked', 'unpaid orders blocked'],
  ['paidRefused', 'paid orders blocked'],
  ['paidHeldBack', 'paid orders held back'],
]);

/** A draft that was swept as it stands, with what may be varied in it. */
/** @typedef {{ readonly copy: WorkingCopy, readonly constants: readonly Constant[] }} SweptDraft */

/**
 * The trade-off of all values on the later part of the time, with a slider over them.
 * @param {{ report: SweepReport, session: Session, draft: SweptDraft | null }} props
 */
function TradeOffCurve({ report, session, draft }) {
  const swept = inOrder(report.combinations);
  const present = swept.findIndex((one) => one.present);
  const [place, setPlace] = useState(Math.max(0, present));
  const chosen = swept[place];
  if (chosen === undefined) return null;
  if (report.tables.length === 0) return html`<${Notes} notes=${report.notes} />`;
  const move = (/** @type {InputEvent} */ { currentTarget }) => setPlace(Number(currentTarget.value));
  return html`
    <${Notes} notes=${report.notes} />
    <div class="two">
      <section class="card">
        <h2>Unpaid orders stopped over paid orders blocked or held back</h2>
        <${Curve} swept=${swept} chosen=${place} />
      </section>
      <section class="card">
        <h2>${valuesText(chosen)} ${chosen.present && html`<${Pill}>as it is<//>`}</h2>
        <label class="field">
          <span>value</span>
          <input type="range" min="0" max=${swept.length - 1} value=${place} onInput=${move}
            aria-valuetext=${valuesText(chosen)} />
        </label>
        <${Effects} chosen=${chosen} present=${swept[present] ?? chosen} />
        <${Draft} key=${valuesText(chosen)} version=${report.version} ...${{ chosen, session, draft }} />
      </section>
    </div>
    <${EvidenceTables} tables=${report.tables} />`;
}

/**
 * As a person counts: by the number that the values begin with.
 * @param {SweepReport['combinations']} combinations
 */
function inOrder(combinations) {
  const numberOf = (/** @type {SweptCombination} */ one) =>
    Number.parseFloat(Object.values(one.values)[0] ?? '');
  return [...combinations].sort((a, b) => numberOf(a) - numberOf(b));
}

/** @param {SweptCombination} one */
function valuesText({ values }) {
  return Object.entries(values)
    .map(([path, value]) => `${path.split('.').at(-1)} = ${value}`)
    .join(', ');
}

/** @param {{ chosen: SweptCombination, present: SweptCombination }} props */
function Effects({ chosen, present }) {
  const columns = ['', ...numbers('orders', 'against now'), 'share, 95 %'];
  return html`<${Table} name="What it does" columns=${columns}>
    ${EFFECTS.map(([member, name]) => {
      const { orders, share } = chosen.later[member];
      const more = orders - present.later[member].orders;
      return html`<tr>
        <th scope="row">${name}</th>
        <td class="num">${count(orders)}</td>
        <td class="num">${more > 0 && '+'}${count(more)}</td>
        <td class="when">${intervalText(share)}</td>
      </tr>`;
    })}
  <//>`;
}

/**
 * @param {{
 *   version: string, chosen: SweptCombination, session: Session, draft: SweptDraft | null,
 * }} props
 */
function Draft({ version, chosen, session, draft }) {
  const { attempt, trouble } = useAttempt();
  if (chosen.present) return null;
  if (draft !== null) {
    const take = () =>
      attempt(async () => {
        await keep(withValues(draft.copy, draft.constants, chosen.values));
        goTo(toVersion(version, 'draft'));
      });
    return html`<div class="buttons">
      <button type="button" onClick=${take}>Put ${valuesText(chosen)} into ${version}</button>
      ${trouble}
    </div>`;
  }
  return html`<${MakeDraft} session=${session} found=${{ from: version, values: chosen.values }} />`;
}

const [WIDTH, HEIGHT, EDGE] = [420, 240, 44];

/**
 * Each value as a point; the table below has the same numbers.
 * @param {{ swept: readonly SweptCombination[], chosen: number }} props
 */
function Curve({ swept, chosen }) {
  const costs = swept.map(({ later }) => later.paidRefused.orders + later.paidHeldBack.orders);
  const gains = swept.map(({ later }) => later.unpaidStopped.orders);
  const [x, y] = [scale(costs, EDGE, WIDTH - 12), scale(gains, HEIGHT - 34, 34)];
  const points = swept.map((_, index) => [x.at(costs[index] ?? 0), y.at(gains[index] ?? 0)]);
  return html`<svg class="diagram" aria-hidden="true" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}>
    <line class="diagram-frame" x1=${EDGE - 8} y1=${HEIGHT - 24} x2=${WIDTH} y2=${HEIGHT - 24} />
    <line class="diagram-frame" x1=${EDGE - 8} y1="22" x2=${EDGE - 8} y2=${HEIGHT - 24} />
    <polyline class="diagram-curve" points=${points.map((point) => point.join(',')).join(' ')} />
    ${points.map(([cx, cy], index) => {
      const kind = index === chosen ? 'diagram-chosen' : 'diagram-point';
      return html`<circle class=${kind} ...${{ cx, cy, r: index === chosen ? 7 : 4 }} />
        ${swept[index]?.present && html`<circle class="diagram-present" ...${{ cx, cy, r: 10 }} />`}`;
    })}
    <text x=${EDGE - 12} y="38" text-anchor="end">${count(y.most)}</text>
    ${
      y.least < y.most &&
      html`<text x=${EDGE - 12} y=${HEIGHT - 30} text-anchor="end">${count(y.least)}</text>`
    }
    ${x.least < x.most && html`<text x=${EDGE} y=${HEIGHT - 8}>${count(x.least)}</text>`}
    <text x=${WIDTH} y=${HEIGHT - 8} text-anchor="end">${count(x.most)} paid orders</text>
    <text x=${EDGE - 8} y="14">unpaid orders stopped</text>
  </svg>`;
}

/**
 * Values that are all alike stand where the one label of the axis is.
 * @param {readonly number[]} values
 * @param {number} from
 * @param {number} to
 */
function scale(values, from, to) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (least === most) return { least, most, at: () => to };
  const at = (/** @type {number} */ value) => from + ((value - least) / (most - least)) * (to - from);
  return { least, most, at };
}

/**
 * What was found about a version: other values of constants by their paths, or other texts of files.
 * @typedef {object} Found
 * @property {string} from the version
 * @property {Readonly<Record<string, string>>} [values]
 * @property {Readonly<Record<string, string>>} [files]
 */

/**
 * A draft with what was found: in RULES_DIR where key and node allow it, otherwise one to be worked on and
 * downloaded.
 * @param {{ session: Session, found: Found }} props
 */
export function MakeDraft({ session, found }) {
  const folders = useAnswer(RULE_FOLDERS);
  const { attempt, trouble } = useAttempt();
  const [made, setMade] = useState(/** @type {string | null} */ (null));
  if (folders.data === null) return null;
  const { versions, writable } = folders.data;
  const keeps = writable && may(session, 'operate');
  const make = sent(({ version = '' }) =>
    attempt(async () => {
      if (versions.some((one) => one.version === version)) throw takenName(version);
      if (!keeps) return workOn(await ask('GET', ruleFolder(found.from)), version, found);
      await ask('PUT', savedDraft(version), found);
      return setMade(version);
    }),
  );
  if (made !== null)
    return html`<p role="status">
      <a href=${toVersion(made)}>${made}</a> is a draft in RULES_DIR. Its cases may pin old values;
      nobody is decided by it before it is released and rolled out.
    </p>`;
  return html`<form class="filters" onSubmit=${make}>
      <${Field} label="make a draft" hint="like p2.v12, or p2.v12-chain">
        <input name="version" required pattern=${VERSION_NAME} />
      <//>
      <div class="buttons">
        <button type="submit">${keeps ? 'Save to RULES_DIR' : 'Work on it'}</button>
      </div>
    </form>
    ${trouble}`;
}

/**
 * @param {OpenedRuleFolder} folder
 * @param {string} version
 * @param {Found} found
 */
async function workOn(folder, version, { values = {}, files = {} }) {
  if (!folder.whole) throw new Error(`${folder.version} is too long for this page.`);
  const missing = Object.keys(values).find((path) => folder.constants.every((one) => one.path !== path));
  if (missing !== undefined)
    throw new Error(`${folder.version} does not write ${missing}; add it to the draft by hand.`);
  // The places of the constants are those in the texts under the old name.
  const same = withValues(copyOf(folder, folder.version), folder.constants, values);
  const copy = renamedCopy(same, version);
  await keep({ ...copy, files: { ...copy.files, ...files } });
  goTo(toVersion(version, 'draft'));
}
