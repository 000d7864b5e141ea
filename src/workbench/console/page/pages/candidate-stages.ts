import { type AnswerState, isAllowed } from '#workbench/console/page/api.ts';
import { h, html } from '#workbench/console/page/html.ts';
import type { PlannedChange } from '#workbench/console/page/parts/confirm.ts';
import { onSubmit, renderField } from '#workbench/console/page/parts/form.ts';
import type { ChangedRollout, Rollout, RuleFolderList, Session } from '#workbench/console/page/questions.ts';
import { createPlanConfirmation, FIRST_PLAN, type RolloutPlan } from './rollout-plan.ts';

interface StagesProps {
  readonly candidate: Rollout['candidates'][number];
  readonly rollout: Rollout;
  readonly session: Session;
  readonly folders: AnswerState<RuleFolderList>;
  readonly propose: (change: PlannedChange<ChangedRollout>) => void;
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

/** The service takes no files of a version on trial, not even to release them. */
const ONLY_SHADOW = html`<p class="faint">
  A draft may only be shadowed. Take it back and release it, then it may get a share.
</p>`;

/**
 * The present stage of a candidate, with buttons for other stages. A version that is not released has no
 * buttons, because the service refuses every other stage of it.
 */
export function CandidateStages({ candidate, rollout, session, folders, propose }: StagesProps) {
  const { version, mode, percent, guardPoints } = candidate;
  const reached = mode === 'shadow' ? 0 : percent;
  const mayOperate = isAllowed(session, 'operate');
  const folder = folders.data?.versions.find((one) => one.version === version);
  const mayStep = mayOperate && folder?.released === true;
  const guard = guardPoints === null && mode === 'canary' ? '' : String(guardPoints ?? FIRST_PLAN.guard);
  const step = ({ mode: next, percent: share }: Stage) => {
    const plan = { version, mode: next, percent: share, guard, keepsOtherCanaries: true };
    propose(createPlanConfirmation(plan, rollout, session, false));
  };
  if (mayOperate && folders.data === null) return null;
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
  ${mayOperate && folder?.sound === true && !folder.released && ONLY_SHADOW}
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
