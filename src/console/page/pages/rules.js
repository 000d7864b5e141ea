import { useAnswer } from '../api.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { Cases, ChangedSince, Differences } from '../parts/differences.js';
import { sumOf, useEvidence } from '../parts/evidence.js';
import { Choice, sent } from '../parts/form.js';
import { count, shortDigest } from '../parts/format.js';
import { LadderSteps } from '../parts/ladder.js';
import { toVersion } from '../parts/links.js';
import { answered, Empty } from '../parts/notice.js';
import { columns, Table } from '../parts/table.js';
import { sinceDays } from '../parts/time-span.js';
import { Pill } from '../parts/verdict.js';
import { ROLLOUT_STATUS, RULE_FOLDERS, RULES_REPORT, ruleDiff, ruleFolder } from '../questions.js';

/**
 * @import { OpenedRuleFolder, Rollout, RuleFolderList, RulesReport } from '../answers.d.ts'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { Evidence } from '../parts/evidence.js'
 */

/** @typedef {RuleFolderList['versions'][number]} RuleFolder */

/** The rule sets on this node, and how they differ. */
export function RulesPage() {
  const folders = useAnswer(RULE_FOLDERS);
  const status = useAnswer(ROLLOUT_STATUS);
  const rollout = status.data?.rollout ?? null;
  return answered(folders, ({ versions }) => {
    if (versions.length === 0)
      return html`<${Empty} title="No rule set on this node">
        Set RULES_DIR to the folder of rule sets; each lies in a folder like p2.v10.
      <//>`;
    return html`<${Versions} list=${versions} rollout=${rollout} /><${Compare} list=${versions} />`;
  });
}

/** @param {{ list: readonly RuleFolder[], rollout: Rollout | null }} props */
function Versions({ list, rollout }) {
  const sound = list.filter((one) => one.sound);
  return html`<section class="card">
    <h2>Versions</h2>
    <${Table} name="Versions" kind="in-lines"
      columns=${['version, digest', 'state', ...columns('wide', 'what changed')]}
      rows=${list.map((one) => [
        html`<${VersionLink} one=${one} />`,
        html`<${VersionState} one=${one} rollout=${rollout} />`,
        html`<${WhatChanged} one=${one} before=${sound[sound.indexOf(one) + 1]?.version} />`,
      ])} />
  </section>`;
}

/** @param {{ one: RuleFolder }} props */
function VersionLink({ one }) {
  return html`<a href=${toVersion(one.version)}><b>${one.version}</b></a>
    ${one.digest && html`<div><code>${shortDigest(one.digest)}</code></div>`}
    <div><a href=${draftAddress(one)}>${one.released ? 'Begin a draft' : 'Edit'}</a></div>`;
}

/** @param {RuleFolder} one */
function draftAddress({ version, released }) {
  return released ? `#/rules/drafts?from=${version}` : toVersion(version, 'draft');
}

/** @param {{ one: RuleFolder, rollout: Rollout | null }} props */
function VersionState({ one, rollout }) {
  if (!one.sound) return html`<${Pill} tone="bad">has problems<//>`;
  if (rollout?.active.version === one.version) return html`<${Pill} tone="good">active<//>`;
  const candidate = rollout?.candidates.find(({ version }) => version === one.version);
  if (candidate !== undefined) return html`<${Pill} tone="note">${candidate.mode}<//>`;
  return html`<${Pill}>${one.released ? 'released' : 'draft'}<//>`;
}

/** @param {{ one: RuleFolder, before: string | undefined }} props */
function WhatChanged({ one, before }) {
  if (!one.sound)
    return html`<span class="faint">Open it to read what is wrong, with line and column.</span>`;
  if (before === undefined) return one.description;
  return html`<${ChangedSince} before=${before} after=${one.version} />`;
}

/** @typedef {NonNullable<OpenedRuleFolder['ladder']>} LadderSettings */

