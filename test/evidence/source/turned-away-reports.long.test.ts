import { expect } from 'chai';
import type { Decision } from '../../../src/decision/decision.ts';
import type { EvidencePlace } from '../../../src/evidence/source/evidence.ts';
import type { Store } from '../../../src/state/store.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { draftCandidates, History, JULY, Workplace } from '../backtest/backtest-history.ts';
import { livedEvidence } from './lived-evidence.ts';
import { figuresOf, replayedFiguresOf } from './printed-figures.ts';

const HOUR = 3_600_000;
const VISITS = 120;

interface Lived {
  readonly archive: EvidencePlace;
  /** All decisions, with every fact. */
  readonly decisions: readonly Decision[];
  readonly reported: number;
}

/** A payer's own orders, and those of somebody who never pays. */
async function visit(history: History, random: SeededRandom, number: number): Promise<readonly string[]> {
  const payer = `payer-${random.whole(0, 19)}`;
  const client = random.chance(0.2) ? 'abuser' : payer;
  const asked: string[] = [];
  await history.score(client);
  for (let again = 0; again < random.whole(2, 4); again++) {
    const order = `order-${number}-${again}`;
    history.now += 5000;
    const verdict = await history.verdict(client, order);
    if (!verdict.startsWith('GET')) asked.push(JSON.stringify([client, order]));
    else {
      history.now += 60_000;
      if (client === 'abuser') await history.outcome(client, order, 'UNPAID', 'EXPIRED');
      else await history.outcome(client, order, 'PAID');
      if (random.chance(0.3)) await history.verdict(client, order);
    }
  }
  return asked;
}

/** The same weeks, in which the platform reports orders that were never granted as EXPIRED, or says nothing of them. */
async function live(isReported: boolean): Promise<Lived> {
  const told = { decisions: [] as Decision[], reported: 0 };
  const { archive } = await livedEvidence(async (store: Store) => {
    const random = new SeededRandom(25);
    const history = new History(store);
    for (let number = 0; number < VISITS; number++) {
      history.now = JULY + number * 7 * HOUR;
      const turnedAway = await visit(history, random, number);
      history.now = JULY + number * 7 * HOUR + 2 * HOUR;
      for (const one of isReported ? turnedAway : []) {
        const [client, order]: readonly [string, string] = JSON.parse(one);
        await history.outcome(client, order, 'UNPAID', 'EXPIRED');
        told.reported += 1;
      }
    }
    const { entries } = await store.readJournal(null, 100_000);
    told.decisions.push(...entries.flatMap((entry) => (entry.kind === 'verdict' ? entry.decision : [])));
  });
  return { archive, ...told };
}

describe('a report of an order that was turned away', () => {
  let place: Workplace;
  let silent: Lived;
  let reported: Lived;
  before(async () => {
    place = new Workplace();
    draftCandidates(place);
    [silent, reported] = [await live(false), await live(true)];
  });
  after(() => place.end());

  it('changes no later decision, and none of its facts', () => {
    expect(reported.reported).to.be.above(50);
    const verdicts = reported.decisions.map(({ verdict }) => verdict);
    expect(verdicts).to.include.members(['GET_NEW', 'WAIT', 'BLOCK']);
    expect(reported.decisions).to.deep.equal(silent.decisions);
  });

  for (const [what, work] of [
    ['reports, backtests, drift and experiments', figuresOf],
    ['variations', replayedFiguresOf],
  ] as const)
    it(`is in no figure of ${what}`, async () => {
      const before = await work(place, silent.archive, null);
      const after = await work(place, reported.archive, null);
      for (const [index, one] of after.entries()) expect(one, one.kind).to.deep.equal(before[index]);
    });
});
