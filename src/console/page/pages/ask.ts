import type { EvidenceJob, EvidenceJobList, Shown } from '../answers.ts';
import { useAnswer } from '../api.ts';
import { html } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { EvidenceTables, isUnderWay, Notes, useEvidence, useJob, workedOut } from '../parts/evidence.ts';
import { Choice, Field, goTo, sent } from '../parts/form.ts';
import { dateTime } from '../parts/format.ts';
import { toVersion } from '../parts/links.ts';
import { answered, Empty } from '../parts/notice.ts';
import { columns, Table } from '../parts/table.ts';
import { inUtc, MinuteField, TimeFields, timeIn } from '../parts/time-span.ts';
import { Pill } from '../parts/verdict.ts';
import { DRAFTS, EVIDENCE, EVIDENCE_JOBS, RULE_FOLDERS } from '../questions.ts';

type Asked = EvidenceJobList['questions'][number];

type Option = Asked['options'][number];

// What may be asked of recorded decisions: the forms are made from what the service says of its questions.

/** A question about a version, released or a draft, with its answer; or what came of one before. */
export function AskPage({ place: { version, item, query } }: PageProps) {
  const late = useAnswer(EVIDENCE_JOBS, ({ jobs }) =>
    query.get('asked') !== null || jobs.some(isUnderWay) ? FOLLOW_MS : LOOK_MS,
  );
  if (item !== '')
    return html`<p><a href=${toVersion(version, 'ask')}>← All questions</a></p>
      <${Opened} key=${item} version=${version} jobId=${item} />`;
  return answered(
    late,
    ({ questions, jobs }) => html`<${Ask} key=${query} ...${{ version, query, questions }} />
      <${OfLate} jobs=${jobs} />`,
  );
}

function Opened({ version, jobId }: { version: string; jobId: string }) {
  const again = () => goTo(toVersion(version, 'ask'));
  return workedOut({ answer: useJob(jobId, EVIDENCE), refusal: null, again }, shown);
}

function shown({ notes, tables }: Shown) {
  return html`<${Notes} notes=${notes} /><${EvidenceTables} tables=${tables} />`;
}

function Ask({
  version,
  query,
  questions,
}: {
  version: string;
  query: URLSearchParams;
  questions: readonly Asked[];
}) {
  const kind = query.get('kind') ?? '';
  const question = questions.find((one) => one.kind === kind);
  const time = timeIn(query);
  const choose = (other: string) => goTo(toVersion(version, 'ask', { kind: other }));
  const isAsked = question !== undefined && query.get('asked') !== null;
  const body = isAsked ? { kind, ...bodyOf(question, version, query), ...time.span } : null;
  const evidence = useEvidence(EVIDENCE, body);
  const ask = sent((local) => {
    const { days = '', ...values } = inUtc(local);
    goTo(toVersion(version, 'ask', { ...values, kind, days, asked: 'yes' }));
  });
  return html`<${Choice} label="question" chosen=${kind} any="choose one" go=${choose}
      values=${questions.map((one) => [one.kind, one.title] as const)} />
    ${
      question &&
      html`<form class="filters" onSubmit=${ask}>
        ${fieldsOf(question).map(
          (option) => html`<${OptionField} key=${option.name} option=${option} query=${query} />`,
        )}
        <${TimeFields} words=${time.words} />
        <div class="buttons"><button type="submit" class="button-accent">Ask</button></div>
      </form>`
    }
    ${
      body === null
        ? html`<${Empty} title="Choose what to ask of recorded decisions">Nothing is changed by it.<//>`
        : workedOut(evidence, shown)
    }`;
}

/** The version stands in the address. */
function fieldsOf({ options }: Asked) {
  return options.filter(({ name }) => name !== 'version' && name !== 'versions');
}

/** What the address says, as the body has it. */
function bodyOf(question: Asked, version: string, query: URLSearchParams) {
  const body: Record<string, unknown> = question.options.some(({ name }) => name === 'version')
    ? { version }
    : {};
  for (const { name, kind } of fieldsOf(question)) {
    const value = query.get(name);
    if (!value) continue;
    if (kind === 'texts') body[name] = value.trim().split(/\s+/);
    else body[name] = kind === 'number' ? Number(value) : value;
  }
  return body;
}

function OptionField({ option, query }: { option: Option; query: URLSearchParams }) {
  const { name, kind, description, isRequired, values, form } = option;
  const chosen = query.get(name);
  const hint = description;
  switch (kind) {
    case 'choice':
      return html`<${Choice} label=${name} any="-" ...${{ hint, name, chosen, values }} />`;
    case 'version':
    case 'versions':
      return html`<${VersionField} ...${{ hint, name, chosen }} />`;
    case 'time':
      return html`<${MinuteField} name=${name} minute=${chosen} />`;
    case 'text':
    case 'texts':
    case 'number': {
      const field = { name, defaultValue: chosen ?? '', required: isRequired, placeholder: form };
      return html`<${Field} label=${name} hint=${hint}><input ...${field} /><//>`;
    }
    default:
      return kind;
  }
}

function VersionField({ name, hint, chosen }: { name: string; hint: string; chosen: string | null }) {
  const [folders, drafts] = [useAnswer(RULE_FOLDERS).data, useAnswer(DRAFTS).data];
  const sound = (folders?.versions ?? []).filter((one) => one.sound).map(({ version }) => version);
  const values = [...new Set([...sound, ...(drafts?.drafts ?? []).map(({ version }) => version)])];
  return html`<${Choice} label=${name} any="-" ...${{ hint, name, chosen, values }} />`;
}

const COLUMNS = [...columns('when', 'asked'), 'platform', 'question', 'about', 'state'];

/** While one is under way, and otherwise, for those of others. */
const [FOLLOW_MS, LOOK_MS] = [5_000, 60_000];

function OfLate({ jobs }: { jobs: EvidenceJobList['jobs'] }) {
  if (jobs.length === 0) return null;
  // The owner of the installation sees what is under way of other platforms, too.
  return html`<section class="card">
    <h2>Of late</h2>
    <${Table} name="Questions of late" columns=${COLUMNS} rows=${jobs.map(cellsOf)} />
  </section>`;
}

function cellsOf({ jobId, platform, askedAt, kind, ruleSets, state }: EvidenceJob) {
  const tone = state === 'done' ? 'good' : state === 'failed' ? 'bad' : 'note';
  const about = ruleSets.map(({ ruleVersion }) => ruleVersion).join(', ');
  const to = toVersion(ruleSets[0]?.ruleVersion ?? '*', `ask/${jobId}`);
  return [
    ...[html`<a href=${to}>${dateTime(askedAt)}</a>`, platform, kind, about],
    html`<${Pill} tone=${tone}>${state}<//>`,
  ];
}