/** A rule set: its problems, or its ladder and its cases; and its files. @param {PageProps} props */
export function VersionPage({ place: { version, query }, session }) {
  const answer = useAnswer(ruleFolder(version));
  const sound = answer.data?.sound === true;
  const evidence = useEvidence(
    RULES_REPORT,
    sound ? { kind: 'report', version, from: sinceDays('30') } : null,
  );
  return answered(answer, (folder) => {
    const { problems, ladder, coverage, platforms, rules } = folder;
    return html`
      ${problems.length > 0 && html`<${Problems} problems=${problems} version=${version} />`}
      ${ladder && html`<${Ladders} version=${version} ladder=${ladder} platforms=${platforms} />`}
      <${Holdouts} rules=${rules} />
      ${coverage && html`<${Cases} run=${coverage} session=${session} />`}
      <${Files} key=${query} folder=${folder} evidence=${evidence} query=${query} />`;
  });
}

/** @param {{ version: string, ladder: LadderSettings, platforms: OpenedRuleFolder['platforms'] }} props */
function Ladders({ version, ladder, platforms }) {
  return html`<section class="card">
    <h2>Ladder of ${version}</h2>
    <div class="charts">
      ${laddersOf('All platforms', ladder)}
      ${platforms.map((one) => laddersOf(`Platform ${one.name}`, one.ladder))}
    </div>
  </section>`;
}

/**
 * The ladder of a platform or of all, and those that rules name.
 * @param {string} whose
 * @param {LadderSettings} ladder
 */
function laddersOf(whose, ladder) {
  const all = [
    { name: whose, levelsMs: ladder.levelsMs },
    ...Object.entries(ladder.ladders).map(([name, levelsMs]) => ({ name: `${whose}: ${name}`, levelsMs })),
  ];
  return all.map(
    ({ name, levelsMs }) =>
      html`<${LadderSteps} key=${name} ladder=${{ ...ladder, levelsMs }} name=${name} />`,
  );
}

/** @param {{ rules: OpenedRuleFolder['rules'] }} props */
function Holdouts({ rules }) {
  const held = rules.filter(({ holdout }) => holdout !== null);
  if (held.length === 0) return null;
  return html`<section class="card">
    <h2>Holdouts</h2>
    <p class="faint">
      For these shares of the clients a rule is skipped, so that it is seen what it costs and saves.
    </p>
    <ul class="plain">
      ${held.map(
        ({ name, at, holdout }) => html`<li>${name}: ${holdout} <code>${at.file}:${at.line}</code></li>`,
      )}
    </ul>
  </section>`;
}

/** @param {{ problems: OpenedRuleFolder['problems'], version: string }} props */
function Problems({ problems, version }) {
  return html`<section class="notice notice-bad">
    <strong>${version} is refused until these are mended</strong>
    <ol>
      ${problems.map(
        ({ at, message }) => html`<li><code>${at.file}:${at.line}:${at.column}</code> ${message}</li>`,
      )}
    </ol>
  </section>`;
}

/**
 * @typedef {OpenedRuleFolder['files'][number]} RuleFile
 * @typedef {OpenedRuleFolder['problems'][number]} Problem
 */

/**
 * The files of a version, and beside each rule the orders that it matched, once they are counted.
 * The address may name a file and a line in it.
 * @param {{ folder: OpenedRuleFolder, evidence: Evidence<RulesReport>, query: URLSearchParams }} props
 */
