import type { Following, Rollout, RolloutStatus, Session } from '../answers.ts';
import { ask } from '../api.ts';
import { html } from '../html.ts';
import { type Proposal, recordedAs } from '../parts/confirm.ts';
import { Field } from '../parts/form.ts';
import { ROLL_BACK } from '../questions.ts';

/** What may be taken back, a button each: two taps and a reason, because this is the safe direction. */
export function TakeBack({
  rollout,
  previous,
  session,
  propose,
}: {
  rollout: Rollout;
  previous: RolloutStatus['previous'];
  session: Session;
  propose: (change: Proposal<Following>) => void;
}) {
  const { revision } = rollout;
  return takenBack(rollout, previous).map(({ version, meaning, isCandidate }) => {
    const only = isCandidate ? { version } : {};
    const change: Proposal<Following> = {
      title: `Take ${version} back?`,
      action: `Take ${version} back`,
      tone: 'bad',
      act: ({ reason }) => ask('POST', ROLL_BACK, { ...only, reason, revision }),
      children: html`<p>${meaning} <span class="faint">${recordedAs(session)}</span></p>
        <${Field} label="Reason for taking it back">
          <input name="reason" required maxlength="1000" autofocus />
        <//>`,
    };
    return html`<button type="button" key=${version} class="button-bad" onClick=${() => propose(change)}>
      Take ${version} back …
    </button>`;
  });
}

/** What may be taken back, and what follows from it: each candidate, or without one the active version. */
function takenBack({ active, candidates }: Rollout, previous: RolloutStatus['previous']) {
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
