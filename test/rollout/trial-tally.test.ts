import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { platformName } from '../../src/client/client-key.ts';
import type { Arm } from '../../src/decision/decision.ts';
import {
  type ClientStatus,
  countCandidateError,
  countDecision,
  countShadow,
  countStatus,
  countsOfTally,
  NO_COUNTS,
  noTrialCounts,
  sharedCounts,
  sumTrialCounts,
  type TrialCounts,
  TrialTally,
  tallyOf,
} from '../../src/rollout/trial-counts.ts';
import type { Tallies } from '../../src/state/store.ts';
import { StoreUnavailable } from '../../src/state/store-errors.ts';
import { decisionFor, newClient } from '../state/clients.ts';
import { describeOnStores } from '../stores/describe-on-stores.ts';

const shop = platformName('shop');
const DECIDED = decisionFor(newClient(shop), 1, 'order-1');
const DECISION = { ...DECIDED, draw: { version: DECIDED.ruleVersion, percent: 10, since: 1 } };
const SHADOWED = { ...DECISION, verdict: 'BLOCK', rule: 'a "quoted" rule' } as const;

const countOne = (counts: TrialCounts) => countDecision(counts, DECISION, 'active', null);

type Step = (counts: TrialCounts) => TrialCounts;

const arm = fc.constantFrom<Arm>('active', 'candidate');
const status = fc.constantFrom<ClientStatus>('paid', 'unpaid', 'unknown');
const step: fc.Arbitrary<Step> = fc.oneof(
  arm.map(
    (drawn): Step =>
      (counts) =>
        countDecision(counts, DECISION, drawn, null),
  ),
  fc.tuple(arm, status, status).map(
    ([drawn, ...statuses]): Step =>
      (counts) =>
        countStatus(counts, shop, drawn, statuses),
  ),
  fc.constant<Step>((counts) => countShadow(counts, { ...DECISION, decisionId: randomUUID() }, SHADOWED)),
  fc.constant<Step>((counts) => countCandidateError(counts, null)),
);

describe('the tally of a trial', () => {
  it('is stored as one number per field, from which the figures are read', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const counts = steps.reduce((before, step) => step(before), noTrialCounts('t'));
        const back = countsOfTally('t', tallyOf(counts));
        for (const platform of ['shop', '']) {
          const [told, is] = [counts, back].map((one) => sumTrialCounts(one, platform));
          expect(is?.shadow).to.deep.equal(told?.shadow);
          expect(is?.candidateErrors).to.equal(told?.candidateErrors);
          for (const name of ['active', 'candidate'] as const) {
            const { clients, ...verdicts } = told?.arms[name] ?? NO_COUNTS;
            const seen = Math.max(clients.seen, clients.paid + clients.unpaid);
            expect(is?.arms[name]).to.deep.equal({ ...verdicts, clients: { ...clients, seen } });
          }
        }
      }),
    );
  });

  it('never has more clients with an outcome than clients, also after its nodes were killed', () => {
    const killed = countStatus(noTrialCounts('t'), shop, 'candidate', ['unknown', 'paid']);
    const { clients } = sumTrialCounts(countsOfTally('t', tallyOf(killed)), null).arms.candidate;
    expect(clients).to.deep.include({ seen: 1, paid: 1 });
  });

  it("counts a client in the arm that it was drawn into, also when the other arm's version stepped in", () => {
    const { arms } = sumTrialCounts(countDecision(noTrialCounts('t'), DECISION, 'candidate', null), null);
    expect([arms.active.verdicts, arms.active.clients.seen]).to.deep.equal([1, 0]);
    expect([arms.candidate.verdicts, arms.candidate.clients.seen]).to.deep.equal([0, 1]);
  });
});

describeOnStores('the tally of a trial', (store) => {
  const seenOf = async (trial: string) =>
    sumTrialCounts(await sharedCounts(store().tallies, trial), null).arms.active.clients.seen;

  it('is the sum of all processes, however often they send it, and survives their restart', async () => {
    const [one, other] = [new TrialTally('both'), new TrialTally('both')];
    for (let round = 0; round < 3; round++) {
      one.count(countOne);
      other.count(countOne);
      await one.send(store().tallies);
      await one.send(store().tallies);
    }
    await other.send(store().tallies);
    expect(await seenOf('both')).to.equal(6);
    const restarted = new TrialTally('both');
    restarted.count(countOne);
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
      tally.count(countOne);
      for (let tries = 0; tries < 2; tries++) {
        expect(await tally.send(cut).catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
        tally.count(countOne);
      }
      await tally.send(store().tallies);
      await tally.send(store().tallies);
      expect(await seenOf(trial)).to.equal(3);
    }
  });
});
