import type { AuditCheck, AuditPage as Entries } from '../answers.ts';
import { ask, useAnswer } from '../api.ts';
import { html, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { Choice, Field, goTo, sent } from '../parts/form.ts';
import { counted, dateTime } from '../parts/format.ts';
import { answered, Empty, useAttempt } from '../parts/notice.ts';
import { csvText, linesOf, saveFile } from '../parts/save-file.ts';
import { columns, Table } from '../parts/table.ts';
import { inUtc, MinuteField, spanOf } from '../parts/time-span.ts';
import { AUDIT_CHECK, auditEntries } from '../questions.ts';

type Entry = Entries['entries'][number];

type Fault = Entries['unreadable'][number];

/** Who did what, newest first, and whether what is written there was changed since. */
export function AuditPage({ place: { query } }: PageProps) {
  const found = answered(
    useAnswer(auditEntries(asked(query))),
    ({ entries, unreadable, next }) => html`<section class="card">
      <h2>${counted(entries.length, 'entry', 'entries')}</h2>
      <${Faults} faults=${unreadable} />
      ${
        entries.length === 0
          ? html`<${Nothing} next=${next} />`
          : html`<${Table} name="Audit" kind="in-lines" columns=${COLUMNS} rows=${entries.map(cellsOf)} />`
      }
      ${next !== null && html`<p><a href=${addressOf(query, next)}>Older entries</a></p>`}
      <${Export} query=${query} />
    </section>`,
  );
  return html`<${Chain} /><${Filter} query=${query} />${found}`;
}

/** The query of the API for a filter in an address. */
function asked(query: URLSearchParams) {
  const named = [...query].filter(([name]) => ['who', 'action', 'after'].includes(name));
  const { from, to } = spanOf({ from: query.get('from'), to: query.get('to') });
  return new URLSearchParams({
    ...Object.fromEntries(named),
    ...(from && { from: String(from) }),
    ...(to && { to: String(to) }),
  });
}

function addressOf(query: URLSearchParams, after: string) {
  const older = new URLSearchParams(query);
  older.set('after', after);
  return `#/settings/audit?${older}`;
}

function Chain() {
  const [check, setCheck] = useState<AuditCheck | null>(null);
  const { attempt, isBusy, trouble } = useAttempt();
  const look = () => attempt(() => ask('GET', AUDIT_CHECK).then(setCheck));
  return html`<section class="card">
    <h2>Was it changed?</h2>
    <div role="status">${check && html`<${Checked} check=${check} />`}</div>
    ${trouble}
    <button type="button" disabled=${isBusy} onClick=${look}>
      ${isBusy ? 'Following the chain …' : 'Check the chain'}
    </button>
  </section>`;
}

function Checked({ check: { checkedAt, entries, forgotten, faults } }: { check: AuditCheck }) {
  const erased = forgotten === 0 ? '' : `; ${forgotten} of them told of payers who were erased`;
  if (faults.length === 0)
    return html`<p class="good">
      No entry was out of line at ${dateTime(checkedAt)}: ${counted(entries, 'entry', 'entries')}${erased}.
      Whether somebody who writes to the store made the chain anew, the command${' '}
      <code>audit verify --known</code> shows.
    </p>`;
  return html`<${Faults} faults=${faults} />`;
}

function Faults({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  return html`<ul class="notes bad">${faults.map(({ what }) => html`<li>${what}</li>`)}</ul>`;
}

function Filter({ query }: { query: URLSearchParams }) {
  const find = sent((values) => goTo(`#/settings/audit?${new URLSearchParams(inUtc(values))}`));
  const clear = () => goTo('#/settings/audit');
  return html`<form class="filters" key=${String(query)} onSubmit=${find} onReset=${clear}>
    <${Field} label="Who"><input name="who" defaultValue=${query.get('who') ?? ''} maxlength="256" /><//>
    <${Choice} label="What" name="action" chosen=${query.get('action')} values=${Object.keys(ACTIONS)}
      any="anything" />
    <${MinuteField} name="from" label="From" minute=${query.get('from')} />
    <${MinuteField} name="to" label="To" minute=${query.get('to')} />
    <div class="buttons"><button type="submit">Find</button><button type="reset">Clear</button></div>
  </form>`;
}

const ACTIONS: Readonly<Record<Entry['action'], true>> = {
  'key issued': true,
  'wait ended': true,
  'key revoked': true,
  proposal: true,
  'proposal approved': true,
  'proposal rejected': true,
  rollout: true,
  draft: true,
  release: true,
  'sign-in': true,
  'sign-out': true,
  binding: true,
  override: true,
  list: true,
  'client read': true,
  'client erased': true,
  'client rebuilt': true,
  'secret forgotten': true,
  'archive forgotten': true,
  'archive adopted': true,
};

function Nothing({ next }: { next: string | null }) {
  return html`<${Empty} title=${next === null ? 'Nothing fits' : 'Nothing of these fits'}>
    ${next === null ? 'Names are found in any case.' : 'Older entries were not looked at yet.'}
  <//>`;
}

const COLUMNS = [
  ...[...columns('when', 'when'), 'who', 'what', 'platform', 'about'],
  ...columns('wide', 'from what to what', 'why'),
];

function cellsOf({ at, who, action, platform, subject, before, after, reason }: Entry) {
  const change = before === null && after === null ? '' : `${stateText(before)} → ${stateText(after)}`;
  const where = platform ?? html`<span class="faint">all</span>`;
  return [dateTime(at), who, action, where, subject, change, reason];
}

/** `active: p2.v11, candidates: (version: p2.v12, percent: 10)`; what lies deeper stands in brackets. */
function stateText(state: unknown) {
  return state === null ? 'nothing' : valueText(state).replace(/^\((.*)\)$/s, '$1');
}

/** `name`: moments are called `at` or `…At`. */
function valueText(value: unknown, name = ''): string {
  if (Array.isArray(value)) return value.map((one) => valueText(one)).join(', ') || 'none';
  if (typeof value === 'number') return /^at$|At$/.test(name) ? dateTime(value) : String(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const members = Object.entries(value).filter(([, inner]) => inner !== null);
  return `(${members.map(([key, inner]) => `${key}: ${valueText(inner, key)}`).join(', ')})`;
}

const CSV_COLUMNS = [
  ...['number', 'at', 'who', 'action', 'platform', 'subject', 'before', 'after', 'reason', 'hash'],
];

/** Saves all that fits, however many pages it takes. */
function Export({ query }: { query: URLSearchParams }) {
  const { attempt, trouble } = useAttempt();
  const [lacking, setLacking] = useState<readonly Fault[]>([]);
  const save = (kind: 'csv' | 'ndjson') =>
    attempt(async () => {
      const { entries, unreadable } = await allThatFit(query);
      setLacking(unreadable);
      const type = kind === 'csv' ? 'text/csv' : 'application/x-ndjson';
      saveFile(`audit.${kind}`, type, kind === 'csv' ? csvOf(entries) : linesOf(entries));
    });
  return html`<div class="buttons">
      <button type="button" onClick=${() => save('csv')}>Save all as CSV</button>
      <button type="button" onClick=${() => save('ndjson')}>Save all as NDJSON</button>
    </div>
    <div role="status">
      ${lacking.length > 0 && html`<p>The file lacks:</p>`}
      <${Faults} faults=${lacking} />
    </div>
    ${trouble}`;
}

async function allThatFit(query: URLSearchParams) {
  const page = asked(query);
  page.delete('after');
  page.set('limit', '500');
  const all: { entries: Entry[]; unreadable: Fault[] } = { entries: [], unreadable: [] };
  for (;;) {
    const { entries, unreadable, next } = await ask('GET', auditEntries(page));
    all.entries.push(...entries);
    all.unreadable.push(...unreadable);
    if (next === null) return all;
    page.set('after', next);
  }
}

function csvOf(entries: readonly Entry[]) {
  const text = (state: unknown) => (state === null ? '' : JSON.stringify(state));
  const rows = entries.map((one) => {
    const { number, at, who, action, platform, subject, before, after, reason, hash } = one;
    const when = new Date(at).toISOString();
    return [number, when, who, action, platform, subject, text(before), text(after), reason, hash];
  });
  return csvText([CSV_COLUMNS, ...rows]);
}
