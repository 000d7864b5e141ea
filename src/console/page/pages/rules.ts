import type { OpenedRuleFolder, Rollout, RuleFolderList, RulesReport } from '../answers.ts';
import { useAnswer } from '../api.ts';
import { html, useEffect, useRef, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { Cases, ChangedSince, Differences } from '../parts/differences.ts';
import { type Evidence, sumOf, useEvidence } from '../parts/evidence.ts';
import { Choice, sent } from '../parts/form.ts';
import { count, shortDigest } from '../parts/format.ts';
import { LadderSteps } from '../parts/ladder.ts';
import { toVersion } from '../parts/links.ts';
import { answered, Empty } from '../parts/notice.ts';
import { columns, Table } from '../parts/table.ts';
import { sinceDays } from '../parts/time-span.ts';
import { Pill } from '../parts/verdict.ts';
import { ROLLOUT_STATUS, RULE_FOLDERS, RULES_REPORT, ruleDiff, ruleFolder } from '../questions.ts';

type RuleFolder = RuleFolderList['versions'][number];

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

function Versions({ list, rollout }: { list: readonly RuleFolder[]; rollout: Rollout | null }) {
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

function VersionLink({ one }: { one: RuleFolder }) {
  return html`<a href=${toVersion(one.version)}><b>${one.version}</b></a>
    ${one.digest && html`<div><code>${shortDigest(one.digest)}</code></div>`}
    <div><a href=${draftAddress(one)}>${one.released ? 'Begin a draft' : 'Edit'}</a></div>`;
}

function draftAddress({ version, released }: RuleFolder) {
  return released ? `#/rules/drafts?from=${version}` : toVersion(version, 'draft');
}

function VersionState({ one, rollout }: { one: RuleFolder; rollout: Rollout | null }) {
  if (!one.sound) return html`<${Pill} tone="bad">has problems<//>`;
  if (rollout?.active.version === one.version) return html`<${Pill} tone="good">active<//>`;
  const candidate = rollout?.candidates.find(({ version }) => version === one.version);
  if (candidate !== undefined) return html`<${Pill} tone="note">${candidate.mode}<//>`;
  return html`<${Pill}>${one.released ? 'released' : 'draft'}<//>`;
}

function WhatChanged({ one, before }: { one: RuleFolder; before: string | undefined }) {
  if (!one.sound)
    return html`<span class="faint">Open it to read what is wrong, with line and column.</span>`;
  if (before === undefined) return one.description;
  return html`<${ChangedSince} before=${before} after=${one.version} />`;
}

type LadderSettings = NonNullable<OpenedRuleFolder['ladder']>;

/** A rule set: its problems, or its ladder and its cases; and its files. */
export function VersionPage({ place: { version, query }, session }: PageProps) {
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

function Ladders({
  version,
  ladder,
  platforms,
}: {
  version: string;
  ladder: LadderSettings;
  platforms: OpenedRuleFolder['platforms'];
}) {
  return html`<section class="card">
    <h2>Ladder of ${version}</h2>
    <div class="charts">
      ${laddersOf('All platforms', ladder)}
      ${platforms.map((one) => laddersOf(`Platform ${one.name}`, one.ladder))}
    </div>
  </section>`;
}

/** The ladder of a platform or of all, and those that rules name. */
function laddersOf(whose: string, ladder: LadderSettings) {
  const all = [
    { name: whose, levelsMs: ladder.levelsMs },
    ...Object.entries(ladder.ladders).map(([name, levelsMs]) => ({ name: `${whose}: ${name}`, levelsMs })),
  ];
  return all.map(
    ({ name, levelsMs }) =>
      html`<${LadderSteps} key=${name} ladder=${{ ...ladder, levelsMs }} name=${name} />`,
  );
}

function Holdouts({ rules }: { rules: OpenedRuleFolder['rules'] }) {
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

function Problems({ problems, version }: { problems: OpenedRuleFolder['problems']; version: string }) {
  return html`<section class="notice notice-bad">
    <strong>${version} is refused until these are mended</strong>
    <ol>
      ${problems.map(
        ({ at, message }) => html`<li><code>${at.file}:${at.line}:${at.column}</code> ${message}</li>`,
      )}
    </ol>
  </section>`;
}

type Problem = OpenedRuleFolder['problems'][number];

/**
 * The files of a version, and beside each rule the orders that it matched, once they are counted.
 * The address may name a file and a line in it.
 */
function Files({
  folder: { files, rules, problems, sound },
  evidence,
  query,
}: {
  folder: OpenedRuleFolder;
  evidence: Evidence<RulesReport>;
  query: URLSearchParams;
}) {
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

function Line({
  text,
  number,
  matched,
  isNamed,
}: {
  text: string;
  number: number;
  matched: string | undefined;
  isNamed: boolean;
}) {
  const line = useRef<HTMLElement | null>(null);
  useEffect(() => {
    if (isNamed) line.current?.scrollIntoView({ block: 'center' });
  }, []);
  return html`<tr ref=${line} class=${isNamed ? 'chosen' : ''}>
    <td class="line-number">${number}</td>
    <td class="line-hits">${matched}</td>
    <td>${text}</td>
  </tr>`;
}

function ProblemLine({ problem: { at, message } }: { problem: Problem }) {
  return html`<tr class="line-bad">
    <td></td>
    <td></td>
    <td>${' '.repeat(at.column - 1)}▲ ${message}</td>
  </tr>`;
}

/** How many orders the rule that begins on a line matched, and how many of them were unpaid. */
function matchedByLine(path: string, rules: OpenedRuleFolder['rules'], report: RulesReport | null) {
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

function wordsOn({ answer: { data }, refusal }: Evidence<RulesReport>) {
  if (refusal) return refusal.message;
  if (data === null || data.job.state === 'waiting' || data.job.state === 'running')
    return 'The orders of the last 30 days that each rule matched are being counted.';
  if (data.result === null) return 'The orders that each rule matched could not be counted.';
  const { version, orders } = data.result;
  const all = count(sumOf(orders));
  return html`Before each rule: how many of ${all} orders of the last 30 days it matched, and how many of
    these were unpaid. <a href=${toVersion(version, 'evidence')}>Evidence</a> says more.`;
}

function Compare({ list }: { list: RuleFolderList['versions'] }) {
  const sound = list.filter((one) => one.sound).map(({ version }) => version);
  const [pair, setPair] = useState<{ before: string; after: string } | null>(null);
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
