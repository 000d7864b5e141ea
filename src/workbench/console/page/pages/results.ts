import { askService, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, h, html, useMemo, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import {
  isJobUnderWay,
  renderEvidenceTables,
  renderJobResult,
  renderNotes,
  useFollowedJob,
} from '#workbench/console/page/parts/evidence.ts';
import { goTo, onSubmit, renderChoice, renderField } from '#workbench/console/page/parts/form.ts';
import { formatDateTime, parseMoment } from '#workbench/console/page/parts/format.ts';
import { toVersionPath } from '#workbench/console/page/parts/links.ts';
import { renderAnswer, renderEmpty, useAction } from '#workbench/console/page/parts/notice.ts';
import { declareColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import {
  convertMinutesToUtc,
  formatUtcMinute,
  renderMinuteField,
  type ShownTime,
  toApiTimeParameters,
} from '#workbench/console/page/parts/time-span.ts';
import { renderPill } from '#workbench/console/page/parts/verdict.ts';
import type {
  EvidenceJob,
  EvidenceJobList,
  NotesAndTables,
  RulesReport,
  Session,
} from '#workbench/console/page/questions.ts';
import { DRAFTS, EVIDENCE_JOBS, EVIDENCE_QUESTION, RULE_FOLDERS } from '#workbench/console/page/questions.ts';
import { renderOutcomesByRule } from './rule-results.ts';

type AskedQuestion = EvidenceJobList['questions'][number];

type Option = AskedQuestion['options'][number];

/**
 * How often the page asks for jobs: while a job is under way, and otherwise, because others may start
 * jobs.
 */
const [FOLLOW_MS, LOOK_MS] = [5_000, 60_000];

/**
 * The result of a job. The report on rules has more members than others, because the page draws it in a
 * way of its own.
 */
type JobResult = NotesAndTables | RulesReport;

/**
 * The page of results of a version. The address says which question about recorded decisions is asked, and
 * the page shows its kept answer. Nothing is computed before somebody asks for it, because one job runs at
 * a time.
 */
export function ResultsPage({ place: { version, query }, time, session }: PageProps) {
  const late = useAnswer(EVIDENCE_JOBS, ({ jobs }) => (jobs.some(isJobUnderWay) ? FOLLOW_MS : LOOK_MS));
  const isOutdated = useOutdatedJobTest(session);
  const choose = (kind: string) => goTo(toVersionPath(version, 'results', { ...time.parameters, kind }));
  return renderAnswer(late, ({ questions, jobs }) => {
    const kind = query.get('kind') ?? 'report';
    const question = questions.find((one) => one.kind === kind);
    const own = { version, query, time, isOutdated, again: late.reload };
    const titles = questions.map((one) => [one.kind, one.title] as const);
    const chooser = renderChoice('question', titles, { chosen: kind, go: choose });
    return html`${question && h(OneQuestion, { key: kind, question, ...own, jobs }, chooser)}
      ${renderRecentJobs(jobs, isOutdated)}`;
  });
}

/**
 * Returns a test of whether a job is about an earlier state of a draft. Of drafts in RULES_DIR the page gets
 * the digest. Of drafts that the platform keeps it gets the time of the last change instead.
 */
function useOutdatedJobTest({ platform }: Session) {
  const drafts = useAnswer(DRAFTS, LOOK_MS).data?.drafts;
  const folders = useAnswer(RULE_FOLDERS, LOOK_MS).data?.versions;
  return (job: EvidenceJob) =>
    // The drafts of other platforms are not listed here.
    job.platform === platform &&
    drafts !== undefined &&
    job.ruleSets.some(({ ruleVersion, digest }) => {
      const draft = drafts.find(({ version }) => version === ruleVersion);
      if (draft !== undefined) return parseMoment(job.askedAt) < parseMoment(draft.changedAt);
      const folder = folders?.find(({ version }) => version === ruleVersion);
      return folder?.sound === true && !folder.released && folder.digest !== digest;
    });
}

const OUTDATED_PILL = renderPill('of an earlier state of the draft', 'note');

/**
 * The largest number of fields that are shown without a click. More would push the results off the screen.
 */
const OPEN_FIELDS_MAX = 3;

interface OneQuestionProps {
  version: string;
  query: URLSearchParams;
  time: ShownTime;
  question: AskedQuestion;
  jobs: EvidenceJobList['jobs'];
  isOutdated: (job: EvidenceJob) => boolean;
  again: () => void;
  /** The choice of another question. */
  children: Html;
}

function OneQuestion(props: OneQuestionProps) {
  const { version, query, time, question, jobs, isOutdated, again, children } = props;
  // A time without an end ends now, and that moves on. The question stays the same until the address changes.
  const body = useMemo(() => readQuestion(question, version, query, time), [version, String(query)]);
  const [made, setMade] = useState<{ readonly body: string; readonly jobId: string } | null>(null);
  const { attempt, isBusy, trouble } = useAction();
  const wanted = JSON.stringify(body);
  const jobId = made?.body === wanted ? made.jobId : (findKeptJob(body, jobs)?.jobId ?? null);
  const work = (asked: JobBody) =>
    attempt(async () => {
      const job = await askService('POST', EVIDENCE_QUESTION, toJobBody(asked));
      setMade({ body: JSON.stringify(asked), jobId: job.jobId });
      again();
    });
  const submit = onSubmit((local) => {
    const rule = query.get('rule');
    const asked = {
      ...time.parameters,
      kind: question.kind,
      ...convertMinutesToUtc(local),
      ...(rule !== null && { rule }),
    };
    goTo(toVersionPath(version, 'results', asked));
    work(readQuestion(question, version, new URLSearchParams(asked), time));
  });
  const fields = listFieldOptions(question);
  const isOpen = fields.length <= OPEN_FIELDS_MAX || fields.some(({ name }) => query.has(name));
  const kept = { answer: useFollowedJob(jobId, EVIDENCE_QUESTION), again: () => work(body) };
  const rule = query.get('rule') ?? '';
  return html`<form class="card" key=${String(query)} onSubmit=${submit}>
      <div class="filters wide">
        ${children}
        <div class="buttons">
          <button type="submit" class="button-accent" disabled=${isBusy}>Run</button>
        </div>
      </div>
      ${
        fields.length > 0 &&
        html`<details open=${isOpen}>
          <summary>Options</summary>
          <div class="fields">
            ${fields.map((one) => h(OptionField, { key: one.name, option: one, query }))}
          </div>
        </details>`
      }
      ${trouble}
    </form>
    ${
      jobId === null
        ? renderEmpty(
            'No results yet',
            'Press Run. It takes a moment, and runs of others wait until it is done.',
          )
        : renderJobResult<JobResult>(
            kept,
            (result, job) => html`<p class="faint">${describeJob(job)} ${isOutdated(job) && OUTDATED_PILL}</p>
              ${
                isReport(result)
                  ? renderOutcomesByRule(result, version, rule, time.parameters)
                  : html`${renderNotes(result.notes)}${renderEvidenceTables(result.tables)}`
              }`,
          )
    }`;
}

function isReport(result: JobResult): result is RulesReport {
  return 'rules' in result;
}

/**
 * Formats a text like `Results from 2026-11-01 00:00:00 up to 2026-11-24 20:00:00, run by key 3f9a0c51d2e7
 * of ann`.
 */
function describeJob({ from, to, askedAt, askedBy }: EvidenceJob) {
  const begin = from === null ? '' : ` from ${formatDateTime(from)}`;
  return `Results${begin} up to ${formatDateTime(to ?? askedAt)}, run by ${askedBy}.`;
}

/**
 * Finds the newest job that asked the same question about the same time, or otherwise the newest finished
 * one about another time.
 */
function findKeptJob({ from, to, asOf, ...asked }: JobBody, jobs: EvidenceJobList['jobs']) {
  const same = jobs.filter((job) => job.state !== 'failed' && formatOptions(job) === formatOptions(asked));
  const isOnTime = (job: EvidenceJob) =>
    [job.from, job.to, job.asOf].join() === [from ?? null, to ?? null, asOf ?? null].join();
  return same.find(isOnTime) ?? same.find(({ state }) => state === 'done');
}

function formatOptions({ kind, options }: { readonly kind: string; readonly options: object }) {
  return JSON.stringify([kind, Object.entries(options).toSorted(([one], [other]) => (one < other ? -1 : 1))]);
}

/** Returns the options that have fields. The version has none, because it stands in the address. */
function listFieldOptions({ options }: AskedQuestion) {
  return options.filter(({ name }) => name !== 'version' && name !== 'versions');
}

type JobBody = ReturnType<typeof readQuestion>;

/** Converts a question to the body of a request, in which the options stand beside the time. */
function toJobBody({ options, ...asked }: JobBody) {
  return { ...asked, ...options };
}

/** Reads the question from the address. The options are in a member of their own, as in jobs. */
function readQuestion(question: AskedQuestion, version: string, query: URLSearchParams, { span }: ShownTime) {
  const options: Record<string, unknown> = {};
  for (const { name, kind } of question.options) {
    const value = name === 'version' ? version : query.get(name);
    if (!value) continue;
    if (kind === 'texts') options[name] = value.trim().split(/\s+/);
    else options[name] = kind === 'number' ? Number(value) : value;
  }
  if (question.options.some(({ name }) => name === 'by')) options['by'] ??= chooseSlice(span);
  return { kind: question.kind, options, ...toApiTimeParameters(span) };
}

/** The longest time for which a trend is shown by days. A longer time is shown by weeks. */
const LONG_MS = 60 * 86_400_000;

function chooseSlice({ from = 0, to = Date.now() }: ShownTime['span']) {
  return to - from > LONG_MS ? 'week' : 'day';
}

function OptionField({ option, query }: { option: Option; query: URLSearchParams }) {
  const { name, kind, description: hint, isRequired, values, form } = option;
  const chosen = query.get(name);
  const label = splitIntoWords(name);
  switch (kind) {
    case 'choice':
      return renderChoice(label, values, { name, chosen, any: 'none', hint });
    case 'version':
    case 'versions':
      return h(VersionField, { hint, name, chosen });
    case 'time':
      return renderMinuteField(name, chosen, label);
    case 'text':
    case 'texts':
    case 'number':
      return renderField(
        label,
        { name, defaultValue: chosen ?? '', required: isRequired, placeholder: form ?? '' },
        hint,
      );
    default:
      return kind;
  }
}

/** Splits a name into words: `reversal cost` for reversalCost. */
function splitIntoWords(name: string) {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function VersionField({ name, hint, chosen }: { name: string; hint: string; chosen: string | null }) {
  const [folders, drafts] = [useAnswer(RULE_FOLDERS).data, useAnswer(DRAFTS).data];
  const sound = (folders?.versions ?? []).filter((one) => one.sound).map(({ version }) => version);
  const values = [...new Set([...sound, ...(drafts?.drafts ?? []).map(({ version }) => version)])];
  return renderChoice(name, values, { name, chosen, any: 'none', hint });
}

const COLUMNS = [...declareColumns('when', 'asked'), 'platform', 'question', 'about', 'state'];

/** Lists the recent jobs. The owner of the installation also sees the running jobs of other platforms. */
function renderRecentJobs(jobs: EvidenceJobList['jobs'], isOutdated: OneQuestionProps['isOutdated']) {
  if (jobs.length === 0) return null;
  const cellsOf = (job: EvidenceJob) => renderCells(job, isOutdated(job));
  return html`<details class="card">
    <summary><h2>Latest runs</h2></summary>
    ${renderTable({ name: 'Latest runs', columns: COLUMNS }, jobs, cellsOf)}
  </details>`;
}

const MINUTE_MS = 60_000;

function renderCells(job: EvidenceJob, isOutdated: boolean) {
  const { platform, askedAt, kind, ruleSets, state, options, from, to, asOf } = job;
  const tone = state === 'done' ? 'good' : state === 'failed' ? 'bad' : 'note';
  const { version: _, ...others } = options;
  const texts = Object.entries(others).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(' ') : String(value),
  ]);
  const time = {
    ...(from === null ? { span: 'all' } : { from: formatUtcMinute(parseMoment(from)) }),
    ...(to !== null && { to: formatUtcMinute(parseMoment(to) - MINUTE_MS) }),
    ...(asOf !== null && { asOf: formatUtcMinute(parseMoment(asOf)) }),
  };
  const about = ruleSets.map(({ ruleVersion }) => ruleVersion);
  const asked = toVersionPath(about[0] ?? '*', 'results', { kind, ...Object.fromEntries(texts), ...time });
  return [
    ...[html`<a href=${asked}>${formatDateTime(askedAt)}</a>`, platform, kind, about.join(', ')],
    html`${renderPill(state, tone)} ${isOutdated && OUTDATED_PILL}`,
  ];
}
