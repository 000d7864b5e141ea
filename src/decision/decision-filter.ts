import type { Decision } from './decision.ts';
import {
  type FilterMember,
  type FilterName,
  type FilterValues,
  isFilterName,
  RECORD_FILTER_MEMBERS,
} from './filter-members.ts';
import { toClientNumberText } from './payer/client-key.ts';

/**
 * The position of a decision in the list of all decisions of a platform. The newest decision comes first. Decisions
 * of the same millisecond are sorted by the client's hash and the decision's number, so paging can continue after any
 * decision.
 */
export interface DecisionPosition {
  /** Epoch ms. */
  readonly at: number;
  readonly clientHash: string;
  readonly seq: number;
}

export function compareNewestFirst(a: Decision, b: Decision): number {
  // The subtraction is fast, and nearly always decides. Searches sort thousands of decisions while requests wait.
  return b.at - a.at || comparePositions(getPosition(a), getPosition(b));
}

/** Whether a decision comes after a position in the list. */
export function isAfterPosition(decision: Decision, position: DecisionPosition): boolean {
  return comparePositions(getPosition(decision), position) > 0;
}

function getPosition({ decisionId, seq, at }: Decision): DecisionPosition {
  return { at, clientHash: decisionId.slice(0, CLIENT_HASH_CHARACTERS), seq };
}

const CLIENT_HASH_CHARACTERS = 22;

function comparePositions(a: DecisionPosition, b: DecisionPosition): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.clientHash !== b.clientHash)
    return BigInt(toClientNumberText(a.clientHash)) < BigInt(toClientNumberText(b.clientHash)) ? 1 : -1;
  return b.seq - a.seq;
}

/**
 * Which decisions to find: the wanted value for each member of `RECORD_FILTER_MEMBERS`. A missing member matches every
 * decision.
 */
export type DecisionFilter = Partial<FilterValues<typeof RECORD_FILTER_MEMBERS>> & {
  /** Finds only decisions that come after this position. */
  readonly after?: DecisionPosition;
};

/** A member that a filter asks for, and the value to find. */
export interface AskedMember {
  readonly member: FilterMember;
  readonly wanted: string | number;
}

/** Lists the members that a filter asks for, without the position. */
export function listAskedMembers(
  filter: {
    readonly [Name in FilterName]?: string | number | null | undefined;
  },
): readonly AskedMember[] {
  const names = Object.keys(filter).filter(isFilterName);
  return names.flatMap((name) => {
    const wanted = filter[name] ?? null;
    return wanted === null ? [] : [{ member: RECORD_FILTER_MEMBERS[name], wanted }];
  });
}

export function matchesFilter(decision: Decision, filter: DecisionFilter): boolean {
  const { after } = filter;
  return (
    (after === undefined || isAfterPosition(decision, after)) &&
    listAskedMembers(filter).every((asked) => matchesMember(decision, asked))
  );
}

function matchesMember(
  decision: Decision,
  { member: { compared, comparison }, wanted }: AskedMember,
): boolean {
  const value: unknown =
    'fact' in compared ? decision.facts[compared.fact] : Reflect.get(decision, compared.member);
  const hasOrder = typeof value === 'number' && typeof wanted === 'number';
  switch (comparison) {
    case 'equals':
      return value === wanted;
    case 'includes':
      return Array.isArray(value) && value.includes(wanted);
    case 'atLeast':
      return hasOrder && value >= wanted;
    case 'atMost':
      return hasOrder && value <= wanted;
    case 'before':
      return hasOrder && value < wanted;
    default:
      return comparison satisfies never;
  }
}

/**
 * Returns the time (epoch ms) before which all matching decisions were made. Returns null if the newest decision may
 * match.
 */
export function findUpperTimeBound({ to, after }: DecisionFilter): number | null {
  if (to === undefined && after === undefined) return null;
  return Math.min(
    to ?? Number.MAX_SAFE_INTEGER,
    after === undefined ? Number.MAX_SAFE_INTEGER : after.at + 1,
  );
}
