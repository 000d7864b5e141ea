import { expect } from 'chai';
import fc from 'fast-check';
import { decideVerdict } from '#decision/decide.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import { parseMoney } from '#decision/payer/amount.ts';
import { type OutcomeEffect, recordOutcome } from '#decision/payer/changes.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { chooseEventTime, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import type { KnownHints } from '#decision/payer/hints.ts';
import { excludeOldKnownDevices, listRememberedDevices } from '#decision/payer/known-devices.ts';
import { findSettledAmount, type OrderOutcome, toAskedOrderStage } from '#decision/payer/order.ts';
import { roundTripState } from '#decision/payer/state-document.ts';
import { getPlatformSettings } from '#decision/rules/rule-set.ts';
import { noteScoreToAnswer } from '#decision/score-hints.ts';
import { NOW } from '../../rule-fixtures/random-states.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { clientKey } from './client-keys.ts';
import {
  type Asked,
  type AskedAnswer,
  LONG_RESET_AFTER_MS,
  METHODS,
  type Payer,
  type PayerStanding,
  RESET_AFTER_MS,
  RESULTS,
  type Reported,
  type ResultName,
  type Scored,
  SecondPayer,
} from './second-payer.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3600 * SECOND_MS;
const CURRENCY = 'EUR';
const CLIENT = clientKey(toPlatformName('demo'), 'payer-1');

const verdictRule = (method: string, priority: number, params: string) => `
  - name: ${method}
    priority: ${priority}
    conditions: { all: [{ fact: method, operator: equal, value: ${method} }] }
    event: { type: verdict, params: { ${params}, reason: "r" } }
`;

const RULES = edited({
  'ladder.yaml': swap(
    'resetAfter: 24h',
    'resetAfter: 24h\nladders: { brief: [45s], long: { levels: [20s, 20m, 2h, 5h], resetAfter: 40h } }',
  ),
  'ruleset.yaml': swap('resetAfter: 1h', 'resetAfter: 12h'),
  'verdicts.yaml': () => `
rules:
${verdictRule('refuse', 4, 'verdict: BLOCK')}
${verdictRule('usual', 3, 'verdict: WAIT')}
${verdictRule('brief', 2, 'verdict: WAIT, ladder: brief')}
${verdictRule('long', 1, 'verdict: WAIT, ladder: long')}
otherwise:
  verdict: GET_NEW
  reason: "{verdicts(2d)} {verdicts(30d)} {attempts(2d)} {attempts(30d)} {attemptedAmount(7d)}"
`,
});

/** The code behind the same interface; all that is kept goes through its stored form. */
class FirstPayer implements Payer {
  #state = UNKNOWN_CLIENT_STATE;
  /** What the store knows of orders that were asked for. */
  readonly #granted = new Map<string, boolean>();

