import { expect } from 'chai';
import { runBacktest } from '#history/evidence/backtest/backtest.ts';
import { measureDriftBetweenPeriods } from '#history/evidence/drift.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { CHECKOUT_ATTRIBUTES, declaring } from '../../rule-fixtures/declared-attributes.ts';
import { type Edit, edited, edits, swap } from '../../rule-fixtures/sound-rules.ts';
import { all, type RecordedEvidence, reportOn, servedEvidence } from './source/recorded-evidence.ts';

const RULE = (name: string, priority: number, comparison: string) => `
  - name: ${name}
    priority: ${priority}
    conditions: { all: [${comparison}] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "${name}" } }
`;

const ATTRIBUTE = (name: string) => `fact: attribute, params: { name: ${name} }`;

const withRules = (...rules: readonly string[]): Edit =>
  edits(swap('\nrules:\n', `\nrules:${rules.join('')}`));

const FRESH_EMAIL = RULE(
  'fresh-email',
  501,
  `{ ${ATTRIBUTE('emailAgeDays')}, operator: lessThan, value: 7 }`,
);
const FOREIGN = RULE(
  'foreign',
  502,
  `{ ${ATTRIBUTE('cardCountry')}, operator: notEqual, value: { ${ATTRIBUTE('ipCountry')} } }`,
);
const LARGE = RULE(
  'large',
  503,
  `{ fact: amount, operator: greaterThan, value: { ${ATTRIBUTE('usualAmount')} } }`,
);

const RULES = edited({
  'ruleset.yaml': declaring(CHECKOUT_ATTRIBUTES),
  'verdicts.yaml': withRules(FRESH_EMAIL, FOREIGN, LARGE),
});

describe('evidence on attributes', () => {
  let sources: RecordedEvidence;

  before(async () => {
    sources = await servedEvidence(RULES, async (shop) => {
      const ask = (clientIdKey: string, attributes?: object) =>
        shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1`, ...(attributes && { attributes }) });
      await ask('fresh', { emailAgeDays: 3 });
      await ask('old', { emailAgeDays: 300 });
      await ask('both', { emailAgeDays: 0.5, cardCountry: 'DE', ipCountry: 'FR' });
      await ask('home', { cardCountry: 'DE', ipCountry: 'DE', returning: true });
      await ask('away', { cardCountry: 'DE', ipCountry: 'FR' });
      await ask('half', { cardCountry: 'DE' });
      await ask('wrong', { emailAgeDays: 'three' });
      await ask('large', { usualAmount: 24.99 });
      await ask('usual', { usualAmount: 25 });
      await ask('silent');
      await shop.score({ clientIdKey: 'scored', attributes: { emailAgeDays: 1 } });
      await ask('scored');
      await shop.score({ clientIdKey: 'corrected', attributes: { emailAgeDays: 1 } });
      await ask('corrected', { emailAgeDays: 'one' });
    });
  });

  for (const kind of ['archive', 'journal'] as const) {
    it(`counts what each rule matches, from ${kind}`, async () => {
      const { rules } = await reportOn(sources[kind], RULES);
      const matched = Object.fromEntries(rules.map((rule) => [rule.name, rule.matched]));
      expect(matched).to.include({ 'fresh-email': 3, foreign: 2, large: 1 });
    });

    it(`answers in a backtest as it did, from ${kind}`, async () => {
      const found = await withEvidence(all(sources[kind]), (evidence) =>
        runBacktest(evidence, { tried: [{ rules: RULES, values: {} }], against: null, rulesOf: () => RULES }),
      );
      expect([found.compared, found.reproduced]).to.deep.equal([12, 12]);
      expect(found.candidates[0]?.changed).to.equal(0);
    });

    it(`compares the values of each attribute over time, from ${kind}`, async () => {
      const found = await withEvidence(all(sources[kind]), (evidence) =>
        measureDriftBetweenPeriods(evidence, null),
      );
      const names = found.facts.map(({ fact }) => fact);
      const attributes = names.filter((name) => name.startsWith('attribute'));
      expect(attributes.toSorted()).to.deep.equal(
        ['cardCountry', 'cartCategory', 'emailAgeDays', 'ipCountry', 'returning', 'usualAmount'].map(
          (name) => `attribute(${name})`,
        ),
      );
    });
  }
});
