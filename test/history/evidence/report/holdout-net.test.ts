import { expect } from 'chai';
import { DEFAULT_OBJECTIVE, type Objective } from '#decision/objective.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { presentWorthReport, type WorthReport } from '#history/evidence/report/worth-report.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { edited, swap } from '../../../rule-fixtures/sound-rules.ts';
import { all, type RecordedEvidence, recordedEvidence } from '../source/recorded-evidence.ts';
import {
  HELD_OUT_RULES,
  type HoldoutTruth,
  liveHoldoutWorld,
  OLD_PAYERS,
  REVERSAL_DAYS,
  USD_RATE,
  YOUNG_PAYERS,
} from './holdout-world.ts';

describe('the net of a rule by its holdout', () => {
  let sources: RecordedEvidence;
  let truth: HoldoutTruth;
  before(async () => {
    sources = await recordedEvidence(async (store) => {
      truth = (await liveHoldoutWorld(store, 49)).old;
    });
  });

  async function found(objective: Partial<Objective> = {}): Promise<WorthReport> {
    const told = { ...DEFAULT_OBJECTIVE, reversalDays: REVERSAL_DAYS, ...objective };
    return withEvidence(all(sources.archive), (evidence) =>
      reportRuleWorth(evidence, { rules: HELD_OUT_RULES, by: null, objective: told }),
    );
  }
  const chainOf = ({ rules: all }: WorthReport) =>
    all.find(({ name }) => name === 'blocked-by-unpaid-chain') ?? expect.fail('the rule is gone');

  it('counts a client once nothing of it changes any more, and the young stand apart', async () => {
    const { holdout, net } = chainOf(await found());
    expect(Math.min(truth.held, truth.others)).to.be.above(50);
    expect((holdout?.clients ?? 0) + (holdout?.others.clients ?? 0)).to.equal(OLD_PAYERS + YOUNG_PAYERS);
    expect((holdout?.young ?? 0) + (holdout?.others.young ?? 0)).to.equal(YOUNG_PAYERS);
    expect(net?.clients).to.equal(truth.others);
    const perClient = (net?.payments?.value ?? 0) / (net?.clients ?? 1);
    expect(perClient).to.be.closeTo(truth.payments / truth.held, 1e-9);
    expect((net?.amount?.value ?? 0) / (net?.clients ?? 1)).to.be.closeTo(truth.euros / truth.held, 1e-9);
  });

  it('counts the decisions and orders of a version that bounds its holdout by amounts', async () => {
    for (const bound of ['EUR: "100.00"', 'EUR: "10.00", USD: "20.00"']) {
      const rules = edited({
        'groups.yaml': swap(
          '    priority: 80\n',
          `    priority: 80\n    holdout: 50%\n    holdoutMaxAmount: { ${bound} }\n`,
        ),
      });
      const report = await withEvidence(all(sources.archive), (evidence) =>
        reportRuleWorth(evidence, { rules, against: HELD_OUT_RULES, by: null }),
      );
      const unbounded = await found();
      expect(report.undecidable).to.deep.equal({ count: 0, facts: [] });
      expect(report.orders).to.deep.equal(unbounded.orders);
      expect(chainOf(report).matched).to.equal(chainOf(unbounded).matched);
      // Clients who were held out at such an amount would not be held out by this version.
      expect(chainOf(report).decided).to.be.above(chainOf(unbounded).decided);
      expect(report.against?.undecidable).to.equal(0);
    }
  });

  it('says how much money it leaves out for want of a rate, and counts it once there is one', async () => {
    const { unrated } = chainOf(await found());
    const dollars = { paid: truth.dollars, reversed: 0 };
    expect(unrated).to.deep.equal({ valueIn: 'EUR', amounts: { USD: dollars } });
    expect(presentWorthReport(await found()).notes).to.include(
      `The net of blocked-by-unpaid-chain is in EUR and leaves out ${truth.dollars.toFixed(2)} USD paid and 0.00 USD reversed, because no rate was given. Give the value of one unit in EUR: --rate USD=NUMBER, to this report.`,
    );
    const rated = chainOf(await found({ rates: { USD: USD_RATE } }));
    expect(rated.unrated).to.equal(null);
    expect((rated.net?.amount?.value ?? 0) / truth.others).to.be.closeTo(
      (truth.euros + USD_RATE * truth.dollars) / truth.held,
      1e-9,
    );
    expect(chainOf(await found({ currency: 'CHF' })).unrated).to.deep.equal({
      valueIn: 'CHF',
      amounts: { EUR: { paid: truth.euros, reversed: 0 }, USD: dollars },
    });
  });

  it('names the currency of each rule beside its figures, and none where nothing is known', async () => {
    const { columns, rows } =
      presentWorthReport(await found()).tables.find(({ name }) => name === 'net') ?? expect.fail('no table');
    const place = columns.findIndex(({ name }) => name === 'currency');
    expect(rows.map((row) => [row[1], row[place]])).to.deep.equal([['blocked-by-unpaid-chain', 'EUR']]);
    const young = await found({ reversalDays: 90 });
    const { title, rows: unknown } =
      presentWorthReport(young).tables.find(({ name }) => name === 'net') ?? expect.fail('no table');
    expect([title, unknown.map((row) => [row[place], row[place + 1]])]).to.deep.equal([
      'Net of a rule',
      [[null, 'not known yet']],
    ]);
  });
});
