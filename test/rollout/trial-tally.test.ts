import { expect } from 'chai';
import { platformName } from '../../src/client/client-key.ts';
import { sharedCounts, sumTrialCounts, TrialTally } from '../../src/rollout/trial-counts.ts';
import type { Tallies } from '../../src/state/store.ts';
import { StoreUnavailable } from '../../src/state/store-errors.ts';
import { decisionFor, newClient } from '../state/clients.ts';
import { describeOnStores } from '../stores/describe-on-stores.ts';

const shop = platformName('shop');
const DECIDED = decisionFor(newClient(shop), 1, 'order-1');
const DECISION = { ...DECIDED, draw: { version: DECIDED.ruleVersion, percent: 10, since: 1 } };
const SHADOWED = { ...DECISION, verdict: 'BLOCK', rule: 'a "quoted" rule' } as const;

/** With what `count` counted in it. */
function counted(count: (tally: TrialTally) => void) {
  const tally = new TrialTally('t');
  count(tally);
  return tally.counts;
}

describe('the tally of a trial', () => {
  it('never has more clients with an outcome than clients, also after its nodes were killed', () => {
    const killed = counted((tally) => tally.countStatus(shop, 'candidate', 'unknown', 'paid'));
    const { clients } = sumTrialCounts(killed, null).arms.candidate;
    expect(clients).to.deep.include({ seen: 1, paid: 1 });
  });

  it("counts a client in the arm that it was drawn into, also when the other arm's version stepped in", () => {
    const { arms } = sumTrialCounts(
      counted((tally) => tally.countVerdict(DECISION, 'candidate', null)),
      null,
    );
    expect([arms.active.verdicts, arms.active.clients.seen]).to.deep.equal([1, 0]);
    expect([arms.candidate.verdicts, arms.candidate.clients.seen]).to.deep.equal([0, 1]);
  });

  it('keeps five decisions of each kind of difference, and fifty kinds of a platform', () => {
    const counts = counted((tally) => {
      for (let number = 0; number < 8; number++) {
        tally.countShadow({ ...DECISION, decisionId: `d${number}` }, SHADOWED);
        tally.countShadow(DECISION, DECISION);
      }
      for (let rule = 0; rule < 60; rule++)
        tally.countShadow(DECISION, { ...SHADOWED, rule: `rule-${rule}` });
      tally.countCandidateError(null);
    });
    const { shadow, candidateErrors } = sumTrialCounts(counts, null);
    expect([shadow.compared, shadow.different, candidateErrors]).to.deep.equal([76, 68, 1]);
    expect(shadow.differences).to.have.length(50);
    const [first] = shadow.differences;
    expect(first?.change).to.match(/ -> BLOCK\/a "quoted" rule /);
    expect([first?.count, first?.sampleDecisions]).to.deep.equal([8, ['d0', 'd1', 'd2', 'd3', 'd4']]);
    expect(sumTrialCounts(counts, 'shop')).to.deep.equal({
      ...sumTrialCounts(counts, null),
      candidateErrors: 0,
    });
  });

  it('counts the platforms beyond a hundred together', () => {
    const counts = counted((tally) => {
      for (let number = 0; number < 103; number++) tally.countCandidateError(platformName(`shop-${number}`));
    });
    const errorsOf = (platform: string | null) => sumTrialCounts(counts, platform).candidateErrors;
    expect(['shop-99', 'shop-100', '', null].map(errorsOf)).to.deep.equal([1, 0, 3, 103]);
  });
});

describeOnStores('the tally of a trial', (store) => {
  const seenOf = async (trial: string) =>
    sumTrialCounts(await sharedCounts(store().tallies, trial), null).arms.active.clients.seen;

  it('is the sum of all processes, however often they send it, and survives their restart', async () => {
    const [one, other] = [new TrialTally('both'), new TrialTally('both')];
    for (let round = 0; round < 3; round++) {
      one.countVerdict(DECISION, 'active', null);
      other.countVerdict(DECISION, 'active', null);
      await one.send(store().tallies);
      await one.send(store().tallies);
    }
    await other.send(store().tallies);
    expect(await seenOf('both')).to.equal(6);
    const restarted = new TrialTally('both');
    restarted.countVerdict(DECISION, 'active', null);
    await restarted.send(store().tallies);
    expect(await seenOf('both')).to.equal(7);
    expect(await seenOf('another')).to.equal(0);
  });

  it('counts everything once when the store was away, whether a batch had arrived or not', async () => {
    for (const arrives of [true, false]) {
      const trial = `away ${arrives}`;
      const tally = new TrialTally(trial);
      const cut: Tallies = {
        ...store().tallies,
        add: async (name, batch) => {
          if (arrives) await store().tallies.add(name, batch);
          throw new StoreUnavailable('cut off');
        },
      };
      tally.countVerdict(DECISION, 'active', null);
      for (let tries = 0; tries < 2; tries++) {
        expect(await tally.send(cut).catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
        tally.countVerdict(DECISION, 'active', null);
      }
      await tally.send(store().tallies);
      await tally.send(store().tallies);
      expect(await seenOf(trial)).to.equal(3);
    }
  });
});
