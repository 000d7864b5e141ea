/** Something that an analyst wants, as it is written in the page. */
export interface Wish {
  readonly name: string;
  /** What goes before a line of a file (`PASTE_LINE`), or to its end, by path. */
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
  /** The case that shows it. */
  readonly cases: string;
}

/** Where the first rule of a file begins, or its first setting; counted from 1. */
export const PASTE_LINE: Readonly<Record<string, number>> = {
  'verdicts.yaml': 5,
  'groups.yaml': 5,
  'ruleset.yaml': 9,
};

export const FIVE_WISHES: readonly Wish[] = [
  {
    name: 'a large first order from a crowded address waits',
    before: {
      'verdicts.yaml': `  - name: large-first-order-from-a-crowd
    description: Strangers behind an address that three others use today begin with smaller orders.
    priority: 66
    conditions:
      all:
        - { fact: currency, operator: equal, value: EUR }
        - { fact: amount, operator: greaterThan, value: 500 }
        - { fact: finalCount, operator: equal, value: 0 }
        - { fact: clientsOnIp, params: { window: 24h }, operator: greaterThanInclusive, value: 3 }
    event:
      type: verdict
      params: { verdict: WAIT, reason: "A first order of {amount} from an address that {clientsOnIp(24h)} payers use." }

`,
    },
    after: {},
    cases: `  - name: a large first order from a crowded address waits, a small one does not
    startsAt: 2026-07-03T12:00:00+02:00
    steps:
      - { client: "payer-{n}", score: { ip: 192.0.2.1 }, times: 2 }
      - { client: "payer-{n}", verdict: {}, times: 2 }
      - { client: rich, score: { ip: 192.0.2.1 } }
      - { client: rich, verdict: { amountRequested: "501.00" }, expect: { verdict: WAIT, rule: large-first-order-from-a-crowd } }
      - { client: modest, score: { ip: 192.0.2.1 } }
      - { client: modest, verdict: { amountRequested: "500.00" }, expect: { verdict: GET_NEW } }
      - { client: abroad, score: { ip: 192.0.2.1 } }
      - { client: abroad, verdict: { amountRequested: "501.00", toPayCurrency: USD }, expect: { verdict: GET_NEW } }

`,
  },
  {
    name: 'transfers have a ladder of their own',
    before: {
      'verdicts.yaml': `  - name: transfer-too-early
    description: Transfers have a ladder of their own, also for who asks too early.
    priority: 82
    conditions:
      all:
        - { fact: method, operator: equal, value: sepa }
        - { fact: waitRemainingSeconds, operator: greaterThan, value: 0 }
    event:
      type: verdict
      params: { verdict: WAIT, ladder: transfers, reason: "Asked too early for a transfer; wait {waitSeconds} s." }

  - name: transfer-unpaid
    description: A bank takes longer than a card, so the payer of a transfer waits longer.
    priority: 72
    conditions:
      all:
        - { fact: method, operator: equal, value: sepa }
        - { fact: attemptOpen, operator: equal, value: true }
    event:
      type: verdict
      params: { verdict: WAIT, ladder: transfers, reason: "The transfer is under way; wait {waitSeconds} s." }

`,
    },
    after: { 'ladder.yaml': 'ladders:\n  transfers: [2m, 10m, 30m]\n' },
    cases: `  - name: who asks again for a transfer waits minutes, for a card seconds
    steps:
      - { client: bank, verdict: { method: sepa }, expect: { verdict: GET_NEW } }
      - { client: bank, after: 10s, verdict: { method: sepa }, expect: { waitSeconds: 120, rule: transfer-unpaid } }
      - { client: bank, after: 10s, verdict: { method: sepa }, expect: { waitSeconds: 600, rule: transfer-too-early } }
      - { client: card, verdict: { method: card } }
      - { client: card, after: 10s, verdict: { method: card }, expect: { waitSeconds: 30, rule: attempt-unpaid } }

`,
  },
  {
    name: 'devices on a shared list are refused',
    before: {
      'verdicts.yaml': `  - name: device-on-our-list
    description: Somebody put the payer's device on the shared list blocked-devices.
    priority: 95
    conditions:
      all:
        - { fact: listed, params: { list: blocked-devices }, operator: equal, value: true }
    event: { type: verdict, params: { verdict: BLOCK, reason: "The device is blocked." } }

`,
    },
    after: {},
    cases: `  - name: a device on the shared list is refused, another one is not
    lists:
      blocked-devices: { kind: fingerprint, entries: [ring-device] }
    steps:
      - { client: bad, score: { fingerprint: ring-device } }
      - { client: bad, verdict: {}, expect: { verdict: BLOCK, rule: device-on-our-list } }
      - { client: good, score: { fingerprint: own-device } }
      - { client: good, verdict: {}, expect: { verdict: GET_NEW } }

`,
  },
  {
    name: 'nights are stricter, by the clocks of the platform',
    before: {
      'verdicts.yaml': `  - name: large-order-at-night
    description: Between 23 and 6 o'clock strangers do not begin with large orders.
    priority: 64
    conditions:
      all:
        - { fact: currency, operator: equal, value: EUR }
        - { fact: amount, operator: greaterThan, value: 200 }
        - { fact: paidCount, operator: equal, value: 0 }
        - any:
            - { fact: hourOfDay, operator: greaterThanInclusive, value: 23 }
            - { fact: hourOfDay, operator: lessThan, value: 6 }
    event:
      type: verdict
      params: { verdict: WAIT, reason: "Large first orders wait at night; wait {waitSeconds} s." }

`,
      'ruleset.yaml': '  timeZone: Europe/Berlin\n',
    },
    after: {},
    cases: `  - name: a large first order waits at night in Berlin
    startsAt: 2026-07-03T23:30:00+02:00
    steps:
      - { verdict: { amountRequested: "250.00" }, expect: { verdict: WAIT, rule: large-order-at-night } }

  - name: a large first order does not wait by day in Berlin
    startsAt: 2026-07-03T22:30:00+02:00
    steps:
      - { verdict: { amountRequested: "250.00" }, expect: { verdict: GET_NEW } }
      - { client: abroad, after: 1h, verdict: { amountRequested: "250.00", toPayCurrency: USD }, expect: { verdict: GET_NEW } }

  - name: a large first order waits until six in the morning
    startsAt: 2026-07-03T05:59:00+02:00
    steps:
      - { verdict: { amountRequested: "250.00" }, expect: { verdict: WAIT, rule: large-order-at-night } }

`,
  },
  {
    name: 'one platform blocks after two unpaid orders',
    before: {
      'groups.yaml': `  - name: blocked-sooner-at-the-arcade
    description: The platform arcade sells what is used up at once, and blocks after two unpaid orders.
    priority: 82
    conditions:
      all:
        - { fact: platform, operator: equal, value: arcade }
        - { fact: unpaidChain, operator: greaterThanInclusive, value: 2 }
        - { fact: secondsSinceLastUnpaid, operator: lessThan, value: 604800 }
    event: { type: group, params: { group: BLOCKED } }

`,
    },
    after: {},
    cases: `  - name: two unpaid orders block at the arcade
    platform: arcade
    steps:
      - { outcome: { orderRef: a, outcome: UNPAID } }
      - { outcome: { orderRef: b, outcome: UNPAID } }
      - { verdict: {}, expect: { verdict: BLOCK, clientGroup: BLOCKED } }

  - name: two unpaid orders do not block elsewhere
    steps:
      - { outcome: { orderRef: a, outcome: UNPAID } }
      - { outcome: { orderRef: b, outcome: UNPAID } }
      - { verdict: {}, expect: { verdict: GET_NEW } }

`,
  },
];
