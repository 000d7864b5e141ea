import type { ListEntries, SharedLists } from '../answers.ts';
import { ask, may, useAnswer } from '../api.ts';
import { html, useEffect, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { type Proposal, useProposal } from '../parts/confirm.ts';
import { Choice, endAfter, Field, goTo, LastDay, sent } from '../parts/form.ts';
import { counted, dateTime } from '../parts/format.ts';
import { answered, Empty, useAttempt } from '../parts/notice.ts';
import { linesOf, saveFile } from '../parts/save-file.ts';
import { columns, numbers, Table } from '../parts/table.ts';
import { Pill } from '../parts/verdict.ts';
import { LISTS, listEntries, listEntry, listLines, sharedList } from '../questions.ts';

type SharedList = SharedLists['lists'][number];

/** The shared lists, which rules ask about and people change without a release. */
export function ListsPage({ place, session }: PageProps) {
  const mayChange = may(session, 'lists');
  const answer = useAnswer(LISTS);
  const [changes, setChanges] = useState(0);
  const done = () => {
    setChanges((number) => number + 1);
    answer.reload();
  };
  const { propose, dialog } = useProposal(done);
  return answered(answer, ({ lists, isStale }) => {
    const chosen = lists.find((one) => one.list === place.item && !one.ofInstallation);
    return html`
      ${isStale && html`<p class="notice notice-bad">This copy is old: the store does not answer.</p>`}
      <${AllLists} lists=${lists} chosen=${place.item} />
      ${
        chosen &&
        html`<${OpenedList} key=${place.item} name=${place.item} changes=${changes}
        after=${place.query.get('after')} propose=${mayChange ? propose : null} />`
      }
      ${
        mayChange &&
        html`<section class="card">
        <h2>${chosen === undefined ? 'Make a list' : `Put on ${place.item}`}</h2>
        ${
          chosen === undefined
            ? html`<${MakeForm} name=${place.item} done=${done} />`
            : html`<${PutForm} list=${chosen} propose=${propose} />
              <${ImportList} key=${chosen.list} list=${chosen} done=${done} />`
        }
      </section>`
      }
      ${dialog}
    `;
  });
}

function AllLists({ lists, chosen }: { lists: readonly SharedList[]; chosen: string }) {
  if (lists.length === 0)
    return html`<${Empty} title="No shared list yet">
      Rules ask about a list with the fact “listed”. Make one, then put something on it.
    <//>`;
  const heads = ['list', 'holds', ...numbers('entries', 'ended'), ...columns('roomy', 'last change')];
  return html`<section class="card">
    <h2>${counted(lists.length, 'list')}</h2>
    <${Table} name="Lists" columns=${heads}>
      ${lists.map((one) => {
        const isChosen = one.list === chosen && !one.ofInstallation;
        return html`<tr key=${`${one.list} ${one.ofInstallation}`} class=${isChosen ? 'chosen' : ''}>
          <td><${ListLink} one=${one} isChosen=${isChosen} /></td>
          <td>${KIND_WORDS[one.kind]}</td>
          <td class="num">${one.entries}</td>
          <td class="num">${one.ended}</td>
          <td class="roomy">${dateTime(one.changedAt)}</td>
        </tr>`;
      })}
    <//>
  </section>`;
}

function ListLink({ one, isChosen }: { one: SharedList; isChosen: boolean }) {
  if (one.ofInstallation)
    return html`<b>${one.list}</b> <span class="faint">of the whole installation</span>`;
  return html`<a href=${`#/settings/lists/${one.list}`} aria-current=${isChosen ? 'true' : undefined}>
    <b>${one.list}</b>
  </a>`;
}

const KIND_WORDS = {
  client: 'clients',
  fingerprint: 'fingerprints',
  ip: 'IP addresses and ranges',
  method: 'methods',
  sellPoint: 'points of sale',
} as const;

type ListEntry = ListEntries['entries'][number];

type Propose = (change: Proposal<unknown>) => void;

const COLUMNS = ['value', ...columns('wide', 'reason'), 'by', 'since', 'until', ''];

/** The entries of a list, a page at a time; asked for again whenever there are more `changes`. */
function OpenedList({
  name,
  after,
  changes,
  propose,
}: {
  name: string;
  after: string | null;
  changes: number;
  propose: Propose | null;
}) {
  const [value, setValue] = useState('');
  const answer = useAnswer(listEntries(name, { after, value }));
  useEffect(() => {
    if (changes > 0) answer.reload();
  }, [changes]);
  return answered(answer, ({ entries, total, next }) => {
    const search = html`<${Search} value=${value} setValue=${setValue} />`;
    if (entries.length === 0 && value !== '')
      return html`${search}
        <${Empty} title=${`This value is not on ${name}`}>Values are compared exactly.<//>`;
    if (entries.length === 0)
      return html`<${Empty} title=${`Nothing is on the list ${name}`}>
        A rule that asks about it finds nobody. Put something on it below.
      <//>`;
    const older = `#/settings/lists/${name}?after=${next}`;
    return html`<section class="card">
      <h2>${name}: ${counted(total, 'entry', 'entries')}</h2>
      ${search}
      <${Table} name=${`Entries of ${name}`} kind="in-lines" columns=${COLUMNS}
        rows=${entries.map((one) => entryCells(name, one, propose))} />
      ${after !== null && html`<p><a href=${`#/settings/lists/${name}`}>Newest entries</a></p>`}
      ${next !== null && html`<p><a href=${older}>Older entries</a></p>`}
      <${ExportList} name=${name} />
    </section>`;
  });
}

