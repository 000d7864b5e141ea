import { expect } from 'chai';
import fc from 'fast-check';
import {
  type ClientPaymentStatus,
  computeClientCountChanges,
  computePaymentCountChanges,
  computeTrialStageFigures,
  readTrialCounts,
  TrialTally,
} from '#checkout/rollout/trial-counts.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { addStageAnswer, type TrialStageAnswers } from '#decision/payer/client-state.ts';
import type { Tallies } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { decisionFor, newClient } from '../../state/clients.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const shop = toPlatformName('shop');
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
    const { clients } = computeTrialStageFigures(killed, null).arms.candidate;
    expect(clients).to.deep.include({ seen: 1, paid: 1 });
  });

  it("counts a client in the arm that it was drawn into, also when the other arm's version stepped in", () => {
    const { arms } = computeTrialStageFigures(
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
    const { shadow, candidateErrors } = computeTrialStageFigures(counts, null);
    expect([shadow.compared, shadow.different, candidateErrors]).to.deep.equal([76, 68, 1]);
    expect(shadow.differences).to.have.length(50);
    const [first] = shadow.differences;
    expect(first?.change).to.match(/ -> BLOCK\/a "quoted" rule /);
    expect([first?.count, first?.sampleDecisions]).to.deep.equal([8, ['d0', 'd1', 'd2', 'd3', 'd4']]);
    expect(computeTrialStageFigures(counts, 'shop')).to.deep.equal({
      ...computeTrialStageFigures(counts, null),
      candidateErrors: 0,
    });
  });

  it('counts the platforms beyond a hundred together', () => {
    const counts = counted((tally) => {
      for (let number = 0; number < 103; number++)
        tally.countCandidateError(toPlatformName(`shop-${number}`));
    });
    const errorsOf = (platform: string | null) => computeTrialStageFigures(counts, platform).candidateErrors;
    expect(['shop-99', 'shop-100', '', null].map(errorsOf)).to.deep.equal([1, 0, 3, 103]);
  });
});

describeOnStores('the tally of a trial', (store) => {
  const seenOf = async (trial: string) =>
    computeTrialStageFigures(await readTrialCounts(store().tallies, trial), null).arms.active.clients.seen;

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

describe('the outcomes of the clients of an arm', () => {
  const status = fc.constantFrom<ClientPaymentStatus>('paid', 'unpaid', 'unknown');

  it('count each client once by the latest outcome, without reversed payments', () => {
    fc.assert(
      fc.property(fc.array(fc.array(status, { maxLength: 6 }), { maxLength: 8 }), (clients) => {
        const counts = { paid: 0, unpaid: 0 };
        for (const statuses of clients)
          for (const [place, after] of statuses.entries()) {
            const { paid, unpaid } = computePaymentCountChanges(statuses[place - 1] ?? 'unknown', after);
            counts.paid += paid;
            counts.unpaid += unpaid;
          }
        const last = clients.map((statuses) => statuses.at(-1) ?? 'unknown');
        expect([counts.paid, counts.unpaid]).to.deep.equal([
          last.filter((one) => one === 'paid').length,
          last.filter((one) => one === 'unpaid').length,
        ]);
      }),
    );
  });
});

describe('a client in a stage', () => {
  /** The figures of one client after some verdicts, each with the mark of those before it. */
  function clientAfter(...verdicts: readonly (readonly [since: number, verdict: string, isBot?: boolean])[]) {
    let mark: TrialStageAnswers | null = null;
    const counts = { seen: 0, blocked: 0, waited: 0, bots: 0 };
    for (const [since, verdict, isBot = false] of verdicts) {
      const { seen, blocked, waited, bots } = computeClientCountChanges(mark, since, { verdict, isBot });
      counts.seen += seen;
      counts.blocked += blocked;
      counts.waited += waited;
      counts.bots += bots;
      mark = addStageAnswer(mark, since, { verdict, isBot });
    }
    return counts;
  }

  it('is counted by its verdicts once for each answer', () => {
    const counted = clientAfter(
      [1, 'GET_NEW'],
      [1, 'WAIT'],
      [1, 'WAIT', true],
      [1, 'BLOCK', true],
      [1, 'WAIT'],
    );
    expect(counted).to.deep.equal({ seen: 1, blocked: 1, waited: 1, bots: 1 });
  });

  it('is counted again in the next stage', () => {
    expect(clientAfter([1, 'WAIT'], [2, 'GET_NEW'])).to.deep.equal({
      seen: 2,
      blocked: 0,
      waited: 1,
      bots: 0,
    });
  });
});
