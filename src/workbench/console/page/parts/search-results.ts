import { askService, isAllowed } from '#workbench/console/page/api.ts';
import { type Html, h, html, useEffect, useState } from '#workbench/console/page/html.ts';
import {
  type FoundRecords,
  partSearchQuestion,
  type Session,
  type VerdictCommand,
} from '#workbench/console/page/questions.ts';
import { formatDateTime, formatDay, groupDigits } from './format.ts';
import {
  toConsolePath,
  toDecisionPath,
  toDecisionsPath,
  toOrderDecisionsPath,
  toPayerPath,
} from './links.ts';
import { renderSafeName } from './name.ts';
import { VerdictPill } from './verdict.ts';

/** A thing to choose. It leads to a page, or does something. */
export interface Choice {
  readonly name: string;
  readonly about: Html;
  readonly act: { readonly href: string } | (() => void);
}

/** Choices of one kind. `more` says that there are others, which are not listed. */
export interface ChoiceGroup {
  readonly title: string;
  readonly choices: readonly Choice[];
  readonly more: boolean;
}

/** The present state of a search while somebody types. */
export interface SearchState {
  readonly groups: readonly ChoiceGroup[];
  readonly isUnderWay: boolean;
  /** The result of the search, for people. Empty if nothing is searched. */
  readonly words: string;
  readonly isRefused: boolean;
}

/** How long, in ms, a search waits after the last key, because each search also reads the archive. */
const PAUSE_MS = 250;

const CHARACTERS_MIN = 2;

const NOTHING: Omit<SearchState, 'isUnderWay'> = { groups: [], words: '', isRefused: false };

/** Whether the session has a grant with which something can be found. */
function mayFind(session: Session) {
  return (['clients:read', 'decisions', 'lists:read'] as const).some((one) => isAllowed(session, one));
}

/**
 * Finds things whose name contains the text, when the typing pauses. Never shows an answer about another
 * text.
 */
export function useSearch(session: Session, text: string): SearchState {
  const [told, setTold] = useState({ ...NOTHING, of: '' });
  const isTooShort = [...text].length < CHARACTERS_MIN;
  const isAsked = !isTooShort && mayFind(session);
  useEffect(() => {
    if (!isAsked) return undefined;
    const leaving = new AbortController();
    const tell = (search: typeof NOTHING) => leaving.signal.aborted || setTold({ ...search, of: text });
    const look = () =>
      askService('GET', partSearchQuestion(text), undefined, leaving.signal).then(
        (found) => tell(toSearch(session, text, found)),
        (error: Error) => tell({ ...NOTHING, words: error.message, isRefused: true }),
      );
    const timer = setTimeout(look, PAUSE_MS);
    return () => {
      // When the request is aborted, the service also stops searching.
      leaving.abort();
      clearTimeout(timer);
    };
  }, [text, isAsked]);
  if (!isAsked)
    return {
      ...NOTHING,
      isUnderWay: false,
      words: text === '' || !isTooShort ? '' : 'Type one more character.',
    };
  return told.of === text
    ? { ...told, isUnderWay: false }
    : { ...NOTHING, isUnderWay: true, words: 'Searching …' };
}

function toSearch(session: Session, text: string, found: FoundRecords) {
  const groups = toGroups(session, found).toSorted((a, b) => rankGroup(a, text) - rankGroup(b, text));
  const shown = groups.reduce((sum, { choices }) => sum + choices.length, 0);
  const hits = shown === 0 ? 'Nothing has this in its name.' : `${groupDigits(shown)} shown.`;
  return { groups, words: [hits, describeSearchedRange(found)].join(' '), isRefused: false };
}

/**
 * Ranks a group. If its first name is the whole text, it comes first, because that is the name that a
 * person means.
 */
function rankGroup({ choices: [first] }: ChoiceGroup, text: string) {
  return first?.name.toLowerCase() === text.toLowerCase() ? 0 : 1;
}

