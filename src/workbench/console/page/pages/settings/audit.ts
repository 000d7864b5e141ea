import { AUDIT_ACTIONS } from '#workbench/access/audit-actions.ts';
import { ask, may, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { choice, field, goTo, sent } from '#workbench/console/page/parts/form.ts';
import { counted, dateTime } from '#workbench/console/page/parts/format.ts';
import { answered, empty, useAttempt } from '#workbench/console/page/parts/notice.ts';
import { csvText, linesOf, SaveAll } from '#workbench/console/page/parts/save-file.ts';
import { columns, table } from '#workbench/console/page/parts/table.ts';
import { inUtc, minuteField, spanOf, withWords, writeSpan } from '#workbench/console/page/parts/time-span.ts';
import {
  AUDIT_CHECK,
  type AuditCheck,
  auditEntries,
  type AuditPage as Found,
} from '#workbench/console/page/questions.ts';
import { Proposals } from './proposals.ts';

type Entry = Found['entries'][number];

type Fault = Found['unreadable'][number];

/** Who may decide about proposals, and who may make them and sees what became of them. */
export const PROPOSERS = ['approve', 'operate', 'clients', 'keys'] as const;

/** What waits for somebody else, and who did what. */
export function AuditPage({ place: { query }, session }: PageProps) {
  return html`${PROPOSERS.some((one) => may(session, one)) && h(Proposals, { session })}
    ${may(session, 'audit') && html`${filter(query)}${h(Entries, { query })}${h(Chain, {})}`}`;
}

/** Newest first, and whether what is written there was changed since. */
function Entries({ query }: { query: URLSearchParams }) {
  const [lacking, setLacking] = useState<readonly Fault[]>([]);
  const all = async () => {
    const { entries, unreadable } = await allThatFit(query);
    setLacking(unreadable);
    return entries;
  };
  const forms = { CSV: async () => csvOf(await all()), NDJSON: async () => linesOf(await all()) };
  return answered(
    useAnswer(auditEntries(asked(query))),
    ({ entries, unreadable, next }) => html`<section class="card">
      <h2>${counted(entries.length, 'entry', 'entries')}</h2>
      ${faultList(unreadable)}
      ${
        entries.length === 0
          ? empty(
              next === null ? 'Nothing fits' : 'Nothing of these fits',
              next === null ? 'Names are found in any case.' : 'Older entries were not looked at yet.',
            )
          : table({ name: 'Audit', columns: COLUMNS, kind: 'in-lines' }, entries, cellsOf)
      }
      ${next !== null && html`<p><a href=${withWords({ after: next })}>Older entries</a></p>`}
      ${h(SaveAll, { name: 'audit', forms })}
      <div role="status">
        ${lacking.length > 0 && html`<p>The file lacks:</p>`}
        ${faultList(lacking)}
      </div>
    </section>`,
  );
}

/** The query of the API for a filter in an address. */
function asked(query: URLSearchParams) {
  const named = [...query].filter(([name]) => ['who', 'action', 'after'].includes(name));
  const span = spanOf({ from: query.get('from'), to: query.get('to') });
  return new URLSearchParams([...named, ...Object.entries(writeSpan(span))]);
}

function Chain() {
  const [check, setCheck] = useState<AuditCheck | null>(null);
  const { attempt, isBusy, trouble } = useAttempt();
  const look = () => attempt(() => ask('GET', AUDIT_CHECK).then(setCheck));
  return html`<section class="card">
    <h2>Integrity</h2>
    <div role="status">${check && checkedText(check)}</div>
    ${trouble}
    <button type="button" disabled=${isBusy} onClick=${look}>
      ${isBusy ? 'Following the chain …' : 'Check the chain'}
    </button>
  </section>`;
}

function checkedText({ checkedAt, entries, forgotten, faults }: AuditCheck) {
  if (faults.length > 0) return faultList(faults);
  const erased = forgotten === 0 ? '' : `; ${forgotten} of them told of payers who were erased`;
  return html`<p>
    All entries were in order at ${dateTime(checkedAt)}: ${counted(entries, 'entry', 'entries')}${erased}.
    Somebody who can write to the store could have made a new chain:${' '}
    <code>audit verify --known</code> shows that.
  </p>`;
}

function faultList(faults: readonly Fault[]) {
  return (
    faults.length > 0 && html`<ul class="notes bad">${faults.map(({ what }) => html`<li>${what}</li>`)}</ul>`
  );
}

function filter(query: URLSearchParams) {
  const find = sent((values) => goTo(`#/settings/audit?${new URLSearchParams(inUtc(values))}`));
  const clear = () => goTo('#/settings/audit');
  return html`<form class="filters" key=${String(query)} onSubmit=${find} onReset=${clear}>
    ${field('Who', { name: 'who', defaultValue: query.get('who') ?? '', maxlength: 256 })}
    ${choice('What', AUDIT_ACTIONS, { name: 'action', chosen: query.get('action'), any: 'anything' })}
    ${minuteField('from', query.get('from'), 'From')}
    ${minuteField('to', query.get('to'), 'To')}
    <div class="buttons"><button type="submit">Find</button><button type="reset">Clear</button></div>
  </form>`;
}

const COLUMNS = [
  ...columns('when', 'when'),
  'who',
  'what',
  'platform',
  'about',
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

/** What has no shape is known by its form: a moment is written like no other text. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(', ') || 'none';
  if (typeof value === 'string') return MOMENT.test(value) ? dateTime(value) : value;
  if (typeof value !== 'object' || value === null) return String(value);
  const members = Object.entries(value).filter(([, inner]) => inner !== null);
  return `(${members.map(([key, inner]) => `${key}: ${valueText(inner)}`).join(', ')})`;
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
  const rows = entries.map(({ number, at, who, action, platform, subject, before, after, reason, hash }) => ({
    number,
    at,
    who,
    action,
    platform,
    subject,
    before: text(before),
    after: text(after),
    reason,
    hash,
  }));
  return csvText(rows);
}
