import { expect } from 'chai';
import { formatProblem } from '#decision/rules/problem.ts';
import { listCaseValuesUnknownToRules } from '#workbench/authoring/cases/case-remarks.ts';
import { runCases, traceFailure } from '#workbench/authoring/cases/cases.ts';
import { formatFailureLines } from '#workbench/authoring/cases/expectations.ts';
import { PLAIN_PAINT } from '#workbench/authoring/explain/explanation-text.ts';
import { asking } from '../../../rule-fixtures/declared-attributes.ts';
import { BIN_RULES, REFUSING_BINS } from '../../../rule-fixtures/pseudonym-constants.ts';
import { edited, editedFiles, whole } from '../../../rule-fixtures/sound-rules.ts';

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
      'cases/attributes.yaml:1:67  ruleset.yaml declares no attribute "wallet", so nobody is on the list; allowed: cardCountry, ipCountry, emailAgeDays, usualAmount, cartCategory, returning',
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

  it('are compared with the constants of rules where a pseudonym is kept of them', () => {
    const steps = `
        { verdict: { attributes: { cardBin: "411111" } }, expect: { verdict: BLOCK, rule: suspect-bin } },
        { client: b, verdict: { attributes: { cardBin: "510000" } }, expect: { verdict: BLOCK, rule: own-bin } },
        { client: c, verdict: { attributes: { cardBin: "411112" } }, expect: { verdict: GET_NEW, flags: [foreign-bin] } },
        { client: d, verdict: { attributes: { cardBin: "420000" } }, expect: { verdict: GET_NEW, flags: [] } },
        { client: e, score: { attributes: { cardBin: "400000" } } },
        { client: e, verdict: {}, expect: { verdict: BLOCK } }`;
    expect(report(steps, { edits: REFUSING_BINS })).to.deep.equal({ problems: [], failures: 0, passed: 1 });
    const wrong = '{ verdict: { attributes: { cardBin: "510000" } }, expect: { verdict: GET_NEW } }';
    expect(report(wrong, { edits: REFUSING_BINS }).failures).to.equal(1);
  });

  it('count as tested on both sides of a constant', async () => {
    const steps = ['510000', '411111', '600000', '420000'].map((bin, at) => {
      return `{ client: "${at}", verdict: { attributes: { cardBin: "${bin}" } } }`;
    });
    const cases = whole(`cases: [{ name: bins, steps: [${steps.join()}] }]`);
    const files = editedFiles({ ...REFUSING_BINS, 'cases/bins.yaml': cases });
    const { coverage } = runCases(BIN_RULES, files);
    const bins = coverage.oneSidedConditions.filter(({ condition }) => condition.includes('cardBin'));
    expect(bins).to.deep.equal([]);
  });

  it('are told in clear where a case fails', async () => {
    const cases = whole(
      'cases: [{ name: bins, steps: [{ verdict: { attributes: { cardBin: "510000" } }, expect: { verdict: GET_NEW } }] }]',
    );
    const [failure] = runCases(
      BIN_RULES,
      editedFiles({ ...REFUSING_BINS, 'cases/bins.yaml': cases }),
    ).failures;
    if (failure === undefined) throw new Error('the case fails');
    const trace = await traceFailure(BIN_RULES, failure);
    const told = formatFailureLines(failure, trace, BIN_RULES, '', PLAIN_PAINT).join('\n');
    expect(told)
      .to.include('attribute(cardBin) is 510000')
      .and.not.to.match(/hmac:\w/);
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

describe('what the cases say that no rule sees', () => {
  function remarks(steps: string, lists = '', asks = LESS_THAN_A_WEEK) {
    const changes = asking(asks);
    const text = `cases: [{ name: attributes, ${lists}steps: [${steps}] }]`;
    const files = new Map([['cases/attributes.yaml', text]]);
    return listCaseValuesUnknownToRules(edited(changes), files).map(formatProblem);
  }

  it('is an attribute that is not declared, told at its place with the nearest that is', () => {
    expect(
      remarks('{ verdict: { attributes: { cardCuontry: DE } } }, { score: { attributes: { wallet: a } } }'),
    ).to.deep.equal([
      'cases/attributes.yaml:1:64  ruleset.yaml declares no attribute "cardCuontry", so no rule sees it; did you mean "cardCountry"?',
      'cases/attributes.yaml:1:112  ruleset.yaml declares no attribute "wallet", so no rule sees it; allowed: cardCountry, ipCountry, emailAgeDays, usualAmount, cartCategory, returning',
    ]);
  });

  it('says how to declare the first one', () => {
    const text = 'cases: [{ name: attributes, steps: [{ verdict: { attributes: { bin: "4111" } } }] }]';
    expect(
      listCaseValuesUnknownToRules(edited({}), new Map([['cases/a.yaml', text]])).map(formatProblem),
    ).to.deep.equal([
      'cases/a.yaml:1:64  ruleset.yaml declares no attribute "bin", so no rule sees it; declare it there: attributes: { bin: { type: text } }',
    ]);
  });

  it('is a value that is nearly one that counts, and no other, which may be sent on purpose', () => {
    const sent = (attributes: string) => remarks(`{ verdict: { attributes: { ${attributes} } } }`);
    expect(sent('cartCategory: gams')).to.deep.equal([
      'cases/attributes.yaml:1:78  "cartCategory" is not known with "gams", which "oneOf" lacks; did you mean "games"?',
    ]);
    expect(sent('cardCountry: 49, cartCategory: 7, emailAgeDays: "3"')).to.deep.equal([
      'cases/attributes.yaml:1:77  "cardCountry" is a text, and 49 without quotes is a number, so it is not known; write "49"',
    ]);
    expect(sent('cartCategory: drinks, cardCountry: DEU, returning: "yes", emailAgeDays: 3')).to.deep.equal(
      [],
    );
  });

  it('is a shared list that no rule asks about', () => {
    const lists = 'lists: { suspcets: { kind: client, entries: [payer-1] } }, ';
    const asks = '{ fact: listed, params: { list: suspects }, operator: equal, value: true }';
    expect(remarks('{ verdict: {} }', lists, asks)).to.deep.equal([
      'cases/attributes.yaml:1:38  no rule checks the shared list "suspcets"; did you mean "suspects"?',
    ]);
    expect(remarks('{ verdict: {} }', lists)).to.deep.equal([
      'cases/attributes.yaml:1:38  no rule checks the shared list "suspcets"',
    ]);
    expect(remarks('{ verdict: {} }', lists.replace('suspcets', 'suspects'), asks)).to.deep.equal([]);
  });

  it('is an entry of a shared list of attributes that "oneOf" lacks', () => {
    const asks = '{ fact: listed, params: { list: carts }, operator: equal, value: true }';
    const lists = 'lists: { carts: { kind: attribute, attribute: cartCategory, entries: [games, game] } }, ';
    expect(remarks('{ verdict: {} }', lists, asks)).to.deep.equal([
      'cases/attributes.yaml:1:106  "cartCategory" is never "game", so nobody is on the list by it; did you mean "games"?',
    ]);
    const open = 'lists: { carts: { kind: attribute, attribute: cardCountry, entries: [DE] } }, ';
    expect(remarks('{ verdict: {} }', open, asks)).to.deep.equal([]);
  });

  it('is nothing in a file that cannot be read, which its reader tells of', () => {
    const texts = [
      'cases: [',
      'cases: 7',
      'cases: [{ steps: { verdict: 7 } }, { lists: 7, steps: [{ verdict: { attributes: 7 } }] }]',
    ];
    for (const text of texts)
      expect(listCaseValuesUnknownToRules(edited({}), new Map([['cases/a.yaml', text]]))).to.deep.equal([]);
  });
});
