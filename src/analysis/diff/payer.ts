import { REMEMBERED_EVENTS } from '../../client/client-state.ts';
import { RECENT_OUTCOMES } from '../../client/outcomes.ts';
import { paymentScore, type Smoothing } from '../../client/payment-score.ts';
import { type FactValue, NEVER_SECONDS } from '../../facts/fact.ts';
import type { FactRef } from '../../rules/condition.ts';
import type { PlatformSettings } from '../../rules/rule-set.ts';

/** Values by the label of their fact. */
export type ExampleFacts = Readonly<Record<string, FactValue>>;

type Values = Record<string, FactValue>;

const ORDINARY: ExampleFacts = {
  lastOutcome: 'NONE',
  secondsSinceLastPaid: NEVER_SECONDS,
  secondsSinceLastUnpaid: NEVER_SECONDS,
  secondsSinceLastVerdict: NEVER_SECONDS,
  overrideGroup: 'NONE',
  scoredBefore: true,
  jsOk: true,
  userAgentPresent: true,
  fingerprintPresent: true,
  amount: 50,
  method: 'card',
  sellPointKey: 'shop-1',
};

/** How long ago something happened when nothing else says it. */
const LATELY_SECONDS = 60;

/** Of these a request has one itself. */
const COUNTS_ITSELF = [
  'verdicts',
  'distinctMethods',
  'distinctAmounts',
  'distinctOrders',
  'distinctSellPoints',
];

/** These count some of the requests, so there are no more of them than requests. */
const COUNTS_REQUESTS = [
  ...COUNTS_ITSELF,
  'distinctFingerprints',
  'distinctIps',
  'earlyRequests',
  'attempts',
];

/** An ordinary payer's first request, scored before from a device that nobody else uses. */
export function ordinaryFacts(facts: readonly FactRef[], settings: PlatformSettings): ExampleFacts {
  const values = facts.map(({ label, name, fact }) => {
    const { type } = fact.domain;
    const nothing = type === 'number' ? 0 : type === 'boolean' ? false : '';
    return [label, ORDINARY[name] ?? nothing];
  });
  return possibleFacts({ ...Object.fromEntries(values), currency: settings.currency }, facts, settings);
}

/** The facts with one set to a value, and those with it that it follows from. */
export function withFact(
  facts: ExampleFacts,
  label: string,
  value: FactValue,
  { smoothing }: PlatformSettings,
): ExampleFacts {
  if (typeof value !== 'number') return { ...facts, [label]: value };
  if (label === 'paymentScore') return { ...facts, ...countsFor(value, facts, smoothing) };
  if (label === 'finalCount') {
    const paidCount = Math.min(value, number(facts, 'paidCount'));
    return { ...facts, paidCount, unpaidCount: value - paidCount, unpaidChain: 0 };
  }
  return { ...facts, [label]: value };
}

/** The fewest further orders that bring the payment score nearest to the wanted one. */
function countsFor(score: number, facts: ExampleFacts, smoothing: Smoothing): ExampleFacts {
  let nearest = { paidCount: 0, unpaidCount: 0 };
  let gap = Number.POSITIVE_INFINITY;
  for (let orders = 1; orders <= 40; orders++) {
    for (let paid = number(facts, 'paidCount'); paid <= orders; paid++) {
      const unpaid = orders - paid;
      const miss = Math.abs(paymentScore(paid, orders, smoothing) - score);
      if (unpaid < number(facts, 'unpaidChain') || miss >= gap) continue;
      nearest = { paidCount: paid, unpaidCount: unpaid };
      gap = miss;
    }
  }
  return nearest;
}

/**
 * The nearest facts that one payer can really have: counts that add up, a score that follows from them, a
 * wait only after an attempt, a longer window that counts no less than a shorter one.
 */
export function possibleFacts(
  wanted: ExampleFacts,
  facts: readonly FactRef[],
  { smoothing }: PlatformSettings,
): ExampleFacts {
  const values: Values = { ...wanted, isNewClient: false };
  settleHistory(values, smoothing);
  settleBinding(values);
  settleLadder(values);
  settleDevice(values, facts);
  settleWindows(values, facts);
  settleTimes(values);
  return values;
}

function number(values: ExampleFacts, label: string): number {
  const value = values[label];
  return typeof value === 'number' ? value : 0;
}