function toGroups(session: Session, found: FoundRecords): readonly ChoiceGroup[] {
  const isCut = (kind: FoundRecords['cut'][number]) => found.cut.includes(kind);
  const groups = [
    {
      title: 'Payers',
      more: isCut('payers'),
      choices: found.payers.map(({ clientIdKey, lastAt }) =>
        toPayerChoice(session, clientIdKey, formatDateTime(lastAt)),
      ),
    },
    {
      title: 'Orders',
      more: isCut('orders'),
      choices: found.orders.map((one) => toOrderChoice(session, one)),
    },
    {
      title: 'Decisions',
      more: isCut('decisions'),
      choices: found.decisions.map(({ decisionId, orderRef, verdict, at }) => ({
        name: orderRef,
        about: renderVerdictAt(verdict, at),
        act: { href: toDecisionPath(decisionId) },
      })),
    },
    ...found.devices.map(({ kind, clients, payers }) => ({
      title: `Payers on this ${kind === 'ip' ? 'address' : 'device'}`,
      more: clients > payers.length,
      choices: payers.map(({ clientIdKey, lastAt }) =>
        toPayerChoice(session, clientIdKey, `seen ${formatDateTime(lastAt)}`),
      ),
    })),
    {
      title: 'List entries',
      more: isCut('listEntries'),
      choices: found.listEntries.map(({ list, value, reason, hasEnded }) => ({
        name: value,
        about: `${list}: ${reason}${hasEnded ? ' (has ended)' : ''}`,
        act: { href: toConsolePath(`settings/lists/${list}`) },
      })),
    },
  ];
  return groups.filter(({ choices }) => choices.length > 0);
}

function renderVerdictAt(verdict: VerdictCommand, at: string) {
  return html`${h(VerdictPill, { verdict })} <span class="when">${formatDateTime(at)}</span>`;
}

/** Links a payer. A person who may not open payers is led to the payer's decisions. */
function toPayerChoice(session: Session, clientIdKey: string, about: string): Choice {
  const opens = isAllowed(session, 'clients:read');
  const href = opens ? toPayerPath(clientIdKey) : toDecisionsPath({ clientIdKey });
  return { name: clientIdKey, about, act: { href } };
}

/** Links an order. An order that was only reported has no decisions, so its link leads to its payer. */
function toOrderChoice(
  session: Session,
  { orderRef, clientIdKey, verdict, lastAt }: FoundRecords['orders'][number],
): Choice {
  const reported = html`only reported, of ${renderSafeName(clientIdKey)}`;
  if (verdict === null && isAllowed(session, 'clients:read'))
    return { name: orderRef, about: reported, act: { href: toPayerPath(clientIdKey) } };
  const about = verdict === null ? reported : renderVerdictAt(verdict, lastAt);
  return { name: orderRef, about, act: { href: toOrderDecisionsPath(orderRef) } };
}

const KIND_NAMES: Readonly<Record<FoundRecords['leftOut'][number], string>> = {
  payers: 'payers',
  orders: 'orders',
  decisions: 'decisions',
  devices: 'devices',
  listEntries: 'list entries',
};

function formatBackTo(backTo: string, hasOlder: boolean) {
  if (hasOlder) return `Searched back to ${formatDateTime(backTo)}; what is older was not.`;
  return `Searched back to ${formatDay(backTo)}, the first day that is kept.`;
}

/** Describes how far the search went, and which kinds it left out. */
function describeSearchedRange({ lookedAt: { backTo, hasOlder, upTo, unread }, leftOut }: FoundRecords) {
  const kinds = leftOut.map((kind) => KIND_NAMES[kind]).join(', ');
  return [
    backTo !== null && formatBackTo(backTo, hasOlder),
    upTo !== undefined && `What came since ${formatDateTime(upTo)} was not read yet.`,
    unread !== undefined && 'Some files of the archive could not be read.',
    kinds !== '' && `Not searched, because this session may not read them: ${kinds}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
