import { DAY_MS } from '#base/duration.ts';
import { CLIENT_GROUPS } from '#decision/decision-words.ts';
import { BOOLEAN_DOMAIN, countsWholeDays } from '#decision/facts/fact.ts';
import { listResetAfterMs } from '#decision/payer/ladder.ts';
import type { Smoothing } from '#decision/payer/payment-score.ts';
import { SIGHTING_MARKS } from '#decision/payer/sighting-marks.ts';
import type { Condition, FactRef } from '#decision/rules/condition.ts';
import { negateCondition } from '#decision/rules/negation.ts';
import {
  type GroupParams,
  listRulesWithoutHoldout,
  type ParsedRules,
  type Rule,
  type SignalParams,
} from '#decision/rules/rule-set.ts';
import {
  allOf,
  anyOf,
  createComparison,
  createProofOnlyFact,
  FactsByName,
  iff,
  implies,
  not,
} from './built-conditions.ts';

/**
 * The kind of request for which rules are asked. Groups and signals are concluded for every request, including a
 * score of an unknown client. Verdict rules are asked only for a verdict, which makes the client known.
 */
export type AssumedRequestKind = 'any request' | 'a known client' | 'a verdict';

/** A relation between numbers of one decision. */
export type Relation =
  | { readonly kind: 'sum'; readonly parts: readonly [FactRef, FactRef]; readonly total: FactRef }
  /** `lesser` is below `greater` by at least `by`. */
  | { readonly kind: 'at most'; readonly lesser: FactRef; readonly greater: FactRef; readonly by: number }
  | {
      readonly kind: 'payment score';
      readonly paid: FactRef;
      readonly unpaid: FactRef;
      readonly score: FactRef;
      /** The index of the smoothing that applies. Platforms may have different smoothings. */
      readonly platform: FactRef;
      readonly smoothings: readonly Smoothing[];
    }
  | {
      readonly kind: 'weight';
      readonly signals: readonly (SignalParams & { readonly matches: FactRef })[];
      readonly total: FactRef;
    };

/** What is known about a fact that rules conclude, `defined`. It matters only if a question asks for this fact. */
interface Definition {
  readonly defined: FactRef;
  readonly conditions: readonly Condition[];
  readonly relations: readonly Relation[];
}

/** Everything that certainly holds for the facts of one decision. */
export interface Knowledge {
  readonly conditions: readonly Condition[];
  readonly relations: readonly Relation[];
  readonly definitions: readonly Definition[];
}

export const NOTHING_KNOWN: Knowledge = { conditions: [], relations: [], definitions: [] };

/** The parts of a rule set that `collectKnowledge` needs. */
export type RulesForProofs = Pick<ParsedRules, 'facts' | 'settings' | 'platforms' | 'groups' | 'signals'>;

/** Velocity facts that count every request. They are at least 1 at a verdict, because its own request is counted. */
export const FACTS_COUNTING_EVERY_REQUEST = [
  'distinctMethods',
  'distinctAmounts',
  'distinctOrders',
  'distinctSellPoints',
];
/** Velocity facts that count only some requests. */
const PARTIAL_COUNTS = ['earlyRequests', 'distinctFingerprints', 'distinctIps'];

/**
 * Lists all relations between facts on which proofs rely. Only relations that the code guarantees for every state and
 * request belong here. A relation that is not always true makes proofs wrong, and a missing relation hides a finding.
 */
export function collectKnowledge(rules: RulesForProofs, moment: AssumedRequestKind): Knowledge {
  const facts = new FactsByName(rules.facts);
  return {
    conditions: [
      ...relateHistory(facts),
      ...relateLateOrders(facts),
      ...relateLadder(rules, facts),
      ...relateHints(facts),
      ...relateAttributes(facts),
      ...relateMoment(facts, moment),
    ],
    relations: [...linkOutcomes(rules, facts), ...linkWindows(facts, moment), ...linkAmounts(facts, moment)],
    definitions: [defineGroup(rules, facts), ...defineBot(rules, facts)],
  };
}

