import { isAllowed } from '#workbench/console/page/api.ts';
import { html } from '#workbench/console/page/html.ts';
import type { PlannedChange } from '#workbench/console/page/parts/confirm.ts';
import type { Following, Rollout, Session } from '#workbench/console/page/questions.ts';
import { describePlan, FIRST_PLAN, type RolloutPlan } from './rollout-plan.ts';

interface StagesProps {
  readonly candidate: Rollout['candidates'][number];
  readonly rollout: Rollout;
  readonly session: Session;
  readonly propose: (change: PlannedChange<Following>) => void;
}

type Stage = Pick<RolloutPlan, 'mode' | 'percent'> & { readonly name: string };

/** The stages of a version from a comparison to all payers. */
const STAGES: readonly Stage[] = [
  { name: 'shadow', mode: 'shadow', percent: '0' },
  ...['5', '20', '50'].map((percent) => ({ name: `${percent} %`, mode: 'canary', percent }) as const),
  { name: 'active', mode: 'active', percent: '100' },
];

/** The present stage of a version, and the next steps. */
export function Stages({ candidate, rollout, session, propose }: StagesProps) {
  const { version, mode, percent, guardPoints } = candidate;
  const reached = mode === 'shadow' ? 0 : percent;
  const mayStep = isAllowed(session, 'operate');
  const guard = guardPoints === null && mode === 'canary' ? '' : String(guardPoints ?? FIRST_PLAN.guard);
  const step = ({ mode: next, percent: share }: Stage) => {
    const plan = { version, mode: next, percent: share, guard, keeps: true };
    propose(describePlan(plan, rollout, session, false));
  };
  return html`<ol class="stages" aria-label=${`Stages of ${version}`}>
    ${STAGES.map((stage) => {
      const at = Number(stage.percent);
      const isHere = at === reached;
      const words = stage.mode === 'active' ? `Activate ${version}` : `Give ${version} ${stage.name}`;
      const isAhead = at > reached;
      return html`<li aria-current=${isHere ? 'step' : undefined} class=${isAhead ? 'ahead' : undefined}>
        ${
          isAhead && mayStep
            ? html`<button type="button" onClick=${() => step(stage)}>${words} …</button>`
            : html`<span>${stage.name}</span>`
        }
      </li>`;
    })}
  </ol>`;
}
