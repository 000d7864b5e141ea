import { ARMS, CLIENT_GROUPS, VERDICTS } from './decision-words.ts';

/**
 * What decisions are searched by, once for everybody: the type of a filter, its comparison in memory and in SQL, the
 * parameters of the interface, the client library's query and the form of the console are made from these tables. It
 * imports no schema, because browsers load it.
 */

/**
 * What a value is: one of some words, any text of at most 256 characters, the name of a rule set, a decimal number, or
 * a moment.
 */
export type FilterValueKind = readonly string[] | 'text' | 'ruleVersion' | 'amount' | 'moment';

interface SearchMember {
  readonly value: FilterValueKind;
  /** As the interface documents it. */
  readonly description: string;
  /** As a form names it; null: no form has it. */
  readonly label: string | null;
}

/** A member of a decision, or one of the facts that its rules saw. */
type Compared = { readonly member: string } | { readonly fact: string };

/** `includes`: the decision has a list, and the value is in it. */
type Comparison = 'equals' | 'includes' | 'atLeast' | 'atMost' | 'before';

export interface FilterMember extends SearchMember {
  readonly compared: Compared;
  readonly comparison: Comparison;
}

/** What a recorded decision by itself is compared with. Texts are compared exactly. */
export const FILTER_MEMBERS = {
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

/** What a search looks up elsewhere: in the indexes of orders and clients, and in the reports about orders. */
export const LOOKUP_MEMBERS = {
  orderRef: { value: 'text', description: 'The order that the caller quotes', label: 'order' },
  clientIdKey: {
    value: 'text',
    description: 'A client; not looked at beside an orderRef',
    label: 'payer',
  },
  outcome: {
    value: ['PAID', 'UNPAID', 'UNKNOWN'],
    description: 'Only decisions whose order came to this; beside neither orderRef nor clientIdKey',
    label: 'outcome',
  },
} as const satisfies Readonly<Record<string, SearchMember>>;

export type FilterName = keyof typeof FILTER_MEMBERS;

/** What counts of decisions are split by, with the member of the filter that finds those of one value. */
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

/** The values of some members; moments are in epoch ms. */
export type FilterValues<Members extends Readonly<Record<string, SearchMember>>> = {
  readonly [Name in keyof Members]: FilterValue<Members[Name]['value']>;
};

export type FilterValue<Kind extends FilterValueKind> = Kind extends readonly (infer Word)[]
  ? Word
  : Kind extends 'amount' | 'moment'
    ? number
    : string;

const NAMES: readonly string[] = Object.keys(FILTER_MEMBERS);

export function isFilterName(name: string): name is FilterName {
  return NAMES.includes(name);
}
