import { ask, may, reloadAll, useAnswer } from '../api.js';
import { html } from '../html.js';
import { toDecision, toVersion } from '../parts/links.js';
import { useAttempt } from '../parts/notice.js';
import { FIRST_STEPS } from '../questions.js';

/** @import { FirstSteps, Session } from '../answers.d.ts' */

/**
 * The first steps of a newcomer on a new store; shows nothing once real payers are there.
 * @param {{ session: Session }} props
 */
export function FirstStepsCard({ session }) {
  const { data } = useAnswer(may(session, 'decisions') ? FIRST_STEPS : null);
  if (data === null || data.traffic === 'none') return null;
  if (data.traffic === 'used')
    return html`<p class="faint">
      This store has decisions already, so no traffic is made up beside them. An empty DATA_DIR begins anew.
    </p>`;
  return html`<section class="card" aria-label="First steps">
    <h2>First steps</h2>
    ${data.traffic === 'made' ? html`<${WhatToLookAt} ...${data} />` : html`<${NoTraffic} />`}
  </section>`;
}

function NoTraffic() {
  const { attempt, isBusy, trouble } = useAttempt();
  const make = () => attempt(() => ask('POST', FIRST_STEPS).then(reloadAll));
  return html`<p>
      This store is new. A day of traffic can be made up in it: payers who pay, who come back too
      early, and who abuse the checkout. Nobody of them exists.
    </p>
    ${trouble}
    <div class="buttons">
      <button type="button" class="button-accent" disabled=${isBusy} onClick=${make}>
        ${isBusy ? 'Making up traffic …' : 'Make up traffic'}
      </button>
    </div>`;
}

/** @param {FirstSteps} props */
function WhatToLookAt({ waiting, blocked, ruleVersion }) {
  const version = ruleVersion ?? '';
  const steps = [
    {
      href: waiting && toDecision(waiting),
      title: 'A payer who has to wait',
      about: 'why, and for how long',
    },
    { href: blocked && toDecision(blocked), title: 'A payer who is blocked', about: 'which signals matched' },
    { href: '#/explore', title: 'Explore', about: 'what was decided over the day, split by anything' },
    { href: toVersion(version, 'evidence'), title: 'Evidence', about: 'what each rule was worth' },
    { href: '#/rules/drafts', title: 'A draft', about: 'change a rule and see whom it would hit' },
  ];
  return html`<p>Made-up payers were here during the last day. What to look at:</p>
    <ol>
      ${steps.map(
        ({ href, title, about }) =>
          href && html`<li key=${title}><a href=${href}>${title}</a>: ${about}</li>`,
      )}
    </ol>
    <p class="faint">An empty DATA_DIR begins anew. Once another platform has a key, this is gone.</p>`;
}
