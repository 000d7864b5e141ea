import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { combinationsOf, parseVariation, sweep } from '../../../src/evidence/sweep/sweep.ts';
import { type SweepReport, shownSweep, type TradeOff } from '../../../src/evidence/sweep/sweep-report.ts';
import { paretoFront } from '../../../src/evidence/sweep/trial.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { liveThroughJuly, Workplace } from '../backtest/backtest-history.ts';

const CHAIN = 'groups.blocked-by-unpaid-chain.unpaidChain';

describe('a sweep', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(liveThroughJuly);
  });
  after(() => place.end());

  function run(vary: string, signal?: AbortSignal): Promise<SweepReport> {
    const files = readRuleFiles(`${place.rulesDir}/p2.v10`, []) ?? new Map();
    const combinations = combinationsOf('p2.v10', files, [parseVariation(files, vary)]);
    const journal = { kind: 'journal', path: place.path('j') } as const;
    const cancel = signal === undefined ? {} : { signal };
    return withEvidence({ place: journal, from: null, to: null, platform: null }, (evidence) =>
      sweep(evidence, { version: 'p2.v10', combinations, outcomes: 'granted', threads: 2, ...cancel }),
    );
  }

  it('gives for each value its effect on the orders of the earlier and of the later part', async () => {
    const report = await run(`${CHAIN}=2,3`);
    const figures = report.combinations.map(({ values, earlier, later }) => [
      values[CHAIN],
      earlier.unpaidStopped.orders + later.unpaidStopped.orders,
      earlier.paidHeldBack.orders + later.paidHeldBack.orders,
      earlier.paidRefused.orders + later.paidRefused.orders,
    ]);
    // Bob has five orders. The last one was turned away when it was recorded, so that nobody stops it who stops it again.
    expect(figures).to.deep.equal([
      ['4', 0, 1, 0],
      ['2', 2, 1, 0],
      ['3', 1, 1, 0],
    ]);
    expect(report.emptyLists).to.deep.equal([]);
    const { earlier, later } = report.parts;
    expect([earlier.orders, later.orders]).to.deep.equal([
      { paid: 1, unpaid: 4, turnedAway: 0, unknown: 0 },
      { paid: 0, unpaid: 1, turnedAway: 3, unknown: 2 },
    ]);
    expect(report.combinations.map(({ onFront }) => onFront.later)).to.deep.equal([false, true, true]);
    expect(report.combinations[1]?.later.unpaidStopped.amount).to.have.keys('EUR');
  });

  it('shows its choices by value, and says of a milder one that nothing is known of whom it lets through', async () => {
    const report = await run(`${CHAIN}=5,3`);
    expect(report.combinations.map(({ values, opened }) => [values[CHAIN], opened])).to.deep.equal([
      ['4', 0],
      ['5', 1],
      ['3', 0],
    ]);
    const { notes, tables } = shownSweep(report);
    for (const { rows } of tables) expect(rows.map(([value]) => value)).to.deep.equal(['3', '4 (now)', '5']);
    expect(notes).to.include(
      `Milder than what decided: ${CHAIN}=5, by up to 1 order turned away when it was recorded. What they would have come to nobody knows, and no figure counts them: zeros here do not mean harmless. A holdout of the rule shows it on real payers; "rules backtest" says which verdicts change.`,
    );
    expect(shownSweep(await run(`${CHAIN}=3`)).notes.join()).not.to.include('Milder');
  });

  it('shows no figures for another ladder, and says what would show its effect', async () => {
    const { notes, tables } = shownSweep(await run('ladder.levels[0]=15s,60s'));
    expect(tables).to.deep.equal([]);
    expect(notes.slice(-2)).to.deep.equal([
      'Replayed payers come back when they did, whatever wait they are told.',
      'No headline: waits are of another length, and when payers would have come back nobody knows. Try it on some of the payers beside the others: rules rollout VERSION --canary 10; "rules experiment" then shows what both are worth.',
    ]);
  });

  it('ends early when it is cancelled', async () => {
    const failure = await run(`${CHAIN}=2,3`, AbortSignal.abort(new Error('enough'))).catch(String);
    expect(failure).to.equal('Error: enough');
  });

  it('is a command that writes the one combination as a draft', async () => {
    const source = ['--journal', place.path('j')];
    const several = await place.scoring(
      'rules',
      'sweep',
      'p2.v10',
      '--vary',
      `${CHAIN}=2..3`,
      '--write',
      'p2.v20',
      ...source,
    );
    expect(several.code).to.equal(2);
    expect(several.stderr).to.include(
      '--write wants the one combination that becomes the draft, and 2 are asked for',
    );
    const one = await place.scoring(
      'rules',
      'sweep',
      'p2.v10',
      '--vary',
      `${CHAIN}=3`,
      '--write',
      'p2.v20',
      ...source,
    );
    expect(one.code, one.stderr).to.equal(0);
    expect(one.stdout).to.include('rules/p2.v20 is a draft with these values.');
    const written = readFileSync(`${place.rulesDir}/p2.v20/groups.yaml`, 'utf8');
    const before = readFileSync(`${place.rulesDir}/p2.v10/groups.yaml`, 'utf8');
    expect(written).to.equal(
      before.replace('operator: greaterThanInclusive, value: 4', 'operator: greaterThanInclusive, value: 3'),
    );
  });
});

describe('the front of trade-offs', () => {
  const effect = (orders: number) => ({ orders, share: null, amount: {} });
  const tradeOff = ([stopped = 0, refused = 0, heldBack = 0]: readonly number[]): TradeOff => ({
    unpaidStopped: effect(stopped),
    unpaidBlocked: effect(0),
    paidRefused: effect(refused),
    paidHeldBack: effect(heldBack),
  });

  it('has exactly those that no other one beats', () => {
    const figures = fc.array(fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4)), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(figures, (all) => {
        const front = paretoFront(all.map(tradeOff));
        for (const [place, [stopped, refused, heldBack]] of all.entries()) {
          const betters = all.some(
            ([s, r, h]) =>
              s >= stopped && r <= refused && h <= heldBack && (s > stopped || r < refused || h < heldBack),
          );
          expect(front[place]).to.equal(!betters);
        }
      }),
    );
  });
});
