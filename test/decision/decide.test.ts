import { expect } from 'chai';
import fc from 'fast-check';
import { isAttempt } from '#decision/conclude-verdict.ts';
import { assessNow, type DecisionStanding, decideScore, decideVerdict } from '#decision/decide.ts';
import { NO_SIGHTINGS, type Sightings } from '#decision/facts/fact.ts';
import { recordOutcome } from '#decision/payer/changes.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, isNewClient, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import type { ScoreRequest, VerdictRequest } from '#decision/requests.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import {
  anyLife,
  anyScoreRequest,
  anySightings,
  anyVerdictRequest,
  type Life,
  live,
  type SimulatedVerdict,
} from '../rule-fixtures/random-life.ts';
import { NOW } from '../rule-fixtures/random-states.ts';
import { edited, edits, swap } from '../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../rule-fixtures/verdict-request.ts';
import { clientKey } from './payer/client-keys.ts';

const CLIENT = clientKey(toPlatformName('demo'), 'payer-1');
const RULES = edited({});

function standing(state: ClientState, now: number, sightings: Sightings = NO_SIGHTINGS) {
  return { client: CLIENT, state, sightings, now };
}

/** Asks for a verdict after a simulated life. */
function ask({ rules, platform }: Life, state: ClientState, now: number) {
  return decideVerdict(rules, { ...standing(state, now), client: clientKey(platform, 'payer-1') }, REQUEST);
}

/** Two verdicts of a new client, a second apart. */
function askTwice(rules: RuleSet, client = CLIENT) {
  const first = decideVerdict(rules, { ...standing(UNKNOWN_CLIENT_STATE, NOW), client }, REQUEST);
  const second = decideVerdict(rules, { ...standing(first.nextState, NOW + 1000), client }, REQUEST);
  return [first.decision, second.decision] as const;
}

/** Checks every verdict of every simulated life. */
function everyVerdict(holds: (verdict: SimulatedVerdict) => void, numRuns = 100): void {
  fc.assert(
    fc.property(anyLife, (life) => {
      for (const verdict of live(life).verdicts) holds(verdict);
    }),
    { numRuns },
  );
}

