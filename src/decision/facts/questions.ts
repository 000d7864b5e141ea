import type { FactName } from './catalogue.ts';

/** A question that an analyst has about a payer or a request, with the facts that answer it. */
export interface QuestionWithFacts {
  readonly question: string;
  /** The purpose of the example's rule. */
  readonly exampleIsFor: string;
  /** The conditions of the example in YAML, as `verdicts.yaml` takes them. */
  readonly example: string;
  /** The declarations that the `ruleset.yaml` of the example needs. Missing if it needs none. */
  readonly declares?: string;
  readonly facts: readonly FactName[];
}

/** Every fact of the catalogue, once, under the question that an analyst would ask. */
export const QUESTIONS_WITH_FACTS: readonly QuestionWithFacts[] = [
  {
    question: 'How often does the payer ask?',
    exampleIsFor: 'More than ten requests within an hour, and a refusal within a day',
    example: `conditions:
  all:
    - { fact: verdicts, params: { window: 1h }, operator: greaterThan, value: 10 }
    - { fact: blocks, params: { window: 24h }, operator: greaterThanInclusive, value: 1 }`,
    facts: [
      'verdicts',
      'attempts',
      'waits',
      'blocks',
      'earlyRequests',
      'distinctOrders',
      'secondsSinceLastVerdict',
    ],
  },
  {
    question: 'What came of it?',
    exampleIsFor:
      'More than three declined orders within an hour, or money taken back within a week, whole or in part',
    example: `conditions:
  any:
    - { fact: declinedOrders, params: { window: 1h }, operator: greaterThan, value: 3 }
    - { fact: secondsSinceLastReversal, operator: lessThanInclusive, value: 604800 }`,
    facts: [
      'paidCount',
      'unpaidCount',
      'finalCount',
      'unpaidChain',
      'paymentScore',
      'lastOutcome',
      'lastCause',
      'paidOrders',
      'unpaidOrders',
      'declinedOrders',
      'expiredOrders',
      'cancelledOrders',
      'reversedOrders',
      'technicalOrders',
      'secondsSinceLastPaid',
      'secondsSinceLastUnpaid',
      'secondsSinceLastReversal',
    ],
  },
  {
    question: 'How much money?',
    exampleIsFor: 'A first order above 500 EUR, or more than 2000 EUR asked for within a day',
    example: `conditions:
  all:
    - { fact: currency, operator: equal, value: EUR }
    - any:
        - all:
            - { fact: paidCount, operator: equal, value: 0 }
            - { fact: amount, operator: greaterThan, value: 500 }
        - { fact: attemptedAmount, params: { window: 24h }, operator: greaterThan, value: 2000 }`,
    facts: ['amount', 'currency', 'attemptedAmount', 'paidAmount', 'distinctAmounts'],
  },
  {
    question: 'Who else uses the device or the address?',
    exampleIsFor:
      'Five or more payers on one device within a week, of whom nobody has paid, or 20 requests within an hour from one address',
    example: `conditions:
  any:
    - all:
        - { fact: clientsOnFingerprint, params: { window: 7d }, operator: greaterThanInclusive, value: 5 }
        - { fact: payingClientsOnFingerprint, params: { window: 7d }, operator: equal, value: 0 }
    - { fact: verdictsOnIp, params: { window: 1h }, operator: greaterThanInclusive, value: 20 }`,
    facts: [
      'clientsOnFingerprint',
      'payingClientsOnFingerprint',
      'unpaidClientsOnFingerprint',
      'blockedClientsOnFingerprint',
      'verdictsOnFingerprint',
      'unpaidOrdersOnFingerprint',
      'clientsOnIp',
      'payingClientsOnIp',
      'unpaidClientsOnIp',
      'blockedClientsOnIp',
      'verdictsOnIp',
      'unpaidOrdersOnIp',
    ],
  },
  {
    question: 'Since when is the payer known, and what is new about this request?',
    exampleIsFor: 'Known for a month, and for less than a day on this device, which is not the only one',
    example: `conditions:
  all:
    - { fact: secondsSinceFirstSeen, operator: greaterThan, value: 2592000 }
    - { fact: secondsSinceFingerprintFirstSeen, operator: lessThan, value: 86400 }
    - { fact: knownFingerprints, operator: greaterThan, value: 1 }`,
    facts: [
      'isNewClient',
      'secondsSinceFirstSeen',
      'secondsSinceFingerprintFirstSeen',
      'secondsSinceIpFirstSeen',
      'knownFingerprints',
      'knownIps',
      'distinctFingerprints',
      'distinctIps',
      'distinctMethods',
      'distinctSellPoints',
    ],
  },
  {
    question: 'What does the request ask for, where and when?',
    exampleIsFor: 'A voucher at night',
    example: `conditions:
  all:
    - { fact: method, operator: in, value: [voucher, gift-card] }
    - { fact: hourOfDay, operator: greaterThanInclusive, value: 2 }
    - { fact: hourOfDay, operator: lessThan, value: 4 }`,
    facts: ['method', 'sellPointKey', 'platform', 'hourOfDay', 'dayOfWeek'],
  },
  {
    question: 'What does the payment page say of the browser?',
    exampleIsFor: 'A program that did not run the page',
    example: `conditions:
  all:
    - { fact: userAgentIsAutomated, operator: equal, value: true }
    - { fact: jsOk, operator: equal, value: false }`,
    facts: [
      'scoredBefore',
      'honeypotTriggered',
      'jsOk',
      'userAgentPresent',
      'userAgentIsAutomated',
      'userAgentIsApp',
      'fingerprintPresent',
      'ipPresent',
    ],
  },
  {
    question: 'What does the caller say of the payer?',
    exampleIsFor: 'A card from another country than the address, with an e-mail of less than a week',
    declares: `attributes:
  cardCountry: { type: text, length: 2 }
  ipCountry: { type: text, length: 2 }
  emailAgeDays: { type: number, unit: days }`,
    example: `conditions:
  all:
    - fact: attribute
      params: { name: cardCountry }
      operator: notEqual
      value: { fact: attribute, params: { name: ipCountry } }
    - { fact: attribute, params: { name: emailAgeDays }, operator: lessThan, value: 7 }`,
    facts: ['attribute'],
  },
  {
    question: 'How many cards, mails or phones, and who else uses this one?',
    exampleIsFor: 'A third card within an hour, or a card that three payers used within a week',
    declares: `attributes:
  card: { type: text, pseudonym: true }`,
    example: `conditions:
  any:
    - { fact: distinctAttribute, params: { name: card, window: 1h }, operator: greaterThan, value: 2 }
    - { fact: clientsOnAttribute, params: { name: card, window: 7d }, operator: greaterThan, value: 2 }`,
    facts: ['distinctAttribute', 'clientsOnAttribute'],
  },
  {
    question: 'What did people decide about the payer?',
    exampleIsFor: 'On the shared list of stolen cards, and not trusted by a person',
    example: `conditions:
  all:
    - { fact: listed, params: { list: stolen-cards }, operator: equal, value: true }
    - { fact: overrideGroup, operator: notEqual, value: TRUSTED }`,
    facts: ['overrideGroup', 'listed', 'hasBinding', 'bindingFitsMethod'],
  },
  {
    question: 'Where does the payer stand on the cooldown ladder?',
    exampleIsFor: 'Asks while a wait of at least the third level is due',
    example: `conditions:
  all:
    - { fact: waitRemainingSeconds, operator: greaterThan, value: 0 }
    - { fact: ladderLevel, operator: greaterThanInclusive, value: 3 }`,
    facts: ['attemptOpen', 'ladderLevel', 'waitRemainingSeconds', 'waitServed'],
  },
  {
    question: 'What did the earlier files conclude?',
    exampleIsFor: 'A payer of the group BLOCKED, or one with signals that nearly make a bot',
    example: `conditions:
  any:
    - { fact: clientGroup, operator: equal, value: BLOCKED }
    - { fact: botWeight, operator: greaterThanInclusive, value: 3 }`,
    facts: ['clientGroup', 'botWeight', 'isBot'],
  },
];
