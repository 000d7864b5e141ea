import { AUDIT_ACTIONS } from '#workbench/access/audit-actions.ts';
import { askService, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { goTo, onSubmit, renderChoice, renderField } from '#workbench/console/page/parts/form.ts';
import { formatCount, formatDateTime } from '#workbench/console/page/parts/format.ts';
import { formatSafeName, renderSafeName } from '#workbench/console/page/parts/name.ts';
import { renderAnswer, renderEmpty, useAction } from '#workbench/console/page/parts/notice.ts';
import { SaveButtons, toCsv, toJsonLines } from '#workbench/console/page/parts/save-file.ts';
import { declareColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import {
  convertMinutesToUtc,
  readSpan,
  renderMinuteField,
  toApiTimeParameters,
  toThisPageWithParameters,
} from '#workbench/console/page/parts/time-span.ts';
import {
  AUDIT_CHECK,
  type AuditCheck,
  auditEntriesQuestion,
  type AuditPage as Found,
} from '#workbench/console/page/questions.ts';
import { ProposalsSection } from './proposals.ts';

type Entry = Found['entries'][number];

type Fault = Found['unreadable'][number];

/**
 * The operations of which one is enough to see proposals. People who have one of them may decide about
 * proposals or make some.
 */
export const PROPOSALS_VIEWER_OPERATIONS = ['approve', 'operate', 'clients', 'keys'] as const;

/** The changes that wait for another person, and the entries of the audit. */
export function AuditPage({ place: { query }, session }: PageProps) {
  return html`
    ${PROPOSALS_VIEWER_OPERATIONS.some((one) => isAllowed(session, one)) && h(ProposalsSection, { session })}
    ${isAllowed(session, 'audit') && html`${renderFilter(query)}${h(Entries, { query })}${h(Chain, {})}`}`;
}

/** The entries, newest first, and the faults of entries that cannot be read. */
function Entries({ query }: { query: URLSearchParams }) {
  const [lacking, setLacking] = useState<readonly Fault[]>([]);
  const all = async () => {
    const { entries, unreadable } = await fetchAllEntries(query);
    setLacking(unreadable);
    return entries;
  };
  const forms = { CSV: async () => toEntriesCsv(await all()), NDJSON: async () => toJsonLines(await all()) };
  return renderAnswer(
    useAnswer(auditEntriesQuestion(toAuditQuery(query))),
    ({ entries, unreadable, next }) => html`<section class="card">
      <h2>${formatCount(entries.length, 'entry', 'entries')}</h2>
      ${renderFaults(unreadable)}
      ${
        entries.length === 0
          ? renderEmpty(
              next === null ? 'No entry matches' : 'No entry on this page matches',
              next === null
                ? 'Capital and small letters are the same here.'
                : 'Older entries are not searched yet.',
            )
          : renderTable({ name: 'Audit', columns: COLUMNS, kind: 'in-lines' }, entries, renderCells)
      }
      ${next !== null && html`<p><a href=${toThisPageWithParameters({ after: next })}>Older entries</a></p>`}
      ${h(SaveButtons, { name: 'audit', forms })}
      <div role="status">
        ${lacking.length > 0 && html`<p>These entries are missing in the file:</p>`}
        ${renderFaults(lacking)}
      </div>
    </section>`,
  );
}

/** Returns the query of the API for a filter in an address. */
function toAuditQuery(query: URLSearchParams) {
  const named = [...query].filter(([name]) => ['who', 'action', 'after'].includes(name));
  const span = readSpan({ from: query.get('from'), to: query.get('to') });
  return new URLSearchParams([...named, ...Object.entries(toApiTimeParameters(span))]);
}

function Chain() {
  const [check, setCheck] = useState<AuditCheck | null>(null);
  const { attempt, isBusy, trouble } = useAction();
  const look = () => attempt(() => askService('GET', AUDIT_CHECK).then(setCheck));
  return html`<section class="card">
    <h2>Integrity</h2>
    <p class="faint">
      Every entry contains the hash of the entry before it, so that an entry that is changed or missing breaks
      the chain.
    </p>
    <div role="status">${check && renderCheck(check)}</div>
    ${trouble}
    <button type="button" disabled=${isBusy} onClick=${look}>
      ${isBusy ? 'Following the chain …' : 'Check the chain'}
    </button>
  </section>`;
}

function renderCheck({ checkedAt, entries, forgotten, faults }: AuditCheck) {
  if (faults.length > 0) return renderFaults(faults);
  const erased = forgotten === 0 ? '' : `; ${forgotten} of them were about payers who are erased`;
  return html`<p>
    All entries were in order at ${formatDateTime(checkedAt)}: ${formatCount(
      entries,
      'entry',
      'entries',
    )}${erased}.
    Whoever can write to the store could replace the whole chain:${' '}
    <code>audit verify --known</code> shows that.
  </p>`;
}

function renderFaults(faults: readonly Fault[]) {
  return (
    faults.length > 0 && html`<ul class="notes bad">${faults.map(({ what }) => html`<li>${what}</li>`)}</ul>`
  );
}

function renderFilter(query: URLSearchParams) {
  const find = onSubmit((values) =>
    goTo(`#/settings/audit?${new URLSearchParams(convertMinutesToUtc(values))}`),
  );
  const clear = () => goTo('#/settings/audit');
  return html`<form class="filters" key=${String(query)} onSubmit=${find} onReset=${clear}>
    ${renderField('Who', { name: 'who', defaultValue: query.get('who') ?? '', maxlength: 256 })}
    ${renderChoice('What', AUDIT_ACTIONS, { name: 'action', chosen: query.get('action'), any: 'anything' })}
    ${renderMinuteField('from', query.get('from'), 'From')}
    ${renderMinuteField('to', query.get('to'), 'To')}
    <div class="buttons"><button type="submit">Find</button><button type="reset">Clear</button></div>
  </form>`;
}

const COLUMNS = [
  ...declareColumns('when', 'when'),
  ...declareColumns('who', 'who'),
  ...declareColumns('when', 'what', 'platform'),
  'about',
  ...declareColumns('wide', 'change', 'why'),
];

function renderCells({ at, who, action, platform, subject, before, after, reason }: Entry) {
  const change = before === null && after === null ? '' : `${formatState(before)} → ${formatState(after)}`;
  const where = platform ?? html`<span class="faint">all</span>`;
  return [formatDateTime(at), who, action, where, subject && renderSafeName(subject), change, reason];
}

/**
 * Formats a state like `active: p2.v11, candidates: (version: p2.v12, percent: 10)`. Nested values stand in
 * brackets.
 */
function formatState(state: unknown) {
  return state === null ? 'nothing' : formatValue(state).replace(/^\((.*)\)$/s, '$1');
}

/**
 * Matches a moment. The values have no schema, so a moment is recognised by its form, which no other text
 * has.
 */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * The members whose values are names that callers chose. All other texts are words of the service or of
 * people.
 */
const NAMED: ReadonlySet<string> = new Set(['value', 'requisiteRef', 'acceptorKeys', 'method']);

function formatValue(value: unknown, member = ''): string {
  if (Array.isArray(value)) return value.map((one) => formatValue(one, member)).join(', ') || 'none';
  if (typeof value === 'string' && NAMED.has(member)) return formatSafeName(value);
  if (typeof value === 'string') return MOMENT.test(value) ? formatDateTime(value) : value;
  if (typeof value !== 'object' || value === null) return String(value);
  const members = Object.entries(value).filter(([, inner]) => inner !== null);
  return `(${members.map(([key, inner]) => `${key}: ${formatValue(inner, key)}`).join(', ')})`;
}

async function fetchAllEntries(query: URLSearchParams) {
  const page = toAuditQuery(query);
  page.delete('after');
  page.set('limit', '500');
  const all: { entries: Entry[]; unreadable: Fault[] } = { entries: [], unreadable: [] };
  for (;;) {
    const { entries, unreadable, next } = await askService('GET', auditEntriesQuestion(page));
    all.entries.push(...entries);
    all.unreadable.push(...unreadable);
    if (next === null) return all;
    page.set('after', next);
  }
}

function toEntriesCsv(entries: readonly Entry[]) {
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
  return toCsv(rows);
}
