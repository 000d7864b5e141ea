import { Type } from '#base/json-schema.ts';
import { nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import type { Objective } from '#decision/objective.ts';
import { createNumberSchema, formatCell } from './presentation.ts';

const amounts = Type.Record(
  shape('Amounts', {
    paid: createNumberSchema('Of paid orders'),
    reversed: createNumberSchema('Of reversed ones'),
  }),
  { description: 'By currency, in its units' },
);

/** Money in currencies that cannot be converted, because nobody gave an exchange rate. */
export const UnratedMoneySchema = nullable(
  shape('What the figures of value leave out, because the objective has no rate for it; null for nothing', {
    valueIn: plainText('The currency of the value'),
    amounts,
  }),
);

export type UnratedMoney = ValueOf<typeof UnratedMoneySchema>;

/**
 * Finds the money, by currency, that has no rate to `valueIn`, the currency of the value. Returns null if there is no
 * such money.
 */
export function findUnratedMoney(
  money: ValueOf<typeof amounts>,
  { rates }: Pick<Objective, 'rates'>,
  valueIn: string,
): UnratedMoney {
  const unrated = Object.entries(money).filter(
    ([currency, { paid, reversed }]) =>
      currency !== valueIn && !Object.hasOwn(rates, currency) && (paid > 0 || reversed > 0),
  );
  return unrated.length === 0 ? null : { valueIn, amounts: Object.fromEntries(unrated) };
}

/**
 * Says which money a figure of value leaves out, and how to count it. `where` says to which command or setting the
 * rate is given.
 */
export function listUnratedNotes(figure: string, unrated: UnratedMoney, where: string): readonly string[] {
  if (unrated === null) return [];
  const { valueIn, amounts } = unrated;
  const told = Object.entries(amounts).map(
    ([currency, { paid, reversed }]) =>
      `${formatCell(paid, 'money')} ${currency} paid and ${formatCell(reversed, 'money')} ${currency} reversed`,
  );
  const rates = Object.keys(amounts).map((currency) => `--rate ${currency}=NUMBER`);
  return [
    `${figure} is in ${valueIn} and leaves out ${told.join(', ')}, because no rate was given. Give the value of one unit in ${valueIn}: ${rates.join(' ')}, ${where}.`,
  ];
}
