import { ARMS, CLIENT_GROUPS, VERDICTS } from './decision-words.ts';

/**
 * The members by which decisions are searched. The type of a filter, its comparison in memory and in SQL, the
 * parameters of the interface, the client library's query and the form of the console are made from these tables.
 * This file imports no schema, because browsers load it.
 */

/**
 * The kind of a value: one of some words, any text of at most 256 characters, the name of a rule set, a decimal
 * number, or a moment.
 */
export type FilterValueKind = readonly string[] | 'text' | 'ruleVersion' | 'amount' | 'moment';

interface SearchMember {
  readonly value: FilterValueKind;
  /** The description in the documents of the interface. */
  readonly description: string;
  /** The label in the console's form. Null if the form does not show the member. */
  readonly label: string | null;
}

/** A member of a decision, or one of the facts that the rules saw. */
type ComparedPart = { readonly member: string } | { readonly fact: string };

/** With `includes`, the decision's member is a list that must contain the value. */
type Comparison = 'equals' | 'includes' | 'atLeast' | 'atMost' | 'before';

export interface FilterMember extends SearchMember {
  readonly compared: ComparedPart;
  readonly comparison: Comparison;
}

/** The members that are compared with a recorded decision alone. Texts are compared exactly. */
export const RECORD_FILTER_MEMBERS = {
  verdict: {
    value: VERDICTS,
    description: 'Only decisions with this verdict',
    label: 'verdict',
    compared: { member: 'verdict' },
    comparison: 'equals',
  },
  requestId: {
    value: 'text',
    description: 'Only the decision of this request, by its X-Request-Id',
    label: 'request',
    compared: { member: 'requestId' },
    comparison: 'equals',
  },
  rule: {
    value: 'text',
    description: 'Only decisions by this rule, or by "otherwise"; compared exactly',
    label: 'rule',
    compared: { member: 'rule' },
    comparison: 'equals',
  },
  ruleVersion: {
    value: 'ruleVersion',
    description: 'Only decisions of this rule set, like p2.v10',
    label: 'version',
    compared: { member: 'ruleVersion' },
    comparison: 'equals',
  },
  clientGroup: {
    value: CLIENT_GROUPS,
    description: 'Only decisions about clients of this group',
    label: 'group',
    compared: { member: 'clientGroup' },
    comparison: 'equals',
  },
  signal: {
    value: 'text',
    description: 'Only decisions in which this bot signal matched; compared exactly',
    label: 'signal',
    compared: { member: 'signals' },
    comparison: 'includes',
  },
  flag: {
    value: 'text',
    description: 'Only decisions with this flag of flags.yaml; compared exactly',
    label: 'flag',
    compared: { member: 'flags' },
    comparison: 'includes',
  },
  sellPointKey: {
    value: 'text',
    description: 'Only decisions at this point of sale; compared exactly',
    label: 'point of sale',
    compared: { member: 'sellPointKey' },
    comparison: 'equals',
  },
  method: {
    value: 'text',
    description: 'Only decisions about this payment method; compared exactly',
    label: 'method',
    compared: { fact: 'method' },
    comparison: 'equals',
  },
  arm: {
    value: ARMS,
    description: 'Only decisions of the active version, or of those on trial',
    label: 'arm',
    compared: { member: 'arm' },
    comparison: 'equals',
  },
  amountMin: {
    value: 'amount',
    description: 'Only decisions about at least this amount, in any currency',
    label: 'amount from',
    compared: { fact: 'amount' },
    comparison: 'atLeast',
  },
  amountMax: {
    value: 'amount',
    description: 'Only decisions about at most this amount, in any currency',
    label: 'amount to',
    compared: { fact: 'amount' },
    comparison: 'atMost',
  },
  from: {
    value: 'moment',
    description: 'Only decisions from this time on',
    label: null,
    compared: { member: 'at' },
    comparison: 'atLeast',
  },
  to: {
    value: 'moment',
    description: 'Only decisions before this time',
    label: null,
    compared: { member: 'at' },
    comparison: 'before',
  },
} as const satisfies Readonly<Record<string, FilterMember>>;

/** The members that need a lookup elsewhere: in the indexes of orders and clients, and in the reports about orders. */
export const LOOKUP_FILTER_MEMBERS = {
  orderRef: { value: 'text', description: 'Only decisions about this order of the caller', label: 'order' },
  clientIdKey: {
    value: 'text',
    description: 'Only decisions about this client; together with orderRef: only those about that order',
    label: 'payer',
  },
  outcome: {
    value: ['PAID', 'UNPAID', 'UNKNOWN'],
    description:
      'Only decisions whose order has this outcome; not allowed together with orderRef or clientIdKey',
    label: 'outcome',
  },
} as const satisfies Readonly<Record<string, SearchMember>>;

export type FilterName = keyof typeof RECORD_FILTER_MEMBERS;

/**
 * The members by which counts of decisions can be split, each with the filter's member that finds the decisions of
 * one value.
 */
export const SPLIT_MEMBERS = {
  verdict: 'verdict',
  rule: 'rule',
  signal: 'signal',
  flag: 'flag',
  group: 'clientGroup',
  pointOfSale: 'sellPointKey',
  method: 'method',
  version: 'ruleVersion',
  arm: 'arm',
} as const satisfies Readonly<Record<string, FilterName>>;

/** The type of the values of some members. Moments are in epoch ms. */
export type FilterValues<Members extends Readonly<Record<string, SearchMember>>> = {
  readonly [Name in keyof Members]: FilterValue<Members[Name]['value']>;
};

export type FilterValue<Kind extends FilterValueKind> = Kind extends readonly (infer Word)[]
  ? Word
  : Kind extends 'amount' | 'moment'
    ? number
    : string;

const NAMES: readonly string[] = Object.keys(RECORD_FILTER_MEMBERS);

export function isFilterName(name: string): name is FilterName {
  return NAMES.includes(name);
}