function Files({ folder: { files, rules, problems, sound }, evidence, query }) {
  const named = query.get('file') ?? 'verdicts.yaml';
  const [chosen, setChosen] = useState(named);
  const file = files.find(({ path }) => path === chosen) ?? files[0];
  if (file === undefined) return html`<${Empty} title="No file">The folder is empty.<//>`;
  const matched = matchedByLine(file.path, rules, evidence.answer.data?.result ?? null);
  const wrong = problems.filter(({ at }) => at.file === file.path);
  return html`<section class="card">
    <h2>Files</h2>
    <div class="tabs" role="group" aria-label="Files">
      ${files.map(({ path }) => {
        const mark = problems.some(({ at }) => at.file === path) ? ' ✗' : '';
        const pressed = { 'aria-pressed': path === file.path ? 'true' : 'false' };
        const choose = () => setChosen(path);
        return html`<button type="button" ...${pressed} onClick=${choose}>${path}${mark}</button>`;
      })}
    </div>
    ${sound && html`<p class="faint">${wordsOn(evidence)}</p>`}
    <div class="scroll file" tabindex="0" role="region" aria-label=${file.path}>
      <table class="code">
        <tbody>
          ${file.text
            .trimEnd()
            .split('\n')
            .map((text, index) => {
              const number = index + 1;
              const problemsHere = wrong.filter(({ at }) => at.line === number);
              const isNamed = file.path === named && String(number) === query.get('line');
              return html`<${Line} ...${{ text, number, isNamed }} matched=${matched.get(number)} />
              ${problemsHere.map((problem) => html`<${ProblemLine} problem=${problem} />`)}`;
            })}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** @param {{ text: string, number: number, matched: string | undefined, isNamed: boolean }} props */
function Line({ text, number, matched, isNamed }) {
  const line = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (isNamed) line.current?.scrollIntoView({ block: 'center' });
  }, []);
  return html`<tr ref=${line} class=${isNamed ? 'chosen' : ''}>
    <td class="line-number">${number}</td>
    <td class="line-hits">${matched}</td>
    <td>${text}</td>
  </tr>`;
}

/** @param {{ problem: Problem }} props */
function ProblemLine({ problem: { at, message } }) {
  return html`<tr class="line-bad">
    <td></td>
    <td></td>
    <td>${' '.repeat(at.column - 1)}▲ ${message}</td>
  </tr>`;
}

/**
 * How many orders the rule that begins on a line matched, and how many of them were unpaid.
 * @param {string} path
 * @param {OpenedRuleFolder['rules']} rules
 * @param {RulesReport | null} report
 */
function matchedByLine(path, rules, report) {
  const figures = new Map(
    (report?.rules ?? []).filter(({ file }) => file === path).map((rule) => [rule.name, rule.orders]),
  );
  return new Map(
    rules.flatMap(({ name, at }) => {
      const orders = figures.get(name);
      if (at.file !== path || orders === undefined) return [];
      return [[at.line, `${count(sumOf(orders))} (${count(orders.unpaid)})`]];
    }),
  );
}

/** @param {Evidence<RulesReport>} evidence */
function wordsOn({ answer: { data }, refusal }) {
  if (refusal) return refusal.message;
  if (data === null || data.job.state === 'waiting' || data.job.state === 'running')
    return 'The orders of the last 30 days that each rule matched are being counted.';
  if (data.result === null) return 'The orders that each rule matched could not be counted.';
  const { version, orders } = data.result;
  const all = count(sumOf(orders));
  return html`Before each rule: how many of ${all} orders of the last 30 days it matched, and how many of
    these were unpaid. <a href=${toVersion(version, 'evidence')}>Evidence</a> says more.`;
}

/** @param {{ list: RuleFolderList['versions'] }} props */
function Compare({ list }) {
  const sound = list.filter((one) => one.sound).map(({ version }) => version);
  const [pair, setPair] = useState(/** @type {{ before: string, after: string } | null} */ (null));
  const answer = useAnswer(pair === null ? null : ruleDiff(pair.before, pair.after));
  const [newest, second] = sound;
  if (newest === undefined) return null;
  if (second === undefined) {
    return html`<p class="faint">
      Two versions can be compared. <a href=${`#/rules/drafts?from=${newest}`}>Begin a draft</a> for a second
      one.
    </p>`;
  }
  const compare = sent(({ before = second, after = newest }) => setPair({ before, after }));
  return html`<section class="card">
    <h2>Compare two versions</h2>
    <form class="filters" onSubmit=${compare}>
      <${Choice} label="before" name="before" values=${sound} chosen=${second} />
      <${Choice} label="after" name="after" values=${sound} chosen=${newest} />
      <div class="buttons"><button type="submit">Compare</button></div>
    </form>
    ${pair && answered(answer, (diff) => html`<${Differences} diff=${diff} />`)}
  </section>`;
}
