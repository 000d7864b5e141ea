import { expect } from 'chai';
import { runCases } from '../../../src/authoring/cases/cases.ts';
import { formatProblem } from '../../../src/rules/problem.ts';
import { asking } from '../../rule-fixtures/declared-attributes.ts';
import { edited, editedFiles, whole } from '../../rule-fixtures/sound-rules.ts';

const LESS_THAN_A_WEEK = '{ fact: attribute, params: { name: emailAgeDays }, operator: lessThan, value: 7 }';

function report(steps: string) {
  const edits = asking(LESS_THAN_A_WEEK);
  const cases = whole(`cases: [{ name: attributes, steps: [${steps}] }]`);
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

  it('have the form of a request', () => {
    expect(report('{ verdict: { attributes: { emailAgeDays: [3] } } }').problems).to.deep.equal([
      'cases/attributes.yaml:1:78  attribute "emailAgeDays" must be a text of at most 64 characters, a number, or true or false',
    ]);
    expect(report('{ verdict: { attributes: 3 } }').problems).to.deep.equal([
      'cases/attributes.yaml:1:62  attributes must have members like name: value, not 3',
    ]);
  });
});