/** The value is no part of the address: of payers and devices only an HMAC is kept. */
function Search({ value, setValue }: { value: string; setValue: (value: string) => void }) {
  const find = sent(({ sought = '' }) => setValue(sought.trim()));
  return html`<form class="filters" onSubmit=${find} onReset=${() => setValue('')}>
    <${Field} label="Find a value"><input name="sought" defaultValue=${value} maxlength="256" /><//>
    <div class="buttons"><button type="submit">Find</button><button type="reset">Clear</button></div>
  </form>`;
}

function entryCells(
  list: string,
  { value, reason, who, addedAt, expiresAt, hasEnded }: ListEntry,
  propose: Propose | null,
) {
  const remove = () =>
    propose?.({
      title: `Take ${value} off ${list}?`,
      action: 'Take it off the list',
      tone: 'bad',
      act: () => ask('DELETE', listEntry(list, value)),
      children: html`<p>Within 2 seconds no verdict counts it any more. It was put there for: ${reason}</p>`,
    });
  const end = expiresAt === null ? html`<span class="faint">no end</span>` : dateTime(expiresAt);
  return [
    ...[html`<code>${value}</code>`, reason, who, dateTime(addedAt)],
    html`${end}${hasEnded && html` <${Pill} tone="faint">ended<//>`}`,
    propose && html`<button type="button" onClick=${remove}>Remove …</button>`,
  ];
}

/** Makes a list, which says what it holds. */
function MakeForm({ name, done }: { name: string; done: () => void }) {
  const { attempt, trouble } = useAttempt();
  const make = sent(({ list = '', kind }) =>
    attempt(async () => {
      await ask('PUT', sharedList(list), { kind });
      goTo(`#/settings/lists/${list}`);
      done();
    }),
  );
  return html`<form onSubmit=${make}>
    <div class="fields">
    <${Field} label="List" hint="The name that rules use, like blocked-devices">
      <input name="list" required maxlength="64" defaultValue=${name} pattern="[a-z][a-z0-9]*(-[a-z0-9]+)*" />
    <//>
    <${Choice} label="Holds" name="kind" values=${Object.entries(KIND_WORDS)} />
    </div>
    <button type="submit" class="button-accent">Make the list</button>
    ${trouble}
  </form>`;
}

