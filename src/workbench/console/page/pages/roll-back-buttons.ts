import { askService } from '#workbench/console/page/api.ts';
import { html } from '#workbench/console/page/html.ts';
import { type PlannedChange, renderReasonField } from '#workbench/console/page/parts/confirm.ts';
import {
  type ChangedRollout,
  ROLL_BACK,
  type Rollout,
  type RolloutStatus,
  type Session,
} from '#workbench/console/page/questions.ts';

interface TakeBackProps {
  rollout: Rollout;
  previous: RolloutStatus['previous'];
  session: Session;
  /** If present, only this version may be rolled back here. */
  version?: string;
  propose: (change: PlannedChange<ChangedRollout>) => void;
}

/**
 * Shows a button for each version that may be rolled back. Two taps and a reason are enough, because
 * rolling back is the safe direction.
 */
export function RollBackButtons({ rollout, previous, session, version: only, propose }: TakeBackProps) {
  const { revision } = rollout;
  const ways = listTakeBacks(rollout, previous).filter(
    ({ version }) => only === undefined || version === only,
  );
  return ways.map(({ version, meaning, isCandidate }) => {
    const which = isCandidate ? { version } : {};
    const change: PlannedChange<ChangedRollout> = {
      title: `Take ${version} back?`,
      action: `Take ${version} back`,
      tone: 'bad',
      act: ({ reason }) => askService('POST', ROLL_BACK, { ...which, reason, revision }),
      children: html`<p>${meaning}</p>
        ${renderReasonField(session.who, 'Reason for taking it back', 'taken back by hand')}`,
    };
    return html`<button type="button" key=${version} class="button-bad" onClick=${() => propose(change)}>
      Take ${version} back …
    </button>`;
  });
}

/**
 * Lists the versions that may be rolled back, and what follows: each candidate, or the active version if
 * there is no candidate.
 */
function listTakeBacks({ active, candidates }: Rollout, previous: RolloutStatus['previous']) {
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