/** Says that every counted outcome has a time, and that `unpaidChain` counts some of the unpaid outcomes. */
function relateHistory(facts: FactsByName): readonly Condition[] {
  const chained = facts.above('unpaidChain', 0);
  return [
    ...iff(facts.above('paidCount', 0), facts.known('secondsSinceLastPaid')),
    ...iff(facts.above('unpaidCount', 0), facts.known('secondsSinceLastUnpaid')),
    implies(facts.is('lastOutcome', 'PAID'), facts.above('paidCount', 0)),
    // The newest outcome is unpaid exactly when `unpaidChain` is above 0.
    implies(facts.is('lastOutcome', 'UNPAID'), chained),
    implies(chained, facts.is('lastOutcome', 'UNPAID')),
    implies(facts.is('hasBinding', false), facts.is('bindingFitsMethod', false)),
    ...facts.listFacts('lastCause').flatMap((cause) => relateLastCause(cause, facts)),
  ];
}

/** Says that the newest order that was paid or unpaid gives `lastCause`, unless a newer order failed technically. */
function relateLastCause(cause: FactRef, facts: FactsByName): readonly Condition[] {
  const isTechnical = createComparison(cause, 'equal', 'TECHNICAL');
  const isReversed = createComparison(cause, 'equal', 'REVERSED');
  return [
    implies(
      not(facts.is('lastOutcome', 'UNPAID')),
      anyOf(createComparison(cause, 'known', false), isTechnical),
    ),
    ...facts
      .listFacts('secondsSinceLastReversal')
      .map((since) => implies(isReversed, createComparison(since, 'known', true))),
  ];
}

/** Counts of earlier answers. The present request has no answer yet. */
const ANSWERS = ['attempts', 'waits', 'blocks'] as const;

/** Counts of orders that count as unpaid. */
const UNPAID_BY_CAUSE = [
  'unpaidOrders',
  'declinedOrders',
  'expiredOrders',
  'cancelledOrders',
  'reversedOrders',
] as const;

/** Says that the age of an order which became final within a window is at most the length of the window. */
function relateLateOrders(facts: FactsByName): readonly Condition[] {
  const lately = (name: string, last: FactRef) =>
    facts.listWindows(name).map((seen) => {
      const isLate = createComparison(last, 'lessThan', seen.windowMs / 1000);
      return implies(createComparison(seen, 'greaterThan', 0), isLate);
    });
  const since = (name: string, last: string) => lately(name, facts.requireFact(last));
  return [
    ...since('paidOrders', 'secondsSinceLastPaid'),
    ...since('paidAmount', 'secondsSinceLastPaid'),
    ...UNPAID_BY_CAUSE.flatMap((name) => since(name, 'secondsSinceLastUnpaid')),
    ...facts.listFacts('secondsSinceLastReversal').flatMap((last) => lately('reversedOrders', last)),
  ];
}

/** Says that a wait ends an attempt, and that the ladder is reset after `resetAfter` without a verdict. */
function relateLadder({ settings, platforms }: RulesForProofs, facts: FactsByName): readonly Condition[] {
  const waiting = facts.above('waitRemainingSeconds', 0);
  const served = facts.is('waitServed', true);
  const resetsMs = [settings, ...platforms.values()].flatMap(({ ladder }) => listResetAfterMs(ladder));
  const longest = Math.max(...resetsMs) / 1000;
  const notForgotten = createComparison(facts.requireFact('secondsSinceLastVerdict'), 'lessThan', longest);
  return [
    implies(waiting, allOf(facts.is('attemptOpen', false), facts.above('ladderLevel', 0))),
    implies(
      served,
      allOf(
        facts.is('waitRemainingSeconds', 0),
        facts.is('attemptOpen', false),
        facts.above('ladderLevel', 0),
      ),
    ),
    implies(facts.above('ladderLevel', 0), notForgotten),
    implies(facts.above('ladderLevel', 0), anyOf(waiting, served, facts.is('attemptOpen', true))),
    implies(facts.is('attemptOpen', true), notForgotten),
  ];
}

/** Says that nothing is known about the device without a score in the last day. */
function relateHints(facts: FactsByName): readonly Condition[] {
  return [
    implies(
      facts.is('scoredBefore', false),
      allOf(
        facts.is('honeypotTriggered', false),
        not(facts.known('jsOk')),
        facts.is('userAgentPresent', false),
        facts.is('fingerprintPresent', false),
        facts.is('ipPresent', false),
      ),
    ),
    ...iff(facts.is('scoredBefore', true), facts.known('userAgentIsAutomated')),
    ...iff(facts.is('scoredBefore', true), facts.known('userAgentIsApp')),
    ...['userAgentIsAutomated', 'userAgentIsApp'].map((name) =>
      implies(facts.is('userAgentPresent', false), not(facts.is(name, true))),
    ),
    ...relateDeviceCounts(facts, 'Fingerprint', 'fingerprintPresent'),
    ...relateDeviceCounts(facts, 'Ip', 'ipPresent'),
    ...relateKnownDevices(facts, 'Fingerprint', 'fingerprintPresent'),
    ...relateKnownDevices(facts, 'Ip', 'ipPresent'),
  ];
}

