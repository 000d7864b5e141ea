import { askService, isAllowed, Refusal } from '#workbench/console/page/api.ts';
import { html, useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import { goTo, onTyped } from '#workbench/console/page/parts/form.ts';
import { formatDateTime } from '#workbench/console/page/parts/format.ts';
import {
  toDecisionPath,
  toDecisionsPath,
  toOrderPath,
  toPayerPath,
} from '#workbench/console/page/parts/links.ts';
import { renderName } from '#workbench/console/page/parts/name.ts';
import type { Decision, Session } from '#workbench/console/page/questions.ts';
import {
  clientQuestion,
  decisionQuestion,
  decisionsQuestion,
  LISTS,
  listEntries,
} from '#workbench/console/page/questions.ts';

interface Hit {
  readonly href: string;
  readonly name: string;
  readonly about: string;
}

/** After the last key; each search also reads the archive. */
const PAUSE_MS = 250;

const DECISION_ID = /^[\w-]{22}\.\d+\.[0-9a-z]+$/;

/** Below this a name is no X-Request-Id, for which every decision that is kept is looked at. */
const REQUEST_ID_MIN = 16;

const WORDS = 'Payer, order, decision, request, device or list entry';

/** Finds what has a name, and leads to it. */
export function FindBox({ session, hasFocus }: { session: Session; hasFocus: boolean }) {
  const box = useRef<HTMLInputElement | null>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  // Enter was pressed, perhaps before anything was found.
  const [goes, setGoes] = useState(false);
  const sought = text.trim();
  const { groups, error, isUnderWay } = useFound(session, sought);
  const hits = groups.flatMap((group) => group.hits);
  const current = hits[Math.min(chosen, hits.length - 1)];
  useEffect(() => {
    if (hasFocus) box.current?.focus();
  }, []);
  useEffect(() => {
    if (goes && current !== undefined) goTo(current.href);
  }, [goes, current?.href]);
  const type = onTyped((typed) => {
    setText(typed);
    setChosen(0);
    setGoes(false);
  });
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter') setGoes(true);
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0 || hits.length === 0) return;
    event.preventDefault();
    setChosen((Math.min(chosen, hits.length - 1) + step + hits.length) % hits.length);
  };
  const state = { 'aria-expanded': hits.length > 0 ? 'true' : 'false', 'aria-autocomplete': 'list' };
  const active = current === undefined ? undefined : `hit-${hits.indexOf(current)}`;
  const words = isUnderWay ? 'Searching …' : formatHitCount(sought, hits.length);
  return html`<div class="find card" role="search">
    <input ref=${box} role="combobox" aria-controls="hits" ...${state} aria-activedescendant=${active}
      aria-label=${WORDS} placeholder=${WORDS} maxlength="256" aria-keyshortcuts="/" value=${text}
      onInput=${type} onKeyDown=${press} />
    <div id="hits" role="listbox" aria-label="What was found" hidden=${hits.length === 0}>
      ${groups.map(
        ({ title, hits: own }) => html`<div role="group" aria-label=${title}>
          ${own.map((hit) => renderHit(hit, title, `hit-${hits.indexOf(hit)}`, active))}
        </div>`,
      )}
    </div>
    <p class="faint" role="status">${error?.message ?? words}</p>
  </div>`;
}

function renderHit({ href, name, about }: Hit, title: string, id: string, active: string | undefined) {
  return html`<div role="option" id=${id} aria-selected=${id === active ? 'true' : 'false'}
    onClick=${() => goTo(href)}>
    <span class="faint">${title}</span> <b>${renderName(name)}</b> <span class="faint">${about}</span>
  </div>`;
}

function formatHitCount(sought: string, found: number) {
  return sought === '' || found > 0 ? '' : 'Nothing of this name is kept. Names are compared exactly.';
}

/** By what it is. */
type HitGroups = readonly { readonly title: string; readonly hits: readonly Hit[] }[];

interface Found {
  readonly groups: HitGroups;
  readonly error: Error | null;
}

