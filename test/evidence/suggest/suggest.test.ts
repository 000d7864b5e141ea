import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { History, Workplace } from '../backtest/backtest-history.ts';

/** Payers pay their only order; now and then somebody tries four devices in four minutes and never pays. */
async function liveWithTesters(workplace: Workplace): Promise<void> {
  const store = openSqliteStore(workplace.dataDir);
  const history = new History(store, workplace.rules('p2.v10'));
  for (let number = 0; number < 120; number++) {
    // All of them share an address, so they come hours apart: a crowd would be flagged.
    history.now += 7_200_000;
    await history.score(`payer-${number}`);
    await history.verdict(`payer-${number}`, `order-${number}`);
    await history.outcome(`payer-${number}`, `order-${number}`, 'PAID');
    if (number % 5 === 0)
      for (const device of ['a', 'b', 'c', 'd']) {
        const [tester, order] = [`tester-${number}`, `tester-${number}-${device}`];
        history.now += 61_000;
        await history.score(tester, `${tester} ${device}`);
        await history.verdict(tester, order);
        await history.outcome(tester, order, 'UNPAID');
      }
  }
  await store.close();
}

describe('rules suggest', () => {
  let place: Workplace;
  before(async () => {
    place = new Workplace();
    await liveWithTesters(place);
    await place.scoring('journal', 'export', '--output', place.path('j'));
  });
  after(() => place.end());

  const run = (...args: readonly string[]) =>
    place.scoring('rules', 'suggest', 'p2.v10', '--journal', place.path('j'), ...args);

  it('writes a draft with a case for each rule, and every figure is of the later part', async () => {
    const { code, stdout, stderr } = await run('--budget', '10%', '--write', 'p2.v20', '--json');
    expect(code, stderr).to.equal(0);
    const { rules, effects, nothing, parts } = JSON.parse(stdout);
    expect(nothing).to.equal(null);
    expect(parts.later.orders).to.deep.include({ unknown: 0 });
    const [{ name, later }] = rules;
    expect(name).to.equal('suggested-1');
    expect(later.unpaid).to.be.above(15);
    expect(later.paid).to.equal(0);
    expect(effects.map((effect: { readonly outcomes: string }) => effect.outcomes)).to.deep.equal([
      'granted',
      'all',
    ]);
    for (const command of ['check', 'test']) {
      const checked = await place.scoring('rules', command, 'p2.v20');
      expect(checked.code, checked.stdout + checked.stderr).to.equal(0);
    }
    const cases = readFileSync(`${place.rulesDir}/p2.v20/cases/suggested.yaml`, 'utf8');
    expect(cases).to.include('suggested-1 blocks a payer like one who was seen');
    expect(cases).not.to.include('tester');
    expect(existsSync(`${place.rulesDir}/p2.v20/release.json`)).to.equal(false);
  });

  it('says plainly when nothing is found, and writes nothing', async () => {
    const { code, stdout } = await run('--budget', '1%', '--write', 'p2.v21');
    expect(code).to.equal(0);
    expect(stdout).to.include(
      'No rule stops enough more unpaid orders of the earlier part within the budget.\n\nNo draft was written.\n',
    );
    expect(existsSync(`${place.rulesDir}/p2.v21`)).to.equal(false);
  });

  it('refuses a budget that is no percentage', async () => {
    const { code, stderr } = await run('--budget', '0.005');
    expect(code).to.equal(2);
    expect(stderr).to.include('--budget must be a percentage above 0 and below 100, like 0.5%, not "0.005"');
  });
});
