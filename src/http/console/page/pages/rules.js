import { useAnswer } from '../api.js';
import { html, useMemo, useState } from '../html.js';
import { Field, formValues } from '../parts/dialog.js';
import { count, factText, shortDigest, versionAfter } from '../parts/format.js';
import { LadderSteps } from '../parts/ladder.js';
import { Answered, Empty } from '../parts/notice.js';
import { Pill, Verdict } from '../parts/verdict.js';

/** The rule sets on this node, what is in them, and in what two of them differ. */
export function RulesPage({ place }) {
  const versions = useAnswer('rules/versions');
  const status = useAnswer('rules');
  return html`<${Answered} answer=${versions}>${({ versions: list }) =>
    list.length === 0
      ? html`<${Empty} title="No rule set on this node">Set RULES_DIR to the folder of rule sets; each lies in a folder like p2.v10.<//>`
      : html`
        <${Versions} list=${list} rollout=${status.data?.rollout ?? null} chosen=${place.item} />
        <${Compare} list=${list} />
        ${
          place.item === ''
            ? html`<${Empty} title="No version opened">Choose one above to read its files, with how often each rule decided.<//>`
            : html`<${OpenedVersion} key=${place.item} version=${place.item} />`
        }`}<//>`;
}

function Versions({ list, rollout, chosen }) {
  return html`<section class="card"><h2>Versions</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Versions"><table>
      <thead><tr><th scope="col">version, digest</th><th scope="col">state</th><th scope="col">description</th></tr></thead>
      <tbody>${list.map(
        (one) => html`<tr class=${one.version === chosen ? 'chosen' : ''}>
          <td><a href=${`#/rules/${one.version}`} aria-current=${one.version === chosen ? 'true' : undefined}><b>${one.version}</b></a>${one.digest && html`<div><code>${shortDigest(one.digest)}</code></div>`}</td>
          <td><${VersionState} one=${one} rollout=${rollout} /></td>
          <td class="wide">${one.sound ? one.description : html`<span class="faint">Open it to read what is wrong, with line and column.</span>`}</td>
        </tr>`,
      )}</tbody>
    </table></div>
  </section>`;
}

function VersionState({ one, rollout }) {
  if (!one.sound) return html`<${Pill} tone="bad">has problems<//>`;
  if (rollout?.active.version === one.version) return html`<${Pill} tone="good">active<//>`;
  if (rollout?.candidate?.version === one.version)
    return html`<${Pill} tone="note">${rollout.candidate.mode}<//>`;
  return html`<${Pill}>${one.released ? 'released' : 'draft'}<//>`;
}

function Compare({ list }) {
  const sound = list.filter((one) => one.sound).map(({ version }) => version);
  const [pair, setPair] = useState(null);
  const path = pair === null ? null : `rules/diff?${new URLSearchParams(pair)}`;
  const diff = useAnswer(path);
  if (sound.length < 2)
    return html`<p class="faint">Two sound versions can be compared. ${sound[0] && html`A second one is made with: <code>npx scoring rules new ${versionAfter(sound[0])} --from ${sound[0]}</code>`}</p>`;
  return html`<section class="card"><h2>Compare two versions</h2>
    <form class="filters" onSubmit=${(event) => setPair(formValues(event))}>
      <${Field} label="before"><select name="before">${sound.map((version) => html`<option selected=${version === sound[1]}>${version}</option>`)}</select><//>
      <${Field} label="after"><select name="after">${sound.map((version) => html`<option selected=${version === sound[0]}>${version}</option>`)}</select><//>
      <div class="buttons"><button type="submit">Compare</button></div>
    </form>
    ${path && html`<${Answered} answer=${diff}>${(data) => html`<${Differences} data=${data} />`}<//>`}
  </section>`;
}

function Differences({ data: { before, after, differences, examples, searched } }) {
  if (differences.length === 0) return html`<p role="status">${before} and ${after} decide alike.</p>`;
  const parts = [...new Set(differences.map(({ part }) => part))];
  return html`<div role="status">${parts.map(
    (part) =>
      html`<h3>${part}</h3><ul class="differences">${differences
        .filter((difference) => difference.part === part)
        .map(
          ({ kind, text }) =>
            html`<li><${Pill} tone=${toneOf(kind)}>${kind}<//> ${text.replaceAll(' -> ', ' → ')}</li>`,
        )}</ul>`,
  )}
    <h3>Payers answered differently</h3>
    <${Examples} before=${before} after=${after} examples=${examples} searched=${searched} />
  </div>`;
}

/** Who notices the difference: the fewest facts on which the two part ways at once. */
function Examples({ before, after, examples, searched }) {
  const stopped = searched
    ? ''
    : ' The search was stopped because this node is busy; compare again for the rest.';
  if (examples.length === 0)
    return html`<p class="faint">No payer was found whom the two answer differently at once. What differs over time, like a longer wait, shows in a backtest with --mode closed-loop.${stopped}</p>`;
  return html`<p class="faint">Found by search, the simplest first. Facts that are not named are those of an ordinary first request.${stopped}</p>
    <ol class="examples">${examples.map(
      ({ facts, before: was, after: is }) => html`<li>
        <p>${Object.keys(facts).length === 0 ? 'an ordinary first request' : Object.entries(facts).map(([label, value]) => html`<code class="fact">${label} = ${factText(value)}</code> `)}</p>
        <p class="example-answers"><span><b>${before}</b> <${Answer} answer=${was} /></span><span><b>${after}</b> <${Answer} answer=${is} /></span></p>
      </li>`,
    )}</ol>`;
}

