import { useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { Field } from '../../parts/form.js';
import { Answered } from '../../parts/notice.js';
import { Verdict } from '../../parts/verdict.js';
import { decisionWhatIf, RULE_FOLDERS } from '../../questions.js';

/**
 * @import { Decision, DecisionWhatIf } from '../../answers.d.ts'
 * @import { ChoiceEvent } from '../../parts/form.js'
 */

/**
 * The same question to another version, on the recorded facts and with the client as it was then.
 * @param {{ decision: Decision }} props
 */
export function OtherVersion({ decision }) {
  const folders = useAnswer(RULE_FOLDERS);
  const [version, setVersion] = useState('');
  const answer = useAnswer(version === '' ? null : decisionWhatIf(decision.decisionId, version));
  const others = (folders.data?.versions ?? []).filter(
    (one) => one.sound && one.version !== decision.ruleVersion,
  );
  if (folders.data !== null && others.length === 0) return null;
  const choose = (/** @type {ChoiceEvent} */ event) => setVersion(event.currentTarget.value);
  const shown = (/** @type {DecisionWhatIf} */ then) => html`<${Then} then=${then} was=${decision} />`;
  return html`<section class="card">
    <h2>Another version then</h2>
    <${Field} label="Version" hint="Asked on the recorded facts; what came afterwards does not count.">
      <select onChange=${choose}>
        <option value="">choose</option>
        ${others.map((one) => html`<option>${one.version}</option>`)}
      </select>
    <//>
    <div role="status">${version !== '' && html`<${Answered} answer=${answer}>${shown}<//>`}</div>
  </section>`;
}

/** @param {{ then: DecisionWhatIf, was: Decision }} props */
function Then({ then: { version, decision, missing }, was }) {
  if (decision === null)
    return html`<p class="faint">
      ${version} cannot say: the record does not hold ${missing.join(', ')}, which it asks for.
    </p>`;
  const alike = decision.verdict === was.verdict && decision.waitSeconds === was.waitSeconds;
  return html`<p><${Verdict} ...${decision} /> by ${decision.rule}${alike && html`, the same answer`}</p>
    <p>${decision.reason}</p>`;
}
