import type { Decision, FoundDecisions, Session } from './answers.ts';
import { type Answer, may, useAnswer } from './api.ts';
import { html, useEffect, useRef, useState } from './html.ts';
import { goTo, typedInto } from './parts/form.ts';
import { dateTime } from './parts/format.ts';
import { toClient, toDecision, toOrder, toRule, toVersion } from './parts/links.ts';
import { decision, decisions, ROLLOUT_STATUS, RULE_FOLDERS, ruleFolder } from './questions.ts';

interface Hit {
  readonly href: string;
  readonly name: string;
  readonly about: string;
}

interface HitGroup {
  readonly title: string;
  readonly hits: readonly Hit[];
}

/** After the last key; each search also reads the archive. */
const PAUSE_MS = 250;

/** The most rules and versions that are shown; a part of the name finds them. */
const HITS_MAX = 6;

const DECISION_ID = /^[\w-]{22}\.\d+\.[0-9a-z]+$/;

/** Finds an order, a payer or a decision by its whole name, and rules and versions by a part of it. */
export function Search({ session, close }: { session: Session; close: () => void }) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { groups, error, isUnderWay } = useFound(session, useSettled(text.trim()));
  const hits = groups.flatMap((group) => group.hits);
  const current = hits[Math.min(chosen, hits.length - 1)];
  useEffect(() => dialog.current?.showModal(), []);
  const leave = () => {
    // Gives the focus back; removing a dialog alone would not.
    dialog.current?.close();
    close();
  };
  const go = ({ href }: Hit) => {
    leave();
    goTo(href);
  };
  const type = typedInto((typed) => {
    setText(typed);
    setChosen(0);
  });
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter' && current !== undefined) go(current);
    if (step === undefined || hits.length === 0) return;
    event.preventDefault();
    setChosen((Math.min(chosen, hits.length - 1) + step + hits.length) % hits.length);
  };
  const active = current === undefined ? undefined : `hit-${hits.indexOf(current)}`;
  const box = { role: 'combobox', 'aria-autocomplete': 'list', 'aria-controls': 'hits' };
  const state = { 'aria-expanded': hits.length > 0 ? 'true' : 'false', 'aria-activedescendant': active };
  const words = 'Order, payer, decision, rule or version';
  return html`<dialog ref=${dialog} class="search" aria-label="Search" onCancel=${leave}>
    <input ...${box} ...${state} aria-label=${words} placeholder=${words} maxlength="256" autofocus
      value=${text} onInput=${type} onKeyDown=${press} />
    <div id="hits" role="listbox" aria-label="What was found" hidden=${hits.length === 0}>
      ${groups.map(
        ({ title, hits: own }) => html`<div role="group" aria-label=${title}>
          <div class="faint" aria-hidden="true">${title}</div>
          ${own.map((hit) => html`<${Option} ...${{ hit, id: `hit-${hits.indexOf(hit)}`, active, go }} />`)}
        </div>`,
      )}
    </div>
    <p class="faint" role="status">${wordsOn({ text, found: hits.length, error, isUnderWay })}</p>
  </dialog>`;
}

function Option({
  hit,
  id,
  active,
  go,
}: {
  hit: Hit;
  id: string;
  active: string | undefined;
  go: (hit: Hit) => void;
}) {
  return html`<div role="option" id=${id} aria-selected=${id === active ? 'true' : 'false'}
    onClick=${() => go(hit)}>
    <b>${hit.name}</b> <span class="faint">${hit.about}</span>
  </div>`;
}

function wordsOn({
  text,
  found,
  error,
  isUnderWay,
}: {
  text: string;
  found: number;
  error: Error | null;
  isUnderWay: boolean;
}) {
  if (error !== null) return error.message;
  if (isUnderWay) return 'Searching …';
  if (text.trim() === '') return 'Orders, payers and decisions are found by their whole name.';
  return found === 0 ? 'Nothing of this name is kept. Names are compared exactly.' : `${found} found`;
}

/** What was typed, once the typing pauses. */
function useSettled(text: string) {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function useFound(
  session: Session,
  text: string,
): { groups: readonly HitGroup[]; error: Error | null; isUnderWay: boolean } {
  const seesDecisions = may(session, 'decisions') && text !== '';
  const newest = (name: string) =>
    seesDecisions ? decisions(new URLSearchParams({ [name]: text, limit: '1' })) : null;
  const [order, payer] = [useAnswer(newest('orderRef')), useAnswer(newest('clientIdKey'))];
  const one = useAnswer(seesDecisions && DECISION_ID.test(text) ? decision(text) : null);
  const readsRules = may(session, 'rules:read');
  const folders = useAnswer(readsRules ? RULE_FOLDERS : null);
  const status = useAnswer(readsRules ? ROLLOUT_STATUS : null);
  const active = status.data?.rollout?.active.version;
  const folder = useAnswer(active === undefined ? null : ruleFolder(active));
  const rules = named(folder.data?.rules ?? [], text, ({ name }) => name);
  const versions = named(folders.data?.versions ?? [], text, ({ version }) => version);
  const found = [
    { title: 'Orders', hits: newestOf(order).map((at) => hitOf(at, at.orderRef, toOrder(at.orderRef))) },
    {
      title: 'Payers',
      hits: newestOf(payer).map((at) => hitOf(at, at.clientIdKey, payerAddress(session, at.clientIdKey))),
    },
    {
      title: 'Decisions',
      hits: (one.data === null ? [] : [one.data]).map((at) =>
        hitOf(at, at.decisionId, toDecision(at.decisionId)),
      ),
    },
    {
      title: 'Rules',
      hits: rules.map(({ name, at: { file, line } }) => ({
        ...{ name, about: `${active}, ${file}:${line}` },
        href: may(session, 'rules')
          ? toRule(active ?? '', file, name)
          : toVersion(active ?? '', '', { file, line: String(line) }),
      })),
    },
    {
      title: 'Versions',
      hits: versions.map(({ version, description }) => ({
        ...{ name: version, about: description ?? '', href: toVersion(version) },
      })),
    },
  ];
  const asked = [order, payer, one];
  const error = asked.map((answer) => answer.error).find((refusal) => refusal && refusal.status !== 404);
  const isUnderWay =
    seesDecisions && [order, payer].some(({ data, error }) => data === null && error === null);
  return { groups: found.filter(({ hits }) => hits.length > 0), error: error ?? null, isUnderWay };
}

function newestOf({ data }: Answer<FoundDecisions>) {
  return data?.decisions ?? [];
}

function hitOf({ verdict, at }: Decision, name: string, href: string): Hit {
  return { name, href, about: `${verdict}, ${dateTime(at)}` };
}

function payerAddress(session: Session, clientIdKey: string) {
  if (may(session, 'clients:read')) return toClient(clientIdKey);
  return `#/decisions?${new URLSearchParams({ clientIdKey })}`;
}

function named<T>(all: readonly T[], text: string, nameOf: (one: T) => string) {
  if (text === '') return [];
  return all.filter((one) => nameOf(one).includes(text.toLowerCase())).slice(0, HITS_MAX);
}
