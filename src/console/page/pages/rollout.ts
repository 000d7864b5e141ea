import type { Following, Rollout, RolloutStatus, RuleFolderList, Session } from '../answers.ts';
import { ask, may, useAnswer } from '../api.ts';
import { html, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { type Proposal, recordedAs, Typed, useProposal } from '../parts/confirm.ts';
import { Choice, Field, sent, typedInto } from '../parts/form.ts';
import { counted, dateTime, shortDigest, versionAfter } from '../parts/format.ts';
import { toVersion } from '../parts/links.ts';
import { answered, Empty, UnreadableRollout } from '../parts/notice.ts';
import { columns, Table } from '../parts/table.ts';
import { Figures, Pill, type Tone } from '../parts/verdict.ts';
import { ROLL_OUT, ROLLOUT_STATUS, RULE_FOLDERS } from '../questions.ts';
import { TakeBack } from './take-back.ts';
import { ExperimentPart, Trial } from './trial.ts';

/** Somebody is about to change the rollout. */
type Propose = (change: Proposal<Following>) => void;

type Previous = RolloutStatus['previous'];

/** While a version is on trial, and otherwise, for what others do. */
const [TRIAL_MS, STILL_MS] = [5_000, 60_000];

/** Which version decides, how a trial goes, and the ways to change both. */
export function RolloutPage({ session }: PageProps) {
  const status = useAnswer(ROLLOUT_STATUS, ({ rollout }) =>
    rollout?.candidates.length ? TRIAL_MS : STILL_MS,
  );
  const folders = useAnswer(RULE_FOLDERS);
  const [told, setTold] = useState<string | null>(null);
  const { propose: confirm, dialog } = useProposal((following: Following) => {
    setTold(followingText(following));
    status.reload();
  });
  const propose = (next: Proposal<Following>) => {
    setTold(null);
    confirm(next);
  };
  return answered(status, ({ rollout, unreadable, trials, previous }) => {
    if (unreadable) return html`<${UnreadableRollout} />`;
    if (rollout === null)
      return html`<${Empty} title="No version decides yet">
        Start a node; the first start chooses the first version.
      <//>`;
    const changes = { rollout, previous, session, versions: folders.data?.versions ?? [], propose };
    return html`
      ${told && html`<p class="notice notice-good" role="status">${told}</p>`}
      <${Deciding} rollout=${rollout} />
      ${trials.map((trial) => html`<${Trial} rollout=${rollout} trial=${trial} />`)}
      <${ExperimentPart} ...${{ rollout, session, propose }} />
      ${may(session, 'operate') ? html`<${Changes} ...${changes} />` : ONLY_OPERATORS}
      <${History} history=${rollout.history} />
      ${dialog}`;
  });
}

const ONLY_OPERATORS = html`<${Empty} title="This key may look, and change nothing">
  Rolling out and taking back concern all platforms: choose all in the head, with a key of the installation
  that has the operation operate:
  ${' '}<code>npx scoring keys issue --platform '*' --operations rules,operate</code>
<//>`;

function followingText({ following, lagging }: Following) {
  const all = following.length + lagging.length;
  return lagging.length === 0
    ? `Done: ${all} of ${all} nodes follow.`
    : `Written, but ${lagging.length} of ${counted(all, 'node')} do not follow yet; see Explore, Now.`;
}

function Deciding({ rollout: { active, candidates, revision } }: { rollout: Rollout }) {
  const figures = [['active', versionLink(active)]];
  for (const candidate of candidates) {
    const { mode, percent, guardPoints, since } = candidate;
    const guard = guardPoints === null ? 'off' : `${guardPoints} points`;
    figures.push(
      [mode, versionLink(candidate)],
      ['share of clients', mode === 'canary' ? `${percent} %` : 'none, only compared'],
      ['guard', mode === 'canary' ? guard : 'not needed'],
      ['since', dateTime(since)],
    );
  }
  return html`<section class="card">
    <h2>Deciding now ${candidates.length === 0 && html`<${Pill}>no candidate<//>`}</h2>
    <${Figures} items=${[...figures, ['revision', revision]]} />
  </section>`;
}

function versionLink({ version, digest }: { version: string; digest: string }) {
  return html`<a href=${toVersion(version)}>${version}</a>${' '}<code>${shortDigest(digest)}</code>`;
}

function Changes({
  rollout,
  previous,
  session,
  versions,
  propose,
}: {
  rollout: Rollout;
  previous: Previous;
  session: Session;
  versions: RuleFolderList['versions'];
  propose: Propose;
}) {
  const { active } = rollout;
  const others = versions.filter(({ sound, version }) => sound && version !== active.version);
  const made = `npx scoring rules new ${versionAfter(active.version)} --from ${active.version}`;
  // What somebody typed was meant for the rollout as it was: a change of it empties the forms.
  const change = { key: rollout.revision, rollout, session, propose };
  return html`
    <section class="card">
      <h2>Bring a version in</h2>
      ${
        others.length === 0
          ? html`<${Empty} title="No other sound version">
              Make one by: <code>${made}</code>. Nodes pick up the folder by themselves.
            <//>`
          : html`<${BringIn} ...${change} others=${others} />`
      }
    </section>
    <section class="card"><h2>Take back</h2><${TakeBack} ...${change} previous=${previous} /></section>`;
}

function History({ history }: { history: Rollout['history'] }) {
  return html`<section class="card">
    <h2>History</h2>
    <${Table} name="History" columns=${COLUMNS} rows=${history.toReversed().map(historyCells)} />
  </section>`;
}

const COLUMNS = [
  ...[...columns('when', 'time'), 'what', ...columns('when', 'version'), 'who', ...columns('wide', 'reason')],
];

function historyCells({
  at,
  action,
  from,
  to,
  percent,
  also = [],
  who,
  reason,
  emergency,
}: Rollout['history'][number]) {
  const what = html`<${Pill} tone=${toneOf(action)}>${action}<//>
    ${percent !== undefined && html` <span class="num">${percent} %</span>`}
    ${emergency && html` <${Pill} tone="bad">emergency<//>`}`;
  const versions = from === null || from === to ? to : `${from} → ${to}`;
  return [dateTime(at), what, [versions, ...also.map(shareText)].join(', '), who, reason];
}

function toneOf(action: Rollout['history'][number]['action']): Tone {
  if (action === 'rollback' || action === 'guard') return 'bad';
  return action === 'active' || action === 'start' ? 'good' : 'note';
}

type RuleFolder = RuleFolderList['versions'][number];

type Mode = 'shadow' | 'canary' | 'active';

/** What somebody is about to do; `keeps`: the other canaries stay. */
interface Plan {
  version: string;
  mode: Mode;
  percent: string;
  guard: string;
  keeps: boolean;
}

const FIRST_PLAN = { mode: 'shadow', percent: '10', guard: '5', keeps: true } as const;

const MODES: readonly Mode[] = ['shadow', 'canary', 'active'];

const ACTIONS: Readonly<Record<Mode, string>> = {
  shadow: 'Shadow',
  canary: 'Start the canary of',
  active: 'Promote',
};

function BringIn({
  rollout,
  session,
  others,
  propose,
}: {
  rollout: Rollout;
  session: Session;
  others: readonly RuleFolder[];
  propose: Propose;
}) {
  const preferred = rollout.candidates[0]?.version ?? others[0]?.version ?? '';
  const [plan, setPlan] = useState((): Plan => ({ ...FIRST_PLAN, version: preferred }));
  const [typed, setTyped] = useState('');
  const { version, mode } = plan;
  const { revision } = rollout;
  const chosen = others.find((one) => one.version === version);
  const isReleased = chosen?.released ?? false;
  const mayReturn = mode === 'active' && wasActive(rollout, chosen);
  const does = html`<${WhatItDoes} plan=${plan} rollout=${rollout} session=${session} />`;
  const choose = (next: Plan) => {
    // What was typed confirms one version in one mode.
    if (next.version !== version || next.mode !== mode) setTyped('');
    setPlan(next);
  };
  const beside = besideOf(plan, rollout);
  const choices = { plan, setPlan: choose, others, isReleased, mayReturn, beside };
  const submit = sent(({ reason = '', accept, emergency }) => {
    const accepts = { ...(accept && { acceptDifference: true }), ...(emergency && { emergency: true }) };
    const action = `${ACTIONS[mode]} ${version}`;
    const act = () => ask('POST', ROLL_OUT, { ...bodyOf(plan, rollout), ...accepts, reason, revision });
    const alone = emergency !== undefined && html`<p>Without anybody else's approval; an alert tells.</p>`;
    propose({ title: `${action}?`, action, act, children: html`${does}${alone}<p>Reason: ${reason}</p>` });
  });
  return html`<form class="two" onSubmit=${submit}>
    <div class="stack"><${Choices} ...${choices} /></div>
    <div class="stack">
      ${does}
      <${Field} label="Reason"><input name="reason" required maxlength="1000" /><//>
      <${Typed} label=${`Type ${version} to confirm`} typed=${typed} setTyped=${setTyped} />
      <button type="submit" class="button-accent" disabled=${typed !== version}>${ACTIONS[mode]} …</button>
    </div>
  </form>`;
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

