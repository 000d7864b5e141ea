import {
  type AskedMember,
  type DecisionFilter,
  type DecisionPosition,
  listAskedMembers,
} from '#decision/decision-filter.ts';
import type { FilterMember, FilterValueKind } from '#decision/filter-members.ts';
import { toClientNumberText } from '#decision/payer/client-key.ts';
import type { UnreadSegment } from '#history/archive/archive-log.ts';
import { toColumnOfFactKey } from '#history/archive/fact-columns.ts';
import type { BindAsPlaceholder } from '#history/archive/query-engine.ts';
import { RECORD_COLUMNS_BY_TABLE } from '#history/archive/tables.ts';
import type { UnreadDecisions } from '#history/archive/unread-decisions.ts';

export function toUnreadDecisions({ from, to, rows: decisions, why }: UnreadSegment): UnreadDecisions {
  return { from, to, decisions, ...(why === undefined ? {} : { why }) };
}

/** Returns SQL: whether a decision matches the filter, as `matchesFilter` decides. */
export function filterConditionSql(filter: AskedFilter, bind: BindAsPlaceholder): string {
  const { after, ...members } = filter;
  return [
    'true',
    ...listAskedMembers(members).map((asked) => askedSql(asked, bind)),
    ...(after === undefined || after === null ? [] : [afterSql(after)]),
  ].join(' AND ');
}

type AskedFilter = { readonly [Name in keyof DecisionFilter]: DecisionFilter[Name] | null | undefined };

function askedSql({ member, wanted }: AskedMember, bind: BindAsPlaceholder): string {
  const { compared, comparison, value } = member;
  const column = getComparedColumn(compared);
  switch (comparison) {
    case 'includes':
      return `list_contains(${column}, ${wantedSql(wanted, value, bind)})`;
    case 'equals':
    case 'atLeast':
    case 'atMost':
    case 'before':
      return `${column} ${OPERATORS[comparison]} ${wantedSql(wanted, value, bind)}`;
    default:
      return comparison satisfies never;
  }
}

const OPERATORS = { equals: '=', atLeast: '>=', atMost: '<=', before: '<' } as const;

function wantedSql(wanted: string | number, value: FilterValueKind, bind: BindAsPlaceholder): string {
  if (typeof wanted === 'string') return bind(wanted);
  return value === 'moment' ? `make_timestamp_ms(${wanted})` : String(wanted);
}

/** Returns the column of `decisions` with which a member of a filter is compared. */
export function getComparedColumn(compared: FilterMember['compared']): string {
  return 'fact' in compared
    ? toColumnOfFactKey(compared.fact)
    : RECORD_COLUMNS_BY_TABLE.decisions.columnOf(compared.member);
}

/** Returns SQL: whether a decision comes after the position, as `isAfterPosition` decides. */
function afterSql({ at, clientHash, seq }: DecisionPosition): string {
  const [time, client] = [`make_timestamp_ms(${at})`, toClientNumberText(clientHash)];
  const sameTime = `client_hash < ${client} OR (client_hash = ${client} AND seq < ${seq})`;
  return `(decided_at < ${time} OR (decided_at = ${time} AND (${sameTime})))`;
}

/** Returns SQL that selects whole rows. */
export function selectRowsSql(source: string, where: string): string {
  return `SELECT * FROM ${source} WHERE ${where}`;
}
