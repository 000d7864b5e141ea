import { expect } from 'chai';
import { findDiffExamples } from '#workbench/authoring/diff/examples.ts';
import { listRuleSetDifferences } from '#workbench/authoring/diff/rule-diff.ts';
import { asking, declaring } from '../../../rule-fixtures/declared-attributes.ts';
import { edited } from '../../../rule-fixtures/sound-rules.ts';

const COUNTRIES = (length: number) =>
  `{ card: { type: text, length: ${length} }, ip: { type: text, length: 2 }, age: { type: number } }`;

const OTHER_COUNTRY =
  '{ fact: attribute, params: { name: card }, operator: notEqual, value: { fact: attribute, params: { name: ip } } }';

describe('two versions that declare attributes', () => {
  const differences = (before: string, after: string) =>
    listRuleSetDifferences(
      edited({ 'ruleset.yaml': declaring(before) }),
      edited({ 'ruleset.yaml': declaring(after) }),
    ).map(({ part, text }) => `${part}: ${text}`);

  it('differ in what they declare', () => {
    expect(
      differences(
        '{ a: { type: text }, b: { type: number }, c: { type: boolean } }',
        '{ a: { type: text, length: 2 }, b: { type: number, unit: days }, d: { type: text, oneOf: [x, y] }, e: { type: text, pseudonym: true } }',
      ),
    ).to.deep.equal([
      'attributes: a: text of 64 characters at most -> text of 2 characters at most',
      'attributes: b: number -> number of days',
      'attributes: c: removed, was boolean',
      'attributes: d: added, one of x, y',
      'attributes: e: added, text of 64 characters at most, kept as a pseudonym',
    ]);
  });

  it('differ in their answers to a payer whose attributes are as long as they may be', () => {
    const { examples } = findDiffExamples(
      edited({ 'ruleset.yaml': declaring(COUNTRIES(1)) }),
      edited(asking(OTHER_COUNTRY, COUNTRIES(1))),
    );
    expect(examples[0]).to.deep.include({
      facts: { 'attribute(card)': 'B', 'attribute(ip)': 'A' },
      differsIn: ['verdict', 'ladder'],
    });
  });

  it('differ in no answer where no rule asks for what is declared otherwise', () => {
    const found = findDiffExamples(
      edited({ 'ruleset.yaml': declaring(COUNTRIES(1)) }),
      edited({ 'ruleset.yaml': declaring(COUNTRIES(2)) }),
    );
    expect(found).to.deep.equal({ examples: [], searched: true });
  });

  it('differ in the constants that a pseudonym is compared with, in clear', () => {
    const bins = (bin: string) => {
      const asks = `{ fact: attribute, params: { name: bin }, operator: equal, value: "${bin}" }`;
      return edited(asking(asks, '{ bin: { type: text, pseudonym: true } }'));
    };
    const { examples, searched } = findDiffExamples(bins('411111'), bins('400000'));
    expect(searched).to.equal(true);
    expect(
      examples.map(({ facts, before, after }) => [facts['attribute(bin)'], before.verdict, after.verdict]),
    ).to.deep.include.members([
      ['411111', 'BLOCK', 'GET_NEW'],
      ['400000', 'GET_NEW', 'BLOCK'],
    ]);
    expect(
      listRuleSetDifferences(bins('411111'), bins('400000'))
        .map(({ text }) => text)
        .join(),
    ).to.match(/= "?411111"? -> .*= "?400000"?/);
  });

  it('differ in their answers to a payer of whom two pseudonyms are the same', () => {
    const declared = '{ one: { type: text, pseudonym: true }, other: { type: text, pseudonym: true } }';
    const comparing = (operator: string) => {
      const other = '{ fact: attribute, params: { name: other } }';
      const asks = `{ fact: attribute, params: { name: one }, operator: ${operator}, value: ${other} }`;
      return edited(asking(asks, declared));
    };
    const { examples, searched } = findDiffExamples(comparing('equal'), comparing('notEqual'));
    expect(searched).to.equal(true);
    const told = examples.map(({ facts, before, after }) => {
      const isSame = facts['attribute(one)'] === facts['attribute(other)'];
      return [isSame, before.verdict, after.verdict];
    });
    expect(told).to.deep.include.members([
      [true, 'BLOCK', 'GET_NEW'],
      [false, 'GET_NEW', 'BLOCK'],
    ]);
  });

  it('differ in their answers where one reads a longer text than the other', () => {
    const { examples } = findDiffExamples(
      edited(asking(OTHER_COUNTRY, COUNTRIES(1))),
      edited(asking(OTHER_COUNTRY, COUNTRIES(2))),
    );
    expect(examples.length).to.be.above(0);
  });
});
