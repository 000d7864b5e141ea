import { ask, useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { Confirm, Field, formValues } from '../parts/dialog.js';
import { count, dateTime, share, shortDigest, versionAfter } from '../parts/format.js';
import { Answered, Empty } from '../parts/notice.js';
import { Figures, Pill } from '../parts/verdict.js';

const EVERY_MS = 5_000;

/** Which version decides, how a trial goes, and the ways to change both. */
export function RolloutPage() {
  const status = useAnswer('rules', EVERY_MS);
  const versions = useAnswer('rules/versions');
  const [change, setChange] = useState(null);
  const [told, setTold] = useState(null);
  const propose = (next) => {
    setTold(null);
    setChange(next);
  };
  const done = ({ following, lagging }) => {
    setChange(null);
    setTold(
      lagging.length === 0
        ? `Done: ${following.length} of ${following.length} nodes follow.`
        : `Written, but ${lagging.length} of ${following.length + lagging.length} nodes do not follow yet; see the page Now.`,
    );
    status.reload();
  };
  return html`<${Answered} answer=${status}>${({ rollout, trial }) =>
    rollout === null
      ? html`<${Empty} title="No version decides yet">Start a node; the first start chooses the first version.<//>`
      : html`
        ${told && html`<p class="notice notice-good" role="status">${told}</p>`}
        <${Deciding} rollout=${rollout} />
        ${trial && html`<${Trial} rollout=${rollout} trial=${trial} />`}
        <${Changes} rollout=${rollout} versions=${versions.data?.versions ?? []} propose=${propose} />
        <${History} history=${rollout.history} />
        ${change && html`<${Confirm} ...${change} done=${done} cancel=${() => setChange(null)} />`}`}<//>`;
}

function Deciding({ rollout: { active, candidate, revision } }) {
  const figures = [
    [
      'active',
      html`<a href=${`#/rules/${active.version}`}>${active.version}</a> <code>${shortDigest(active.digest)}</code>`,
    ],
    ['revision', revision],
  ];
  if (candidate !== null) {
    const guard = candidate.guardPoints === null ? 'off' : `${candidate.guardPoints} points`;
    figures.push(
      [
        candidate.mode,
        html`<a href=${`#/rules/${candidate.version}`}>${candidate.version}</a> <code>${shortDigest(candidate.digest)}</code>`,
      ],
      ['share of clients', candidate.mode === 'canary' ? `${candidate.percent} %` : 'none, only compared'],
      ['guard', candidate.mode === 'canary' ? guard : 'not needed'],
      ['since', dateTime(candidate.since)],
    );
  }
  return html`<section class="card"><h2>Deciding now ${candidate === null && html`<${Pill}>no candidate<//>`}</h2><${Figures} items=${figures} /></section>`;
}

function Trial({ rollout: { active, candidate }, trial: { arms, shadow, candidateErrors } }) {
  return html`<section class="card"><h2>The trial of ${candidate.version}</h2>
    ${candidateErrors > 0 && html`<p class="bad">${candidate.version} threw ${count(candidateErrors)} times; ${active.version} decided instead.</p>`}
    ${candidate.mode === 'shadow' ? html`<${ShadowDifferences} shadow=${shadow} active=${active} candidate=${candidate} />` : html`<${Arms} arms=${arms} active=${active} candidate=${candidate} />`}
  </section>`;
}

function ShadowDifferences({ shadow: { compared, different, differences }, active, candidate }) {
  if (compared === 0)
    return html`<p class="faint">Nothing compared yet; the next verdicts are decided by both.</p>`;
  return html`<p><b class="num">${count(different)}</b> of <b class="num">${count(compared)}</b> verdicts differ (${share(different, compared)}).</p>
    ${
      differences.length > 0 &&
      html`<div class="scroll" tabindex="0" role="region" aria-label="Differences"><table>
      <thead><tr><th scope="col" class="num">count</th><th scope="col">${active.version} → ${candidate.version}</th><th scope="col">sample orders</th></tr></thead>
      <tbody>${differences.map(
        ({
          change,
          count: times,
          sampleOrders,
        }) => html`<tr><td class="num">${count(times)}</td><td>${change.replace(' -> ', ' → ')}</td>
          <td>${sampleOrders.map((orderRef) => html`<a class="sample" href=${`#/decisions?orderRef=${encodeURIComponent(orderRef)}`}>${orderRef}</a> `)}</td></tr>`,
      )}</tbody>
    </table></div>`
    }`;
}

