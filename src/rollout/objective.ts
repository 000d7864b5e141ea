import { Type } from '../json-schema.ts';
import { count, named, nullable, type Shape, shape } from '../shapes.ts';

const positive = (description: string) => Type.Number({ exclusiveMinimum: 0, description });
const cost = (description: string) => Type.Number({ minimum: 0, description });

/** What a payer is worth to whoever runs the platform. */
export const ObjectiveSchema = named(
  'Objective',
  shape('value = margin x lasting amount - reversalCost x reversals - requisiteCost x unpaid requisites', {
    margin: positive('Of a payment that is not reversed, what remains of each unit of money'),
    reversalCost: cost('Of each payment that is reversed, besides its amount'),
    requisiteCost: cost('Of each requisite that was shown for an order and not paid'),
    currency: nullable(
      Type.String({
        pattern: '^[A-Z0-9]{3,4}$',
        description: 'Of the value and the costs; null: the one of most orders',
      }),
    ),
    rates: Type.Record(positive('How much of the currency one unit is worth'), {
      description: 'Of other currencies, by their names; amounts in one without a rate count as nothing',
    }),
    windowDays: Type.Integer({
      minimum: 1,
      maximum: 90,
      description: 'For so long after its first request what a client does counts',
    }),
    reversalDays: nullable(
      count('After these a payment counts as lasting; null: by the ages at which the platform saw reversals'),
    ),
    cap: nullable(
      positive('The highest amount of one client that counts; null: the 99.9 % point of the 30 days before'),
    ),
  }),
);

export type Objective = Shape<typeof ObjectiveSchema>;

/** Without a word about it: what is paid and lasts. */
export const MONEY_ALONE: Objective = {
  ...{ margin: 1, reversalCost: 0, requisiteCost: 0 },
  ...{ currency: null, rates: {}, windowDays: 7, reversalDays: null, cap: null },
};

/** SQL: what an amount in a currency is worth in the one of the objective. */
export function worthSql({ rates }: Objective, main: string, amount: string, currency: string): string {
  const known = Object.entries({ ...rates, [main]: 1 });
  const cases = known.map(([name, rate]) => `WHEN '${name}' THEN ${rate}`).join(' ');
  return `coalesce(${amount} * CASE ${currency} ${cases} ELSE 0 END, 0)`;
}

/** SQL: the value of sums of a client. */
export function valueSql(
  { margin, reversalCost, requisiteCost }: Objective,
  { lasting, reversals, requisites }: Readonly<Record<'lasting' | 'reversals' | 'requisites', string>>,
): string {
  return `(${margin} * (${lasting}) - ${reversalCost} * (${reversals}) - ${requisiteCost} * (${requisites}))`;
}
