import type { Following, Rollout, RolloutStatus, Session } from '../answers.ts';
import { ask } from '../api.ts';
import { html, useState } from '../html.ts';
import { type Proposal, recordedAs, Typed } from '../parts/confirm.ts';
import { Field, sent } from '../parts/form.ts';
import { ROLL_BACK } from '../questions.ts';

type Propose = (change: Proposal<Following>) => void;

type Previous = RolloutStatus['previous'];

/** What may be taken back, each by a form of its own. */
export function TakeBack({
  rollout,
  previous,
  session,
  propose,
}: {
  rollout: Rollout;
  previous: Previous;
  session: Session;
  propose: Propose;
}) {
  const taken = takenBack(rollout, previous);
  if (taken.length === 0)
    return html`<p class="faint">There is no candidate and no earlier version to return to.</p>`;
  return taken.map(
    (one) => html`<${TakeOneBack} key=${one.version} ...${{ ...one, rollout, session, propose }} />`,
  );
}

function TakeOneBack({
  version,
  meaning,
  isCandidate,
  rollout,
  session,
  propose,
}: ReturnType<typeof takenBack>[number] & {
  rollout: Rollout;
  session: Session;
  propose: Propose;
}) {
  const [typed, setTyped] = useState('');
  const { revision } = rollout;
  const submit = sent(({ reason }) =>
    propose({
      title: `Take ${version} back?`,
      action: `Take ${version} back`,
      tone: 'bad',
      act: () => ask('POST', ROLL_BACK, { ...(isCandidate && { version }), reason, revision }),
      children: html`<p>${meaning}</p><p>${recordedAs(session)}</p><p>Reason: ${reason}</p>`,
    }),
  );
  return html`<p>${meaning} <span class="faint">${recordedAs(session)}</span></p>
    <form class="filters" onSubmit=${submit}>
      <${Field} label="Reason for taking it back"><input name="reason" required maxlength="1000" /><//>
      <${Typed} label=${`Type ${version} to take it back`} typed=${typed} setTyped=${setTyped} />
      <div class="buttons">
        <button type="submit" class="button-bad" disabled=${typed !== version}>Take back …</button>
      </div>
    </form>`;
}

/** What may be taken back, and what follows from it: each candidate, or without one the active version. */
function takenBack({ active, candidates }: Rollout, previous: Previous) {
  const whom = candidates.length > 1 ? 'its clients' : 'everybody';
  if (candidates.length > 0)
    return candidates.map(({ mode, version }) => {
      const meaning = `The ${mode} of ${version} ends; ${active.version} decides for ${whom}.`;
      return { version, meaning, isCandidate: true };
    });
  if (previous === null) return [];
  const meaning = `${previous.version} decides for everybody again.`;
  return [{ version: active.version, meaning, isCandidate: false }];
}
