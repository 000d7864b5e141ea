import { askService, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { ChangedSince, renderCaseResults } from '#workbench/console/page/parts/differences.ts';
import { countAllOrders, useFollowedJob } from '#workbench/console/page/parts/evidence.ts';
import { goTo, onSubmit, renderChoice, renderField } from '#workbench/console/page/parts/form.ts';
import {
  createTakenNameError,
  formatDateTime,
  formatDuration,
  groupDigits,
  shortenDigest,
  suggestNextVersion,
  VERSION_NAME_FORM_TEXT,
  VERSION_NAME_PATTERN,
} from '#workbench/console/page/parts/format.ts';
import { useDrafts } from '#workbench/console/page/parts/kept-drafts.ts';
import { toConsolePath, toVersionPath } from '#workbench/console/page/parts/links.ts';
import { Loading, renderAnswer, renderEmpty, useAction } from '#workbench/console/page/parts/notice.ts';
import { declareColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import type { ShownTime } from '#workbench/console/page/parts/time-span.ts';
import { renderPill } from '#workbench/console/page/parts/verdict.ts';
import {
  createWorkingCopy,
  replaceDraftName,
  saveDraft,
  toWorkingCopy,
} from '#workbench/console/page/parts/working-copy.ts';
import {
  type DraftList,
  EVIDENCE_JOBS,
  type FinishedJob,
  keptDraftQuestion,
  type OpenedRuleFolder,
  ROLLOUT_STATUS,
  type Rollout,
  RULE_FOLDERS,
  RULES_REPORT,
  type RuleFolderList,
  type RulesReport,
  ruleFolderQuestion,
  type Session,
} from '#workbench/console/page/questions.ts';
import { DraftPage } from './draft.ts';

type RuleFolder = RuleFolderList['versions'][number];

/** The versions, and the drafts of the platform, each with its files, its results and its changes. */
export function RulesPage({ session, place: { query }, time }: PageProps) {
  const folders = useAnswer(RULE_FOLDERS);
  const drafts = useDrafts(session);
  const rollout = useAnswer(ROLLOUT_STATUS).data?.rollout ?? null;
  return renderAnswer(folders, ({ versions }) => {
    if (drafts.isAwaited) return h(Loading, {});
    const kept = drafts.data?.drafts ?? [];
    return html`
      ${
        versions.length === 0
          ? renderEmpty(
              'No rule set on this node',
              'Set RULES_DIR to the folder of the rule sets. Each rule set is a folder in it, like p2.v10.',
            )
          : renderVersionsTable(versions, kept, rollout, time.parameters)
      }
      ${drafts.data && h(BeginDraft, { list: versions, kept, from: query.get('from') })}`;
  });
}

type DraftSummary = DraftList['drafts'][number];

function renderVersionsTable(
  list: readonly RuleFolder[],
  kept: readonly DraftSummary[],
  rollout: Rollout | null,
  words: ShownTime['parameters'],
) {
  const sound = list.filter((one) => one.sound);
  const others = list.filter(({ version }) => !kept.some((one) => one.version === version));
  return html`<section class="card">
    ${renderTable(
      {
        name: 'Versions',
        columns: ['version', 'state', ...declareColumns('wide', 'what changed'), 'more'],
        kind: 'in-lines',
      },
      [
        ...kept.map(({ version, from, changedBy, changedAt }) => [
          html`<a href=${toVersionPath(version)}><b>${version}</b></a>`,
          renderPill('draft', 'note'),
          `copied from ${from}; last change by ${changedBy}, ${formatDateTime(changedAt)}`,
          renderVersionLinks(version, words),
        ]),
        ...others.map((one) => [
          html`<a href=${toVersionPath(one.version)}><b>${one.version}</b></a>
            ${one.digest && html` <code>${shortenDigest(one.digest)}</code>`}`,
          renderVersionState(one, rollout),
          renderChangesLink(one, sound[sound.indexOf(one) + 1]?.version),
          renderVersionLinks(one.version, words),
        ]),
      ],
      (cells) => cells,
    )}
  </section>`;
}

function renderVersionLinks(version: string, words: ShownTime['parameters']) {
  return html`<span class="ways">
    <a href=${toVersionPath(version, 'results', words)}>results</a>
    <a href=${toVersionPath(version, 'changes')}>changes</a>
  </span>`;
}

function renderVersionState(one: RuleFolder, rollout: Rollout | null) {
  if (!one.sound) return renderPill('has problems', 'bad');
  if (rollout?.active.version === one.version) return renderPill('active', 'good');
  const candidate = rollout?.candidates.find(({ version }) => version === one.version);
  if (candidate !== undefined) return renderPill(candidate.mode, 'note');
  return renderPill(one.released ? 'released' : 'draft');
}

function renderChangesLink(one: RuleFolder, before: string | undefined) {
  if (!one.sound)
    return html`<span class="faint">Open it to read what is wrong, with line and column.</span>`;
  if (before === undefined) return one.description;
  return h(ChangedSince, { before, after: one.version });
}

type LadderSettings = NonNullable<OpenedRuleFolder['ladder']>;

/** The files of a version. The files of a draft can be edited. */
export function VersionPage(props: PageProps) {
  const { version } = props.place;
  const folders = useAnswer(RULE_FOLDERS);
  const drafts = useDrafts(props.session);
  return renderAnswer(folders, (list) => {
    const lies = list.versions.find((one) => one.version === version);
    if (drafts.isAwaited) return h(Loading, {});
    const kept = drafts.isDraft(version);
    if (!kept && lies === undefined)
      return renderEmpty(
        'No such version',
        html`Neither this node nor your platform has ${version}.
        ${' '}<a href="#/rules">All versions</a>.`,
      );
    if (drafts.data !== null && (kept || lies?.released === false)) {
      const own = { isKept: kept, list, bytesMax: drafts.data.bytesMax };
      return h(DraftPage, { key: version, version, session: props.session, ...own });
    }
    return h(Opened, props);
  });
}

/**
 * A rule set that cannot be edited: its problems and files, and if it has no problems its ladder and
 * cases.
 */
function Opened({ place: { version, query }, session }: Pick<PageProps, 'place' | 'session'>) {
  const answer = useAnswer(ruleFolderQuestion(version));
  const report = useKeptReport(version, session);
  return renderAnswer(answer, (folder) => {
    const { ladder, coverage, platforms, released } = folder;
    const next = toConsolePath('rules', { from: version });
    return html`
      ${renderProblemList(folder)}
      ${
        released &&
        html`<p>
          This version is released and does not change. <a href="#/rollouts">Roll it out</a>
          ${isAllowed(session, 'rules') && html` or <a href=${next}>begin a draft from it</a>`}.
        </p>`
      }
      ${h(Files, { key: query, folder, report, query })}
      ${
        ladder &&
        html`<section class="card">
          <h2>Ladder</h2>
          <ul class="plain">
            ${renderLadders('All platforms', ladder)}
            ${platforms.map((one) => renderLadders(`Platform ${one.name}`, one.ladder))}
          </ul>
        </section>`
      }
      ${renderHoldouts(folder)}
      ${coverage && renderCaseResults(coverage, session)}`;
  });
}

/**
 * Returns the newest kept report on a version. Returns null if there is none. Opening a file does not
 * start a new report.
 */
function useKeptReport(version: string, session: Session) {
  const { data } = useAnswer(isAllowed(session, 'rules') ? EVIDENCE_JOBS : null);
  const job = data?.jobs.find(
    ({ kind, state, options }) =>
      kind === 'report' && state === 'done' && options['version'] === version && !options['against'],
  );
  return useFollowedJob(job?.jobId ?? null, RULES_REPORT).data;
}

/** Renders the waits of a platform or of all platforms, and the waits of the ladders that rules name. */
function renderLadders(whose: string, { levelsMs, ladders, resetAfterMs, resetsAfterMs }: LadderSettings) {
  const all = Object.entries({ '': levelsMs, ...ladders });
  return all.map(([name, waitsMs]) => {
    const waits = waitsMs.map(formatDuration).join(', ');
    return html`<li>
      ${whose}${name && `, ${name}`}: waits of <b>${waits}</b>; the last repeats.
      Reset after ${formatDuration(resetsAfterMs[name] ?? resetAfterMs)} or a payment.
    </li>`;
  });
}

function renderHoldouts({ rules }: OpenedRuleFolder) {
  const held = rules.filter(({ holdout }) => holdout !== null);
  if (held.length === 0) return null;
  return html`<section class="card">
    <h2>Holdouts</h2>
    <ul class="plain">
      ${held.map(
        ({ name, at, holdout }) => html`<li>${name}: ${holdout} <code>${at.file}:${at.line}</code></li>`,
      )}
    </ul>
  </section>`;
}

function renderProblemList({ problems, version }: OpenedRuleFolder) {
  if (problems.length === 0) return null;
  return html`<section class="notice notice-bad">
    <strong>${version} is refused. Fix these problems:</strong>
    <ol>
      ${problems.map(
        ({ at, message }) => html`<li><code>${at.file}:${at.line}:${at.column}</code> ${message}</li>`,
      )}
    </ol>
  </section>`;
}

interface FilesProps {
  folder: OpenedRuleFolder;
  report: FinishedJob<RulesReport> | null;
  query: URLSearchParams;
}

/**
 * The files of a version, and beside each rule the number of orders that it matched, if they were counted.
 * The address may name a file and a line in it.
 */
function Files({ folder: { version, files, rules, problems, sound }, report, query }: FilesProps) {
  const named = query.get('file') ?? 'verdicts.yaml';
  const [chosen, setChosen] = useState(named);
  const file = files.find(({ path }) => path === chosen) ?? files[0];
  if (file === undefined) return renderEmpty('No file', 'The folder is empty.');
  const matched = formatMatchesByLine(file.path, rules, report?.result ?? null);
  const wrong = problems.filter(({ at }) => at.file === file.path);
  const rule = rules.find(({ name, at }) => name === query.get('rule') && at.file === named);
  const line = rule?.at.line ?? Number(query.get('line'));
  return html`<section class="card">
    <h2 class="only-read">Files</h2>
    <div class="tabs" role="group" aria-label="Files">
      ${files.map(({ path }) => {
        const mark = problems.some(({ at }) => at.file === path) ? ' ✗' : '';
        const pressed = { 'aria-pressed': path === file.path ? 'true' : 'false' };
        const choose = () => setChosen(path);
        return html`<button type="button" ...${pressed} onClick=${choose}>${path}${mark}</button>`;
      })}
    </div>
    ${sound && html`<p class="faint">${renderReportNote(version, report)}</p>`}
    <div class="scroll file" tabindex="0" role="region" aria-label=${file.path}>
      <table class="code">
        <tbody>
          ${file.text
            .trimEnd()
            .split('\n')
            .map((text, index) => {
              const number = index + 1;
              const problemsHere = wrong.filter(({ at }) => at.line === number);
              const isNamed = file.path === named && number === line;
              return html`${h(Line, { text, number, isNamed, matched: matched.get(number) })}
              ${problemsHere.map(renderProblem)}`;
            })}
        </tbody>
      </table>
    </div>
  </section>`;
}

interface LineProps {
  text: string;
  number: number;
  matched: string | undefined;
  isNamed: boolean;
}

function Line({ text, number, matched, isNamed }: LineProps) {
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

function renderProblem({ at, message }: OpenedRuleFolder['problems'][number]) {
  return html`<tr class="line-bad">
    <td></td>
    <td></td>
    <td>${' '.repeat(at.column - 1)}▲ ${message}</td>
  </tr>`;
}

/**
 * Returns a text for each line on which a rule begins: how many orders the rule matched, and how many of
 * them were unpaid.
 */
function formatMatchesByLine(path: string, rules: OpenedRuleFolder['rules'], report: RulesReport | null) {
  const figures = new Map(
    (report?.rules ?? []).filter(({ file }) => file === path).map((rule) => [rule.name, rule.orders]),
  );
  return new Map(
    rules.flatMap(({ name, at }) => {
      const orders = figures.get(name);
      if (at.file !== path || orders === undefined) return [];
      return [[at.line, `${groupDigits(countAllOrders(orders))} (${groupDigits(orders.unpaid)})`]];
    }),
  );
}

function renderReportNote(version: string, report: FinishedJob<RulesReport> | null) {
  const results = html`<a href=${toVersionPath(version, 'results')}>Results</a>`;
  if (report === null || report.result === null) return html`${results} show what each rule matched.`;
  const { job, result } = report;
  const orders = groupDigits(countAllOrders(result.orders));
  return html`Before each rule: the orders that it matched, with the unpaid ones in brackets, of
    ${` ${orders}`} orders up to ${formatDateTime(job.askedAt)}. ${results} say more.`;
}

interface BeginDraftProps {
  list: readonly RuleFolder[];
  kept: readonly DraftSummary[];
  from: string | null;
}

function BeginDraft({ list, kept, from }: BeginDraftProps) {
  const { attempt, trouble } = useAction();
  const begin = onSubmit(({ source = '', version = '' }) =>
    attempt(async () => {
      if (list.some((one) => one.version === version)) throw createTakenNameError(version);
      if (drafts.includes(source)) {
        const draft = await askService('GET', keptDraftQuestion(source));
        await saveDraft(replaceDraftName(toWorkingCopy(draft), version));
      } else {
        const folder = await askService('GET', ruleFolderQuestion(source));
        if (!folder.whole) throw new Error(`${source} is too long for this page.`);
        await saveDraft(createWorkingCopy(folder, version));
      }
      goTo(toVersionPath(version));
    }),
  );
  const drafts = kept.map(({ version }) => version);
  const names = list.map(({ version }) => version).filter((version) => !drafts.includes(version));
  const sources = [...names, ...drafts.map((version) => [version, `${version} (draft)`] as const)];
  const isSource = from !== null && (names.includes(from) || drafts.includes(from));
  const preferred = isSource ? from : list.find((one) => one.sound)?.version;
  const called = chooseNextName([...list.map(({ version }) => version), ...drafts]);
  const pattern = { pattern: VERSION_NAME_PATTERN, title: VERSION_NAME_FORM_TEXT };
  const name = { name: 'version', required: true, ...pattern, defaultValue: called };
  return html`<section class="card">
    <h2>Begin a draft</h2>
    <form class="filters" onSubmit=${begin}>
      ${renderChoice('copy of', sources, { name: 'source', chosen: preferred })}
      ${renderField('name', name, 'like p2.v11, or p2.v11-night')}
      <div class="buttons"><button type="submit" class="button-accent">Begin</button></div>
    </form>
    ${trouble}
  </section>`;
}

/**
 * Chooses the first name after the newest version that neither the node nor the platform has. `taken` is
 * sorted, the newest first.
 */
function chooseNextName(taken: readonly string[]) {
  let name = suggestNextVersion((taken[0] ?? 'p2.v10').replace(/-.*/, ''));
  while (taken.includes(name)) name = suggestNextVersion(name);
  return name;
}
