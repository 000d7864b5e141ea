import fc from 'fast-check';
import { formatDuration } from '#base/duration.ts';
import { decideScore, decideVerdict } from '#decision/decide.ts';
import type { Decision, ScoreAnswer } from '#decision/decision.ts';
import { NOBODY_SEEN, type Sightings } from '#decision/facts/fact.ts';
import { type DrawHoldouts, NO_HOLDOUTS } from '#decision/holdout.ts';
import { recordOutcome, setBinding, setOverride } from '#decision/payer/changes.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { type OrderOutcome, OUTCOME_CAUSES } from '#decision/payer/order.ts';
import type { ScoreRequest, VerdictRequest } from '#decision/requests.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { clientKey } from '../decision/payer/client-keys.ts';
import { NOW } from './random-states.ts';
import { edited, whole } from './sound-rules.ts';

/** Something that happens to a payer `gapMs` after what happened before. */
type Happening = { readonly gapMs: number } & (
  | { readonly kind: 'score'; readonly request: ScoreRequest; readonly sightings: Sightings }
  | { readonly kind: 'verdict'; readonly request: VerdictRequest; readonly sightings: Sightings }
  | { readonly kind: 'outcome'; readonly order: string; readonly outcome: Omit<OrderOutcome, 'occurredAt'> }
  | { readonly kind: 'binding'; readonly method: string | null; readonly bound: boolean }
  | { readonly kind: 'override'; readonly group: 'BLOCKED' | 'TRUSTED' | null }
);

/** A rule set, a platform, and what happens to one payer of it. */
export interface Life {
  readonly rules: RuleSet;
  readonly platform: PlatformName;
  readonly happenings: readonly Happening[];
  /** Who is held out of a rule; absent: nobody. */
  readonly holdoutDraw?: DrawHoldouts;
  /** What becomes of the state while nothing happens, up to a moment; absent: nothing. */
  readonly rest?: (state: ClientState, now: number) => ClientState;
}

/** A verdict of a life with the states around it. */
export interface SimulatedVerdict {
  readonly before: ClientState;
  readonly after: ClientState;
  readonly decision: Decision;
}

const ORDERS = ['order-1', 'order-2', 'order-3', 'order-4', 'order-5', 'order-6'] as const;
const METHODS = ['card', 'transfer'] as const;

const payment = {
  sellPointKey: fc.constantFrom('shop-1', 'shop-2'),
  method: fc.constantFrom(...METHODS),
  amount: fc.constantFrom('25.00', '25', '3'),
  currency: fc.constantFrom(null, 'USD'),
};

export const anyScoreRequest: fc.Arbitrary<ScoreRequest> = fc
  .record({
    ...payment,
    fingerprint: fc.constantFrom(null, 'device-1', 'device-2'),
    ip: fc.constantFrom(null, 'network-1', 'network-2'),
    jsOk: fc.constantFrom(null, true, true, false),
    honeypotTriggered: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    userAgent: fc.constantFrom(
      null,
      null,
      null,
      null,
      'program',
      'app',
      'browser',
      'browser',
      'browser',
      'browser',
    ),
  })
  .map(({ userAgent, ...shown }) => ({
    ...shown,
    userAgentPresent: userAgent !== null,
    userAgentIsAutomated: userAgent === 'program',
    userAgentIsApp: userAgent === 'app',
  }));

export const anyVerdictRequest: fc.Arbitrary<VerdictRequest> = fc.record({
  ...payment,
  orderRef: fc.constantFrom(...ORDERS),
  requestId: fc.constant('request-1'),
  arm: fc.constant('active'),
});

/** Mostly a lonely device; sometimes a crowd. */
export const anySightings: fc.Arbitrary<Sightings> = fc
  .tuple(fc.constantFrom(0, 1, 1, 1, 1, 5, 40), fc.constantFrom(0, 1, 4, 30))
  .map(([clients, paying]) => {
    const seen = (all: number) => ({ ...NOBODY_SEEN, clients: all, paying: Math.min(all, paying) });
    return {
      fingerprint: new Map([[86_400_000, seen(Math.min(clients, 1))]]),
      ip: new Map([
        [3_600_000, seen(clients)],
        [86_400_000, seen(clients)],
      ]),
    };
  });

