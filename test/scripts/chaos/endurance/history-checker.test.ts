import { expect } from 'chai';
import fc from 'fast-check';
import {
  apply,
  isLinearizable,
  type Model,
  type Operation,
  type Seen,
} from '../../../../scripts/chaos/endurance/history-checker.ts';

const WAITS = [30, 300, 1800];

function verdict(seq: number, waitSeconds: number | null): Seen {
  return {
    kind: 'verdict',
    answer: { verdict: waitSeconds === null ? 'GET_NEW' : 'WAIT', waitSeconds, seq },
  };
}

const PAID: Seen = { kind: 'paid' };

function operation(startedAtMs: number, endedAtMs: number, seen: Seen): Operation {
  return { startedAtMs, endedAtMs, seen };
}

function unknown(startedAtMs: number, kind: 'verdict' | 'paid'): Operation {
  return operation(startedAtMs, Number.POSITIVE_INFINITY, { kind: 'unknown', operation: kind });
}

/** The answers of a correct service to sequential operations. */
function serially(kinds: readonly ('verdict' | 'paid')[]): readonly Seen[] {
  let model: Model = { waitLevel: 0, seq: 0 };
  return kinds.map((kind) => {
    const next = apply(model, { kind: 'unknown', operation: kind }, WAITS) ?? model;
    model = next;
    return kind === 'paid' ? PAID : verdict(next.seq, WAITS[next.waitLevel - 2] ?? null);
  });
}

describe('the history checker', () => {
  it('accepts the whole ladder, one request after the other, and its reset by a payment', () => {
    const answers = [verdict(1, null), verdict(2, 30), verdict(3, 300), verdict(4, 1800), verdict(5, 1800)];
    const history = [...answers, PAID, verdict(6, null)].map((seen, n) =>
      operation(10 * n, 10 * n + 5, seen),
    );
    expect(isLinearizable(history, WAITS)).to.equal(true);
  });

  it('accepts concurrent requests in whatever order they were answered', () => {
    const history = [
      operation(0, 10, verdict(3, 300)),
      operation(0, 10, verdict(1, null)),
      operation(0, 10, verdict(2, 30)),
    ];
    expect(isLinearizable(history, WAITS)).to.equal(true);
  });

  it('catches one step given twice', () => {
    const history = [operation(0, 10, verdict(1, null)), operation(0, 10, verdict(1, null))];
    expect(isLinearizable(history, WAITS)).to.equal(false);
  });

  it('catches a lost step', () => {
    const history = [
      operation(0, 10, verdict(1, null)),
      operation(20, 30, verdict(2, 30)),
      operation(40, 50, verdict(2, 30)),
    ];
    expect(isLinearizable(history, WAITS)).to.equal(false);
  });

  it('catches an answer that ignores an operation that had already ended', () => {
    const history = [operation(0, 10, verdict(2, 30)), operation(20, 30, verdict(1, null))];
    expect(isLinearizable(history, WAITS)).to.equal(false);
  });

  it('catches a wait of the wrong level under the right number', () => {
    const history = [operation(0, 10, verdict(1, null)), operation(20, 30, verdict(2, 300))];
    expect(isLinearizable(history, WAITS)).to.equal(false);
  });

  it('catches a payment that was acknowledged and did not reset the ladder', () => {
    const history = [
      operation(0, 10, verdict(1, null)),
      operation(20, 30, PAID),
      operation(40, 50, verdict(2, 30)),
    ];
    expect(isLinearizable(history, WAITS)).to.equal(false);
  });

  it('accepts that a request without an answer has taken its step, or not', () => {
    const first = operation(0, 10, verdict(1, null));
    expect(
      isLinearizable([first, unknown(20, 'verdict'), operation(40, 50, verdict(2, 30))], WAITS),
    ).to.equal(true);
    expect(
      isLinearizable([first, unknown(20, 'verdict'), operation(40, 50, verdict(3, 300))], WAITS),
    ).to.equal(true);
  });

  it('catches a request without an answer that took two steps', () => {
    const history = [
      operation(0, 10, verdict(1, null)),
      unknown(20, 'verdict'),
      operation(40, 50, verdict(4, 1800)),
    ];
    expect(isLinearizable(history, WAITS)).to.equal(false);
  });

  it('catches a request without an answer that took its step before it was sent', () => {
    const history = [operation(0, 10, verdict(2, 30)), unknown(20, 'verdict')];
    expect(isLinearizable(history, WAITS)).to.equal(false);
  });

  const refused = operation(20, 30, { kind: 'unknown', operation: 'verdict' });

  it('accepts that a refused request has taken its step before the refusal, or not', () => {
    const first = operation(0, 10, verdict(1, null));
    for (const later of [verdict(2, 30), verdict(3, 300)])
      expect(isLinearizable([first, refused, operation(40, 50, later)], WAITS)).to.equal(true);
  });

  it('catches a refused request that took its step after the refusal', () => {
    const history = [
      operation(0, 10, verdict(1, null)),
      refused,
      operation(40, 50, verdict(2, 30)),
      operation(60, 70, verdict(4, 1800)),
    ];
    expect(isLinearizable(history, WAITS)).to.equal(false);
  });

  const kinds = fc.array(fc.constantFrom('verdict' as const, 'verdict' as const, 'paid' as const), {
    minLength: 1,
    maxLength: 8,
  });

  it('accepts whatever a correct service answers, however the operations overlap', () => {
    const margins = fc.array(fc.tuple(fc.nat(60), fc.nat(60)), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(kinds, margins, (all, around) => {
        const history = serially(all).map((seen, n) => {
          const [before = 0, after = 0] = around[n] ?? [];
          return operation(20 * n - before, 20 * n + after, seen);
        });
        expect(isLinearizable(history, WAITS)).to.equal(true);
      }),
    );
  });

  it('catches any number that was given to two verdicts', () => {
    fc.assert(
      fc.property(kinds, fc.nat(7), fc.nat(7), (all, from, to) => {
        const honest = serially(all);
        const [one, other] = [honest[from % honest.length], honest[to % honest.length]];
        fc.pre(one?.kind === 'verdict' && other?.kind === 'verdict' && one.answer.seq !== other.answer.seq);
        const history = honest.map((seen) => operation(0, 10, seen === one && other ? other : seen));
        expect(isLinearizable(history, WAITS)).to.equal(false);
      }),
    );
  });
});
