import { expect } from 'chai';
import { HOLDOUT_PERIOD_MS } from '../../../src/decision/holdout.ts';
import { report } from '../../../src/evidence/report/report.ts';
import { presentReport, type Report } from '../../../src/evidence/report/rule-report.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { MONEY_ALONE, type Objective } from '../../../src/rollout/objective.ts';
import { plus } from '../../../src/statistics/sums.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { seeded } from '../../simulation/seeded-random.ts';
import { History, JULY } from '../backtest/backtest-history.ts';
import { all, type RecordedEvidence, recordedEvidence } from '../source/recorded-evidence.ts';

const DAY = 86_400_000;
const OLD = 160;
const YOUNG = 140;
const REVERSAL_DAYS = 5;

/** Four unpaid orders block a payer, but for half of them. */
const rules = edited({ 'groups.yaml': swap('    priority: 80\n', '    priority: 80\n    holdout: 50%\n') });

/** What became of payers who were held out, beside the number of the others. */
type Truth = Record<'held' | 'others' | 'payments' | 'euros' | 'dollars', number>;

/** Four unpaid orders, and two more that a payer may try who is held out; three of four are paid, some in dollars. */
async function comes(history: History, payer: number, draw: () => number): Promise<Truth> {
  const [client, truth] = [`payer-${payer}`, { ...NOTHING }];
  for (const order of ['a', 'b', 'c', 'd']) await history.outcome(client, `${order}-${payer}`, 'UNPAID');
  for (const order of [`e-${payer}`, `f-${payer}`]) {
    const [currency, isPaid] = [draw() < 0.3 ? 'USD' : 'EUR', draw() < 0.75];
    const verdict = await history.verdict(client, order, '10.50', currency);
    if (verdict === 'BLOCK') return { ...NOTHING, others: 1 };
    truth.held = 1;
    history.now += 1000;
    if (verdict !== 'GET_NEW' || !isPaid) continue;
    await history.outcome(client, order, 'PAID');
    truth.payments += 1;
    truth[currency === 'EUR' ? 'euros' : 'dollars'] += 10.5;
  }
  return truth;
}

const NOTHING: Truth = { held: 0, others: 0, payments: 0, euros: 0, dollars: 0 };

/** The young ones come ten days before the end, so that their payments may yet be reversed. Gives what the old ones did. */
async function live(history: History): Promise<Truth> {
  const draw = seeded(49);
  let truth = NOTHING;
  for (let payer = 0; payer < OLD; payer++) truth = plus(truth, await comes(history, payer, draw));
  const end = JULY + HOLDOUT_PERIOD_MS + (REVERSAL_DAYS + 3) * DAY;
  history.now = end - 10 * DAY;
  for (let payer = OLD; payer < OLD + YOUNG; payer++) await comes(history, payer, draw);
  history.now = end;
  await history.verdict('last', 'last');
  return truth;
}

describe('the net of a rule by its holdout', () => {
  let sources: RecordedEvidence;
  let truth = NOTHING;
  before(async () => {
    sources = await recordedEvidence(async (store) => {
      const history = new History(store, rules, (client) => () => client.hash.charCodeAt(0) % 2 === 0);
      truth = await live(history);
    });
  });

  async function found(objective: Partial<Objective> = {}): Promise<Report> {
    const told = { ...MONEY_ALONE, reversalDays: REVERSAL_DAYS, ...objective };
    return withEvidence(all(sources.archive), (evidence) =>
      report(evidence, { rules, by: null, objective: told }),
    );
  }
  const chainOf = ({ rules: all }: Report) =>
    all.find(({ name }) => name === 'blocked-by-unpaid-chain') ?? expect.fail('the rule is gone');

  it('counts a client once nothing of it changes any more, and the young stand apart', async () => {
    const { holdout, net } = chainOf(await found());
    expect(Math.min(truth.held, truth.others)).to.be.above(50);
    expect((holdout?.clients ?? 0) + (holdout?.others.clients ?? 0)).to.equal(OLD + YOUNG);
    expect((holdout?.young ?? 0) + (holdout?.others.young ?? 0)).to.equal(YOUNG);
    expect(net?.clients).to.equal(truth.others);
    const perClient = (net?.payments?.value ?? 0) / (net?.clients ?? 1);
    expect(perClient).to.be.closeTo(truth.payments / truth.held, 1e-9);
    expect((net?.amount?.value ?? 0) / (net?.clients ?? 1)).to.be.closeTo(truth.euros / truth.held, 1e-9);
  });

  it('says how much money it leaves out for want of a rate, and counts it once there is one', async () => {
    const { unrated } = chainOf(await found());
    const dollars = { paid: truth.dollars, reversed: 0 };
    expect(unrated).to.deep.equal({ valueIn: 'EUR', amounts: { USD: dollars } });
    expect(presentReport(await found()).notes).to.include(
      `The net of blocked-by-unpaid-chain is in EUR and leaves out ${truth.dollars.toFixed(2)} USD paid and 0.00 USD reversed, because no rate was given. Say what one unit is worth in EUR: --rate USD=NUMBER, to this report.`,
    );
    const rated = chainOf(await found({ rates: { USD: 0.5 } }));
    expect(rated.unrated).to.equal(null);
    expect((rated.net?.amount?.value ?? 0) / truth.others).to.be.closeTo(
      (truth.euros + 0.5 * truth.dollars) / truth.held,
      1e-9,
    );
    expect(chainOf(await found({ currency: 'CHF' })).unrated).to.deep.equal({
      valueIn: 'CHF',
      amounts: { EUR: { paid: truth.euros, reversed: 0 }, USD: dollars },
    });
  });

  it('names the currency of each rule beside its figures, and none where nothing is known', async () => {
    const { columns, rows } =
      presentReport(await found()).tables.find(({ name }) => name === 'net') ?? expect.fail('no table');
    const place = columns.findIndex(({ name }) => name === 'currency');
    expect(rows.map((row) => [row[1], row[place]])).to.deep.equal([['blocked-by-unpaid-chain', 'EUR']]);
    const young = await found({ reversalDays: 90 });
    const { title, rows: unknown } =
      presentReport(young).tables.find(({ name }) => name === 'net') ?? expect.fail('no table');
    expect([title, unknown.map((row) => [row[place], row[place + 1]])]).to.deep.equal([
      'Net of a rule',
      [[null, 'not known yet']],
    ]);
  });
});
