import { ask, may, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import {
  type Proposal,
  reasonField,
  typedVersion,
  useProposal,
} from '#workbench/console/page/parts/confirm.ts';
import { ChangedSince } from '#workbench/console/page/parts/differences.ts';
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
} from '#workbench/console/page/questions.ts';
import { ROLL_OUT, ROLLOUT_STATUS, RULE_FOLDERS } from '#workbench/console/page/questions.ts';
import { TakeBack } from './take-back.ts';
import { ExperimentPart, trialCounts } from './trial.ts';

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
          ${h(OnTrial, { candidate, ...changing })}
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

function OnTrial({ candidate, rollout, session, previous, propose }: Changing & { candidate: Candidate }) {
  const { version, mode, percent, guardPoints, since } = candidate;
  const promote = () =>
    propose(proposalOf({ ...FIRST_PLAN, version, mode: 'active' }, rollout, session, false));
  const button = html`<button type="button" onClick=${promote}>Make ${version} active …</button>`;
  const state = mode === 'canary' ? `canary ${percent} %` : mode;
  const guard = guardPoints === null ? 'without a guard' : `guarded at ${guardPoints} points`;
  const words = `Since ${dateTime(since)}${mode === 'canary' ? `, ${guard}` : ''}`;
  return html`${head(candidate, state, words)}
    ${
      may(session, 'operate') &&
      html`<div class="buttons">
        ${h(TakeBack, { rollout, session, previous, propose, version })}
        ${mode === 'canary' && button}
      </div>`
    }`;
}

type RuleFolder = RuleFolderList['versions'][number];

type Mode = 'shadow' | 'canary' | 'active';

/** What somebody is about to do; `keeps`: the other canaries stay. */
interface Plan {
  readonly version: string;
  readonly mode: Mode;
  readonly percent: string;
  readonly guard: string;
  readonly keeps: boolean;
}

const FIRST_PLAN = { mode: 'shadow', percent: '10', guard: '5', keeps: true } as const;

const MODES: readonly Mode[] = ['shadow', 'canary', 'active'];

const ACTIONS: Readonly<Record<Mode, string>> = {
  shadow: 'Shadow',
  canary: 'Start the canary of',
  active: 'Promote',
};

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

/** Says exactly what the click will do. `mayReturn`: one person alone may return to the version. */
function proposalOf(plan: Plan, rollout: Rollout, session: Session, mayReturn: boolean): Proposal<Following> {
  const { version, mode } = plan;
  const { active } = rollout;
  const action = `${ACTIONS[mode]} ${version}`;
  return {
    title: `${action}?`,
    action,
    act: ({ reason, accept, emergency }) => {
      const accepts = { ...(accept && { acceptDifference: true }), ...(emergency && { emergency: true }) };
      return ask('POST', ROLL_OUT, {
        ...bodyOf(plan, rollout),
        ...accepts,
        reason,
        revision: rollout.revision,
      });
    },
    children: html`<ul class="notes">
        ${effectsOf(plan, rollout).map((effect) => html`<li>${effect}</li>`)}
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
      ${reasonField(session.who)}
      ${mode !== 'shadow' && typedVersion(version)}`,
  };
}

/** Whether it was active before with the same files: only there one person may return to alone. */
function wasActive({ history }: Rollout, folder: RuleFolder | undefined) {
  return history.some(
    ({ action, to, digest }) =>
      ['start', 'active', 'repair'].includes(action) && to === folder?.version && digest === folder.digest,
  );
}

/** The other canaries, which may stay on trial. */
function besideOf({ version }: Pick<Plan, 'version'>, { candidates }: Rollout) {
  return candidates
    .filter((one) => one.mode === 'canary' && one.version !== version)
    .map((one) => ({ version: one.version, percent: one.percent }));
}

function bodyOf(plan: Plan, rollout: Rollout) {
  const { version, mode, percent, guard, keeps } = plan;
  if (mode !== 'canary') return { version, mode };
  const also = keeps ? besideOf(plan, rollout) : [];
  const isGuarded = guard !== '' && !isForAll(plan, also);
  const body = { version, mode, percent: Number(percent), ...(also.length > 0 ? { also } : {}) };
  return isGuarded ? { ...body, guard: Number(guard) } : body;
}

/** Whether nobody is left whom a guard could compare the canaries with. */
function isForAll({ percent, keeps }: Pick<Plan, 'percent' | 'keeps'>, beside: ReturnType<typeof besideOf>) {
  const others = keeps ? beside.reduce((sum, one) => sum + one.percent, 0) : 0;
  return Number(percent) + others >= 100;
}

function sharesText(shares: readonly { readonly version: string; readonly percent: number }[]) {
  return shares.map(shareText).join(', ');
}

function shareText({ version, percent }: { readonly version: string; readonly percent: number }) {
  return `${version} (${percent} %)`;
}

function guardText(plan: Plan, beside: ReturnType<typeof besideOf>) {
  if (isForAll(plan, beside)) return 'No guard: no clients of the active version are left to compare with.';
  return plan.guard === ''
    ? 'No guard: it stays until somebody ends it.'
    : `The guard ends it when BLOCK, WAIT or bots rise, or payers fall, by over ${plan.guard} points.`;
}

function effectsOf(plan: Plan, rollout: Rollout) {
  const { version, mode, percent, keeps } = plan;
  const { active, candidates } = rollout;
  const beside = besideOf(plan, rollout);
  const stays = mode === 'canary' && keeps ? beside : [];
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
        guardText(plan, beside),
        ...(stays.length > 0 ? [`${sharesText(stays)} stays on trial, for other clients.`] : []),
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
  const what = html`${pill(action, toneOf(action))}
    ${percent !== undefined && html` <span class="num">${percent} %</span>`}
    ${emergency && html` ${pill('emergency', 'bad')}`}`;
  const versions = from === null || from === to ? to : `${from} → ${to}`;
  return [dateTime(at), what, [versions, ...also.map(shareText)].join(', '), who, reason];
}

function toneOf(action: Rollout['history'][number]['action']): Tone {
  if (action === 'rollback' || action === 'guard') return 'bad';
  return action === 'active' || action === 'start' ? 'good' : 'note';
}