/** Says that the clients with a value of an attribute are counted if there is a value, the present client included. */
function relateAttributes(facts: FactsByName): readonly Condition[] {
  return facts.listFacts('attribute').flatMap((own) => {
    const isOfIt = ({ attribute }: FactRef) => attribute === own.attribute;
    const clients = facts.listWindows('clientsOnAttribute').filter(isOfIt);
    const values = facts.listWindows('distinctAttribute').filter(isOfIt);
    const isKnown = createComparison(own, 'known', true);
    return [
      ...clients.flatMap((seen) => iff(isKnown, createComparison(seen, 'known', true))),
      ...[...clients, ...values].map((seen) => implies(isKnown, createComparison(seen, 'greaterThan', 0))),
    ];
  });
}

/** Says that facts about remembered devices are known if a device was shown, and that they count this device, too. */
function relateKnownDevices(facts: FactsByName, device: string, isShown: string): readonly Condition[] {
  const counts = facts.listFacts(`known${device}s`);
  const remembered = [...counts, ...facts.listFacts(`secondsSince${device}FirstSeen`)];
  return [
    ...remembered.flatMap((fact) => iff(facts.is(isShown, true), createComparison(fact, 'known', true))),
    ...counts.map((fact) => implies(facts.is(isShown, true), createComparison(fact, 'greaterThan', 0))),
  ];
}

/** Says that the clients of a device are counted if a device was shown, and that the count includes the payer. */
function relateDeviceCounts(facts: FactsByName, device: string, isShown: string): readonly Condition[] {
  const all = facts.listWindows(`clientsOn${device}`);
  return [
    ...all.map((seen) => implies(facts.is(isShown, true), createComparison(seen, 'greaterThan', 0))),
    ...[...all, ...listMarkCounts(facts, device), ...facts.listWindows(`verdictsOn${device}`)].flatMap(
      (seen) => iff(facts.is(isShown, true), createComparison(seen, 'known', true)),
    ),
  ];
}

/** The marks that a client either has or lacks. */
const CLIENT_MARKS = SIGHTING_MARKS.filter((mark) => mark !== 'unpaidOrders');

/** Lists the counts of clients with each mark on a device, and the count of their unpaid orders. */
function listMarkCounts(facts: FactsByName, device: string): readonly FactRef[] {
  return [
    ...CLIENT_MARKS.flatMap((mark) => facts.listWindows(`${mark}ClientsOn${device}`)),
    ...facts.listWindows(`unpaidOrdersOn${device}`),
  ];
}

/**
 * Lists the conditions that every request of this kind meets: about a new or known client, and about counted verdict
 * requests.
 */
function relateMoment(facts: FactsByName, moment: AssumedRequestKind): readonly Condition[] {
  const verdicts = facts.listWindows('verdicts');
  const distinct = FACTS_COUNTING_EVERY_REQUEST.flatMap((name) => facts.listWindows(name)).flatMap(
    (count) => {
      const counted = verdicts.find(({ windowMs }) => windowMs === count.windowMs);
      if (moment === 'a verdict') return [createComparison(count, 'greaterThan', 0)];
      if (counted === undefined) return [];
      return [
        implies(createComparison(counted, 'greaterThan', 0), createComparison(count, 'greaterThan', 0)),
      ];
    },
  );
  const always = [...distinct, ...relateLastRequest(facts, verdicts, moment)];
  switch (moment) {
    case 'any request':
      return [...always, ...relateNewClient(facts)];
    case 'a known client':
      return [...always, facts.is('isNewClient', false)];
    case 'a verdict':
      return [
        ...always,
        facts.is('isNewClient', false),
        ...verdicts.map((count) => createComparison(count, 'greaterThan', 0)),
        ...facts
          .listWindows('earlyRequests')
          .map((early) =>
            implies(facts.above('waitRemainingSeconds', 0), createComparison(early, 'greaterThan', 0)),
          ),
      ];
    default:
      return moment satisfies never;
  }
}

