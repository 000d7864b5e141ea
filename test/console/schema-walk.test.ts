import { expect } from 'chai';
import { ruleSchemas } from '../../src/authoring/schema/rule-schema.ts';
import { keysOf, schemasAt, valuesOf } from '../../src/console/page/parts/editor/schema-walk.js';

const VERDICTS = Object.fromEntries(ruleSchemas())['verdicts'] ?? {};

/** What the editor offers within the first comparison of the first rule, given what is written of it. */
function offeredFor(comparison: object, step?: string) {
  const value = JSON.parse(JSON.stringify({ rules: [{ conditions: { all: [comparison] } }] }));
  const path = ['rules', 0, 'conditions', 'all', 0, ...(step === undefined ? [] : [step])];
  const schemas = schemasAt(VERDICTS, value, path);
  const keys = keysOf(schemas, Object.keys(comparison)).map(({ text }) => text);
  return { keys, values: valuesOf(schemas).map(({ text }) => text) };
}

describe('what the editor offers from the schema of rule files', () => {
  it('is every fact with what it means, where a fact may stand', () => {
    const { values } = offeredFor({ fact: null }, 'fact');
    expect(values).to.include.members(['paidCount', 'clientsOnIp', 'hourOfDay', 'listed']);
  });

  it('is the operators that fit the fact', () => {
    expect(offeredFor({ fact: 'attemptOpen', operator: null }, 'operator').values).to.deep.equal([
      'equal',
      'notEqual',
    ]);
    expect(offeredFor({ fact: 'paidCount', operator: null }, 'operator').values).to.include('lessThan');
  });

  it('is the values that the fact can have', () => {
    expect(offeredFor({ fact: 'attemptOpen', value: null }, 'value').values).to.deep.equal(['true', 'false']);
    expect(offeredFor({ fact: 'clientGroup', value: null }, 'value').values).to.include('TRUSTED');
  });

  it('is the keys that a condition may still have: a fact rules out all and any, and asks for an operator', () => {
    expect(offeredFor({}).keys).to.deep.equal(['all', 'any', 'not', 'condition', 'fact']);
    expect(offeredFor({ fact: 'paidCount' }).keys).to.deep.equal(['operator', 'value']);
    expect(offeredFor({ fact: 'verdicts' }).keys).to.deep.equal(['params', 'operator', 'value']);
  });

  it('is nothing where the schema knows nothing', () => {
    expect(offeredFor({ fact: 'paidCount', value: null }, 'value').values).to.deep.equal([]);
    expect(schemasAt(VERDICTS, null, ['nothing', 0, 'of the kind'])).to.deep.equal([]);
  });
});
