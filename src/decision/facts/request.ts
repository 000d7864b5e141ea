import { ATTRIBUTE_VALUE_MS, ATTRIBUTE_VALUES_MAX } from '#decision/payer/attribute-values.ts';
import { keepUnlessExpired } from '#decision/payer/client-state.ts';
import { UNPAID_ORDERS_MAX } from '#decision/payer/sighting-marks.ts';
import {
  findVerdictWindowFault,
  VERDICT_WINDOW_MS_MAX,
  VERDICTS_IN_WINDOW_MAX,
} from '#decision/payer/verdict-steps.ts';
import {
  type AttributeFact,
  BOOLEAN_DOMAIN,
  booleanFact,
  booleanFactIfKnown,
  type CircumstantialFact,
  CLIENTS_ON_DEVICE_MAX,
  createCountDomain,
  type DeviceKind,
  type DeviceSharingCounts,
  type Fact,
  type FactAbsence,
  formatAbsence,
  MONEY_DOMAIN,
  plainFact,
  SHARING_WINDOW_MS_MAX,
  type WindowedFact,
} from './fact.ts';

/** Facts about this request. */
export const REQUEST_FACTS = {
  amount: plainFact(MONEY_DOMAIN, 'currency units', 'The requested amount.', ({ request }) => request.amount),
  currency: plainFact(
    { type: 'text' },
    null,
    "The requested currency, upper case; the platform's currency when the request names none.",
    ({ request }) => request.currency,
  ),
  method: plainFact({ type: 'text' }, null, 'The requested payment method.', ({ request }) => request.method),
  platform: {
    kind: 'circumstantial',
    domain: { type: 'text' },
    unit: null,
    description: 'The platform that asks. Settings of a single platform can also stand in ruleset.yaml.',
    read: ({ platform }) => platform,
  },
  sellPointKey: plainFact(
    { type: 'text' },
    null,
    'The point of sale.',
    ({ request }) => request.sellPointKey,
  ),
  bindingFitsMethod: booleanFact(
    'The client has a live binding that fits the requested method; a binding without a method fits all.',
    ({ state, request, now }) => {
      const binding = keepUnlessExpired(state.binding, now);
      return binding !== null && (binding.method === null || binding.method === request.method);
    },
  ),
} as const satisfies Record<string, Fact>;

/**
 * Facts about the payer's device and payment page, from the scores of the last 24 hours. A later score adds hints and
 * removes none.
 */
export const RECENT_SCORE_HINT_FACTS = {
  scoredBefore: booleanFact(
    'A score was asked for this client within the last 24 hours.',
    ({ hints }) => hints.scored,
  ),
  honeypotTriggered: booleanFact(
    'A trap field was filled in within the last 24 hours.',
    ({ hints }) => hints.trapped,
  ),
  jsOk: booleanFactIfKnown(
    'Whether the page executed JavaScript, by the last score within 24 hours.',
    { of: 'a payer whose last score did not say, or who was not scored', mistakenFor: true },
    ({ hints }) => hints.jsOk,
  ),
  userAgentPresent: booleanFact(
    'A score of the last 24 hours carried a User-Agent.',
    ({ hints }) => hints.userAgentPresent,
  ),
  userAgentIsAutomated: booleanFactIfKnown(
    'A User-Agent of the last 24 hours is that of a known crawler, script or headless browser.',
    { of: 'a payer for whom no score was asked within 24 hours', mistakenFor: false },
    ({ hints }) => (hints.scored ? hints.userAgentIsAutomated : null),
  ),
  userAgentIsApp: booleanFactIfKnown(
    "A User-Agent of the last 24 hours is that of a native app's HTTP library (okhttp, CFNetwork, Dart, Dalvik ..), or names an app and the phone's system. A browser inside an app counts as a browser.",
    { of: 'a payer for whom no score was asked within 24 hours', mistakenFor: false },
    ({ hints }) => (hints.scored ? hints.userAgentIsApp : null),
  ),
  fingerprintPresent: booleanFact(
    'A score of the last 24 hours carried a fingerprint that is not a placeholder like unknown.',
    ({ hints }) => hints.fingerprints.length > 0,
  ),
  ipPresent: booleanFact(
    'A score of the last 24 hours carried a public IP address.',
    ({ hints }) => hints.ips.length > 0,
  ),
} as const satisfies Record<string, Fact>;

