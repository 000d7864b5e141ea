import type { Parameter } from '#checkout/http/operation/parameter.ts';
import {
  type FilterValue,
  type FilterValueKind,
  LOOKUP_FILTER_MEMBERS,
  RECORD_FILTER_MEMBERS,
} from '#decision/filter-members.ts';
import * as query from './parameters.ts';
import { versionParameter } from './rules/rule-version.ts';

/** The value and the description of a member of the filter, from which its parameter is made. */

interface Described {
  readonly value: FilterValueKind;
  readonly description: string;
}

type Parameters<Members extends Readonly<Record<string, Described>>> = {
  readonly [Name in keyof Members]: Parameter<FilterValue<Members[Name]['value']> | null>;
};

/** The query parameters that are compared with a recorded decision alone, by name. */
export const FILTER_PARAMETERS = declareParameters(RECORD_FILTER_MEMBERS);

/**
 * The query parameters by which decisions are searched and that need an index or a report: orderRef, clientIdKey and
 * outcome.
 */
export const LOOKUP_PARAMETERS = declareParameters(LOOKUP_FILTER_MEMBERS);

function declareParameters<Members extends Readonly<Record<string, Described>>>(
  members: Members,
): Parameters<Members>;
function declareParameters(members: Readonly<Record<string, Described>>): object {
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, declareParameter(name, member)]),
  );
}

function declareParameter(name: string, { value, description }: Described): Parameter<unknown> {
  switch (value) {
    case 'text':
      return query.textParameter(name, description);
    case 'ruleVersion':
      return versionParameter(name, description);
    case 'amount':
      return query.amountParameter(name, description);
    case 'moment':
      return query.instantParameter(name, description);
    default:
      return query.choiceParameter(name, value, description);
  }
}
