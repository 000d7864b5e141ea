import {
  DEFAULT_OBJECTIVE,
  type GivenObjective,
  type Objective,
  optionalObjectiveMembers,
} from '#decision/objective.ts';
import {
  type AskedOptions,
  BadQuestion,
  numberOption,
  type QuestionOption,
  textOption,
  textsOption,
} from './question.ts';

const COSTS = [
  numberOption({
    name: 'margin',
    description: 'what remains of each unit of a payment that is not reversed; without it: 1',
    schema: optionalObjectiveMembers.margin,
  }),
  numberOption({
    name: 'reversalCost',
    description: 'the cost of each payment that is reversed, besides its amount; without it: 0',
    schema: optionalObjectiveMembers.reversalCost,
  }),
  numberOption({
    name: 'requisiteCost',
    description: 'the cost of each requisite that was shown and not paid; without it: 0',
    schema: optionalObjectiveMembers.requisiteCost,
  }),
] as const;
const CURRENCY = textOption({
  name: 'currency',
  description: 'the currency of value and costs, like EUR; without it: that of most orders',
});
const RATE = textsOption({
  name: 'rate',
  form: 'CODE=NUMBER',
  most: 20,
  description:
    'what a unit of another currency is worth, like USD=0.92; amounts without a rate are not part of the value, and the result says so',
});
const REVERSAL_DAYS = numberOption({
  name: 'reversalDays',
  description:
    'after so many days a payment counts as lasting; without it: by the ages at which the platform saw reversals',
  schema: optionalObjectiveMembers.reversalDays,
});
const TRIAL_ONLY = [
  numberOption({
    name: 'windowDays',
    description: 'for so many days a client counts, from its first request on; without it: 7',
    schema: optionalObjectiveMembers.windowDays,
  }),
  numberOption({
    name: 'cap',
    description:
      'the highest amount of one client that counts; without it: the 99.9 % point of the 30 days before',
    schema: optionalObjectiveMembers.cap,
  }),
] as const;

/**
 * The options that say how the money value of decisions is computed. A report takes these options, and an experiment
 * also takes `windowDays` and `cap`.
 */
export const OBJECTIVE_OPTIONS: readonly QuestionOption<unknown>[] = [
  ...COSTS,
  CURRENCY,
  RATE,
  REVERSAL_DAYS,
];
export const TRIAL_OBJECTIVE_OPTIONS: readonly QuestionOption<unknown>[] = [
  ...OBJECTIVE_OPTIONS,
  ...TRIAL_ONLY,
];

/**
 * Reads the members of an objective (how much a payer is worth) that the options give, and leaves out the others.
 * Throws `BadQuestion` for a bad currency or rate.
 */
export function readGivenObjective(options: AskedOptions): GivenObjective {
  const numbers = [...COSTS, REVERSAL_DAYS, ...TRIAL_ONLY].flatMap((option) => {
    const value = option.read(options);
    return value === null ? [] : [[option.name, value] as const];
  });
  const [currency, rates] = [CURRENCY.read(options), RATE.read(options)];
  if (currency !== null && !CODE.test(currency))
    throw new BadQuestion(`currency must be 3 or 4 capital letters or digits, like EUR, not "${currency}"`);
  return {
    ...Object.fromEntries(numbers),
    ...(currency === null ? {} : { currency }),
    ...(rates.length === 0 ? {} : { rates: Object.fromEntries(rates.map(parseRate)) }),
  };
}

/** Reads the objective and fills in defaults. Returns null if no member of an objective is given. */
export function readObjectiveOrNull(options: AskedOptions): Objective | null {
  const given = readGivenObjective(options);
  return Object.keys(given).length === 0 ? null : { ...DEFAULT_OBJECTIVE, ...given };
}

const CODE = /^[A-Z0-9]{3,4}$/;

function parseRate(text: string): readonly [string, number] {
  const [code = '', rate = ''] = text.split('=');
  const value = Number(rate);
  if (CODE.test(code) && value > 0) return [code, value];
  throw new BadQuestion(
    `rate must be a currency and what a unit of it is worth, like USD=0.92, not "${text}"`,
  );
}
