import { ask, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, h, html, useMemo, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import {
  evidenceTables,
  isUnderWay,
  notesList,
  useJob,
  workedOut,
} from '#workbench/console/page/parts/evidence.ts';
import { choice, field, goTo, sent } from '#workbench/console/page/parts/form.ts';
import { dateTime, readMoment } from '#workbench/console/page/parts/format.ts';
import { toVersion } from '#workbench/console/page/parts/links.ts';
import { answered, empty, useAttempt } from '#workbench/console/page/parts/notice.ts';
import { columns, table } from '#workbench/console/page/parts/table.ts';
import {
  inUtc,
  minuteField,
  minuteWord,
  type Time,
  writeSpan,
} from '#workbench/console/page/parts/time-span.ts';
import { pill } from '#workbench/console/page/parts/verdict.ts';
import type {
  EvidenceJob,
  EvidenceJobList,
  Presentation,
  RulesReport,
} from '#workbench/console/page/questions.ts';
import { DRAFTS, EVIDENCE, EVIDENCE_JOBS, RULE_FOLDERS } from '#workbench/console/page/questions.ts';
import { rulesOnOutcomes } from './rule-results.ts';

/**
 * Results of a version: any question to recorded decisions, which the address holds, and its kept answer.
 * Nothing is worked out before somebody asks for it, because one thing is worked on at a time.
 */

type Asked = EvidenceJobList['questions'][number];

type Option = Asked['options'][number];

/** While one is under way, and otherwise, for those of others. */
const [FOLLOW_MS, LOOK_MS] = [5_000, 60_000];

/** With the kinds that the page draws in a way of their own. */
type Worked = Presentation | RulesReport;

export function ResultsPage({ place: { version, query }, time }: PageProps) {
  const late = useAnswer(EVIDENCE_JOBS, ({ jobs }) => (jobs.some(isUnderWay) ? FOLLOW_MS : LOOK_MS));
  const choose = (kind: string) => goTo(toVersion(version, 'results', { ...time.words, kind }));
  return answered(late, ({ questions, jobs }) => {
    const kind = query.get('kind') ?? 'report';
    const question = questions.find((one) => one.kind === kind);
    const own = { version, query, time, again: late.reload };
    const titles = questions.map((one) => [one.kind, one.title] as const);
    const chooser = choice('question', titles, { chosen: kind, go: choose });
    return html`${question && h(OneQuestion, { key: kind, question, ...own, jobs }, chooser)}
      ${ofLate(jobs)}`;
  });
}

interface OneQuestionProps {
  version: string;
  query: URLSearchParams;
  time: Time;
  question: Asked;
  jobs: EvidenceJobList['jobs'];
  again: () => void;
  /** Chooses another question. */
  children: Html;
}

function OneQuestion({ version, query, time, question, jobs, again, children }: OneQuestionProps) {
  // The end of a time without one moves on; the question stays until the address changes.
  const body = useMemo(() => bodyOf(question, version, query, time), [version, String(query)]);
  const [made, setMade] = useState<{ readonly body: string; readonly jobId: string } | null>(null);
  const { attempt, isBusy, trouble } = useAttempt();
  const wanted = JSON.stringify(body);
  const jobId = made?.body === wanted ? made.jobId : (keptFor(body, jobs)?.jobId ?? null);
  const work = (asked: Body) =>
    attempt(async () => {
      const job = await ask('POST', EVIDENCE, told(asked));
      setMade({ body: JSON.stringify(asked), jobId: job.jobId });
      again();
    });
  const submit = sent((local) => {
    const rule = query.get('rule');
    const asked = { ...time.words, kind: question.kind, ...inUtc(local), ...(rule !== null && { rule }) };
    goTo(toVersion(version, 'results', asked));
    work(bodyOf(question, version, new URLSearchParams(asked), time));
  });
  const fields = fieldsOf(question);
  const isOpen = question.kind !== 'report' || fields.some(({ name }) => query.has(name));
  const kept = { answer: useJob(jobId, EVIDENCE), again: () => work(body) };
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
        ? empty('No results yet', 'Press Run. It takes a moment, and runs of others wait until it is done.')
        : workedOut<Worked>(
            kept,
            (result, job) => html`<p class="faint">${aboutText(job)}</p>
              ${
                isReport(result)
                  ? rulesOnOutcomes(result, version, rule, time.words)
                  : html`${notesList(result.notes)}${evidenceTables(result.tables)}`
              }`,
          )
    }`;
}

function isReport(result: Worked): result is RulesReport {
  return 'rules' in result;
}

/** `Results from 2026-11-01 00:00:00 up to 2026-11-24 20:00:00, run by key 3f9a0c51d2e7 of ann`. */
function aboutText({ from, to, askedAt, askedBy }: EvidenceJob) {
  const begin = from === null ? '' : ` from ${dateTime(from)}`;
  return `Results${begin} up to ${dateTime(to ?? askedAt)}, run by ${askedBy}.`;
}

/** The newest answer to a question, on its time; or else on the time of the newest. */
function keptFor({ from, to, asOf, ...asked }: Body, jobs: EvidenceJobList['jobs']) {
  const same = jobs.filter((job) => job.state !== 'failed' && optionsText(job) === optionsText(asked));
  const isOnTime = (job: EvidenceJob) =>
    [job.from, job.to, job.asOf].join() === [from ?? null, to ?? null, asOf ?? null].join();
  return same.find(isOnTime) ?? same.find(({ state }) => state === 'done');
}

function optionsText({ kind, options }: { readonly kind: string; readonly options: object }) {
  return JSON.stringify([kind, Object.entries(options).toSorted(([one], [other]) => (one < other ? -1 : 1))]);
}

/** The version stands in the address. */
function fieldsOf({ options }: Asked) {
  return options.filter(({ name }) => name !== 'version' && name !== 'versions');
}

type Body = ReturnType<typeof bodyOf>;

/** As the service takes it: the options beside the time. */
function told({ options, ...asked }: Body) {
  return { ...asked, ...options };
}

/** What the address says, with the options apart as jobs have them. */
function bodyOf(question: Asked, version: string, query: URLSearchParams, { span }: Time) {
  const options: Record<string, unknown> = {};
  for (const { name, kind } of question.options) {
    const value = name === 'version' ? version : query.get(name);
    if (!value) continue;
    if (kind === 'texts') options[name] = value.trim().split(/\s+/);
    else options[name] = kind === 'number' ? Number(value) : value;
  }
  if (question.options.some(({ name }) => name === 'by')) options['by'] ??= sliceOf(span);
  return { kind: question.kind, options, ...writeSpan(span) };
}

/** The longest trend of days that can still be read. */
const LONG_MS = 60 * 86_400_000;

function sliceOf({ from = 0, to = Date.now() }: Time['span']) {
  return to - from > LONG_MS ? 'week' : 'day';
}

function OptionField({ option, query }: { option: Option; query: URLSearchParams }) {
  const { name, kind, description: hint, isRequired, values, form } = option;
  const chosen = query.get(name);
  switch (kind) {
    case 'choice':
      return choice(name, values, { name, chosen, any: '-', hint });
    case 'version':
    case 'versions':
      return h(VersionField, { hint, name, chosen });
    case 'time':
      return minuteField(name, chosen);
    case 'text':
    case 'texts':
    case 'number':
      return field(
        name,
        { name, defaultValue: chosen ?? '', required: isRequired, placeholder: form ?? '' },
        hint,
      );
    default:
      return kind;
  }
}

function VersionField({ name, hint, chosen }: { name: string; hint: string; chosen: string | null }) {
  const [folders, drafts] = [useAnswer(RULE_FOLDERS).data, useAnswer(DRAFTS).data];
  const sound = (folders?.versions ?? []).filter((one) => one.sound).map(({ version }) => version);
  const values = [...new Set([...sound, ...(drafts?.drafts ?? []).map(({ version }) => version)])];
  return choice(name, values, { name, chosen, any: '-', hint });
}

const COLUMNS = [...columns('when', 'asked'), 'platform', 'question', 'about', 'state'];

/** The owner of the installation sees what is under way of other platforms, too. */
function ofLate(jobs: EvidenceJobList['jobs']) {
  if (jobs.length === 0) return null;
  return html`<details class="card">
    <summary><h2>Latest runs</h2></summary>
    ${table({ name: 'Latest runs', columns: COLUMNS }, jobs, cellsOf)}
  </details>`;
}

const MINUTE_MS = 60_000;

function cellsOf({ platform, askedAt, kind, ruleSets, state, options, from, to, asOf }: EvidenceJob) {
  const tone = state === 'done' ? 'good' : state === 'failed' ? 'bad' : 'note';
  const { version: _, ...others } = options;
  const texts = Object.entries(others).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(' ') : String(value),
  ]);
  const time = {
    ...(from === null ? { span: 'all' } : { from: minuteWord(readMoment(from)) }),
    ...(to !== null && { to: minuteWord(readMoment(to) - MINUTE_MS) }),
    ...(asOf !== null && { asOf: minuteWord(readMoment(asOf)) }),
  };
  const about = ruleSets.map(({ ruleVersion }) => ruleVersion);
  const asked = toVersion(about[0] ?? '*', 'results', { kind, ...Object.fromEntries(texts), ...time });
  return [
    ...[html`<a href=${asked}>${dateTime(askedAt)}</a>`, platform, kind, about.join(', ')],
    pill(state, tone),
  ];
}