  ask({ order: orderRef, amount, method }: Asked, now: number): AskedAnswer {
    const payment = { sellPointKey: 's', method, amount: String(amount), currency: null };
    const standing = { client: CLIENT, state: this.#state, sightings: NO_SIGHTINGS, now };
    const request = { ...payment, orderRef, requestId: 'r', arm: 'active' } as const;
    const { decision, nextState } = decideVerdict(RULES, standing, request);
    expect(decision.verdict).to.equal(METHODS[method].verdict);
    this.#state = roundTripState(nextState);
    this.#granted.set(orderRef, decision.verdict === 'GET_NEW' || this.#granted.get(orderRef) === true);
    const fact = (label: string) => Number(decision.facts[label]);
    return {
      waitFloorMs: decision.waitFloorMs ?? null,
      askedOnDays: [fact('verdicts(2d)'), fact('verdicts(30d)')],
      grantedOnDays: [fact('attempts(2d)'), fact('attempts(30d)')],
      attempted: fact('attemptedAmount(7d)'),
    };
  }

  report({ order: orderRef, result, moment, amount }: Reported, now: number): OutcomeEffect {
    const money = amount === null ? {} : { amount: `${amount} ${CURRENCY}` };
    const report = { orderRef, ...outcomeOf(result), occurredAt: moment, ...money };
    const granted = this.#granted.get(orderRef);
    const orderStage = granted === undefined ? 'notAsked' : toAskedOrderStage(granted);
    const { effect, state } = recordOutcome(this.#state, null, report, now, orderStage);
    this.#state = roundTripState(state);
    return effect;
  }

  score({ amount, fingerprint, sign }: Scored, clockMs: number): readonly string[] {
    const request = {
      sellPointKey: 's',
      method: 'card',
      amount: String(amount),
      currency: null,
      fingerprint,
      ip: null,
      jsOk: sign === 'noScript' ? false : sign === 'script' ? true : null,
      honeypotTriggered: sign === 'trap',
      userAgentPresent: sign === 'userAgent',
      userAgentIsAutomated: sign === 'automated',
      userAgentIsApp: sign === 'app',
    };
    const now = chooseEventTime(this.#state, clockMs);
    const { nextState, known } = noteScoreToAnswer(this.#state, request, now);
    this.#state = roundTripState(nextState);
    const hints = known();
    return [...namesOf(hints), `${hints.devices?.fingerprints} known`];
  }

  #devices(): PayerStanding['devices'] {
    const { lastAt, knownDevices } = this.#state;
    const { fingerprints } = excludeOldKnownDevices(knownDevices, lastAt);
    return listRememberedDevices(fingerprints, lastAt).map(({ id, firstShownAt }) => [
      id.slice(0, 2),
      firstShownAt,
    ]);
  }

  standing(): PayerStanding {
    const { ladder, outcomes } = this.#state;
    const { paidCount: paid, unpaidCount: unpaid, recent } = outcomes;
    const paidOrders = recent.filter(({ outcome }) => outcome === 'PAID');
    const amounts = paidOrders.map((known) =>
      Number(parseMoney(findSettledAmount(known) ?? '')?.amount ?? 0),
    );
    const paidAmount = amounts.reduce((sum, amount) => sum + amount, 0);
    return { ...ladder, paid, unpaid, paidAmount, devices: this.#devices() };
  }
}

/** An event, as its result. */
type Happening = (payer: Payer, now: number) => unknown;

const order = fc.constantFrom('a', 'a', 'a', 'b');
const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc
    .record({
      order,
      amount: fc.constantFrom(7, 25, 90),
      method: fc.constantFrom('grant', 'grant', 'refuse', 'usual', 'brief', 'long'),
    })
    .map(
      (asked): Happening =>
        (payer, now) =>
          payer.ask(asked, now),
    ),
  fc
    .record({
      order,
      result: fc.constantFrom(...RESULTS, 'PAID', 'PAID', 'REVERSED'),
      amount: fc.constantFrom(null, null, 7, 10, 25, 90),
      agoMs: fc.constantFrom(null, -5000, 0, 1, SECOND_MS, 2 * SECOND_MS, HOUR_MS),
    })
    .map(({ agoMs, amount, ...told }): Happening => {
      const hasMoney = told.result === 'PAID' || told.result === 'REVERSED';
      const reported = { ...told, amount: hasMoney ? amount : null };
      return (payer, now) => payer.report({ ...reported, moment: agoMs === null ? null : now - agoMs }, now);
    }),
  fc
    .record({
      amount: fc.constantFrom(7, 25),
      fingerprint: fc.constantFrom(null, 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7', 'f8', 'f9'),
      sign: fc.constantFrom(null, 'noScript', 'script', 'trap', 'automated', 'app', 'userAgent'),
    })
    .map(
      (scored): Happening =>
        (payer, now) =>
          payer.score(scored, now),
    ),
);

const gapMs = fc.constantFrom(
  ...[0, 0, 0.001, 1, 1, 29, 45, 1200, 3600, 39_600, 86_399, 86_400, 143_999, 144_000, 15 * 86_400].map(
    (seconds) => seconds * SECOND_MS,
  ),
);

describe('the page of what happens to a payer', () => {
  it('is enough to write a second implementation with the same outcomes, amounts, ladder and hints', () => {
    const life = fc.array(fc.tuple(gapMs, happening), { minLength: 8, maxLength: 24, size: 'max' });
    fc.assert(
      fc.property(life, (happenings) => {
        const [first, second] = [new FirstPayer(), new SecondPayer()];
        let now = NOW;
        for (const [gap, happens] of happenings) {
          now += gap;
          expect(happens(first, now)).to.deep.equal(happens(second, now));
          expect(first.standing()).to.deep.equal(second.standing());
        }
      }),
      { numRuns: 200 },
    );
  });

  it("has the reset and the ladders of this test's rules", () => {
    const { ladder } = getPlatformSettings(RULES, CLIENT.platform);
    const { levelsMs, ladders, resetAfterMs, resetsAfterMs } = ladder;
    expect({ levelsMs, ladders, resetAfterMs, resetsAfterMs }).to.deep.equal({
      levelsMs: METHODS.usual.levelsMs,
      ladders: { brief: METHODS.brief.levelsMs, long: METHODS.long.levelsMs },
      resetAfterMs: RESET_AFTER_MS,
      resetsAfterMs: { long: LONG_RESET_AFTER_MS },
    });
  });
});

function outcomeOf(result: ResultName): Pick<OrderOutcome, 'outcome' | 'cause'> {
  if (result === 'PAID') return { outcome: 'PAID', cause: null };
  return { outcome: 'UNPAID', cause: result === 'UNPAID' ? null : result };
}

function namesOf(known: KnownHints): readonly string[] {
  const signs = [
    ...(known.jsOk === null ? [] : [known.jsOk ? 'script' : 'noScript']),
    ...(known.trapped ? ['trap'] : []),
    ...(known.userAgentPresent ? ['userAgent'] : []),
    ...(known.userAgentIsAutomated ? ['automated'] : []),
    ...(known.userAgentIsApp ? ['app'] : []),
  ];
  return [...known.fingerprints.map((id) => `fingerprint ${id}`), ...signs].sort();
}