const SECOND_MS = 1000;
const gapMs = fc.constantFrom(
  ...[0, 0.001, 1, 9, 10, 29, 30, 31, 60, 299, 300, 600, 1800, 3599, 3600, 86_399, 86_400, 604_800].map(
    (seconds) => seconds * SECOND_MS,
  ),
);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      gapMs,
      kind: fc.constant('score'),
      request: anyScoreRequest,
      sightings: anySightings,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      gapMs,
      kind: fc.constant('verdict'),
      request: anyVerdictRequest,
      sightings: anySightings,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      gapMs,
      kind: fc.constant('outcome'),
      order: fc.constantFrom(...ORDERS),
      outcome: fc.oneof(
        fc.record({ outcome: fc.constant('PAID'), cause: fc.constant(null) }),
        fc.record({ outcome: fc.constant('UNPAID'), cause: fc.constantFrom(null, ...OUTCOME_CAUSES) }),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      gapMs,
      kind: fc.constant('binding'),
      method: fc.constantFrom(null, ...METHODS),
      bound: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      gapMs,
      kind: fc.constant('override'),
      group: fc.constantFrom(null, null, 'BLOCKED', 'TRUSTED'),
    }),
  },
);

/** The released rule set with a ladder of random rising levels. */
const randomLadder: fc.Arbitrary<RuleSet> = fc
  .uniqueArray(fc.integer({ min: 1, max: 7200 }), { minLength: 1, maxLength: 6 })
  .map((seconds) => seconds.toSorted((a, b) => a - b).map((level) => formatDuration(level * SECOND_MS)))
  .map((levels) => edited({ 'ladder.yaml': whole(`levels: [${levels.join(', ')}]\nresetAfter: 24h\n`) }));

const RELEASED = edited({});

export const anyLife: fc.Arbitrary<Life> = fc.record({
  rules: fc.oneof({ weight: 3, arbitrary: fc.constant(RELEASED) }, { weight: 1, arbitrary: randomLadder }),
  platform: fc.constantFrom('demo', 'sandbox').map(toPlatformName),
  happenings: fc.array(happening, { maxLength: 30 }),
});

/** Lets a life happen; gives its verdicts and how the client stands at the end. */
export function live({ rules, platform, happenings, holdoutDraw = NO_HOLDOUTS, rest }: Life): {
  readonly verdicts: readonly SimulatedVerdict[];
  readonly scores: readonly ScoreAnswer[];
  readonly state: ClientState;
  readonly now: number;
} {
  const client = clientKey(platform, 'payer-1');
  const verdicts: SimulatedVerdict[] = [];
  const scores: ScoreAnswer[] = [];
  let state = UNKNOWN_CLIENT_STATE;
  let now = NOW;
  for (const happened of happenings) {
    now += happened.gapMs;
    state = rest?.(state, now) ?? state;
    switch (happened.kind) {
      case 'score': {
        const standing = { client, state, sightings: happened.sightings, holdoutDraw, now };
        const { answer, nextState } = decideScore(rules, standing, happened.request);
        scores.push(answer);
        state = nextState;
        break;
      }
      case 'verdict': {
        const before = state;
        const standing = { client, state, sightings: happened.sightings, holdoutDraw, now };
        const { decision, nextState } = decideVerdict(rules, standing, happened.request);
        verdicts.push({ before, after: nextState, decision });
        state = nextState;
        break;
      }
      case 'outcome': {
        const { order, outcome } = happened;
        const report = { ...outcome, orderRef: order, occurredAt: now };
        state = recordOutcome(state, null, report, now).state;
        break;
      }
      case 'binding': {
        const { bound, method } = happened;
        const binding = {
          requisiteRef: 'requisite-1',
          acceptorKeys: ['acceptor-1'],
          method,
          expiresAt: now + 3_600_000,
        };
        state = setBinding(state, bound ? binding : null, now);
        break;
      }
      case 'override': {
        const { group } = happened;
        const override = group === null ? null : { group, reason: 'r', by: 'b', at: now, expiresAt: null };
        state = setOverride(state, override, now);
        break;
      }
      default:
        happened satisfies never;
    }
  }
  return { verdicts, scores, state, now };
}
