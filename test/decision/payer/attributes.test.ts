import { expect } from 'chai';
import {
  type AttributeValue,
  type DeclaredAttribute,
  findAttributeFault,
  readAttributeAsDeclared,
  readDeclaredAttributes,
  summarizeSentAttributes,
} from '#decision/payer/attributes.ts';

function declared(name: string, more: Partial<DeclaredAttribute> = {}): DeclaredAttribute {
  return { name, type: 'text', length: 64, unit: null, oneOf: null, pseudonym: false, ...more };
}

const hide = (text: string) => text.toUpperCase();

const DECLARED = new Map(
  [
    declared('cardCountry', { length: 2 }),
    declared('emailAgeDays', { type: 'number', unit: 'days' }),
    declared('cartCategory', { oneOf: ['games', 'food'] }),
    declared('returning', { type: 'boolean' }),
  ].map((one) => [one.name, one]),
);

describe('the attributes of a request', () => {
  for (const [name, values, fault] of [
    ['cardCountry', ['DE', 'D', '😀😀'], null],
    ['cardCountry', ['DEU', '😀😀😀'], 'length'],
    ['cardCountry', [1, true], 'type'],
    ['emailAgeDays', [0, -1, 0.5, 1e38], null],
    ['emailAgeDays', ['3', true], 'type'],
    ['emailAgeDays', [1.1e38, -2e38], 'range'],
    ['cartCategory', ['games', 'food'], null],
    ['cartCategory', ['Games', 'x'.repeat(64)], 'oneOf'],
    ['cartCategory', [0], 'type'],
    ['returning', [true, false], null],
    ['returning', ['true', 1], 'type'],
  ] as const) {
    it(`have ${fault === null ? 'no fault' : `the fault ${fault}`} where ${name} is ${values.join(' or ')}`, () => {
      const attribute = DECLARED.get(name) ?? declared('');
      for (const value of values) expect(findAttributeFault(attribute, value), String(value)).to.equal(fault);
    });
  }

  it('are read where they are declared, in the order of the declarations, and not known with a fault', () => {
    const sent = { returning: true, shoeSize: 43, emailAgeDays: '3 days', cardCountry: 'DE' };
    const read = readDeclaredAttributes(DECLARED, sent, hide);
    expect(Object.entries(read ?? {})).to.deep.equal([
      ['cardCountry', 'DE'],
      ['emailAgeDays', null],
      ['returning', true],
    ]);
  });

  it('are none where nothing was sent, nothing is declared, or nothing of both', () => {
    expect(readDeclaredAttributes(DECLARED, undefined, hide)).to.equal(undefined);
    expect(readDeclaredAttributes(new Map(), { cardCountry: 'DE' }, hide)).to.equal(undefined);
    expect(readDeclaredAttributes(DECLARED, { shoeSize: 43 }, hide)).to.equal(undefined);
  });

  it('take nothing from the prototype of objects', () => {
    const sent: Record<string, AttributeValue> = JSON.parse('{"__proto__":"x","constructor":"y"}');
    const names = ['constructor', 'toString'].map((name) => [name, declared(name)] as const);
    expect(readDeclaredAttributes(new Map(names), sent, hide)).to.deep.equal({ constructor: 'y' });
  });

  it('are kept as a pseudonym alone where they are declared so, and read by versions that declare them alike', () => {
    const hidden = declared('email', { pseudonym: true, length: 5 });
    const read = (email: AttributeValue) =>
      readDeclaredAttributes(new Map([['email', hidden]]), { email }, hide)?.['email'];
    expect(read('a@b.c')).to.equal('hmac:A@B.C');
    expect(read('a@b.cd')).to.equal(null);
    expect(readAttributeAsDeclared(hidden, 'hmac:A@B.C')).to.equal('hmac:A@B.C');
    expect(readAttributeAsDeclared(hidden, 'a@b.c')).to.equal(null);
    expect(readAttributeAsDeclared(declared('email'), 'hmac:A@B.C')).to.equal(null);
    expect(readAttributeAsDeclared(declared('email'), 'a@b.c')).to.equal('a@b.c');
  });

  it('are counted by name with what is wrong with them, and the others together', () => {
    const sent = { shoeSize: 43, cartCategory: 'toys', cardCountry: 'DE' };
    expect(summarizeSentAttributes(DECLARED, sent)).to.deep.equal({
      declared: [
        ['cartCategory', 'oneOf'],
        ['cardCountry', null],
      ],
      undeclared: 1,
    });
  });
});
