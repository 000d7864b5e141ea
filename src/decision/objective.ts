import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { DAY_MS } from '#base/duration.ts';
import { parseJsonObjectOrNull } from '#base/files/json-object.ts';
import { Type } from '#base/json-schema.ts';
import { count, listMemberNames, named, nullable, shape, type ValueOf } from '#base/shapes.ts';

const positiveNumber = (description: string) => Type.Number({ exclusiveMinimum: 0, description });
const costNumber = (description: string) => Type.Number({ minimum: 0, description });

const MEMBERS = {
  margin: positiveNumber('The margin: what remains of each unit of money of a payment that is not reversed'),
  reversalCost: costNumber('The cost of each payment that is reversed, in addition to its amount'),
  requisiteCost: costNumber('The cost of each requisite that was shown and not paid'),
  currency: nullable(
    Type.String({
      pattern: '^[A-Z0-9]{3,4}$',
      description: 'The currency of the value and the costs; null: the currency of most orders',
    }),
  ),
  rates: Type.Record(positiveNumber('How much of the currency one unit is worth'), {
    description:
      'The rates of other currencies, by their codes. Figures of value leave out amounts without a rate, and say so',
  }),
  windowDays: Type.Integer({
    minimum: 1,
    maximum: 90,
    description: 'How many days after its first request the actions of a client count',
  }),
  reversalDays: nullable(
    count(
      'The days after which a payment counts as lasting; null: computed from the ages at which the platform saw reversals',
    ),
  ),
  cap: nullable(
    positiveNumber(
      'The highest amount of one client that counts; null: the 99.9 % point of the 30 days before',
    ),
  ),
} as const;

/** How much a payer is worth to the platform. */
export const ObjectiveSchema = named(
  'Objective',
  shape(
    'value = margin x lasting amount - reversalCost x reversals - requisiteCost x unpaid requisites',
    MEMBERS,
  ),
);

export type Objective = ValueOf<typeof ObjectiveSchema>;

/** The members of an objective, each optional. */
export const optionalObjectiveMembers = {
  margin: Type.Optional(MEMBERS.margin),
  reversalCost: Type.Optional(MEMBERS.reversalCost),
  requisiteCost: Type.Optional(MEMBERS.requisiteCost),
  currency: Type.Optional(MEMBERS.currency),
  rates: Type.Optional(MEMBERS.rates),
  windowDays: Type.Optional(MEMBERS.windowDays),
  reversalDays: Type.Optional(MEMBERS.reversalDays),
  cap: Type.Optional(MEMBERS.cap),
} as const;

const PartialSchema = shape('The members of an objective that somebody stated', optionalObjectiveMembers);

export type GivenObjective = ValueOf<typeof PartialSchema>;

/** The objective when nobody stated one: the money that is paid and lasts. */
export const DEFAULT_OBJECTIVE: Objective = {
  margin: 1,
  reversalCost: 0,
  requisiteCost: 0,
  currency: null,
  rates: {},
  windowDays: 7,
  reversalDays: null,
  cap: null,
};

let isGiven: ValidateFunction<GivenObjective> | null = null;

/**
 * Parses an objective that `encodeObjective` wrote. Returns DEFAULT_OBJECTIVE if there is no text, and null if the
 * text is damaged.
 */
export function parseObjective(text: string | null): Objective | null {
  if (text === null) return DEFAULT_OBJECTIVE;
  isGiven ??= new Ajv2020({ strict: false, validateSchema: false, meta: false }).compile(PartialSchema);
  const given: unknown = parseJsonObjectOrNull(text);
  return isGiven(given) ? { ...DEFAULT_OBJECTIVE, ...given } : null;
}

/** Picks the members of an objective from a body that has other members, too. */
export function pickObjectiveMembers<Body extends GivenObjective>(body: Body): GivenObjective {
  const names = listMemberNames(PartialSchema);
  return Object.fromEntries(names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])));
}

/** Encodes the stated members of an objective as a text for records. Returns null if nothing is stated. */
export function encodeObjective(given: GivenObjective): string | null {
  return Object.keys(given).length === 0 ? null : JSON.stringify(given);
}

/**
 * Returns the time from which figures include a client whose first request was at `since`. Both times are in epoch
 * ms. If reversals take days and `reversalDays` is not stated, figures include the client later.
 */
export function computeClientInFiguresTime(
  since: number,
  { windowDays, reversalDays }: Pick<Objective, 'windowDays' | 'reversalDays'>,
): number {
  return since + (windowDays + (reversalDays ?? 0)) * DAY_MS;
}

/** Formats an objective like "value = 0.3 x lasting amount - 15 x reversals - 0.1 x unpaid requisites, in EUR". */
export function formatObjective({ margin, reversalCost, requisiteCost, currency, rates }: Objective): string {
  const costs = [
    ...(reversalCost === 0 ? [] : [` - ${reversalCost} x reversals`]),
    ...(requisiteCost === 0 ? [] : [` - ${requisiteCost} x unpaid requisites`]),
  ];
  const others = Object.entries(rates).map(([name, rate]) => `, ${name} at ${rate}`);
  return `value = ${margin} x lasting amount${costs.join('')}, in ${currency ?? 'the currency of most orders'}${others.join('')}`;
}