function Choices({
  plan,
  setPlan,
  others,
  isReleased,
  mayReturn,
  beside,
}: {
  plan: Plan;
  setPlan: (plan: Plan) => void;
  others: readonly RuleFolder[];
  isReleased: boolean;
  mayReturn: boolean;
  beside: ReturnType<typeof besideOf>;
}) {
  const { version, mode, percent, guard, keeps } = plan;
  const choose = (chosen: string) => setPlan({ ...plan, version: chosen, mode: 'shadow' });
  const take = (name: 'percent' | 'guard') => typedInto((text) => setPlan({ ...plan, [name]: text }));
  const turn = () => setPlan({ ...plan, keeps: !keeps });
  const range = { type: 'number', min: '0.1', max: '100', step: '0.1' };
  return html`<${Choice} label="Version" name="version" chosen=${version} values=${others.map(nameOf)}
      go=${choose} />
    <fieldset>
      <legend>How</legend>
      ${MODES.map((one) => {
        const state = { checked: mode === one, disabled: one !== 'shadow' && !isReleased };
        const pick = () => setPlan({ ...plan, mode: one });
        return html`<label class="choice">
          <input type="radio" name="mode" value=${one} ...${state} onChange=${pick} /> <b>${one}</b>
        </label>`;
      })}
      ${
        !isReleased &&
        html`<p class="faint">
          A draft may only be shadowed; <a href=${toVersion(version, 'draft')}>release it</a> first.
        </p>`
      }
    </fieldset>
    ${
      mode !== 'shadow' &&
      html`<label class="choice">
        <input type="checkbox" name="accept" /> It may answer much otherwise than the active version
      </label>`
    }
    ${
      mayReturn &&
      html`<label class="choice">
        <input type="checkbox" name="emergency" /> An emergency: return to it before somebody else approves
      </label>`
    }
    ${
      mode === 'canary' &&
      html`<${Field} label="Percent of clients">
          <input ...${range} required value=${percent} onInput=${take('percent')} />
        <//>
        <${Field} label="Guard, points" hint="Empty: no guard">
          <input ...${range} disabled=${isForAll(plan, beside)} value=${guard} onInput=${take('guard')} />
        <//>
        ${
          beside.length > 0 &&
          html`<label class="choice">
            <input type="checkbox" checked=${keeps} onChange=${turn} /> Keep ${sharesText(beside)} on trial
          </label>`
        }`
    }`;
}

