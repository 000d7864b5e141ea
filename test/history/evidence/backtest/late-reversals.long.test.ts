import { expect } from 'chai';
import { runBacktest } from '#history/evidence/backtest/backtest.ts';
import { type BacktestReport, presentBacktest } from '#history/evidence/backtest/backtest-report.ts';
import { createVariedRuleSets } from '#history/evidence/backtest/variations.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { type EvidencePlace, withEvidence } from '#history/evidence/source/evidence.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import type { Store } from '#state/store.ts';
import { SeededRandom } from '../../../simulation/seeded-random.ts';
import { all, recordedEvidence } from '../source/recorded-evidence.ts';
import { History, JULY, Workplace } from './backtest-history.ts';

const DAY = 86_400_000;
const WINDOW = 'bot-signals.shared-fingerprint.clientsOnFingerprint.window';
const DAYS = 92;

/** Two honest payers a day; every other day one more abuser on the device of a ring, whose payment is taken back 14 to 35 days later. */
async function liveWithRings(store: Store): Promise<void> {
  const random = new SeededRandom(3);
  const history = new History(store);
  const due: { readonly at: number; readonly payer: string }[] = [];
  for (let day = 0; day < DAYS; day++) {
    history.now = JULY + day * DAY;
    for (const { payer } of due.filter(({ at }) => at === day))
      await history.outcome(payer, `order of ${payer}`, 'UNPAID', 'REVERSED');
    const abusers = day % 2 === 0 ? [`abuser-${day}`] : [];
    for (const payer of [`payer-${day}`, `patron-${day}`, ...abusers]) {
      history.now += 3 * 3_600_000;
      await history.score(payer, abusers.includes(payer) ? `ring-${Math.floor(day / 20)}` : payer);
      await history.verdict(payer, `order of ${payer}`);
      await history.outcome(payer, `order of ${payer}`, 'PAID');
      if (abusers.includes(payer)) due.push({ at: day + random.whole(14, 35), payer });
    }
  }
}

/** The signal about shared devices, whatever the payers on a device paid: here all pay at first. */
function countingPayersAlone(signals: string) {
  const [, conditions = ''] =
    /- name: shared-fingerprint\n.*?\n {4}conditions:\n(.*?)\n {4}event:/s.exec(signals) ?? [];
  const asked =
    '{ fact: clientsOnFingerprint, params: { window: 24h }, operator: greaterThanInclusive, value: 2 }';
  return { file: 'bot-signals.yaml', from: conditions, to: `      all:\n        - ${asked}` };
}

describe('a backtest of the window on shared devices, where chargebacks come 14 to 35 days later', () => {
  let place: Workplace;
  let sources: EvidencePlace;
  before(async () => {
    place = new Workplace();
    place.draft('p2.v11', countingPayersAlone(place.text('p2.v10', 'bot-signals.yaml')));
    sources = (await recordedEvidence(liveWithRings)).archive;
  });
  after(() => place.end());

  const on = (day: number): Promise<BacktestReport> => {
    const files = readRuleFiles(`${place.rulesDir}/p2.v11`, []) ?? new Map();
    const rules = place.rules('p2.v11');
    const tried = createVariedRuleSets(rules, files, [`${WINDOW}=7d`]);
    return withEvidence({ ...all(sources), asOf: JULY + day * DAY }, (evidence) =>
      runBacktest(evidence, { tried, against: null, rulesOf: () => rules }),
    );
  };

  it('counts a payment that it closes as mature when its reversals have come, and says how many were reversed', async () => {
    const notes = presentBacktest(await on(90)).notes.filter((note) =>
      /^(Reversed|Immature|Of the pay)/.test(note),
    );
    expect(notes).to.deep.equal([
      `Of the payments that ${WINDOW}=7d closes 26 of 26 mature ones were reversed later (100.0 % (87.1 to 100.0)), 14 are immature.`,
      'Reversed: 34 of the unpaid orders were paid and taken back.',
      'Immature: 77 paid orders are younger than 33 days, by which 95 % of the reversals come. Expect 12.2 of these to be reversed, in 95 of 100 cases 5 to 20, which no figure here counts.',
    ]);
    const young = await on(20);
    expect(young.candidates[1]?.closedPayments).to.deep.equal({
      reversed: 0,
      held: 0,
      immature: 9,
      reversedShare: null,
    });
    expect(presentBacktest(young).notes).to.include(
      'Reversals reported so far: 1, too few or too recent to tell when a payment is safe. 49 paid orders may still be reversed, so do not judge by these yet.',
    );
  });

  it('is beside a report that says why orders were not paid, in orders and money', async () => {
    const rules = place.rules('p2.v10');
    const {
      reversals,
      amount,
      slices = [],
    } = await withEvidence({ ...all(sources), asOf: JULY + 90 * DAY }, (evidence) =>
      reportRuleWorth(evidence, { rules, by: 'cause' }),
    );
    expect(reversals.causes).to.deep.equal([{ cause: 'REVERSED', currency: 'EUR', orders: 34, amount: 357 }]);
    expect(reversals.immature).to.deep.equal([{ currency: 'EUR', orders: 77, amount: 808.5 }]);
    expect(amount['EUR']).to.deep.include({ unpaid: 357, reversed: 357 });
    expect(slices.map(({ slice, orders }) => [slice, orders.paid, orders.unpaid])).to.deep.equal([
      ['PAID', 191, 0],
      ['REVERSED', 0, 34],
    ]);
  });
});