/** Says that a window contains the last request exactly if the request is no longer ago than the window is long. */
function relateLastRequest(
  facts: FactsByName,
  verdicts: readonly FactRef[],
  moment: AssumedRequestKind,
): readonly Condition[] {
  const last = facts.requireFact('secondsSinceLastVerdict');
  return verdicts.flatMap((count) => {
    const lately = createComparison(last, 'lessThan', count.windowMs / 1000);
    // A window of several whole days includes today, which may have begun only a moment ago.
    const surelyMs = countsWholeDays(count.fact, count.windowMs) ? count.windowMs - DAY_MS : count.windowMs;
    const surelySeen = createComparison(last, 'lessThan', surelyMs / 1000);
    // A verdict is among the counted requests, and a score is not.
    const counted = createComparison(count, 'greaterThan', moment === 'a verdict' ? 1 : 0);
    return [implies(createComparison(count, 'greaterThan', 1), lately), implies(surelySeen, counted)];
  });
}

function relateNewClient(facts: FactsByName): readonly Condition[] {
  const counted = [
    'verdicts',
    ...ANSWERS,
    'attemptedAmount',
    ...FACTS_COUNTING_EVERY_REQUEST,
    ...PARTIAL_COUNTS,
  ];
  const nothingHappened = allOf(
    facts.is('finalCount', 0),
    facts.is('unpaidChain', 0),
    facts.is('hasBinding', false),
    facts.is('overrideGroup', 'NONE'),
    facts.is('attemptOpen', false),
    facts.is('ladderLevel', 0),
    not(facts.known('secondsSinceLastVerdict')),
    ...['lastCause', 'secondsSinceLastReversal']
      .flatMap((name) => facts.listFacts(name))
      .map((fact) => createComparison(fact, 'known', false)),
    ...counted.flatMap((name) => facts.listWindows(name)).map((count) => createComparison(count, 'equal', 0)),
  );
  return [implies(facts.is('isNewClient', true), nothingHappened)];
}

function linkOutcomes(rules: RulesForProofs, facts: FactsByName): readonly Relation[] {
  const paid = facts.requireFact('paidCount');
  const unpaid = facts.requireFact('unpaidCount');
  return [
    { kind: 'sum', parts: [paid, unpaid], total: facts.requireFact('finalCount') },
    { kind: 'at most', lesser: facts.requireFact('unpaidChain'), greater: unpaid, by: 0 },
    ...bound(facts.listWindows('paidOrders'), paid),
    ...UNPAID_BY_CAUSE.flatMap((name) => bound(facts.listWindows(name), unpaid)),
    linkScore(rules, facts),
  ];
}

function bound(lessers: readonly FactRef[], greater: FactRef): readonly Relation[] {
  return lessers.map((lesser): Relation => ({ kind: 'at most', lesser, greater, by: 0 }));
}

/** Says that the amount of a verdict is among the attempted amounts. */
function linkAmounts(facts: FactsByName, moment: AssumedRequestKind): readonly Relation[] {
  if (moment !== 'a verdict') return [];
  const amount = facts.requireFact('amount');
  return facts.listWindows('attemptedAmount').flatMap((sum) => bound([amount], sum));
}

/** Says that the payment score follows from the outcomes and from the smoothing of one of the platforms. */
function linkScore({ settings, platforms }: RulesForProofs, known: FactsByName): Relation {
  const all = [settings, ...platforms.values()].map(({ smoothing }) => smoothing);
  const key = ({ prior, weight }: Smoothing) => `${prior} ${weight}`;
  const smoothings = [...new Map(all.map((smoothing) => [key(smoothing), smoothing])).values()];
  const values = smoothings.map(key);
  return {
    kind: 'payment score',
    paid: known.requireFact('paidCount'),
    unpaid: known.requireFact('unpaidCount'),
    score: known.requireFact('paymentScore'),
    platform: createProofOnlyFact(`smoothing of the platform: ${values.join(' or ')}`, {
      type: 'enum',
      values,
    }),
    smoothings,
  };
}

