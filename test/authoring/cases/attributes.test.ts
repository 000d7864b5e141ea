import { expect } from 'chai';
import { runCases } from '../../../src/authoring/cases/cases.ts';
import { formatProblem } from '../../../src/rules/problem.ts';
import { asking } from '../../rule-fixtures/declared-attributes.ts';
import { edited, editedFiles, whole } from '../../rule-fixtures/sound-rules.ts';

const LESS_THAN_A_WEEK = '{ fact: attribute, params: { name: emailAgeDays }, operator: lessThan, value: 7 }';

function report(steps: string, { asks = LESS_THAN_A_WEEK, lists = '', edits = asking(asks) } = {}) {
  const cases = whole(`cases: [{ name: attributes, ${lists}steps: [${steps}] }]`);
  const only = { ...edits, 'cases/attributes.yaml': cases };
  const files = new Map([...editedFiles(only)].filter(([path]) => !/^cases\/(?!attributes)/.test(path)));
  const { problems, failures, passed } = runCases(edited(edits), files);
  return { problems: problems.map(formatProblem), failures: failures.length, passed };
}

describe('the attributes of a case', () => {
  it('are what the caller says in a verdict, and in a score for 24 hours', () => {
    expect(
      report(`
        { verdict: { attributes: { emailAgeDays: 3 } }, expect: { verdict: BLOCK } },
        { client: b, score: { attributes: { emailAgeDays: 3 } } },
        { client: b, verdict: {}, expect: { verdict: BLOCK } },
        { client: b, after: 24h, verdict: {}, expect: { verdict: GET_NEW } },
        { client: c, verdict: { attributes: { emailAgeDays: "3" } }, expect: { verdict: GET_NEW } }`),
    ).to.deep.equal({ problems: [], failures: 0, passed: 1 });
  });

  it('are on a shared list that holds values of theirs', () => {
    const asks = '{ fact: listed, params: { list: suspects }, operator: equal, value: true }';
    const on = (content: string) => ({ asks, lists: `lists: { suspects: { ${content} } }, ` });
    const steps = `
        { verdict: { attributes: { cardCountry: NL } }, expect: { verdict: BLOCK } },
        { client: b, verdict: { attributes: { cardCountry: DE } }, expect: { verdict: GET_NEW } },
        { client: c, score: { attributes: { cardCountry: NL } } },
        { client: c, verdict: {}, expect: { verdict: BLOCK } },
        { client: c, after: 24h, verdict: {}, expect: { verdict: GET_NEW } }`;
    expect(report(steps, on('kind: attribute, attribute: cardCountry, entries: [NL]'))).to.deep.equal({
      problems: [],
      failures: 0,
      passed: 1,
    });
    const problemsOf = (content: string) => report('{ verdict: {} }', on(content)).problems;
    expect(problemsOf('kind: attribute, entries: [NL]')).to.deep.equal([
      'cases/attributes.yaml:1:48  "attribute" is required with kind attribute: the name under which callers send it',
    ]);
    expect(problemsOf('kind: ip, attribute: cardCountry, entries: [203.0.113.9]')).to.deep.equal([
      'cases/attributes.yaml:1:60  "attribute" goes only with kind attribute',
    ]);
    expect(problemsOf('kind: attribute, attribute: wallet, entries: [NL]')).to.deep.equal([
      'cases/attributes.yaml:1:67  ruleset.yaml declares no attribute "wallet", so nobody is on the list',
    ]);
  });

  it('are counted over payers and over values, within the window alone', () => {
    const declared = '{ card: { type: text, pseudonym: true } }';
    const counting = (fact: string, limit: number) =>
      `{ fact: ${fact}, params: { name: card, window: 1h }, operator: greaterThan, value: ${limit} }`;
    const card = (client: string, value: string, verdict: string, after = '1m') =>
      `{ client: ${client}, after: ${after}, verdict: { attributes: { card: "${value}" } }, expect: { verdict: ${verdict} } }`;
    const shared = [card('a', '1', 'GET_NEW'), card('b', '1', 'BLOCK'), card('c', '1', 'GET_NEW', '1h')];
    expect(report(shared.join(), { edits: asking(counting('clientsOnAttribute', 1), declared) })).to.include({
      passed: 1,
    });
    const several = [card('a', '1', 'GET_NEW'), card('a', '2', 'BLOCK'), card('a', '3', 'WAIT', '1h')];
    expect(report(several.join(), { edits: asking(counting('distinctAttribute', 1), declared) })).to.include({
      passed: 1,
    });
  });

  it('have the form of a request', () => {
    expect(report('{ verdict: { attributes: { emailAgeDays: [3] } } }').problems).to.deep.equal([
      'cases/attributes.yaml:1:78  attribute "emailAgeDays" must be a text of at most 64 characters, a number, or true or false',
    ]);
    expect(report('{ verdict: { attributes: 3 } }').problems).to.deep.equal([
      'cases/attributes.yaml:1:62  attributes must have members like name: value, not 3',
    ]);
  });
});
