import { may, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { type Proposal, useProposal } from '#workbench/console/page/parts/confirm.ts';
import { choice, field, type InputEvent, sent } from '#workbench/console/page/parts/form.ts';
import { counted, dateTime, shortDigest, versionAfter } from '#workbench/console/page/parts/format.ts';
import { toVersion } from '#workbench/console/page/parts/links.ts';
import { cameText } from '#workbench/console/page/parts/marks.ts';
import { answered, empty, UnreadableRollout } from '#workbench/console/page/parts/notice.ts';
import { columns, table } from '#workbench/console/page/parts/table.ts';
import { pill, type Tone } from '#workbench/console/page/parts/verdict.ts';
import type {
  Following,
  Rollout,
  RolloutStatus,
  RuleFolderList,
  Session,
  TrialCounts,
} from '#workbench/console/page/questions.ts';
import { ROLLOUT_STATUS, RULE_FOLDERS } from '#workbench/console/page/questions.ts';
import {
  ACTIONS,
  besideOf,
  FIRST_PLAN,
  isForAll,
  MODES,
  type Plan,
  proposalOf,
  sharesText,
} from './rollout-plan.ts';
import { Stages } from './stages.ts';
import { TakeBack } from './take-back.ts';
import { ExperimentPart, harmsOf, trialCounts } from './trial.ts';

type Candidate = Rollout['candidates'][number];

/** What the cards of the page need to change the rollout. */
interface Changing extends Pick<RolloutStatus, 'previous'> {
  readonly rollout: Rollout;
  readonly session: Session;
  readonly propose: (change: Proposal<Following>) => void;
}

/** While a version is on trial, and otherwise, for what others do. */
const [TRIAL_MS, STILL_MS] = [5_000, 60_000];

/** A card for each version that decides or is on trial, with its ends, and a form to bring one in. */
export function RolloutsPage({ session }: PageProps) {
  const status = useAnswer(ROLLOUT_STATUS, ({ rollout }) =>
    rollout?.candidates.length ? TRIAL_MS : STILL_MS,
  );
  const [told, setTold] = useState<string | null>(null);
  const { propose, dialog } = useProposal((following: Following) => {
    setTold(followingText(following));
    status.reload();
  });
  return answered(status, ({ rollout, unreadable, trials, previous }) => {
    if (unreadable) return h(UnreadableRollout, {});
    if (rollout === null)
      return empty('No version decides yet', 'Start a node; the first start chooses the first version.');
    const changing = { rollout, previous, session, propose };
    return html`
      ${told && html`<p class="notice notice-good" role="status">${told}</p>`}
      ${h(Active, changing)}
      ${rollout.candidates.map((candidate) => {
        const trial = trials.find(({ version }) => version === candidate.version);
        return html`<section class="card" key=${candidate.version}>
          ${h(OnTrial, { candidate, trial, ...changing })}
          ${trial && trialCounts(rollout, candidate, trial)}
        </section>`;
      })}
      ${h(ExperimentPart, { rollout, session })}
      ${may(session, 'operate') ? h(BringIn, changing) : ONLY_OPERATORS}
      ${history(rollout)}
      ${dialog}`;
  });
}

const ONLY_OPERATORS = html`<div class="notice">
  <strong>This key may only look</strong>
  <p>
    A rollout concerns all platforms, and takes a key of the installation with the operation operate:
    ${' '}<code>npx scoring keys issue --platform '*' --operations rules,operate</code>
  </p>
</div>`;

function followingText({ following, lagging }: Following) {
  const all = following.length + lagging.length;
  return lagging.length === 0
    ? `Done: ${all} of ${all} nodes follow.`
    : `Written, but ${lagging.length} of ${counted(all, 'node')} do not follow yet; Today shows them.`;
}

function head({ version, digest }: Pick<Candidate, 'version' | 'digest'>, state: string, words: string) {
  const tone = state === 'active' ? 'good' : 'note';
  return html`<h2>
      <a href=${toVersion(version)}>${version}</a> ${pill(state, tone)}
      <code class="faint">${shortDigest(digest)}</code>
    </h2>
    <p>${words}</p>`;
}

function Active({ rollout, ...changing }: Changing) {
  const { active, candidates, history } = rollout;
  return html`<section class="card">
    ${head(active, 'active', cameText(rollout))}
    ${
      candidates.length === 0 &&
      history.length > 1 &&
      may(changing.session, 'operate') &&
      html`<div class="buttons">${h(TakeBack, { rollout, ...changing })}</div>`
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
  return html`${head(candidate, state, `Since ${dateTime(since)}`)}
    ${h(Stages, { candidate, ...changing })}
    ${mode === 'canary' && guardText(candidate, trial)}
    ${may(session, 'operate') && html`<div class="buttons">${h(TakeBack, { ...changing, version })}</div>`}`;
}

/** What the guard watches, and how far each of it is from ending the trial. */
function guardText({ guardPoints }: Candidate, trial: TrialCounts | undefined) {
  if (guardPoints === null)
    return html`<p>${pill('no guard', 'note')} It stays until somebody takes it back.</p>`;
  const harms = trial === undefined ? [] : harmsOf(trial);
  const width = (points: number) => `${Math.min(100, (100 * Math.max(0, points)) / guardPoints)}%`;
  return html`<p>
      The guard takes it back when one of these is worse by ${guardPoints} points, not by chance.
    </p>
    <ul class="guard">
      ${harms.map(
        ({ name, points }) => html`<li>
          <span>${name}</span>
          <span class="bar"><i style=${{ width: width(points) }}></i></span>
          <b class="num">${points > 0 ? `${points.toFixed(1)} worse` : 'no worse'}</b>
        </li>`,
      )}
    </ul>`;
}

type RuleFolder = RuleFolderList['versions'][number];

/** Its form begins anew with each revision: what somebody chose was meant for the rollout as it was. */
function BringIn({ rollout, session, propose }: Changing) {
  const folders = useAnswer(RULE_FOLDERS);
  const { active } = rollout;
  return html`<section class="card">
    <h2>Roll out a version</h2>
    ${answered(folders, ({ versions }) => {
      const others = versions.filter(({ sound, version }) => sound && version !== active.version);
      if (others.length > 0) return h(PlanForm, { key: rollout.revision, rollout, session, others, propose });
      const made = `npx scoring rules new ${versionAfter(active.version)} --from ${active.version}`;
      return empty('No other sound version', html`Release a draft, or make one by: <code>${made}</code>`);
    })}
  </section>`;
}

function PlanForm({
  rollout,
  session,
  others,
  propose,
}: Omit<Changing, 'previous'> & { others: readonly RuleFolder[] }) {
  const preferred = rollout.candidates[0]?.version ?? others[0]?.version ?? '';
  const [plan, setPlan] = useState((): Plan => ({ ...FIRST_PLAN, version: preferred }));
  const { version, mode, percent, guard, keeps } = plan;
  const chosen = others.find((one) => one.version === version);
  const isReleased = chosen?.released ?? false;
  const beside = besideOf(plan, rollout);
  const choose = (other: string) => setPlan({ ...plan, version: other, mode: 'shadow' });
  const take = (name: 'percent' | 'guard') => (event: InputEvent) =>
    setPlan({ ...plan, [name]: event.currentTarget.value });
  const range = { type: 'number', min: '0.1', max: '100', step: '0.1' } as const;
  const share = { ...range, required: true, value: percent, onInput: take('percent') };
  const points = { ...range, disabled: isForAll(plan, beside), value: guard, onInput: take('guard') };
  const mayReturn = mode === 'active' && wasActive(rollout, chosen);
  const submit = sent(() => propose(proposalOf(plan, rollout, session, mayReturn)));
  return html`<form class="stack" onSubmit=${submit}>
    ${choice('Version', others.map(nameOf), { name: 'version', chosen: version, go: choose })}
    <fieldset class="fields">
      <legend>How</legend>
      ${MODES.map((one) => {
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
        A draft may only be shadowed; <a href=${toVersion(version)}>release it</a> first.
      </p>`
    }
    ${
      mode === 'canary' &&
      html`${field('Percent of clients', share)}
        ${field('Guard, points', points, 'Empty: no guard')}
        ${
          beside.length > 0 &&
          html`<label class="row">
            <input type="checkbox" checked=${keeps} onChange=${() => setPlan({ ...plan, keeps: !keeps })} />
            Keep ${sharesText(beside)} on trial
          </label>`
        }`
    }
    <div class="buttons"><button type="submit" class="button-accent">${ACTIONS[mode]} …</button></div>
  </form>`;
}

function nameOf({ version, released }: RuleFolder) {
  return [version, released ? version : `${version} (draft)`] as const;
}

/** Whether it was active before with the same files: only there one person may return to alone. */
function wasActive({ history }: Rollout, folder: RuleFolder | undefined) {
  return history.some(
    ({ action, to, digest }) =>
      ['start', 'active', 'repair'].includes(action) && to === folder?.version && digest === folder.digest,
  );
}

function history({ history }: Rollout) {
  return html`<section class="card">
    <h2>History</h2>
    ${table({ name: 'History', columns: COLUMNS, kind: 'in-lines' }, history.toReversed(), historyCells)}
  </section>`;
}

const COLUMNS = [
  ...columns('when', 'time'),
  'what',
  ...columns('when', 'version'),
  'who',
  ...columns('wide', 'reason'),
];

function historyCells(entry: Rollout['history'][number]) {
  const { at, action, from, to, percent, also = [], who, reason, emergency } = entry;
  const what = html`${pill(ACTS[action], toneOf(action))}
    ${percent !== undefined && html` <span class="num">${percent} %</span>`}
    ${emergency && html` ${pill('emergency', 'bad')}`}`;
  const versions = from === null || from === to ? to : `${from} → ${to}`;
  return [dateTime(at), what, [versions, ...also.map((one) => sharesText([one]))].join(', '), who, reason];
}

/** Each act under the name that it has everywhere on the page. */
const ACTS: Readonly<Record<Rollout['history'][number]['action'], string>> = {
  start: 'first start',
  shadow: 'shadow',
  canary: 'canary',
  active: 'activated',
  rollback: 'taken back',
  guard: 'taken back by the guard',
  repair: 'repaired',
};

function toneOf(action: Rollout['history'][number]['action']): Tone {
  if (action === 'rollback' || action === 'guard') return 'bad';
  return action === 'active' || action === 'start' ? 'good' : 'note';
}
