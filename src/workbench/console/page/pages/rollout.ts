import { type AnswerState, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { type PlannedChange, useConfirmedChange } from '#workbench/console/page/parts/confirm.ts';
import { type InputEvent, onSubmit, renderChoice, renderField } from '#workbench/console/page/parts/form.ts';
import {
  formatCount,
  formatDateTime,
  shortenDigest,
  suggestNextVersion,
} from '#workbench/console/page/parts/format.ts';
import { toVersionPath } from '#workbench/console/page/parts/links.ts';
import { describeActivation, ROLLOUT_ACT_NAMES } from '#workbench/console/page/parts/marks.ts';
import { renderAnswer, renderEmpty, UnreadableRollout } from '#workbench/console/page/parts/notice.ts';
import { declareColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import { renderPill, type Tone } from '#workbench/console/page/parts/verdict.ts';
import type {
  ChangedRollout,
  Rollout,
  RolloutStatus,
  RuleFolderList,
  Session,
  TrialCounts,
} from '#workbench/console/page/questions.ts';
import { ROLLOUT_STATUS, RULE_FOLDERS } from '#workbench/console/page/questions.ts';
import { CandidateStages } from './candidate-stages.ts';
import { RollBackButtons } from './roll-back-buttons.ts';
import {
  createPlanConfirmation,
  FIRST_PLAN,
  formatShares,
  isForAllPayers,
  listOtherCanaries,
  PLAN_ACTION_LABELS,
  PLAN_MODES,
  type RolloutPlan,
} from './rollout-plan.ts';
import { computeHarms, ExperimentPart, renderTrialCounts } from './trial.ts';

type Candidate = Rollout['candidates'][number];

/** The values that the cards of the page need to change the rollout. */
interface Changing extends Pick<RolloutStatus, 'previous'> {
  readonly rollout: Rollout;
  readonly session: Session;
  /** The versions in RULES_DIR. They are asked for only if the person may change the rollout. */
  readonly folders: AnswerState<RuleFolderList>;
  readonly propose: (change: PlannedChange<ChangedRollout>) => void;
}

/**
 * How often the page asks for the rollout: while a version is on trial, and otherwise, because others may
 * change it.
 */
const [TRIAL_MS, STILL_MS] = [5_000, 60_000];

/**
 * A card for each version that decides or is on trial, with buttons that take it back, and a form that
 * rolls out another version.
 */
export function RolloutsPage({ session }: PageProps) {
  const status = useAnswer(ROLLOUT_STATUS, ({ rollout }) =>
    rollout?.candidates.length ? TRIAL_MS : STILL_MS,
  );
  const folders = useAnswer(isAllowed(session, 'operate') ? RULE_FOLDERS : null, STILL_MS);
  const [told, setTold] = useState<string | null>(null);
  const { propose, dialog } = useConfirmedChange((following: ChangedRollout) => {
    setTold(describeFollowing(following));
    status.reload();
  });
  return renderAnswer(status, ({ rollout, unreadable, trials, previous }) => {
    if (unreadable) return h(UnreadableRollout, {});
    if (rollout === null)
      return renderEmpty(
        'No version decides yet',
        'Start a node; the first start chooses the first version.',
      );
    const changing = { rollout, previous, session, folders, propose };
    return html`
      ${told && html`<p class="notice notice-good" role="status">${told}</p>`}
      ${h(Active, changing)}
      ${rollout.candidates.map((candidate) => {
        const trial = trials.find(({ version }) => version === candidate.version);
        return html`<section class="card" key=${candidate.version}>
          ${h(OnTrial, { candidate, trial, ...changing })}
          ${trial && renderTrialCounts(rollout, candidate, trial)}
        </section>`;
      })}
      ${h(ExperimentPart, { rollout, session })}
      ${isAllowed(session, 'operate') ? h(BringIn, changing) : ONLY_OPERATORS}
      ${renderHistory(rollout)}
      ${dialog}`;
  });
}

const ONLY_OPERATORS = html`<div class="notice">
  <strong>This key may not change the rollout</strong>
  <p>
    A rollout concerns all platforms. It needs a key of the installation with the operation operate:
    ${' '}<code>npx scoring keys issue --platform '*' --operations rules,operate</code>
  </p>
</div>`;

function describeFollowing({ following, lagging }: ChangedRollout) {
  const all = following.length + lagging.length;
  return lagging.length === 0
    ? `Done: ${all} of ${all} nodes follow.`
    : `Stored, but ${lagging.length} of ${formatCount(all, 'node')} do not follow it yet. Today shows which.`;
}

function renderHead(
  { version, digest }: Pick<Candidate, 'version' | 'digest'>,
  state: string,
  words: string,
) {
  const tone = state === 'active' ? 'good' : 'note';
  return html`<h2>
      <a href=${toVersionPath(version)}>${version}</a> ${renderPill(state, tone)}
      <code class="faint">${shortenDigest(digest)}</code>
    </h2>
    <p>${words}</p>`;
}

function Active({ rollout, ...changing }: Changing) {
  const { active, candidates, history } = rollout;
  return html`<section class="card">
    ${renderHead(active, 'active', describeActivation(rollout))}
    ${
      candidates.length === 0 &&
      history.length > 1 &&
      isAllowed(changing.session, 'operate') &&
      html`<div class="buttons">${h(RollBackButtons, { rollout, ...changing })}</div>`
    }
  </section>`;
}

function OnTrial({
  candidate,
  trial,
  ...changing
}: Changing & { candidate: Candidate; trial: TrialCounts | undefined }) {
  const { version, mode, percent, since } = candidate;
  const { session } = changing;
  const state = mode === 'canary' ? `canary ${percent} %` : mode;
  return html`${renderHead(candidate, state, `Since ${formatDateTime(since)}`)}
    ${h(CandidateStages, { candidate, ...changing })}
    ${mode === 'canary' && renderGuard(candidate, trial)}
    ${
      isAllowed(session, 'operate') &&
      html`<div
      class="buttons">${h(RollBackButtons, { ...changing, version })}</div>`
    }`;
}

/** Describes the shares that the guard watches, and how far each is from ending the trial. */
function renderGuard({ guardPoints }: Candidate, trial: TrialCounts | undefined) {
  if (guardPoints === null)
    return html`<p>${renderPill('no guard', 'note')} It stays until somebody takes it back.</p>`;
  const harms = trial === undefined ? [] : computeHarms(trial);
  const width = (points: number) => `${Math.min(100, (100 * Math.max(0, points)) / guardPoints)}%`;
  return html`<p>
      The guard takes it back when one of these is worse by ${guardPoints} points and chance does not explain
      it.
    </p>
    <ul class="guard">
      ${harms.map(
        ({ name, points }) => html`<li>
          <span>${name}</span>
          <span class="bar"><i style=${{ width: width(points) }}></i></span>
          <b class="num">${describeHarm(points, guardPoints)}</b>
        </li>`,
      )}
    </ul>`;
}

function describeHarm(points: number, guardPoints: number) {
  const shown = points.toFixed(1);
  if (points <= 0 || shown === '0.0') return 'not worse';
  return `${shown} points worse${points >= guardPoints ? ', may be chance' : ''}`;
}

type RuleFolder = RuleFolderList['versions'][number];

/**
 * The form that rolls out a version. It begins anew with each revision, because the choices were meant for
 * the rollout at that revision.
 */
function BringIn({ rollout, session, folders, propose }: Changing) {
  const { active } = rollout;
  return html`<section class="card">
    <h2>Roll out a version</h2>
    ${renderAnswer(folders, ({ versions }) => {
      const others = versions.filter(({ sound, version }) => sound && version !== active.version);
      if (others.length > 0) return h(PlanForm, { key: rollout.revision, rollout, session, others, propose });
      const made = `npx scoring rules new ${suggestNextVersion(active.version)} --from ${active.version}`;
      return renderEmpty(
        'No other sound version',
        html`Release a draft, or make one by: <code>${made}</code>`,
      );
    })}
  </section>`;
}

function PlanForm({
  rollout,
  session,
  others,
  propose,
}: Omit<Changing, 'previous' | 'folders'> & { others: readonly RuleFolder[] }) {
  const preferred = rollout.candidates[0]?.version ?? others[0]?.version ?? '';
  const [plan, setPlan] = useState((): RolloutPlan => ({ ...FIRST_PLAN, version: preferred }));
  const { version, mode, percent, guard, keepsOtherCanaries } = plan;
  const chosen = others.find((one) => one.version === version);
  const isReleased = chosen?.released ?? false;
  const beside = listOtherCanaries(plan, rollout);
  const choose = (other: string) => setPlan({ ...plan, version: other, mode: 'shadow' });
  const take = (name: 'percent' | 'guard') => (event: InputEvent) =>
    setPlan({ ...plan, [name]: event.currentTarget.value });
  const range = { type: 'number', min: '0.1', max: '100', step: '0.1' } as const;
  const share = { ...range, required: true, value: percent, onInput: take('percent') };
  const points = { ...range, disabled: isForAllPayers(plan, beside), value: guard, onInput: take('guard') };
  const mayReturn = mode === 'active' && wasActiveBefore(rollout, chosen);
  const submit = onSubmit(() => propose(createPlanConfirmation(plan, rollout, session, mayReturn)));
  return html`<form class="stack" onSubmit=${submit}>
    ${renderChoice('Version', others.map(formatVersionName), {
      name: 'version',
      chosen: version,
      go: choose,
    })}
    <fieldset class="fields">
      <legend>How</legend>
      ${PLAN_MODES.map((one) => {
        const state = { checked: mode === one, disabled: one !== 'shadow' && !isReleased };
        const pick = () => setPlan({ ...plan, mode: one });
        return html`<label class="row">
          <input type="radio" name="mode" value=${one} ...${state} onChange=${pick} /> <b>${one}</b>
        </label>`;
      })}
    </fieldset>
    ${
      !isReleased &&
      html`<p class="faint">
        A draft may only be shadowed; <a href=${toVersionPath(version)}>release it</a> first.
      </p>`
    }
    ${
      mode === 'canary' &&
      html`${renderField('Percent of clients', share)}
        ${renderField('Guard, points', points, 'Empty: no guard')}
        ${
          beside.length > 0 &&
          html`<label class="row">
            <input type="checkbox" checked=${keepsOtherCanaries}
              onChange=${() => setPlan({ ...plan, keepsOtherCanaries: !keepsOtherCanaries })} />
            Keep ${formatShares(beside)} on trial
          </label>`
        }`
    }
    <div class="buttons">
      <button type="submit" class="button-accent">${PLAN_ACTION_LABELS[mode]} …</button>
    </div>
  </form>`;
}

function formatVersionName({ version, released }: RuleFolder) {
  return [version, released ? version : `${version} (draft)`] as const;
}

/**
 * Whether the version was active before with the same files. One person may return alone only to such a
 * version.
 */
function wasActiveBefore({ history }: Rollout, folder: RuleFolder | undefined) {
  return history.some(
    ({ action, to, digest }) =>
      ['start', 'active', 'repair'].includes(action) && to === folder?.version && digest === folder.digest,
  );
}

function renderHistory({ history }: Rollout) {
  return html`<section class="card">
    <h2>History</h2>
    ${renderTable(
      { name: 'History', columns: COLUMNS, kind: 'in-lines' },
      history.toReversed(),
      renderHistoryCells,
    )}
  </section>`;
}

const COLUMNS = [
  ...declareColumns('when', 'time'),
  'what',
  ...declareColumns('when', 'version'),
  ...declareColumns('who', 'who'),
  ...declareColumns('wide', 'reason'),
];

function renderHistoryCells(entry: Rollout['history'][number]) {
  const { at, action, from, to, percent, also = [], who, reason, emergency } = entry;
  const what = html`${renderPill(ROLLOUT_ACT_NAMES[action], chooseTone(action))}
    ${percent !== undefined && html` <span class="num">${percent} %</span>`}
    ${emergency && html` ${renderPill('emergency', 'bad')}`}`;
  const versions = from === null || from === to ? to : `${from} → ${to}`;
  return [
    formatDateTime(at),
    what,
    [versions, ...also.map((one) => formatShares([one]))].join(', '),
    who,
    reason,
  ];
}

function chooseTone(action: Rollout['history'][number]['action']): Tone {
  if (action === 'rollback' || action === 'guard') return 'bad';
  return action === 'active' || action === 'start' ? 'good' : 'note';
}