const ATTRIBUTE_ABSENCE: FactAbsence = { of: 'a payer without a value of the attribute', mistakenFor: 0 };

/** Attributes that callers state, where the rule set declares them. */
export const ATTRIBUTE_FACTS = {
  attribute: {
    kind: 'attribute',
    domain: { type: 'text' },
    unit: null,
    description:
      'What the caller sends about the payer under this name, in this request or in a score of the last 24 hours; ruleset.yaml declares the names and types. Not known for a payer without it, or with a value of another type.',
    absence: { of: 'a payer of whom the caller does not say it', mistakenFor: '' },
    declared: null,
    read: () => null,
  },
} as const satisfies Record<string, AttributeFact>;

const PSEUDONYM_ATTRIBUTE = 'an attribute that ruleset.yaml declares with pseudonym: true';

/** Facts about the values of an attribute: how many values the payer has, and how many payers have the same value. */
export const ATTRIBUTE_COUNT_FACTS = {
  distinctAttribute: {
    kind: 'windowed',
    domain: createCountDomain(ATTRIBUTE_VALUES_MAX),
    unit: 'values',
    description: `Different values that verdicts of this payer had of ${PSEUDONYM_ATTRIBUTE}, this request included. Only verdicts by rule sets with this fact count; the newest ${ATTRIBUTE_VALUES_MAX} values are remembered.`,
    longestWindowMs: ATTRIBUTE_VALUE_MS,
    sharing: null,
    ofAttribute: { counts: 'values', declared: null },
    read: () => 0,
  },
  clientsOnAttribute: {
    kind: 'windowed',
    domain: createCountDomain(CLIENTS_ON_DEVICE_MAX),
    unit: 'clients',
    description: `Clients of the platform, this one included, whose verdicts had the same value of ${PSEUDONYM_ATTRIBUTE}. Only verdicts by rule sets with this fact count, up to ${CLIENTS_ON_DEVICE_MAX}. ${formatAbsence(ATTRIBUTE_ABSENCE)}`,
    absence: ATTRIBUTE_ABSENCE,
    longestWindowMs: SHARING_WINDOW_MS_MAX,
    sharing: null,
    ofAttribute: { counts: 'clients', declared: null },
    read: () => null,
  },
} as const satisfies Record<string, WindowedFact>;

/** Facts about lists that people change without a release. */
export const LISTED_FACTS = {
  listed: {
    kind: 'listed',
    domain: BOOLEAN_DOMAIN,
    unit: null,
    description:
      'Whether the request is on the shared list. The kind of the list says what is looked up: the client, method or point of sale, a fingerprint or IP address of a score of the last 24 hours, or an attribute of the request or of such a score. False for a list that does not exist.',
    read: ({ isListed }, list) => isListed(list),
  },
} as const satisfies Record<string, Fact>;

const REQUEST_PHRASES = {
  fingerprint: 'asked for a verdict with a fingerprint that this one showed within 24 hours',
  ip: 'asked for a verdict from an IP address that this one showed within 24 hours',
} as const satisfies Record<DeviceKind, string>;

const COUNT_DESCRIPTIONS = {
  clients: 'Clients of the platform, this one included, who {asked}',
  paying:
    'Clients of the platform, this one included, who {asked} and had a paid order before, or paid within 24 hours after it',
  unpaid:
    'Clients of the platform, this one included, who {asked} while their newest order with a result was unpaid, and have not paid within 24 hours after it',
  blocked:
    'Clients of the platform, this one included, who {asked} while a person had them blocked, or after an answer BLOCK',
  unpaidOrders: `Unpaid orders, up to ${UNPAID_ORDERS_MAX} of each as it stood then, of the clients of the platform, this one included, who {asked}`,
  verdicts:
    'Verdicts of the platform, this one included, of clients who {asked}, and at least one of each of them. Counted in steps of ten minutes up to 2 hours, of an hour up to a day: all within the window, and those of up to one step before it',
} as const satisfies Record<keyof DeviceSharingCounts, string>;

