import type { Parameter } from '#checkout/http/operation/parameter.ts';
import {
  FILTER_MEMBERS,
  type FilterValue,
  type FilterValueKind,
  LOOKUP_MEMBERS,
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

export const FILTER_PARAMETERS = declareParameters(FILTER_MEMBERS);

export const LOOKUP_PARAMETERS = declareParameters(LOOKUP_MEMBERS);

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