const NOTHING: Found = { groups: [], error: null };

/** What has the name, once the typing pauses; never what had another one. */
function useFound(session: Session, text: string) {
  const [{ of, groups, error }, setFound] = useState<Found & { readonly of: string }>({ ...NOTHING, of: '' });
  useEffect(() => {
    let isLeft = false;
    const told = (found: Found) => isLeft || setFound({ of: text, ...found });
    const look = () =>
      searchAll(session, text).then(
        (all) => told({ groups: all.filter(({ hits }) => hits.length > 0), error: null }),
        (refusal) => told({ groups: [], error: refusal }),
      );
    const timer = text === '' ? undefined : setTimeout(look, PAUSE_MS);
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [text]);
  if (text === of) return { groups, error, isUnderWay: false };
  return { ...NOTHING, isUnderWay: text !== '' };
}

async function searchAll(session: Session, text: string): Promise<HitGroups> {
  const seesDecisions = isAllowed(session, 'decisions');
  const newest = async (name: 'orderRef' | 'clientIdKey' | 'requestId') => {
    if (!seesDecisions || (name === 'requestId' && text.length < REQUEST_ID_MIN)) return [];
    const question = decisionsQuestion(new URLSearchParams({ [name]: text, limit: '1' }));
    return (await askService('GET', question)).decisions;
  };
  const [payers, orders, decided, requests, entries] = await Promise.all([
    isAllowed(session, 'clients:read')
      ? findPayers(text)
      : newest('clientIdKey').then((all) => all.map(toPayerHit)),
    newest('orderRef'),
    seesDecisions && DECISION_ID.test(text) ? nullIfUnknown(askService('GET', decisionQuestion(text))) : null,
    newest('requestId'),
    isAllowed(session, 'lists:read') ? findListEntries(text) : [],
  ]);
  return [
    { title: 'payer', hits: payers },
    {
      title: 'order',
      hits: orders.map((one) => ({ href: toOrderPath(text), name: text, about: describeDecision(one) })),
    },
    { title: 'decision', hits: [decided ?? [], requests].flat().map(toDecisionHit) },
    { title: 'list', hits: entries },
  ];
}

function describeDecision({ verdict, at }: Decision) {
  return `${verdict}, ${formatDateTime(at)}`;
}

function toDecisionHit(one: Decision): Hit {
  return { href: toDecisionPath(one.decisionId), name: one.orderRef, about: describeDecision(one) };
}

/** Of whoever may not open payers, the decisions. */
function toPayerHit(one: Decision): Hit {
  const { clientIdKey } = one;
  return { href: toDecisionsPath({ clientIdKey }), name: clientIdKey, about: describeDecision(one) };
}

async function findPayers(text: string): Promise<readonly Hit[]> {
  const payer = await nullIfUnknown(askService('GET', clientQuestion(text)));
  if (payer === null) return [];
  const { clientGroup, lastVerdictAt } = payer;
  return [
    {
      href: toPayerPath(text),
      name: text,
      about: `${clientGroup}, last verdict ${formatDateTime(lastVerdictAt)}`,
    },
  ];
}

/** A device or an address is found by its value, as a list takes it. */
async function findListEntries(text: string): Promise<readonly Hit[]> {
  const { lists } = await askService('GET', LISTS);
  const asked = lists.filter(({ ofInstallation }) => !ofInstallation);
  const found = asked.map(async ({ list }) => {
    const of = await nullIfUnknown(askService('GET', listEntries(list, { value: text, limit: '1' })));
    return (of?.entries ?? []).map(({ reason }) => ({
      href: `#/settings/lists/${list}`,
      name: list,
      about: reason,
    }));
  });
  return (await Promise.all(found)).flat();
}

/** Null where there is none of this name, or none can have it. */
function nullIfUnknown<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error: unknown) => {
    if (error instanceof Refusal && (error.status === 404 || error.status === 400)) return null;
    throw error;
  });
}
