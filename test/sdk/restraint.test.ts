import { expect } from 'chai';
import fc from 'fast-check';
import { Circuit, Pace, RetryBudget } from '../../src/sdk/connection.ts';

describe('the retry budget of a client', () => {
  it('lets a shop with few calls try each of them again', () => {
    const budget = new RetryBudget(0);
    const allowed = Array.from({ length: 20 }, (_, call) => {
      budget.noteCall(call * 10_000);
      return budget.spend();
    });
    expect(allowed).to.not.include(false);
  });

  it('limits tries under overload to 1.2 times the calls', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 60, max: 2000 }),
        fc.integer({ min: 10, max: 1000 }),
        (calls, perSecond) => {
          const budget = new RetryBudget(0);
          let tries = 0;
          for (let call = 0; call < calls; call += 1) {
            budget.noteCall((call * 1000) / perSecond);
            tries += 1 + (budget.spend() ? 1 : 0) + (budget.spend() ? 1 : 0);
          }
          expect(tries).to.be.at.most(calls * 1.2);
        },
      ),
    );
  });
});

describe('the circuit of a client', () => {
  const failures = (circuit: Circuit, count: number, nowMs: number) => {
    for (let failure = 0; failure < count; failure += 1) circuit.note(false, nowMs);
  };

  it('stays closed while there are answers in between', () => {
    const circuit = new Circuit();
    failures(circuit, 9, 0);
    circuit.note(true, 0);
    failures(circuit, 9, 0);
    expect(circuit.admits(0)).to.equal(true);
  });

  it('opens after ten failures in a row, and then allows one try in two seconds', () => {
    const circuit = new Circuit();
    failures(circuit, 10, 0);
    expect([0, 1999, 2000, 2001, 3999, 4000].map((nowMs) => circuit.admits(nowMs))).to.deep.equal([
      false,
      false,
      true,
      false,
      false,
      true,
    ]);
  });

  it('closes with the first answer', () => {
    const circuit = new Circuit();
    failures(circuit, 30, 0);
    circuit.note(true, 2000);
    expect(circuit.admits(2000)).to.equal(true);
  });
});

describe('the pace of a client', () => {
  it("sends one second's calls at once, and the others evenly", () => {
    const pace = new Pace(4);
    const waits = Array.from({ length: 7 }, () => pace.waitMs(1000, 10_000));
    expect(waits).to.deep.equal([0, 0, 0, 0, 250, 500, 750]);
  });

  it('refuses a call whose turn would come too late', () => {
    const pace = new Pace(1);
    expect([1000, 1000, 1000].map((nowMs) => pace.waitMs(nowMs, 2000))).to.deep.equal([0, 1000, null]);
    expect(pace.waitMs(2000, 3000)).to.equal(1000);
  });

  it('holds nothing back when it is 0', () => {
    const pace = new Pace(0);
    expect(Array.from({ length: 100 }, () => pace.waitMs(5, 5))).to.not.include(null);
  });

  it('never sends more than its rate and one burst in any time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 200 }),
        (perSecond, gaps) => {
          const pace = new Pace(perSecond);
          let nowMs = 0;
          const sentAtMs = gaps.flatMap((gapMs) => {
            nowMs += gapMs;
            const waitMs = pace.waitMs(nowMs, nowMs + 3000);
            return waitMs === null ? [] : [nowMs + waitMs];
          });
          for (const [first, from] of sentAtMs.entries()) {
            for (const [last, to] of sentAtMs.entries()) {
              const allowed = perSecond + ((to - from) * perSecond) / 1000 + 0.001;
              if (last >= first) expect(last - first + 1).to.be.at.most(allowed);
            }
          }
        },
      ),
    );
  });
});
