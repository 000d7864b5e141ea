import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { reversalsOf } from '../../../src/evidence/source/reversals.ts';
import { makeInputView } from '../../../src/evidence/source/shared-devices.ts';
import { learningOrders } from '../../../src/evidence/suggest/rule-search.ts';
import { progressOfTry } from '../../../src/evidence/suggest/suggest.ts';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { TEST_SALT } from '../../client/client-keys.ts';
import { SIGNAL_SECRET } from '../../service/running-service.ts';
import { History, Workplace } from '../backtest/backtest-history.ts';

/** Payers pay their second order; now and then somebody tries four devices, serves every wait and never pays. */
async function liveWithTesters(workplace: Workplace): Promise<void> {
  const store = openSqliteStore(workplace.dataDir, { salt: TEST_SALT });
  const history = new History(store, workplace.rules('p2.v10'));
  for (let number = 0; number < 100; number++) {
    // They share an address, so they come hours apart not to be flagged as a crowd.
    history.now += 7_200_000;
    await history.score(`payer-${number}`);
    await history.verdict(`payer-${number}`, `order-${number}`);
    await history.outcome(`payer-${number}`, `order-${number}`, 'UNPAID');
    const second = `payer-${number - 13}`;
    await history.score(second);
    await history.verdict(second, `${second}-again`);
    await history.outcome(second, `${second}-again`, 'PAID');
    if (number % 5 === 0)
      for (const device of ['a', 'b', 'c', 'd']) {
        const [tester, order] = [`tester-${number}`, `tester-${number}-${device}`];
        history.now += 61_000;
        await history.score(tester, `${tester} ${device}`);
        if ((await history.verdict(tester, order)) === 'WAIT') {
          history.now += 30 * 60_000;
          await history.verdict(tester, order);
        }
        await history.outcome(tester, order, 'UNPAID');
      }
  }
  await store.close();
}

/** Which of its orders each kind of payer pays, its last one; null never pays, and comes five times. */
const PAID_ORDERS: readonly (number | null)[] = [null, null, null, 1, 2, 3];

async function liveOrder(
  history: History,
  client: string,
  order: number,
  paid: number | null,
): Promise<void> {
  if (paid !== null && order > paid) return;
  await history.score(client, client);
  await history.verdict(client, `${client}-${order}`);
  await history.outcome(client, `${client}-${order}`, order === paid ? 'PAID' : 'UNPAID');
}

/** Half of the payers pay their first, second or third order; the others are blocked from the fifth one on. */
async function liveWithChancers(workplace: Workplace): Promise<void> {
  const store = openSqliteStore(workplace.dataDir, { salt: TEST_SALT });
  const history = new History(store, workplace.rules('p2.v10'));
  for (let cohort = 0; cohort < 4; cohort++)
    for (let order = 1; order <= 5; order++)
      for (let number = 0; number < 24; number++) {
        // All of a cohort ask within 28 hours, so that each comes back from a long absence, off the ladder.
        history.now += 70 * 60_000;
        await liveOrder(history, `payer-${cohort}-${number}`, order, PAID_ORDERS[number % 6] ?? null);
      }
  await store.close();
}

describe('the progress of a repeated search', () => {
  it('continues where the try before ended', () => {
    const shares: number[] = [];
    for (const nth of [0, 1, 2]) {
      const tell = progressOfTry((done, of) => shares.push(done / of), nth, 4);
      for (const done of [0, 50, 100]) tell(done, 100);
    }
    expect(shares).to.deep.equal([0, 0.125, 0.25, 0.25, 0.375, 0.5, 0.5, 0.625, 0.75]);
  });
});

describe('rules suggest, where only a threshold is wrong', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(liveWithChancers);
  });
  after(() => place.end());

  it('changes the constant, with a case that shows it, and names the cases that pin the old value', async () => {
    const { code, stdout, stderr } = await place.scoring(
      ...['rules', 'suggest', 'p2.v10', '--journal', place.path('j')],
      ...['--budget', '15%', '--write', 'p2.v20', '--json'],
    );
    expect(code, stderr).to.equal(0);
    const { changes, nothing } = JSON.parse(stdout);
    expect(nothing).to.equal(null);
    const [{ contradicts, later, ...change }, ...others] = changes;
    expect([change, others]).to.deep.equal([
      { kind: 'edit', path: 'groups.blocked-by-unpaid-chain.unpaidChain', from: '4', to: '3' },
      [],
    ]);
    expect([later.unpaid, later.paid]).to.deep.equal([24, 0]);
    // None of the paid orders, which does not show that it never happens.
    expect(later.paidShare).to.include({ value: 0, low: 0 });
    for (const share of [later.unpaidShare, later.paidShare]) {
      expect(share.low).to.be.at.most(share.value);
      expect(share.high).to.be.above(share.value);
    }
    const test = await place.scoring('rules', 'test', 'p2.v20');
    expect(contradicts).not.to.deep.equal([]);
    for (const name of contradicts) expect(test.stdout).to.include(name);
    expect(test.stdout).to.include(`, ${contradicts.length} failed`);
  });

  it('counts orders of clients held out of a block as blocked', async () => {
    const rule = (chain: number, holdout: string) =>
      `    priority: 80\n${holdout}    conditions:\n      all:\n        - { fact: unpaidChain, operator: greaterThanInclusive, value: ${chain} }`;
    const [from, to] = [rule(4, ''), rule(3, '    holdout: 50%\n')];
    place.draft('p2.v21', { file: 'groups.yaml', from, to });
    const rules = place.rules('p2.v21');
    const journal = { kind: 'journal', path: place.path('j') } as const;
    const ask = { place: journal, from: null, to: null, platform: null, holdoutSecret: SIGNAL_SECRET };
    const { orders } = await withEvidence(ask, async (evidence) => {
      await makeInputView(evidence, [rules]);
      return learningOrders(evidence, rules, Number.MAX_SAFE_INTEGER, await reversalsOf(evidence));
    });
    // The fourth order of each payer who never pays, of half of them by the rule alone; the fifth was turned away.
    expect(orders.blocked.reduce((sum, blocked) => sum + blocked, 0)).to.equal(48);
  });
});

describe('rules suggest', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(liveWithTesters);
  });
  after(() => place.end());

  const run = (...args: readonly string[]) =>
    place.scoring('rules', 'suggest', 'p2.v10', '--journal', place.path('j'), ...args);

  it('writes a draft with a case for each rule, and every figure is of the later part', async () => {
    const { code, stdout, stderr } = await run('--budget', '10%', '--write', 'p2.v20', '--json');
    expect(code, stderr).to.equal(0);
    const { changes, effects, nothing, parts } = JSON.parse(stdout);
    expect(nothing).to.equal(null);
    expect(parts.later.orders).to.deep.include({ unknown: 0 });
    const [{ name, later }] = changes;
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

  it('says when nothing is found, and writes nothing', async () => {
    const { code, stdout } = await run('--budget', '1%', '--write', 'p2.v21');
    expect(code).to.equal(0);
    expect(stdout).to.include(
      'No change stops enough more unpaid orders of the earlier part within the budget.\n\nNo draft was written.\n',
    );
    expect(existsSync(`${place.rulesDir}/p2.v21`)).to.equal(false);
  });

  it('refuses a budget that is not a percentage', async () => {
    const { code, stderr } = await run('--budget', '0.005');
    expect(code).to.equal(2);
    expect(stderr).to.include('--budget must be a percentage above 0 and below 100, like 0.5%, not "0.005"');
  });
});