function Arms({ arms, active, candidate }) {
  const rows = [
    [active.version, arms.active],
    [candidate.version, arms.candidate],
  ];
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Arms"><table>
    <thead><tr><th scope="col">version</th><th scope="col" class="num">verdicts</th><th scope="col" class="num">BLOCK</th><th scope="col" class="num">WAIT</th><th scope="col" class="num">bot flag</th></tr></thead>
    <tbody>${rows.map(
      ([version, { verdicts, blocks, waits, bots }]) =>
        html`<tr><td><b>${version}</b></td><td class="num">${count(verdicts)}</td><td class="num">${share(blocks, verdicts)}</td><td class="num">${share(waits, verdicts)}</td><td class="num">${share(bots, verdicts)}</td></tr>`,
    )}</tbody>
  </table></div>`;
}

function Changes({ rollout, versions, propose }) {
  const others = versions.filter(({ sound, version }) => sound && version !== rollout.active.version);
  return html`<div class="two">
    <section class="card"><h2>Bring a version in</h2>
      ${
        others.length === 0
          ? html`<${Empty} title="No other sound version">Make one with: npx scoring rules new ${versionAfter(rollout.active.version)} --from ${rollout.active.version}. Nodes pick up the folder by themselves.<//>`
          : html`<${BringIn} rollout=${rollout} others=${others} propose=${propose} />`
      }
    </section>
    <section class="card"><h2>Take back</h2><${TakeBack} rollout=${rollout} propose=${propose} /></section>
  </div>`;
}

function BringIn({ rollout, others, propose }) {
  const preferred = rollout.candidate?.version ?? others[0].version;
  const [version, setVersion] = useState(preferred);
  const [mode, setMode] = useState('shadow');
  const [typed, setTyped] = useState('');
  const chosen = others.find((one) => one.version === version) ?? others[0];
  const submit = (event) => {
    const { typed: _typed, ...body } = formValues(event);
    const numbers = Object.fromEntries(
      ['percent', 'guard'].filter((name) => name in body).map((name) => [name, Number(body[name])]),
    );
    propose({
      title: `${ACTIONS[mode]} ${body.version}?`,
      action: `${ACTIONS[mode]} ${body.version}`,
      act: () => ask('POST', 'rules/rollout', { ...body, ...numbers }),
      children: html`<p>${MEANING[mode]} Every node follows within about two seconds.</p><p>Reason: ${body.reason}</p>`,
    });
  };
  return html`<form class="stack" onSubmit=${submit}>
    <${Field} label="Version"><select name="version" value=${version} onChange=${(event) => setVersion(event.currentTarget.value)}>
      ${others.map((one) => html`<option value=${one.version}>${one.version}${one.released ? '' : ' (draft)'}</option>`)}
    </select><//>
    <fieldset><legend>How</legend>
      ${Object.keys(ACTIONS).map(
        (one) =>
          html`<label class="choice"><input type="radio" name="mode" value=${one} checked=${mode === one} disabled=${one !== 'shadow' && !chosen.released} onChange=${() => setMode(one)} /> <b>${one}</b> <span class="faint">${MEANING[one]}</span></label>`,
      )}
      ${!chosen.released && html`<p class="faint">A draft may only be shadowed; release it first: npx scoring rules release ${chosen.version}</p>`}
    </fieldset>
    ${
      mode === 'canary' &&
      html`
      <${Field} label="Percent of clients"><input name="percent" type="number" min="0.1" max="100" step="0.1" defaultValue="10" required /><//>
      <${Field} label="Guard, points" hint="Empty: no guard. The canary ends itself when a share leaves the active one's by more"><input name="guard" type="number" min="0.1" max="100" step="0.1" defaultValue="5" /><//>`
    }
    <${Field} label="Reason"><input name="reason" required maxlength="1000" /><//>
    <${Field} label="Type the version to confirm" hint=${version}><input name="typed" value=${typed} autocomplete="off" spellcheck="false" onInput=${(event) => setTyped(event.currentTarget.value)} /><//>
    <button type="submit" class="button-accent" disabled=${typed !== version}>${ACTIONS[mode]} …</button>
  </form>`;
}

const ACTIONS = { shadow: 'Shadow', canary: 'Start the canary of', active: 'Promote' };

const MEANING = {
  shadow: 'Decides on a copy and is only compared.',
  canary: 'Decides for some of the clients, always the same ones.',
  active: 'Decides for everybody.',
};

function TakeBack({ rollout, propose }) {
  const { active, candidate, history } = rollout;
  const target = candidate?.version ?? active.version;
  const before = history.findLast(
    ({ action, to }) => (action === 'active' || action === 'start') && to !== active.version,
  );
  const [typed, setTyped] = useState('');
  if (candidate === null && before === undefined)
    return html`<p class="faint">There is no candidate and no earlier version to return to.</p>`;
  const meaning =
    candidate === null
      ? `${before.to} decides for everybody again.`
      : `The ${candidate.mode} of ${candidate.version} ends; ${active.version} decides for everybody.`;
  const submit = (event) => {
    const { reason } = formValues(event);
    propose({
      title: `Take ${target} back?`,
      action: `Take ${target} back`,
      tone: 'bad',
      act: () => ask('POST', 'rules/rollback', { reason }),
      children: html`<p>${meaning}</p><p>Reason: ${reason}</p>`,
    });
  };
  return html`<p>${meaning}</p>
    <form class="stack" onSubmit=${submit}>
      <${Field} label="Reason for taking it back"><input name="reason" required maxlength="1000" /><//>
      <${Field} label="Type the version to take back" hint=${target}><input value=${typed} autocomplete="off" spellcheck="false" onInput=${(event) => setTyped(event.currentTarget.value)} /><//>
      <button type="submit" class="button-bad" disabled=${typed !== target}>Take back …</button>
    </form>`;
}

function History({ history }) {
  return html`<section class="card"><h2>History</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="History"><table>
      <thead><tr><th scope="col">time</th><th scope="col">what</th><th scope="col">version</th><th scope="col">who</th><th scope="col">reason</th></tr></thead>
      <tbody>${history
        .toReversed()
        .map(
          ({ at, action, from, to, percent, who, reason }) =>
            html`<tr><td class="num">${dateTime(at)}</td><td><${Pill} tone=${toneOf(action)}>${action}<//>${percent !== undefined && html` <span class="num">${percent} %</span>`}</td><td class="when">${from === null || from === to ? to : `${from} → ${to}`}</td><td>${who}</td><td class="wide">${reason}</td></tr>`,
        )}</tbody>
    </table></div>
  </section>`;
}

function toneOf(action) {
  if (action === 'rollback' || action === 'guard') return 'bad';
  return action === 'active' || action === 'start' ? 'good' : 'note';
}
