import { expect } from 'chai';
import {
  getTypeOfFactColumn,
  getTypeOfFactKey,
  parseLabelOfFactColumn,
  toColumnOfFactKey,
} from '#history/archive/fact-columns.ts';

describe('the column of a fact', () => {
  for (const [label, column] of [
    ['paidCount', 'fact_paidCount'],
    ['verdicts(10m)', 'fact_verdicts_10m'],
    ['distinctAttribute(card 1h)', 'fact_distinctAttribute_card_1h'],
    ['clientsOnAttribute(cardNumber 7d)', 'fact_clientsOnAttribute_card_number_7d'],
    ['clientsOnAttribute(card_1h 7d)', 'fact_clientsOnAttribute_card__1h_7d'],
    ['clientsOnAttribute(card_ 7d)', 'fact_clientsOnAttribute_card___7d'],
  ] as const)
    it(`of ${label} is ${column}, which leads back to it`, () => {
      expect(toColumnOfFactKey(label)).to.equal(column);
      expect(parseLabelOfFactColumn(column)).to.equal(label);
      expect([getTypeOfFactKey(label), getTypeOfFactColumn(column)]).to.deep.equal(['BIGINT', 'BIGINT']);
    });
});