/** Says that a longer window contains all that a shorter one contains, and that a part is never above the whole. */
function linkWindows(facts: FactsByName, moment: AssumedRequestKind): readonly Relation[] {
  const marked = ['Fingerprint', 'Ip'].flatMap((device) => listMarkCounts(facts, device));
  // The marks counted are those of the device with the most clients, which may be another in a longer window.
  const growing = facts
    .listWindowGroups()
    .filter((windows) => !windows.some((seen) => marked.includes(seen)));
  const longerSeesMore = growing.flatMap((windows) =>
    windows.slice(1).flatMap((longer, index) => bound(windows.slice(index, index + 1), longer)),
  );
  const verdicts = facts.listWindows('verdicts');
  const atMostVerdicts = (name: string, by: number) =>
    facts.listWindows(name).flatMap((lesser): readonly Relation[] => {
      const greater = verdicts.find(({ windowMs }) => windowMs >= lesser.windowMs);
      return greater === undefined ? [] : [{ kind: 'at most', lesser, greater, by }];
    });
  const amongAll = ['Fingerprint', 'Ip'].flatMap((device) =>
    facts.listWindows(`clientsOn${device}`).flatMap((all) => {
      const isSame = ({ windowMs }: FactRef) => windowMs === all.windowMs;
      const marked = CLIENT_MARKS.flatMap((mark) => facts.listWindows(`${mark}ClientsOn${device}`));
      const asked = facts.listWindows(`verdictsOn${device}`).filter(isSame);
      // Each of these clients asked for at least one verdict.
      return [...bound(marked.filter(isSame), all), ...asked.flatMap((verdicts) => bound([all], verdicts))];
    }),
  );
  const parts = [...FACTS_COUNTING_EVERY_REQUEST, ...PARTIAL_COUNTS].flatMap((name) =>
    atMostVerdicts(name, 0),
  );
  // The verdict that is being decided is a request, and not an attempt yet.
  const answered = ANSWERS.flatMap((name) => atMostVerdicts(name, moment === 'a verdict' ? 1 : 0));
  return [...longerSeesMore, ...parts, ...answered, ...amongAll];
}

/** Defines clientGroup: the conclusion of the first rule that matches, or `otherwise`. */
function defineGroup({ groups }: RulesForProofs, facts: FactsByName): Definition {
  const clientGroup = facts.requireFact('clientGroup');
  const conditions = CLIENT_GROUPS.map((group) => {
    const others = (rules: readonly Rule<GroupParams>[]) =>
      listRulesWithoutHoldout(rules)
        .filter((rule) => rule.params.group !== group)
        .map((rule) => not(rule.condition));
    const ways = groups.rules.flatMap((rule, index) =>
      rule.params.group === group ? [allOf(rule.condition, ...others(groups.rules.slice(0, index)))] : [],
    );
    const otherwise = groups.otherwise === group ? [allOf(...others(groups.rules))] : [];
    return anyOf(createComparison(clientGroup, 'notEqual', group), ...ways, ...otherwise);
  });
  return { defined: clientGroup, conditions, relations: [] };
}

/** Lists the signals with the exemption in their conditions. Each condition holds exactly where its signal counts. */
export function listSignalRulesWithExemption({
  rules,
  exempt,
}: ParsedRules['signals']): readonly Rule<SignalParams>[] {
  if (exempt === null) return rules;
  const applies = negateCondition(exempt.condition);
  return rules.map((rule) => ({ ...rule, condition: allOf(applies, rule.condition) }));
}

/** Defines botWeight as the sum of matching signals' weights, and isBot by the threshold. No new client is a bot. */
function defineBot({ signals }: RulesForProofs, facts: FactsByName): readonly Definition[] {
  const botWeight = facts.requireFact('botWeight');
  const isBot = facts.requireFact('isBot');
  const matching = listSignalRulesWithExemption(signals).map((rule) => ({
    rule,
    matches: createProofOnlyFact(formatSignalFactLabel(rule.name), BOOLEAN_DOMAIN),
    ...rule.params,
  }));
  const reached = createComparison(botWeight, 'greaterThanInclusive', signals.threshold);
  return [
    {
      defined: botWeight,
      conditions: matching.flatMap(({ rule, matches }) => relateSignal(rule, matches)),
      relations: [{ kind: 'weight', signals: matching, total: botWeight }],
    },
    {
      defined: isBot,
      conditions: [
        implies(facts.is('isBot', true), allOf(reached, facts.is('isNewClient', false))),
        implies(allOf(reached, facts.is('isNewClient', false)), facts.is('isBot', true)),
      ],
      relations: [],
    },
  ];
}

/** Says that a signal which matches meets its condition. Without a holdout, a signal that meets it also matches. */
function relateSignal({ condition, holdout }: Rule<SignalParams>, matches: FactRef): readonly Condition[] {
  const does = createComparison(matches, 'equal', true);
  return [implies(does, condition), ...(holdout === undefined ? [implies(condition, does)] : [])];
}

/** Formats the label of the fact that says whether a signal matches. */
export function formatSignalFactLabel(name: string): string {
  return `signal ${name}`;
}
