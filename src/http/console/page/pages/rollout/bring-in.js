import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { recordedAs, Typed } from '../../parts/change/second-look.js';
import { Field, formValues } from '../../parts/form.js';
import { ROLL_OUT } from '../../questions.js';

/**
 * @import { Rollout, RuleFolderList, Session } from '../../answers.d.ts'
 * @import { ChoiceEvent, FormEvent, InputEvent } from '../../parts/form.js'
 * @import { Propose } from './rollout.js'
 * @typedef {RuleFolderList['versions'][number]} RuleFolder
 * @typedef {'shadow' | 'canary' | 'active'} Mode
 */

/** What somebody is about to do. */
/** @typedef {{ version: string, mode: Mode, percent: string, guard: string }} Plan */

/** @type {readonly Mode[]} */
const MODES = ['shadow', 'canary', 'active'];

/** @type {Readonly<Record<Mode, string>>} */
const ACTIONS = { shadow: 'Shadow', canary: 'Start the canary of', active: 'Promote' };

/**
 * @param {{
 *   rollout: Rollout, session: Session, others: readonly RuleFolder[], propose: Propose,
 * }} props
 */
export function BringIn({ rollout, session, others, propose }) {
  const preferred = rollout.candidate?.version ?? others[0]?.version ?? '';
  const [plan, setPlan] = useState(
    /** @returns {Plan} */ () => ({ version: preferred, mode: 'shadow', percent: '10', guard: '5' }),
  );
  const [typed, setTyped] = useState('');
  const { version, mode } = plan;
  const { revision } = rollout;
  const isReleased = others.find((one) => one.version === version)?.released ?? false;
  const does = html`<${WhatItDoes} plan=${plan} rollout=${rollout} session=${session} />`;
  const submit = (/** @type {FormEvent} */ event) => {
    const reason = formValues(event)['reason'] ?? '';
    const action = `${ACTIONS[mode]} ${version}`;
    const act = () => ask('POST', ROLL_OUT, { ...bodyOf(plan), reason, revision });
    propose({ title: `${action}?`, action, act, children: html`${does}<p>Reason: ${reason}</p>` });
  };
  return html`<form class="two" onSubmit=${submit}>
    <div class="stack">
      <${Choices} plan=${plan} setPlan=${setPlan} others=${others} isReleased=${isReleased} />
    </div>
    <div class="stack">
      ${does}
      <${Field} label="Reason"><input name="reason" required maxlength="1000" /><//>
      <${Typed} label=${`Type ${version} to confirm`} typed=${typed} setTyped=${setTyped} />
      <button type="submit" class="button-accent" disabled=${typed !== version}>${ACTIONS[mode]} …</button>
    </div>
  </form>`;
}

/** @param {Plan} plan */
function bodyOf({ version, mode, percent, guard }) {
  if (mode !== 'canary') return { version, mode };
  const isGuarded = guard !== '' && !isForAll({ percent });
  return { version, mode, percent: Number(percent), ...(isGuarded ? { guard: Number(guard) } : {}) };
}

/**
 * Whether nobody is left whom a guard could compare the canary with.
 * @param {Pick<Plan, 'percent'>} plan
 */
function isForAll({ percent }) {
  return Number(percent) >= 100;
}

/**
 * @param {{
 *   plan: Plan, setPlan: (plan: Plan) => void, others: readonly RuleFolder[], isReleased: boolean,
 * }} props
 */
function Choices({ plan, setPlan, others, isReleased }) {
  const { version, mode, percent, guard } = plan;
  const choose = (/** @type {ChoiceEvent} */ event) =>
    setPlan({ ...plan, version: event.currentTarget.value, mode: 'shadow' });
  const take = (/** @type {'percent' | 'guard'} */ name) => (/** @type {InputEvent} */ event) =>
    setPlan({ ...plan, [name]: event.currentTarget.value });
  const range = { type: 'number', min: '0.1', max: '100', step: '0.1' };
  return html`<${Field} label="Version">
      <select name="version" value=${version} onChange=${choose}>
        ${others.map((one) => html`<option value=${one.version}>${nameOf(one)}</option>`)}
      </select>
    <//>
    <fieldset>
      <legend>How</legend>
      ${MODES.map((one) => {
        const state = { checked: mode === one, disabled: one !== 'shadow' && !isReleased };
        const pick = () => setPlan({ ...plan, mode: one });
        return html`<label class="choice">
          <input type="radio" name="mode" value=${one} ...${state} onChange=${pick} /> <b>${one}</b>
        </label>`;
      })}
      ${
        !isReleased &&
        html`<p class="faint">
          A draft may only be shadowed; <a href=${`#/draft/${version}`}>release it</a> first.
        </p>`
      }
    </fieldset>
    ${
      mode === 'canary' &&
      html`<${Field} label="Percent of clients">
          <input ...${range} required value=${percent} onInput=${take('percent')} />
        <//>
        <${Field} label="Guard, points" hint="Empty: no guard">
          <input ...${range} disabled=${isForAll(plan)} value=${guard} onInput=${take('guard')} />
        <//>`
    }`;
}

/** @param {RuleFolder} folder */
function nameOf({ version, released }) {
  return released ? version : `${version} (draft)`;
}

/**
 * Exactly what the click will do: to whom, until when, and as whose deed it is recorded.
 * @param {{ plan: Plan, rollout: Rollout, session: Session }} props
 */
function WhatItDoes({ plan, rollout, session }) {
  return html`<div>
    <h3>What this does</h3>
    <ul class="notes">
      ${effectsOf(plan, rollout).map((effect) => html`<li>${effect}</li>`)}
      <li>Every node follows within about two seconds.</li>
      <li>${recordedAs(session)}</li>
    </ul>
  </div>`;
}

/** @param {Pick<Plan, 'percent' | 'guard'>} plan */
function guardText({ percent, guard }) {
  if (isForAll({ percent })) return 'No guard: no clients of the active version are left to compare with.';
  return guard === ''
    ? 'No guard: it stays until somebody ends it.'
    : `The guard ends it when a share of BLOCK, WAIT or bots is off by more than ${guard} points.`;
}

/**
 * @param {Plan} plan
 * @param {Rollout} rollout
 */
function effectsOf({ version, mode, percent, guard }, { active, candidate }) {
  const ends =
    candidate !== null && candidate.version !== version
      ? [`The ${candidate.mode} of ${candidate.version} ends.`]
      : [];
  switch (mode) {
    case 'shadow':
      return [
        `${active.version} goes on to decide for everybody.`,
        `${version} decides on a copy of each request and is only compared; no payer notices.`,
        ...ends,
      ];
    case 'canary':
      return [
        `${version} decides for ${percent || '…'} % of the clients, always the same ones.`,
        `${active.version} decides for the others.`,
        guardText({ percent, guard }),
        ...ends,
      ];
    case 'active':
      return [
        `${version} decides for all clients of all platforms, from their next request on.`,
        `${active.version} stays on the nodes; Take back returns to it.`,
        // A trial of another version continues beside the new active one.
        ...(candidate !== null && candidate.version !== version
          ? [`The ${candidate.mode} of ${candidate.version} goes on beside it.`]
          : []),
      ];
    default:
      return mode;
  }
}
