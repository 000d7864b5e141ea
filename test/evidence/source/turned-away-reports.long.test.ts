import { expect } from 'chai';
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
  readonly decisions: readonly unknown[];
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
      await history.outcome(
        client,
        order,
        client === 'abuser' ? 'UNPAID' : 'PAID',
        client === 'abuser' ? 'EXPIRED' : null,
      );
      if (random.chance(0.3)) await history.verdict(client, order);
    }
  }
  return asked;
}

/** The same weeks, in which the platform reports orders that were never granted as EXPIRED, or says nothing of them. */
async function live(place: Workplace, isReported: boolean): Promise<Lived> {
  const told = { decisions: [] as unknown[], reported: 0 };
  const { archive } = await livedEvidence(async (store: Store) => {
    const random = new SeededRandom(25);
    const history = new History(store, place.rules('p2.v10'));
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
    [silent, reported] = [await live(place, false), await live(place, true)];
  });
  after(() => place.end());

  it('changes no later decision, and none of its facts', () => {
    expect(reported.reported).to.be.above(50);
    expect(
      new Set(
        reported.decisions.map((one) => JSON.stringify(one)).map((one) => /"verdict":"(\w+)"/.exec(one)?.[1]),
      ),
    ).to.include.members(['GET_NEW', 'WAIT', 'BLOCK']);
    expect(reported.decisions).to.deep.equal(silent.decisions);
  });

  it('is in no figure of reports, backtests, drift and experiments', async () => {
    const [before, after] = [
      await figuresOf(place, silent.archive, null),
      await figuresOf(place, reported.archive, null),
    ];
    for (const [index, one] of after.entries()) expect(one, one.kind).to.deep.equal(before[index]);
  });

  it('is in no figure of variations', async () => {
    const [before, after] = [
      await replayedFiguresOf(place, silent.archive, null),
      await replayedFiguresOf(place, reported.archive, null),
    ];
    for (const [index, one] of after.entries()) expect(one, one.kind).to.deep.equal(before[index]);
  });
});