function settleHistory(values: Values, smoothing: Smoothing): void {
  const paid = number(values, 'paidCount');
  const chain = number(values, 'unpaidChain');
  const unpaid = Math.max(number(values, 'unpaidCount'), chain);
  // Without a payment every unpaid order is in the chain.
  const unpaidChain = paid === 0 ? Math.min(unpaid, RECENT_OUTCOMES) : chain;
  values['unpaidCount'] = unpaid;
  values['finalCount'] = paid + unpaid;
  values['unpaidChain'] = unpaidChain;
  values['lastOutcome'] = unpaidChain > 0 ? 'UNPAID' : paid > 0 ? 'PAID' : 'NONE';
  values['paymentScore'] = paymentScore(paid, paid + unpaid, smoothing);
  values['secondsSinceLastPaid'] = since(values, 'secondsSinceLastPaid', paid > 0);
  values['secondsSinceLastUnpaid'] = since(values, 'secondsSinceLastUnpaid', unpaid > 0);
}

function since(values: ExampleFacts, label: string, happened: boolean): number {
  const seconds = number(values, label);
  if (!happened) return NEVER_SECONDS;
  return seconds === NEVER_SECONDS ? LATELY_SECONDS : seconds;
}

function settleBinding(values: Values): void {
  if (values['bindingFitsMethod'] === true) values['hasBinding'] = true;
}

function settleLadder(values: Values): void {
  const waiting = number(values, 'waitRemainingSeconds') > 0;
  if (waiting) values['waitServed'] = false;
  const served = values['waitServed'] === true;
  if (waiting || served) {
    values['attemptOpen'] = false;
    values['ladderLevel'] = Math.max(1, number(values, 'ladderLevel'));
  } else if (number(values, 'ladderLevel') > 0) {
    values['attemptOpen'] = true;
  }
  const asked = waiting || served || values['attemptOpen'] === true;
  if (asked) values['secondsSinceLastVerdict'] = since(values, 'secondsSinceLastVerdict', true);
}

function settleDevice(values: Values, facts: readonly FactRef[]): void {
  if (values['userAgentIsAutomated'] === true) values['userAgentPresent'] = true;
  if (values['scoredBefore'] !== true) {
    values['fingerprintPresent'] = false;
    values['userAgentPresent'] = false;
    values['userAgentIsAutomated'] = false;
    values['honeypotTriggered'] = false;
    values['jsOk'] = true;
  }
  for (const { label, name } of facts) {
    if (name === 'clientsOnFingerprint')
      values[label] = values['fingerprintPresent'] === true ? Math.max(1, number(values, label)) : 0;
    if (name === 'clientsOnIp' && values['scoredBefore'] !== true) values[label] = 0;
  }
}

function settleWindows(values: Values, facts: readonly FactRef[]): void {
  const windowed = facts
    .filter(({ fact }) => fact.kind === 'windowed')
    .toSorted((a, b) => a.windowMs - b.windowMs);
  for (const { label, name } of windowed) {
    if (COUNTS_ITSELF.includes(name)) values[label] = Math.max(1, number(values, label));
  }
  const most = Math.max(1, ...windowed.map((ref) => requestsBehind(values, ref)));
  if (most > 1) values['secondsSinceLastVerdict'] = since(values, 'secondsSinceLastVerdict', true);
  const lastMs = 1000 * number(values, 'secondsSinceLastVerdict');
  for (const { label, windowMs } of windowed.filter(({ name }) => name === 'verdicts')) {
    const within = windowed.filter((ref) => ref.windowMs <= windowMs);
    const requests = Math.max(lastMs < windowMs ? 2 : 1, ...within.map((ref) => requestsBehind(values, ref)));
    values[label] = Math.min(REMEMBERED_EVENTS, requests);
  }
  neverLessInLongerWindows(values, windowed);
}

/** How many requests there must have been for a count to be what it is. */
function requestsBehind(values: ExampleFacts, { label, name }: FactRef): number {
  const count = number(values, label);
  if (count === 0 || !COUNTS_REQUESTS.includes(name)) return 1;
  // An attempt is counted only once another request follows it.
  return name === 'attempts' ? count + 1 : count;
}

function neverLessInLongerWindows(values: Values, shortestFirst: readonly FactRef[]): void {
  const counts = new Map<string, number>();
  for (const { label, name } of shortestFirst) {
    const count = Math.max(counts.get(name) ?? 0, number(values, label));
    counts.set(name, count);
    values[label] = count;
  }
}

/** The first contact lies before everything else that happened. */
function settleTimes(values: Values): void {
  const past = ['secondsSinceLastPaid', 'secondsSinceLastUnpaid', 'secondsSinceLastVerdict']
    .map((label) => number(values, label))
    .filter((seconds) => seconds !== NEVER_SECONDS);
  values['secondsSinceFirstSeen'] = Math.max(number(values, 'secondsSinceFirstSeen'), ...past);
}