function Answer({ answer: { verdict, rule, clientGroup, isBot } }) {
  return html`<${Verdict} verdict=${verdict} /> ${rule} <span class="faint">${clientGroup}</span>${isBot && html` <${Pill} tone="bad">bot<//>`}`;
}

function toneOf(kind) {
  if (kind === 'added') return 'good';
  return kind === 'removed' ? 'bad' : 'note';
}

function OpenedVersion({ version }) {
  const answer = useAnswer(`rules/versions/${encodeURIComponent(version)}`);
  return html`<${Answered} answer=${answer}>${(data) => html`
    ${data.problems.length > 0 && html`<${Problems} problems=${data.problems} version=${version} />`}
    ${data.ladder && html`<div class="two"><${Ladders} version=${version} data=${data} /><${Coverage} coverage=${data.coverage} /></div>`}
    <${Files} data=${data} />
  `}<//>`;
}

function Ladders({ version, data: { ladder, platforms } }) {
  return html`<section class="card"><h2>Ladder of ${version}</h2>
    <${LadderSteps} ladder=${ladder} name="All platforms" />
    ${platforms.map((one) => html`<${LadderSteps} key=${one.name} ladder=${one.ladder} name=${`Platform ${one.name}`} />`)}
  </section>`;
}

function Problems({ problems, version }) {
  return html`<section class="notice notice-bad"><strong>${version} is refused until these are mended</strong>
    <ol>${problems.map(({ at, message }) => html`<li><code>${at.file}:${at.line}:${at.column}</code> ${message}</li>`)}</ol>
  </section>`;
}

function Coverage({ coverage: { passed, failed, coverage } }) {
  const { rules, conditions, untestedRules, oneSidedConditions } = coverage;
  return html`<section class="card"><h2>Its cases</h2>
    <p>${failed === 0 ? html`<${Pill} tone="good">${passed} passed<//>` : html`<${Pill} tone="bad">${failed} failed<//> ${passed} passed`}
      ${passed + failed === 0 && html` <span class="faint">There is no cases/*.yaml in this version.</span>`}</p>
    <${Covered} name="rules that decided in a case" share=${rules} />
    <${Covered} name="conditions seen both true and false" share=${conditions} />
    ${untestedRules.length > 0 && html`<h3>Rules without a test</h3><ul class="plain">${untestedRules.map(({ name, at }) => html`<li>${name} <code>${at.file}:${at.line}</code></li>`)}</ul>`}
    ${
      oneSidedConditions.length > 0 &&
      html`<details><summary>${oneSidedConditions.length} conditions seen only one way</summary>
      <ul class="plain">${oneSidedConditions.map(({ rule, condition, missing }) => html`<li>${rule}: <code>${condition}</code> never ${missing}</li>`)}</ul></details>`
    }
  </section>`;
}

function Covered({ name, share: { tested, total, percent } }) {
  return html`<p class="covered"><span>${name}</span><span class="bar"><i style=${{ width: `${percent}%` }}></i></span><b class="num">${tested} of ${total}</b></p>`;
}

function Files({ data: { files, hits, problems, sound } }) {
  const [chosen, setChosen] = useState(
    () => files.find(({ path }) => path === 'verdicts.yaml')?.path ?? files[0]?.path,
  );
  const file = files.find(({ path }) => path === chosen);
  if (file === undefined) return html`<${Empty} title="No file">The folder is empty.<//>`;
  return html`<section class="card"><h2>Files</h2>
    <div class="tabs" role="group" aria-label="Files">${files.map(
      ({ path }) =>
        html`<button type="button" aria-pressed=${path === chosen ? 'true' : 'false'} onClick=${() => setChosen(path)}>${path}${problems.some(({ at }) => at.file === path) ? ' ✗' : ''}</button>`,
    )}</div>
    ${hits === null && sound && html`<p class="faint">How often each rule decided is shown to keys with the operation decisions.</p>`}
    ${hits && html`<p class="faint">Beside each rule: how often it decided (and held) among the newest ${count(hits.decisions)} decisions of ${hits.platform} under this digest.</p>`}
    <${FileText} file=${file} hits=${hits} problems=${problems} />
  </section>`;
}

function FileText({ file, hits, problems }) {
  const notes = useMemo(() => notesOf(file.path, hits, problems), [file, hits, problems]);
  return html`<div class="scroll file" tabindex="0" role="region" aria-label=${file.path}><table class="code">
    <tbody>${file.text
      .trimEnd()
      .split('\n')
      .map((line, index) => {
        const note = notes.get(index + 1);
        return html`<tr class=${note?.bad ? 'line-bad' : ''}><td class="line-number">${index + 1}</td><td class="line">${line}</td><td class="note">${note?.text ?? ''}</td></tr>`;
      })}</tbody>
  </table></div>`;
}

/** What stands beside the lines of a file, by line number. */
function notesOf(path, hits, problems) {
  const counted = (hits?.rules ?? [])
    .filter(({ file }) => file === path)
    .map(({ line, decided, held }) => [
      line,
      { text: decided === held ? `${count(decided)} ×` : `${count(decided)} × (held ${count(held)})` },
    ]);
  const wrong = problems
    .filter(({ at }) => at.file === path)
    .map(({ at, message }) => [at.line, { text: `✗ column ${at.column}: ${message}`, bad: true }]);
  return new Map([...counted, ...wrong]);
}