function nameOf({ version, released }: RuleFolder) {
  return [version, released ? version : `${version} (draft)`];
}

/** Exactly what the click will do: to whom, until when, and as whose deed it is recorded. */
function WhatItDoes({ plan, rollout, session }: { plan: Plan; rollout: Rollout; session: Session }) {
  return html`<div>
    <h3>What this does</h3>
    <ul class="notes">
      ${effectsOf(plan, rollout).map((effect) => html`<li>${effect}</li>`)}
      <li>Every node follows within about two seconds.</li>
      <li>${recordedAs(session)}</li>
    </ul>
  </div>`;
}

function sharesText(shares: readonly { readonly version: string; readonly percent: number }[]) {
  return shares.map(shareText).join(', ');
}

function shareText({ version, percent }: { readonly version: string; readonly percent: number }) {
  return `${version} (${percent} %)`;
}

function guardText(plan: Plan, beside: ReturnType<typeof besideOf>) {
  const { guard } = plan;
  if (isForAll(plan, beside)) return 'No guard: no clients of the active version are left to compare with.';
  return guard === ''
    ? 'No guard: it stays until somebody ends it.'
    : `The guard ends it when BLOCK, WAIT or bots rise, or payers fall, by over ${guard} points.`;
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
        `${active.version} stays on the nodes; Take back returns to it.`,
        // A trial of another version continues beside the new active one.
        ...candidates
          .filter((one) => one.version !== version)
          .map((one) => `The ${one.mode} of ${one.version} goes on beside it.`),
      ];
    default:
      return mode;
  }
}