/** Puts a value on a list. */
function PutForm({ list: { list, kind }, propose }: { list: SharedList; propose: Propose }) {
  const put = sent(({ value = '', lastDay, ...body }) => {
    const { expires, howLong } = endAfter(lastDay, 'until somebody removes it');
    propose({
      title: `Put ${value} on ${list}?`,
      action: 'Put it on the list',
      act: async () => {
        await ask('PUT', listEntry(list, value), { ...body, ...expires });
        goTo(`#/settings/lists/${list}`);
      },
      children: html`<p>Within 2 seconds every verdict counts it${howLong}. Reason: ${body['reason']}</p>`,
    });
  });
  return html`<form onSubmit=${put}>
    <div class="fields">
    <${Field} label="Value" hint=${HINTS[kind]}><input name="value" required maxlength="256" /><//>
    <${Field} label="Reason"><input name="reason" required maxlength="500" /><//>
    <${LastDay} otherwise="until it is removed" />
    </div>
    <button type="submit" class="button-accent">Put it on the list …</button>
  </form>`;
}

const HINTS = {
  client: 'The clientIdKey',
  fingerprint: 'As callers send it; only its HMAC is kept',
  ip: 'An address, of which only the HMAC is kept, or a range like 203.0.113.0/24, which is kept as it is',
  method: 'As callers name it',
  sellPoint: 'The sellPointKey',
} as const;

/** Saves all entries of a list as lines that can be put on a list again. */
function ExportList({ name }: { name: string }) {
  const { attempt, trouble } = useAttempt();
  const save = () =>
    attempt(async () => {
      const items = (await allEntries(name)).map(({ value, reason, who, addedAt, expiresAt }) => ({
        ...{
          value,
          reason,
          ...(expiresAt !== null && { expiresAt: new Date(expiresAt).toISOString() }),
          who,
        },
        ...{ addedAt: new Date(addedAt).toISOString() },
      }));
      saveFile(`${name}.ndjson`, 'application/x-ndjson', linesOf(items));
    });
  return html`<div class="buttons">
      <button type="button" onClick=${save}>Save all as NDJSON</button>
    </div>
    ${trouble}`;
}

async function allEntries(name: string) {
  return (await ask('GET', { ...listEntries(name, { limit: 500 }), all: 'entries' })).entries;
}

/** Puts many values on a list at once: one a line, or the lines of a file that was saved. */
function ImportList({
  list: { list: name },
  done,
}: {
  list: SharedLists['lists'][number];
  done: () => void;
}) {
  const [told, setTold] = useState<readonly string[]>([]);
  const { attempt, trouble } = useAttempt();
  const put = sent(({ values = '', reason = '', lastDay }) =>
    attempt(async () => {
      const given = { reason, ...endAfter(lastDay, '').expires };
      const lines = values.split('\n').flatMap((line) => lineOf(line.trim(), given));
      setTold(wordsOf(await ask('POST', listLines(name), `${lines.join('\n')}\n`)));
      done();
    }),
  );
  return html`<details>
    <summary>Put many on ${name}</summary>
    <form onSubmit=${put}>
      <${Field} label="Values" hint="One a line, as callers send it, or the lines of a saved list">
        <textarea name="values" rows="6" required spellcheck="false"></textarea>
      <//>
      <div class="fields">
        <${Field} label="Reason for all"><input name="reason" required maxlength="500" /><//>
        <${LastDay} otherwise="until it is removed" />
      </div>
      <button type="submit" class="button-accent">Put them on the list</button>
    </form>
    <div role="status">
      ${told.length > 0 && html`<ul class="notes">${told.map((line) => html`<li>${line}</li>`)}</ul>`}
    </div>
    ${trouble}
  </details>`;
}

/** `given`: for values that come without anything else. */
function lineOf(line: string, given: object) {
  if (line === '') return [];
  if (!line.startsWith('{')) return [JSON.stringify({ value: line, ...given })];
  const { value, reason, expiresAt } = JSON.parse(line);
  return [JSON.stringify({ ...given, value, ...(reason && { reason }), ...(expiresAt && { expiresAt }) })];
}

/** How many lines did what, and why the first refused ones were refused. */
function wordsOf(
  results: readonly { readonly line: number; readonly result?: string; readonly detail?: string }[],
) {
  const counts = Map.groupBy(results, ({ result }) => result ?? 'refused');
  const refused = (counts.get('refused') ?? []).slice(0, 5);
  return [
    ...[...counts].map(([what, lines]) => `${counted(lines.length, 'line')} ${what}`),
    ...refused.map(({ line, detail }) => `line ${line}: ${detail}`),
  ];
}
