import { isAllowed } from '#workbench/console/page/api.ts';
import { h, html } from '#workbench/console/page/html.ts';
import type { PlannedChange } from '#workbench/console/page/parts/confirm.ts';
import { onSubmit, renderField } from '#workbench/console/page/parts/form.ts';
import type { Following, Rollout, Session } from '#workbench/console/page/questions.ts';
import { createPlanConfirmation, FIRST_PLAN, type RolloutPlan } from './rollout-plan.ts';

interface StagesProps {
  readonly candidate: Rollout['candidates'][number];
  readonly rollout: Rollout;
  readonly session: Session;
  readonly propose: (change: PlannedChange<Following>) => void;
}

type Stage = Pick<RolloutPlan, 'mode' | 'percent'> & { readonly name: string };

/**
 * The usual stages of a candidate, from a shadow, which is only compared, to the active version, which
 * decides for all payers.
 */
const STAGES: readonly Stage[] = [
  { name: 'shadow', mode: 'shadow', percent: '0' },
  ...['5', '20', '50'].map(createShare),
  { name: 'active', mode: 'active', percent: '100' },
];

/** The present stage of a candidate, with buttons for other stages. */
export function CandidateStages({ candidate, rollout, session, propose }: StagesProps) {
  const { version, mode, percent, guardPoints } = candidate;
  const reached = mode === 'shadow' ? 0 : percent;
  const mayStep = isAllowed(session, 'operate');
  const guard = guardPoints === null && mode === 'canary' ? '' : String(guardPoints ?? FIRST_PLAN.guard);
  const step = ({ mode: next, percent: share }: Stage) => {
    const plan = { version, mode: next, percent: share, guard, keepsOtherCanaries: true };
    propose(createPlanConfirmation(plan, rollout, session, false));
  };
  return html`<ol class="stages" aria-label=${`Stages of ${version}`}>
    ${listStages(candidate).map((stage) => {
      const at = Number(stage.percent);
      const isHere = at === reached;
      const words = stage.mode === 'active' ? `Activate ${version}` : `Give ${version} ${stage.name}`;
      const isAhead = at > reached;
      return html`<li aria-current=${isHere ? 'step' : undefined} class=${isAhead ? 'ahead' : undefined}>
        ${
          mayStep && (isAhead || (stage.mode === 'canary' && !isHere))
            ? html`<button type="button" onClick=${() => step(stage)}>${words} …</button>`
            : html`<span>${stage.name}</span>`
        }
      </li>`;
    })}
  </ol>
  ${mode === 'canary' && mayStep && h(ShareForm, { key: percent, version, percent, give: step })}`;
}

/**
 * Lists the usual stages. If the candidate has another share of the clients, that share is listed between
 * them.
 */
function listStages({ mode, percent }: StagesProps['candidate']): readonly Stage[] {
  if (mode === 'shadow' || STAGES.some((stage) => Number(stage.percent) === percent)) return STAGES;
  return [...STAGES, createShare(String(percent))].toSorted((a, b) => Number(a.percent) - Number(b.percent));
}

function createShare(percent: string): Stage {
  return { name: `${percent} %`, mode: 'canary', percent };
}

interface ShareFormProps {
  readonly version: string;
  readonly percent: number;
  readonly give: (stage: Stage) => void;
}

/** The form for any other share of the clients. */
function ShareForm({ version, percent, give }: ShareFormProps) {
  const change = onSubmit(({ share = '' }) => give(createShare(share)));
  const range = { type: 'number', min: '0.1', max: '100', step: '0.1', required: true } as const;
  return html`<form class="filters" onSubmit=${change}>
    ${renderField(`Share of ${version}, %`, { ...range, name: 'share', defaultValue: percent })}
    <div class="buttons"><button type="submit">Change …</button></div>
  </form>`;
}
