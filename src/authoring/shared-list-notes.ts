import { INSTALLATION } from '../access/access-keys.ts';
import type { ListOwner } from '../decision/shared-lists.ts';
import type { StoredEntry } from '../lists/list-entry.ts';
import type { ListCopy } from '../lists/list-node.ts';
import { type Comparison, comparisonsIn } from '../rules/condition.ts';
import { sharedListsText } from '../rules/condition-text.ts';
import { nearestName, type Problem } from '../rules/problem.ts';
import type { ParsedRules } from '../rules/rule-set.ts';

/** A shared list in a store; a list without entries does not exist. */
interface KnownList {
  readonly name: string;
  /** Some entry is not past its end. */
  readonly isInForce: boolean;
}

/** The shared lists that somebody may know of: a platform its own and those of the installation, the installation all. */
export interface KnownLists {
  readonly seenBy: ListOwner;
  readonly lists: readonly KnownList[];
}

/** The lists with entries in a copy, as far as `seenBy` may know of them. */
export function knownLists(copy: ListCopy, now: number, seenBy: ListOwner = INSTALLATION): KnownLists {
  const isSeen = ({ owner }: StoredEntry) =>
    seenBy === INSTALLATION || [seenBy, INSTALLATION].includes(owner);
  const isInForce = ({ expiresAt }: StoredEntry) => expiresAt === null || expiresAt > now;
  const lists = copy.lists().flatMap((entries) => {
    const [first] = entries.values();
    if (first === undefined || !isSeen(first)) return [];
    return [{ name: first.list, isInForce: entries.values().some(isInForce) }];
  });
  return { seenBy, lists };
}

/**
 * Remarks about the shared lists that rules ask about: without entries their rules cannot take effect yet. Null when
 * the lists were not read.
 */
export function sharedListNotes(rules: ParsedRules, known: KnownLists | null): readonly Problem[] {
  const asked = askedLists(rules);
  const [first] = asked.values();
  if (first === undefined) return [];
  if (known !== null) return [...asked].flatMap(([list, { at }]) => noteOn(list, known, at));
  const which = sharedListsText([...asked.keys()]);
  return [
    {
      at: first.at,
      message: `whether anything is on ${which} cannot be told without the store; --lists looks there`,
    },
  ];
}

/** Each list with the first comparison that asks about it. */
function askedLists({ groups, signals, verdicts }: ParsedRules): ReadonlyMap<string, Comparison> {
  const rules = [...groups.rules, ...signals.rules, ...verdicts.rules];
  const asked = new Map<string, Comparison>();
  for (const comparison of comparisonsIn(rules.map(({ condition }) => condition))) {
    const { list } = comparison.fact;
    if (list !== undefined && !asked.has(list)) asked.set(list, comparison);
  }
  return asked;
}

function noteOn(list: string, { seenBy, lists }: KnownLists, at: Problem['at']): readonly Problem[] {
  const known = lists.filter(({ name }) => name === list);
  if (known.some(({ isInForce }) => isInForce)) return [];
  if (known.length > 0)
    return [{ at, message: `every entry of the shared list "${list}" is past its end, so nobody is on it` }];
  const nearest = nearestName(
    list,
    lists.map(({ name }) => name),
  );
  const meant = nearest === null ? '' : `; did you mean "${nearest}"?`;
  const nobody = seenBy === INSTALLATION ? 'no platform has' : `neither ${seenBy} nor the installation has`;
  return [{ at, message: `${nobody} anything on the shared list "${list}"${meant}` }];
}