/** Facts about how many payers share a device or an address, and about their kinds. */
export const SHARING_FACTS = {
  clientsOnFingerprint: createSharingFact('fingerprint', 'clients'),
  payingClientsOnFingerprint: createSharingFact('fingerprint', 'paying'),
  unpaidClientsOnFingerprint: createSharingFact('fingerprint', 'unpaid'),
  blockedClientsOnFingerprint: createSharingFact('fingerprint', 'blocked'),
  verdictsOnFingerprint: createVerdictsFact('fingerprint'),
  unpaidOrdersOnFingerprint: createUnpaidOrdersFact('fingerprint'),
  clientsOnIp: createSharingFact('ip', 'clients'),
  payingClientsOnIp: createSharingFact('ip', 'paying'),
  unpaidClientsOnIp: createSharingFact('ip', 'unpaid'),
  blockedClientsOnIp: createSharingFact('ip', 'blocked'),
  verdictsOnIp: createVerdictsFact('ip'),
  unpaidOrdersOnIp: createUnpaidOrdersFact('ip'),
} as const satisfies Record<string, WindowedFact>;

const HINT_MEMBERS = { fingerprint: 'fingerprints', ip: 'ips' } as const;

function createSharingFact(on: DeviceKind, counts: keyof DeviceSharingCounts): WindowedFact {
  const counted = COUNT_DESCRIPTIONS[counts].replace('{asked}', REQUEST_PHRASES[on]);
  const absence: FactAbsence = {
    of: on === 'fingerprint' ? 'a payer who showed no fingerprint' : 'a payer who showed no IP address',
    mistakenFor: 0,
  };
  return {
    kind: 'windowed',
    domain: createCountDomain(CLIENTS_ON_DEVICE_MAX),
    unit: 'clients',
    description: `${counted}; of several the most shared one. ${formatAbsence(absence)} Counted up to ${CLIENTS_ON_DEVICE_MAX}.`,
    absence,
    longestWindowMs: SHARING_WINDOW_MS_MAX,
    sharing: { on, counts },
    read: ({ sightings, hints }, windowMs) =>
      hints[HINT_MEMBERS[on]].length === 0 ? null : (sightings[on].get(windowMs)?.[counts] ?? 0),
  };
}

/** Creates a fact that counts orders instead of clients. */
function createUnpaidOrdersFact(on: DeviceKind): WindowedFact {
  return { ...createSharingFact(on, 'unpaidOrders'), unit: 'orders' };
}

/**
 * Creates a fact that counts verdicts. Of several devices, it takes the one with most verdicts, which need not be the
 * most shared one.
 */
function createVerdictsFact(on: DeviceKind): WindowedFact {
  const fact = createSharingFact(on, 'verdicts');
  return {
    ...fact,
    domain: createCountDomain(VERDICTS_IN_WINDOW_MAX),
    unit: 'verdicts',
    description: fact.description
      .replace('of several the most shared one', 'of several the busiest one')
      .replace(`up to ${CLIENTS_ON_DEVICE_MAX}.`, `up to ${VERDICTS_IN_WINDOW_MAX}.`),
    longestWindowMs: VERDICT_WINDOW_MS_MAX,
    windowRefusal: findVerdictWindowFault,
  };
}

const WEEKDAYS = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'] as const;

/** Facts about the local time and date of the platform. */
export const CALENDAR_FACTS = {
  hourOfDay: {
    kind: 'circumstantial',
    domain: createCountDomain(23),
    unit: 'hours',
    description: "The hour of the day in the platform's timeZone: 0 to 23.",
    read: ({ timeZone, now }) => toWallTime(timeZone, now).hour,
  },
  dayOfWeek: {
    kind: 'circumstantial',
    domain: { type: 'enum', values: WEEKDAYS },
    unit: null,
    description: "The day of the week in the platform's timeZone.",
    read: ({ timeZone, now }) => WEEKDAYS[toWallTime(timeZone, now).dayOfWeek - 1] ?? 'MONDAY',
  },
} as const satisfies Record<string, CircumstantialFact>;

function toWallTime(timeZone: string, epochMs: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(timeZone);
}
