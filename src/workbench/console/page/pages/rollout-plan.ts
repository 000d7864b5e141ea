import { askService } from '#workbench/console/page/api.ts';
import { h, html } from '#workbench/console/page/html.ts';
import {
  type PlannedChange,
  renderConfirmVersionField,
  renderReasonField,
} from '#workbench/console/page/parts/confirm.ts';
import { ChangedSince } from '#workbench/console/page/parts/differences.ts';
import {
  type ChangedRollout,
  ROLL_OUT,
  type Rollout,
  type Session,
} from '#workbench/console/page/questions.ts';

export type PlanMode = 'shadow' | 'canary' | 'active';

/** The change of a version that somebody plans. `keepsOtherCanaries` says whether the other canaries stay. */
export interface RolloutPlan {
  readonly version: string;
  readonly mode: PlanMode;
  readonly percent: string;
  readonly guard: string;
  readonly keepsOtherCanaries: boolean;
}

export const FIRST_PLAN = { mode: 'shadow', percent: '10', guard: '5', keepsOtherCanaries: true } as const;

export const PLAN_MODES: readonly PlanMode[] = ['shadow', 'canary', 'active'];

export const PLAN_ACTION_LABELS: Readonly<Record<PlanMode, string>> = {
  shadow: 'Shadow',
  canary: 'Give a share to',
  active: 'Activate',
};

/**
 * Creates the confirmation that says exactly what the change will do. `mayReturn` says that the version
 * was active before, so that one person may activate it without approval in an emergency.
 */
export function createPlanConfirmation(
  plan: RolloutPlan,
  rollout: Rollout,
  session: Session,
  mayReturn: boolean,
): PlannedChange<ChangedRollout> {
  const { version, mode } = plan;
  const { active } = rollout;
  const action =
    mode === 'canary' ? `Give ${version} ${plan.percent} %` : `${PLAN_ACTION_LABELS[mode]} ${version}`;
  return {
    title: `${action}?`,
    action,
    act: ({ reason, accept, emergency }) => {
      const accepts = { ...(accept && { acceptDifference: true }), ...(emergency && { emergency: true }) };
      return askService('POST', ROLL_OUT, {
        ...toRolloutBody(plan, rollout),
        ...accepts,
        reason,
        revision: rollout.revision,
      });
    },
    children: html`<ul class="notes">
        ${listEffects(plan, rollout).map((effect) => html`<li>${effect}</li>`)}
      </ul>
      ${
        mode !== 'shadow' &&
        html`${h(ChangedSince, { before: active.version, after: version })}
          <label class="row">
            <input type="checkbox" name="accept" /> It may answer very differently from ${active.version}
          </label>`
      }
      ${
        mayReturn &&
        html`<label class="row">
          <input type="checkbox" name="emergency" /> An emergency: return to it before somebody else approves
        </label>`
      }
      ${renderReasonField(session.who)}
      ${mode !== 'shadow' && renderConfirmVersionField(version)}`,
  };
}

/** Lists the other canaries, which may stay on trial. */
export function listOtherCanaries({ version }: Pick<RolloutPlan, 'version'>, { candidates }: Rollout) {
  return candidates
    .filter((one) => one.mode === 'canary' && one.version !== version)
    .map((one) => ({ version: one.version, percent: one.percent }));
}

function toRolloutBody(plan: RolloutPlan, rollout: Rollout) {
  const { version, mode, percent, guard, keepsOtherCanaries } = plan;
  if (mode !== 'canary') return { version, mode };
  const also = keepsOtherCanaries ? listOtherCanaries(plan, rollout) : [];
  const isGuarded = guard !== '' && !isForAllPayers(plan, also);
  const body = { version, mode, percent: Number(percent), ...(also.length > 0 ? { also } : {}) };
  return isGuarded ? { ...body, guard: Number(guard) } : body;
}

/** Whether the canaries get all payers, so that none are left with whom a guard could compare them. */
export function isForAllPayers(
  { percent, keepsOtherCanaries }: Pick<RolloutPlan, 'percent' | 'keepsOtherCanaries'>,
  beside: ReturnType<typeof listOtherCanaries>,
) {
  const others = keepsOtherCanaries ? beside.reduce((sum, one) => sum + one.percent, 0) : 0;
  return Number(percent) + others >= 100;
}

export function formatShares(shares: readonly { readonly version: string; readonly percent: number }[]) {
  return shares.map(formatShare).join(', ');
}

function formatShare({ version, percent }: { readonly version: string; readonly percent: number }) {
  return `${version} (${percent} %)`;
}

function describeGuard(plan: RolloutPlan, beside: ReturnType<typeof listOtherCanaries>) {
  if (isForAllPayers(plan, beside))
    return 'No guard: no clients of the active version are left to compare with.';
  return plan.guard === ''
    ? 'No guard: it stays until somebody takes it back.'
    : `The guard takes it back when BLOCK, WAIT or bots rise, or payers fall, by over ${plan.guard} points.`;
}

function listEffects(plan: RolloutPlan, rollout: Rollout) {
  const { version, mode, percent, keepsOtherCanaries } = plan;
  const { active, candidates } = rollout;
  const beside = listOtherCanaries(plan, rollout);
  const stays = mode === 'canary' && keepsOtherCanaries ? beside : [];
  const ends = candidates
    .filter((one) => one.version !== version && !stays.some((other) => other.version === one.version))
    .map((one) => `The ${one.mode} of ${one.version} ends.`);
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
        describeGuard(plan, beside),
        ...(stays.length > 0 ? [`${formatShares(stays)} stays on trial, for other clients.`] : []),
        ...ends,
      ];
    case 'active':
      return [
        `${version} decides for all clients of all platforms, from their next request on.`,
        `${active.version} stays on the nodes; taking back returns to it.`,
        // A trial of another version continues beside the new active one.
        ...candidates
          .filter((one) => one.version !== version)
          .map((one) => `The ${one.mode} of ${one.version} goes on beside it.`),
      ];
    default:
      return mode;
  }
}
