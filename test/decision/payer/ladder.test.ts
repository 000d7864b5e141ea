import { expect } from 'chai';
import fc from 'fast-check';
import {
  climbLadder,
  EMPTY_LADDER,
  getLevelWaitsMs,
  getRemainingWaitMs,
  type Ladder,
  type LadderSettings,
  resetLadderAfterAbsence,
  startAttempt,
} from '#decision/payer/ladder.ts';
import { computePaymentScore, formatPaymentScore, type Smoothing } from '#decision/payer/payment-score.ts';

const SETTINGS: LadderSettings = {
  levelsMs: [30_000, 300_000, 1_800_000],
  resetAfterMs: 86_400_000,
  ladders: {},
  resetsAfterMs: {},
};
const T = 1_000_000_000;

/** Ladders of rising levels, in ms. */
const anySettings: fc.Arbitrary<LadderSettings> = fc
  .uniqueArray(fc.integer({ min: 1, max: 3600 }), { minLength: 1, maxLength: 20 })
  .map((levels) => levels.toSorted((a, b) => a - b).map((seconds) => seconds * 1000))
  .map((levelsMs) => ({
    levelsMs,
    ladders: {},
    resetsAfterMs: {},
    resetAfterMs: (levelsMs.at(-1) ?? 0) + 1000,
  }));

const anyLadder: fc.Arbitrary<Ladder> = fc.record({
  level: fc.nat(25),
  attemptOpen: fc.boolean(),
  waitUntil: fc.option(fc.integer({ min: T - 10_000_000, max: T + 10_000_000 }), { nil: null }),
});

describe('the cooldown ladder', () => {
  it('is kept until a millisecond before the reset, and forgotten at the reset', () => {
    const ladder = { level: 2, attemptOpen: true, waitUntil: null };
    const client = { ladder, lastVerdictAt: T, lastWaitLadder: null };
    expect(resetLadderAfterAbsence(client, SETTINGS, T + 86_399_999)).to.deep.equal(ladder);
    expect(resetLadderAfterAbsence(client, SETTINGS, T + 86_400_000)).to.deep.equal(EMPTY_LADDER);
    expect(resetLadderAfterAbsence({ ...client, lastVerdictAt: null }, SETTINGS, T)).to.deep.equal(ladder);
  });

  it('is forgotten by the reset of the ladder of the newest wait, where the rule set has one for it', () => {
    const ladder = { level: 2, attemptOpen: true, waitUntil: null };
    const settings = { ...SETTINGS, resetsAfterMs: { patient: 90_000_000 } };
    const ladderAfter = (lastWaitLadder: string | null, ms: number) =>
      resetLadderAfterAbsence({ ladder, lastVerdictAt: T, lastWaitLadder }, settings, T + ms);
    expect(ladderAfter('patient', 89_999_999)).to.deep.equal(ladder);
    expect(ladderAfter('patient', 90_000_000)).to.deep.equal(EMPTY_LADDER);
    expect(ladderAfter('gone', 86_400_000)).to.deep.equal(EMPTY_LADDER);
    expect(ladderAfter(null, 86_400_000)).to.deep.equal(EMPTY_LADDER);
  });

  it('has no wait left at the very moment the wait ends', () => {
    const ladder = { level: 1, attemptOpen: false, waitUntil: T };
    expect([T - 1, T, T + 1].map((now) => getRemainingWaitMs(ladder, now))).to.deep.equal([1, 0, 0]);
    expect(getRemainingWaitMs(EMPTY_LADDER, T)).to.equal(0);
  });

  it('never gives a shorter wait than before, whichever ladders the rules name', () => {
    const ladders = fc.array(fc.record({ settings: anySettings, served: fc.boolean() }), { maxLength: 12 });
    fc.assert(
      fc.property(ladders, (steps) => {
        let ladder = EMPTY_LADDER;
        let now = T;
        let lastWaitMs = 0;
        for (const { settings, served } of steps) {
          ladder = climbLadder(ladder, settings.levelsMs, now, lastWaitMs);
          const waitMs = getRemainingWaitMs(ladder, now);
          expect(waitMs).to.be.at.least(lastWaitMs);
          expect(waitMs).to.be.at.least(settings.levelsMs[ladder.level - 1] ?? Number.NaN);
          lastWaitMs = waitMs;
          now += served ? waitMs : 1000;
          if (served) ladder = startAttempt(ladder);
        }
      }),
    );
  });

  it('finds the waits of a ladder by its name', () => {
    const settings = { ...SETTINGS, ladders: { patient: [60_000, 600_000] } };
    expect(getLevelWaitsMs(settings, 'patient')).to.deep.equal([60_000, 600_000]);
    expect(getLevelWaitsMs(settings, null)).to.deep.equal(SETTINGS.levelsMs);
  });

  it('never shortens a wait while climbing, and never climbs past the top', () => {
    fc.assert(
      fc.property(anyLadder, anySettings, (ladder, settings) => {
        const after = climbLadder(ladder, settings.levelsMs, T, 0);
        expect(after.waitUntil).to.be.at.least(ladder.waitUntil ?? 0);
        expect(after.level).to.be.within(1, settings.levelsMs.length);
        expect(after.level).to.be.at.least(Math.min(ladder.level, settings.levelsMs.length));
        expect(getRemainingWaitMs(after, T)).to.be.at.least(settings.levelsMs[after.level - 1] ?? Number.NaN);
      }),
    );
  });
});

const HALF: Smoothing = { prior: 0.5, weight: 2 };

/** Any smoothing that a rule set may have: one where the first outcome does not move 0.5 the wrong way. */
const anySmoothing: fc.Arbitrary<Smoothing> = fc
  .record({ prior: fc.integer({ min: 0, max: 100 }), weight: fc.integer({ min: 1, max: 5000 }) })
  .map(({ prior, weight }) => ({ prior: prior / 100, weight: weight / 100 }))
  .filter(({ prior, weight }) => weight * Math.abs(prior - 0.5) <= 0.5);

describe('paymentScore', () => {
  for (const [paid, final, score] of [
    [0, 0, '0.5000'],
    [1, 1, '0.6667'],
    [0, 1, '0.3333'],
    [3, 3, '0.8000'],
    [3, 4, '0.6667'],
    [0, 4, '0.1667'],
    [1000, 1000, '0.9990'],
    [1_000_000, 1_000_000, '1.0000'],
  ] as const) {
    it(`is ${score} for ${paid} paid of ${final} final outcomes`, () => {
      expect(formatPaymentScore(computePaymentScore(paid, final, HALF))).to.equal(score);
    });
  }

  it('is exactly 0.5000 with no final outcome, whatever the smoothing', () => {
    fc.assert(
      fc.property(anySmoothing, (smoothing) => {
        expect(formatPaymentScore(computePaymentScore(0, 0, smoothing))).to.equal('0.5000');
      }),
    );
  });

  it('never falls with a paid outcome, never rises with an unpaid one, and stays from 0 to 1', () => {
    fc.assert(
      fc.property(anySmoothing, fc.nat(500), fc.nat(500), (smoothing, paid, unpaid) => {
        const score = computePaymentScore(paid, paid + unpaid, smoothing);
        expect(computePaymentScore(paid + 1, paid + unpaid + 1, smoothing)).to.be.at.least(score);
        expect(computePaymentScore(paid, paid + unpaid + 1, smoothing)).to.be.at.most(score);
        expect(computePaymentScore(paid + 1, paid + unpaid + 1, smoothing)).to.be.at.least(
          computePaymentScore(paid, paid + unpaid + 1, smoothing),
        );
        expect(score).to.be.within(0, 1);
      }),
    );
  });
});
