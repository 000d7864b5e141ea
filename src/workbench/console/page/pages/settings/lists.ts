import { askService, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, h, html, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { type PlannedChange, useConfirmedChange } from '#workbench/console/page/parts/confirm.ts';
import {
  goTo,
  onSubmit,
  renderChoice,
  renderField,
  renderLabelledControl,
  renderLastDayField,
  toExpiryAndWords,
} from '#workbench/console/page/parts/form.ts';
import { formatCount, formatDateTime } from '#workbench/console/page/parts/format.ts';
import { renderSafeName } from '#workbench/console/page/parts/name.ts';
import { renderAnswer, renderEmpty, useAction } from '#workbench/console/page/parts/notice.ts';
import { SaveButtons, toJsonLines } from '#workbench/console/page/parts/save-file.ts';
import { declareColumns, declareNumberColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import { renderPill } from '#workbench/console/page/parts/verdict.ts';
import type { ListEntries, SharedLists } from '#workbench/console/page/questions.ts';
import {
  LISTS,
  listCreationQuestion,
  listEntriesQuestion,
  listEntryQuestion,
  listLinesQuestion,
} from '#workbench/console/page/questions.ts';

type SharedList = SharedLists['lists'][number];

type ListEntry = ListEntries['entries'][number];

/** The shared lists, which rules ask about and people change without a release. One of them is open. */
export function ListsPage({ place: { item, query }, session }: PageProps) {
  const answer = useAnswer(LISTS);
  const [sought, setSought] = useState({ list: '', value: '' });
  const [told, setTold] = useState<readonly string[]>([]);
  const mayChange = isAllowed(session, 'lists');
  const own = answer.data?.lists.find((one) => one.list === item && !one.ofInstallation) ?? null;
  const [after, value] = [query.get('after'), sought.list === item ? sought.value : ''];
  const which = { limit: '100', ...(after && { after }), ...(value && { value }) };
  const entries = useAnswer(own && listEntriesQuestion(item, which));
  const { propose, dialog } = useConfirmedChange((lines: readonly string[]) => {
    setTold(lines);
    answer.reload();
    entries.reload();
  });
  const find = (typed: string) => setSought({ list: item, value: typed });
  return renderAnswer(
    answer,
    ({ lists, isStale }) => html`
      ${
        isStale &&
        html`<p class="notice notice-bad">
        The store does not answer: this page may be out of date.
      </p>`
      }
      ${renderLists(lists, item)}
      ${
        own &&
        renderAnswer(entries, (found) =>
          found.entries.length === 0 && value === ''
            ? renderEmpty(
                `The list ${item} is empty`,
                'Add the first value below. Rules find it within 2 seconds.',
              )
            : h(Entries, {
                key: item,
                name: item,
                after,
                found,
                value,
                find,
                propose: mayChange ? propose : null,
              }),
        )
      }
      ${
        mayChange &&
        html`<section class="card">
          <h2>${own === null ? 'New list' : `Add to ${item}`}</h2>
          ${
            own === null
              ? h(MakeForm, { name: item, done: answer.reload })
              : h(PutForm, { key: item, list: own, propose })
          }
          <div role="status">${told.map((line) => html`<p>${line}</p>`)}</div>
        </section>`
      }
      ${dialog}`,
  );
}

/** The kinds of list entries, and how each kind is written. */
const KINDS = {
  client: ['payers', 'The clientIdKey'],
  fingerprint: ['fingerprints', 'As callers send it; only its HMAC is kept'],
  ip: [
    'IP addresses and ranges',
    'Of an address only the HMAC is kept; a range like 203.0.113.0/24 as it is',
  ],
  method: ['methods', 'As callers name it'],
  sellPoint: ['points of sale', 'The sellPointKey'],
  attribute: ['values of an attribute', 'As callers send it; only its HMAC is kept'],
} as const;

const LIST_COLUMNS = [
  'list',
  'holds',
  ...declareNumberColumns('entries', 'ended'),
  ...declareColumns('roomy', 'last change'),
];

function renderLists(lists: readonly SharedList[], chosen: string) {
  if (lists.length === 0)
    return renderEmpty('No shared list yet', 'Create the first one below. Rules ask for it with “listed”.');
  return html`<section class="card">
    <h2>${formatCount(lists.length, 'list')}</h2>
    ${renderTable(
      { name: 'Lists', columns: LIST_COLUMNS },
      lists,
      ({ list, ofInstallation, kind, attribute, entries, ended, changedAt }) => [
        ofInstallation
          ? html`<b>${list}</b> <span class="faint">of the whole installation</span>`
          : html`<a href=${`#/settings/lists/${list}`} aria-current=${list === chosen ? 'true' : undefined}>
              <b>${list}</b>
            </a>`,
        attribute === undefined ? KINDS[kind][0] : `values of ${attribute}`,
        entries,
        ended,
        formatDateTime(changedAt),
      ],
    )}
  </section>`;
}

interface EntriesProps {
  name: string;
  after: string | null;
  found: ListEntries;
  /**
   * The searched value. It is kept out of the address of the page, because the browser's history would keep
   * it readable. The service itself keeps only HMACs of devices and of attribute values.
   */
  value: string;
  find: (value: string) => void;
  propose: Propose | null;
}

type Propose = (change: PlannedChange<readonly string[]>) => void;

const COLUMNS = [
  'value',
  ...declareColumns('wide', 'reason'),
  ...declareColumns('who', 'by'),
  ...declareColumns('when', 'since', 'until'),
  '',
];

/** The entries of a list, page by page. */
function Entries({ name, after, found, value, find, propose }: EntriesProps) {
  const { entries, total, next, coveredBy } = found;
  const here = `#/settings/lists/${name}`;
  const cells = (one: ListEntry) => renderCells(name, one, propose);
  const search = onSubmit(({ sought = '' }) => find(sought.trim()));
  return html`<section class="card">
    <h2>${name}: ${formatCount(total, 'entry', 'entries')}</h2>
    <form class="filters" onSubmit=${search} onReset=${() => find('')}>
      ${renderField('Find a value', { name: 'sought', defaultValue: value, maxlength: 256 })}
      <div class="buttons"><button type="submit">Find</button><button type="reset">Clear</button></div>
    </form>
    ${
      entries.length === 0
        ? coveredBy
          ? renderCovered(value, coveredBy, cells)
          : renderEmpty(`This value is not on ${name}`, 'Only the exact value is found.')
        : renderTable({ name: `Entries of ${name}`, columns: COLUMNS, kind: 'in-lines' }, entries, cells)
    }
    ${after !== null && html`<p><a href=${here}>Newest entries</a></p>`}
    ${next !== null && html`<p><a href=${`${here}?after=${next}`}>Older entries</a></p>`}
    ${h(SaveButtons, { name, forms: { NDJSON: () => fetchEntryLines(name) } })}
  </section>`;
}

/** Shows that an IP address has no entry of its own, but lies in a range that has one. */
function renderCovered(value: string, range: ListEntry, cells: (one: ListEntry) => readonly Html[]) {
  return html`<p role="status">The entry <b>${range.value}</b> covers ${renderSafeName(value)}.</p>
    ${renderTable({ name: 'The entry that covers it', columns: COLUMNS, kind: 'in-lines' }, [range], cells)}`;
}

function renderCells(list: string, entry: ListEntry, propose: Propose | null) {
  const { value, reason, who, addedAt, expiresAt, hasEnded } = entry;
  const remove = () =>
    propose?.({
      title: { before: 'Take', name: value, after: ` off ${list}?` },
      action: 'Remove from the list',
      tone: 'bad',
      act: () => askService('DELETE', listEntryQuestion(list, value)).then(() => []),
      children: html`<p>Within 2 seconds verdicts stop counting it. It was added for: ${reason}</p>`,
    });
  const end = expiresAt === null ? html`<span class="faint">no end</span>` : formatDateTime(expiresAt);
  return [
    html`<code>${renderSafeName(value)}</code>`,
    reason,
    who,
    formatDateTime(addedAt),
    html`${end}${hasEnded && html` ${renderPill('ended')}`}`,
    propose && html`<button type="button" onClick=${remove}>Remove …</button>`,
  ];
}

/** Fetches all entries as lines that can be put on a list again. */
async function fetchEntryLines(name: string) {
  const { entries } = await askService('GET', {
    ...listEntriesQuestion(name, { limit: '500' }),
    pagedMember: 'entries',
  });
  return toJsonLines(
    entries.map(({ value, reason, who, addedAt, expiresAt }) => ({
      value,
      reason,
      ...(expiresAt !== null && { expiresAt }),
      who,
      addedAt,
    })),
  );
}

const ATTRIBUTE_FIELD = {
  name: 'attribute',
  required: true,
  pattern: '[A-Za-z][A-Za-z0-9_]*',
  maxlength: 64,
};

/** The form that makes a list. It asks which kind of entries the list holds. */
function MakeForm({ name, done }: { name: string; done: () => void }) {
  const { attempt, trouble } = useAction();
  const [kind, setKind] = useState('client');
  const make = onSubmit(({ list = '', attribute }) =>
    attempt(async () => {
      await askService('PUT', listCreationQuestion(list), { kind, attribute });
      goTo(`#/settings/lists/${list}`);
      done();
    }),
  );
  const kinds = Object.entries(KINDS).map(([kind, [words]]) => [kind, words] as const);
  const pattern = '[a-z][a-z0-9]*(-[a-z0-9]+)*';
  const called = { name: 'list', required: true, pattern, maxlength: 64, defaultValue: name };
  return html`<form onSubmit=${make}>
    <div class="fields">
      ${renderField('List', called, 'The name that rules use, like blocked-devices')}
      ${renderChoice('Holds', kinds, { name: 'kind', chosen: kind, go: setKind })}
      ${
        kind === 'attribute' &&
        renderField('Attribute', ATTRIBUTE_FIELD, 'The name that callers use, like wallet')
      }
    </div>
    <button type="submit" class="button-accent">Create the list</button>
    ${trouble}
  </form>`;
}

/** The form that puts values on a list: one a line, or the lines of a list that was saved. */
function PutForm({ list: { list, kind }, propose }: { list: SharedList; propose: Propose }) {
  const put = onSubmit(({ values = '', reason = '', lastDay }) => {
    const { expires, howLong } = toExpiryAndWords(lastDay, 'until somebody removes it');
    const all = values
      .split('\n')
      .map((text, index) => ({ text, line: index + 1 }))
      .filter(({ text }) => text.trim() !== '');
    propose({
      title: nameAdded(
        all.map(({ text }) => text.trim()),
        list,
      ),
      action: 'Add to the list',
      act: async () => {
        const lines = all.map((typed) => toEntryLine(typed, { reason, ...expires }));
        const results = await askService('POST', listLinesQuestion(list), toJsonLines(lines));
        goTo(`#/settings/lists/${list}`);
        return summarizeResults(results, (line) => all[line - 1]?.line ?? line);
      },
      children: html`<p>Within 2 seconds every verdict counts it${howLong}. Reason: ${reason}</p>`,
    });
  });
  const lines = html`<textarea name="values" rows="1" required spellcheck="false"></textarea>`;
  return html`<form onSubmit=${put}>
    <div class="fields">
      ${renderLabelledControl('Value', lines, `${KINDS[kind][1]}. One a line, or the lines of a saved list`)}
      ${renderField('Reason', { name: 'reason', required: true, maxlength: 500 })}
      ${renderLastDayField('until it is removed')}
    </div>
    <button type="submit" class="button-accent">Add to the list …</button>
  </form>`;
}

function nameAdded(values: readonly string[], list: string) {
  const [only = ''] = values;
  if (values.length !== 1) return `Add ${values.length} values to ${list}?`;
  return { before: 'Add', name: only, after: ` to ${list}?` };
}

/** A line as it was pasted, and its number, counted from 1. */
interface PastedLine {
  readonly text: string;
  readonly line: number;
}

/**
 * Converts a pasted line to a line of the API. `given` has the reason and the end for lines that have
 * none. Throws an error that says what is wrong with a line of a saved list.
 */
function toEntryLine(pasted: PastedLine, given: object) {
  const text = pasted.text.trim();
  if (!text.startsWith('{')) return { value: text, ...given };
  const { value, reason, expiresAt } = parseSavedEntry(pasted);
  return { ...given, value, ...(reason && { reason }), ...(expiresAt && { expiresAt }) };
}

const LINE_FORM = 'Write one like {"value": "ann", "reason": "why"}, or the value alone. Nothing was added.';

function parseSavedEntry({ text, line }: PastedLine) {
  try {
    return JSON.parse(text);
  } catch (error) {
    // If a text ends too early, the error has no position.
    const [, place = text.trimEnd().length] = /position (\d+)/.exec(String(error)) ?? [];
    const where = `Line ${line}, column ${Number(place) + 1}`;
    throw new Error(`${where}: from here on this is not a line of a saved list. ${LINE_FORM}`);
  }
}

/** Summarizes how many lines had which result, and why the first refused ones were refused. */
function summarizeResults(
  results: readonly { line: number; result?: string; detail?: string }[],
  findPastedLine: (line: number) => number,
) {
  const counts = Map.groupBy(results, ({ result }) => result ?? 'refused');
  const refused = (counts.get('refused') ?? []).slice(0, 5);
  return [
    ...[...counts].map(([what, lines]) => `${formatCount(lines.length, 'line')} ${what}`),
    ...refused.map(({ line, detail }) => `line ${findPastedLine(line)}: ${detail}`),
  ];
}
