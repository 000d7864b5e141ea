import { expect } from 'chai';
import fc from 'fast-check';
import { markStage, type StageMark } from '../../src/client/client-state.ts';
import { type ClientStatus, countsOfClient, countsOfStatus } from '../../src/rollout/trial-counts.ts';

describe('the outcomes of the clients of an arm', () => {
  const status = fc.constantFrom<ClientStatus>('paid', 'unpaid', 'unknown');

  it('count each client once by the latest outcome, without reversed payments', () => {
    fc.assert(
      fc.property(fc.array(fc.array(status, { maxLength: 6 }), { maxLength: 8 }), (clients) => {
        const counts = { paid: 0, unpaid: 0 };
        for (const statuses of clients)
          for (const [place, after] of statuses.entries()) {
            const { paid, unpaid } = countsOfStatus(statuses[place - 1] ?? 'unknown', after);
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
    let mark: StageMark | null = null;
    const counts = { seen: 0, blocked: 0, waited: 0, bots: 0 };
    for (const [since, verdict, isBot = false] of verdicts) {
      const { seen, blocked, waited, bots } = countsOfClient(mark, since, { verdict, isBot });
      counts.seen += seen;
      counts.blocked += blocked;
      counts.waited += waited;
      counts.bots += bots;
      mark = markStage(mark, since, { verdict, isBot });
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