interface Asked {
  readonly rules: RuleSet;
  readonly score: ScoreRequest;
  readonly verdict: VerdictRequest;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

describe('a verdict', () => {
  it('has every value of the interface somewhere in the simulated lives', () => {
    const seen = new Set<string>();
    everyVerdict(({ decision }) => seen.add(decision.verdict), 1_000);
    expect([...seen]).to.have.members(['GET_NEW', 'GET_SAME_STICKY', 'WAIT', 'BLOCK']);
  });

  it('never ends a wait before the one it replaces, and never goes down the ladder while waiting', () => {
    everyVerdict(({ decision: { verdict, ladderBefore, ladderAfter } }) => {
      if (verdict !== 'WAIT') return;
      expect(ladderAfter.waitUntil).to.be.at.least(ladderBefore.waitUntil ?? 0);
      expect(ladderAfter.level).to.be.at.least(ladderBefore.level);
      expect(ladderAfter.level).to.be.at.least(1);
    });
  });

  it('has waitSeconds only with WAIT, and then a whole number from 1', () => {
    everyVerdict(({ decision }) => {
      if (decision.verdict !== 'WAIT') {
        expect(decision).to.not.have.property('waitSeconds');
        return;
      }
      expect(decision.waitSeconds).to.satisfy(Number.isSafeInteger);
      expect(decision.waitSeconds).to.be.at.least(1);
    });
  });

  it('has stickyRequisiteRef only with GET_SAME_STICKY, and then that of the live binding', () => {
    everyVerdict(({ before, decision }) => {
      const wanted = decision.verdict === 'GET_SAME_STICKY' ? before.binding?.requisiteRef : undefined;
      expect(decision.stickyRequisiteRef).to.equal(wanted);
    });
  });

  it('has a reason without a placeholder left in it', () => {
    everyVerdict(({ decision }) => {
      expect(decision.reason).to.match(/^[A-Z].*\.$/);
      expect(decision.reason).to.not.match(/[{}]|undefined|NaN|null/);
    });
  });

  it('leaves the ladder as it is with BLOCK', () => {
    everyVerdict(({ after, decision: { verdict, ladderBefore, ladderAfter } }) => {
      if (verdict === 'BLOCK') expect(ladderAfter).to.deep.equal(ladderBefore);
      expect(after.ladder).to.deep.equal(ladderAfter);
    });
  });

  it('opens an attempt exactly when a requisite is shown', () => {
    everyVerdict(({ after, decision }) => {
      const granted = isAttempt(decision.verdict);
      expect(after.events.at(-1)?.granted).to.equal(granted);
      if (granted) expect(decision.ladderAfter).to.deep.include({ attemptOpen: true, waitUntil: null });
    });
  });

  it('has the next number of its client', () => {
    everyVerdict(({ before, after, decision }) => {
      expect(decision.seq).to.equal(before.seq + 1);
      expect(after.seq).to.equal(decision.seq);
      expect(decision.decisionId).to.match(new RegExp(`\\.${decision.seq}\\.${decision.at.toString(36)}$`));
    });
  });

  it('is never dated before earlier records of the client', () => {
    everyVerdict(({ before, after, decision }) => {
      expect(decision.at).to.be.at.least(before.lastAt);
      expect(after).to.deep.include({ lastAt: decision.at, lastVerdictAt: decision.at });
    });
  });

  it('records a value for every fact of the rule set', () => {
    fc.assert(
      fc.property(anyLife, (life) => {
        const labels = life.rules.facts.map(({ label }) => label);
        for (const { decision } of live(life).verdicts) {
          expect(Object.keys(decision.facts)).to.deep.equal(labels);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('after a paid order is as for a first request, unless it is a block', () => {
    fc.assert(
      fc.property(anyLife, (life) => {
        const { state, now } = live(life);
        const paid = { outcome: 'PAID', cause: null, occurredAt: now } as const;
        const { decision } = ask(
          life,
          recordOutcome(state, null, { ...paid, orderRef: 'a-new-order' }, now).state,
          now + 1,
        );
        if (decision.verdict === 'BLOCK') return;
        expect(isAttempt(decision.verdict)).to.equal(true);
        expect(decision.ladderAfter).to.deep.equal({ level: 0, attemptOpen: true, waitUntil: null });
      }),
      { numRuns: 100 },
    );
  });

  it('after the reset time without a request is as for a first request, unless it is a block', () => {
    fc.assert(
      fc.property(anyLife, (life) => {
        const { state, now } = live(life);
        const { decision } = ask(life, state, now + 86_400_000);
        if (decision.verdict === 'BLOCK') return;
        expect(decision.ladderAfter).to.deep.equal({ level: 0, attemptOpen: true, waitUntil: null });
      }),
      { numRuns: 100 },
    );
  });

  it('is WAIT until a second before waitSeconds have passed, and not after', () => {
    fc.assert(
      fc.property(anyLife, (life) => {
        const { state, now } = live(life);
        const { decision, nextState } = ask(life, state, now);
        if (decision.waitSeconds === undefined) return;
        const later = (seconds: number) =>
          ask(life, nextState, decision.at + seconds * 1000).decision.verdict;
        expect(later(decision.waitSeconds)).to.not.equal('WAIT');
        expect(later(decision.waitSeconds - 1)).to.be.oneOf(['WAIT', 'BLOCK']);
      }),
      { numRuns: 100 },
    );
  });

  it("uses the platform's own ladder and currency", () => {
    const rules = edited({
      'ruleset.yaml': swap('    scoringLimits: true', '    scoringLimits: true\n    currency: USD'),
    });
    const [first, second] = askTwice(rules, clientKey(toPlatformName('sandbox'), 'payer-1'));
    expect(first.facts).to.deep.include({ currency: 'USD', amount: 25 });
    expect(second).to.deep.include({ verdict: 'WAIT', waitSeconds: 10 });
  });

  it("names in its reason the facts' values, the wait and its level", () => {
    const rules = edited({
      'verdicts.yaml': edits(
        swap(
          'The previous attempt did not reach payment; wait',
          '{verdicts(1m)} requests by {clientGroup}, {isBot}; wait',
        ),
      ),
    });
    const [, second] = askTwice(rules);
    expect(second.reason).to.equal('2 requests by NEW, false; wait 30 s, cooldown level 1.');
  });
});

describe('a score', () => {
  it('is the same when it is asked again, and changes nothing but the hints and the known devices', () => {
    fc.assert(
      fc.property(anyLife, anyScoreRequest, anySightings, (life, request, sightings) => {
        const { state, now } = live(life);
        const score = (from: ClientState) => decideScore(life.rules, standing(from, now, sightings), request);
        const first = score(state);
        const second = score(first.nextState);
        expect(second).to.deep.equal(first);
        const { hints, knownDevices: _shown, firstSeenAt, lastAt, ...counted } = first.nextState;
        const {
          hints: _hints,
          knownDevices: _devices,
          firstSeenAt: _firstSeenAt,
          lastAt: _lastAt,
          ...countedBefore
        } = state;
        expect(counted).to.deep.equal(countedBefore);
        expect({ firstSeenAt, lastAt }).to.deep.equal({
          firstSeenAt: state.firstSeenAt ?? now,
          lastAt: Math.max(state.lastAt, now),
        });
        expect(hints?.scoredAt).to.equal(now);
      }),
      { numRuns: 100 },
    );
  });

  it('of a client new to the platform is the same at any later time', () => {
    fc.assert(
      fc.property(anyScoreRequest, fc.nat(1e9), (request, laterMs) => {
        const first = decideScore(RULES, standing(UNKNOWN_CLIENT_STATE, NOW), request);
        const second = decideScore(RULES, standing(first.nextState, NOW + laterMs), request);
        expect(second.answer).to.deep.equal(first.answer);
        expect(second.nextState.seq).to.equal(0);
        expect(isNewClient(second.nextState)).to.equal(true);
      }),
    );
  });

  it('never flags a client new to the platform as a bot, whatever the device shows', () => {
    fc.assert(
      fc.property(anyLife, anyScoreRequest, anySightings, (life, request, sightings) => {
        const { state, now } = live(life);
        const { answer } = decideScore(life.rules, standing(state, now, sightings), request);
        if (isNewClient(state)) expect(answer.isBot).to.equal(false);
        const { answer: fresh } = decideScore(
          life.rules,
          standing(UNKNOWN_CLIENT_STATE, now, sightings),
          request,
        );
        expect(fresh).to.deep.include({ isBot: false, clientGroup: 'NEW', paymentScore: '0.5000' });
      }),
      { numRuns: 100 },
    );
  });

  it('never gives a lower paymentScore when a paid outcome is added', () => {
    fc.assert(
      fc.property(anyLife, anyScoreRequest, (life, request) => {
        const { state, now } = live(life);
        const score = (from: ClientState) =>
          Number(decideScore(life.rules, standing(from, now), request).answer.paymentScore);
        const paid = { outcome: 'PAID', cause: null, occurredAt: now } as const;
        expect(
          score(recordOutcome(state, null, { ...paid, orderRef: 'a-new-order' }, now).state),
        ).to.be.at.least(score(state));
      }),
      { numRuns: 100 },
    );
  });

  it('gives exactly 0.5000 while there is no final outcome, and four decimals always', () => {
    fc.assert(
      fc.property(anyLife, anyScoreRequest, (life, request) => {
        const { state, now } = live(life);
        const { paymentScore } = decideScore(life.rules, standing(state, now), request).answer;
        expect(paymentScore).to.match(/^[01]\.\d{4}$/);
        if (state.outcomes.paidCount + state.outcomes.unpaidCount === 0)
          expect(paymentScore).to.equal('0.5000');
      }),
      { numRuns: 100 },
    );
  });

  it('names acceptors only for STICKY, and limits only where the platform enables them', () => {
    fc.assert(
      fc.property(anyLife, anyScoreRequest, (life, request) => {
        const { state, now } = live(life);
        const client = clientKey(life.platform, 'payer-1');
        const { answer } = decideScore(life.rules, { client, state, sightings: NO_SIGHTINGS, now }, request);
        expect(answer.preferredAcceptorKey !== undefined).to.equal(answer.clientGroup === 'STICKY');
        expect(answer.payLimitValue !== undefined).to.equal(life.platform === 'sandbox');
      }),
      { numRuns: 100 },
    );
  });
});

for (const [what, decide] of [
  [
    'verdict',
    (standing: DecisionStanding, { rules, verdict }: Asked) => decideVerdict(rules, standing, verdict),
  ],
  ['score', (standing: DecisionStanding, { rules, score }: Asked) => decideScore(rules, standing, score)],
] as const)
  describe(`any ${what}`, () => {
    const asked = fc
      .record({ life: anyLife, score: anyScoreRequest, verdict: anyVerdictRequest, sightings: anySightings })
      .map(({ life, ...requests }) => ({ ...live(life), rules: life.rules, ...requests }));

    it('is decided at the last recorded time when the clock was set back', () => {
      fc.assert(
        fc.property(asked, fc.nat(1e9), ({ state, ...rest }, backMs) => {
          const at = (now: number) => decide(standing(state, now), rest);
          expect(at(state.lastAt - backMs)).to.deep.equal(at(state.lastAt));
        }),
        { numRuns: 100 },
      );
    });

    it('is the same for the same inputs, which it does not change', () => {
      fc.assert(
        fc.property(asked, (given) => {
          const { state, now, score, verdict, sightings } = given;
          deepFreeze([state, score, verdict, sightings]);
          const again = () => decide(standing(state, now, sightings), given);
          const first = again();
          deepFreeze(first);
          expect(again()).to.deep.equal(first);
        }),
        { numRuns: 100 },
      );
    });
  });

describe('the present facts of a client', () => {
  it('count no request', () => {
    const { nextState } = decideVerdict(RULES, standing(UNKNOWN_CLIENT_STATE, NOW), REQUEST);
    const place = RULES.facts.findIndex(({ label }) => label === 'verdicts(1h)');
    const counts = [nextState, UNKNOWN_CLIENT_STATE].map(
      (state) => assessNow(RULES, standing(state, NOW)).values[place],
    );
    expect(counts).to.deep.equal([1, 0]);
  });
});
