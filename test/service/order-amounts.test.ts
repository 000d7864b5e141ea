import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { platformName } from '../../src/client/client-key.ts';
import type { ReportedOutcome } from '../../src/client/order.ts';
import { factsByLabel } from '../../src/decision/assess.ts';
import { NO_HOLDOUTS } from '../../src/decision/holdout.ts';
import { Replays } from '../../src/evidence/backtest/replay.ts';
import { Metrics } from '../../src/metrics/metrics.ts';
import { fixedRules } from '../../src/rollout/loaded-rules.ts';
import { rebuiltState } from '../../src/service/rebuild.ts';
import { Records } from '../../src/service/records.ts';
import { ScoringService } from '../../src/service/scoring.ts';
import type { JournalEntry } from '../../src/state/journal.ts';
import { clientKey } from '../client/client-keys.ts';
import { edited } from '../rule-fixtures/sound-rules.ts';
import { entriesAbout } from '../state/read-journal.ts';
import { describeOnStores } from '../stores/describe-on-stores.ts';
import { inputsOf } from './journal-inputs.ts';
import { START_MS } from './movable-clock.ts';

const PLATFORM = platformName('shop');
const HOUR_MS = 3_600_000;
const PAID_AMOUNT = 'paidAmount(90d)';
const metrics = new Metrics();

/** Shows a requisite to everybody, and asks for the amount that was paid. */
const RULES = edited({
  'verdicts.yaml': () => `
rules:
  - name: never
    priority: 1
    conditions: { all: [{ fact: paidAmount, params: { window: 90d }, operator: greaterThan, value: 99999999 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "no" } }
otherwise: { verdict: GET_NEW, reason: "ok" }
`,
});

/** One event: the hour, and the request or report. */
type Step =
  | { readonly hour: number; readonly ask: string; readonly amount: string }
  | ({ readonly hour: number; readonly tell: string } & Told);

interface Told {
  readonly result: 'PAID' | 'UNPAID' | 'REVERSED';
  /** Absent: the hour of the report; null: the report has no time. */
  readonly dated?: number | null;
}

const ask = (hour: number, order: string, amount = '25'): Step => ({ hour, ask: order, amount });
const tell = (hour: number, order: string, result: Told['result'], dated?: number | null): Step =>
  dated === undefined ? { hour, tell: order, result } : { hour, tell: order, result, dated };

const A_SECOND = 1 / 3600;

const HISTORIES: readonly {
  readonly title: string;
  readonly steps: readonly Step[];
  readonly paid: number;
}[] = [
  {
    title: 'UNPAID, another verdict a day later, then PAID',
    steps: [ask(0, 'a'), tell(1, 'a', 'UNPAID'), ask(26, 'b', '7'), tell(27, 'a', 'PAID')],
    paid: 25,
  },
  {
    title: 'PAID, another verdict a day later, then PAID dated a second earlier',
    steps: [ask(0, 'a'), tell(1, 'a', 'PAID'), ask(26, 'b', '7'), tell(27, 'a', 'PAID', 1 - A_SECOND)],
    paid: 25,
  },
  {
    title: 'PAID, REVERSED, another verdict a day later, then PAID again',
    steps: [
      ask(0, 'a'),
      tell(1, 'a', 'PAID'),
      tell(2, 'a', 'REVERSED'),
      ask(26, 'b', '7'),
      tell(27, 'a', 'PAID'),
    ],
    paid: 25,
  },
  {
    title: 'two orders paid at the same moment, of which one is reversed',
    steps: [
      ask(0, 'a', '7'),
      ask(0, 'b', '25'),
      tell(1, 'a', 'PAID'),
      tell(1, 'b', 'PAID'),
      tell(2, 'b', 'REVERSED'),
    ],
    paid: 7,
  },
  {
    title: 'a repeat of PAID after the order was asked for again with another amount',
    steps: [ask(0, 'a'), tell(1, 'a', 'PAID'), ask(2, 'a', '90'), tell(3, 'a', 'PAID')],
    paid: 25,
  },
  {
    title:
      'a stale report after the order was asked for again with another amount, and a moment that moves back',
    steps: [
      ask(0, 'a'),
      tell(2, 'a', 'PAID'),
      ask(3, 'a', '90'),
      tell(4, 'a', 'UNPAID', 0.5),
      ask(29, 'b', '7'),
      tell(30, 'a', 'PAID', 1),
    ],
    paid: 25,
  },
  {
    title: 'a report that counts anew after the order was asked for again with another amount',
    steps: [ask(0, 'a'), tell(1, 'a', 'UNPAID'), ask(2, 'a', '90'), tell(3, 'a', 'PAID')],
    paid: 90,
  },
  {
    title: 'UNPAID without a date and its repeat, with a payment between them that is told later',
    steps: [
      ask(0, 'a'),
      tell(1, 'a', 'UNPAID', null),
      tell(1.2, 'a', 'UNPAID', null),
      tell(2, 'a', 'PAID', 1.1),
    ],
    paid: 25,
  },
];

describeOnStores('the amount of an order', (store) => {
  let service: ScoringService;
  let records: Records;
  let nowMs = START_MS;
  before(() => {
    const ruleSource = fixedRules(RULES);
    const clock = () => nowMs;
    const pseudonym = (_kind: string, text: string) => text;
    service = new ScoringService({ store: store(), ruleSource, clock, pseudonym, metrics });
    records = new Records({ store: store(), ruleSource, clock });
  });

  async function live(clientIdKey: string, steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      nowMs = START_MS + step.hour * HOUR_MS;
      if ('ask' in step) {
        const asked = { amountRequested: step.amount, orderRef: step.ask };
        const body = { sellPointKey: 's', clientIdKey, method: 'card', ...asked };
        await service.verdict(PLATFORM, body, { requestId: 'r', idempotencyKey: null });
      } else await service.outcome(PLATFORM, { clientIdKey, orderRef: step.tell, ...reportOf(step) });
    }
  }

  const entriesOf = (clientIdKey: string) => entriesAbout(store(), clientKey(PLATFORM, clientIdKey));

  for (const { title, steps, paid } of HISTORIES) {
    it(`is that of the report that counted, live, rebuilt and in a backtest: ${title}`, async () => {
      const clientIdKey = randomUUID();
      await live(clientIdKey, [...steps, ask(31, 'last', '1')]);
      const view = await records.client(PLATFORM, clientIdKey);
      if (view === null) throw new Error('nothing is known of the client');
      const entries = await entriesOf(clientIdKey);
      expect(factsByLabel(view.rules, view.facts.values)[PAID_AMOUNT]).to.equal(paid);
      expect(rebuiltState(entries)).to.deep.equal(view.state);
      expect(backtested(entries)).to.equal(paid);
    });
  }
});

function reportOf({ result, hour, dated = hour }: Told & { readonly hour: number }): ReportedOutcome {
  const occurredAt = dated === null ? null : START_MS + dated * HOUR_MS;
  if (result === 'REVERSED') return { outcome: 'UNPAID', cause: 'REVERSED', occurredAt };
  return { outcome: result, cause: null, occurredAt };
}

/** The paid amount at the last verdict of a replayed journal. */
function backtested(entries: readonly JournalEntry[]): unknown {
  const replays = new Replays([() => RULES], () => RULES, NO_HOLDOUTS);
  const index = RULES.facts.find(({ label }) => label === PAID_AMOUNT)?.index ?? -1;
  return inputsOf(entries)
    .map((input) => replays.replay(input)?.[0]?.values[index])
    .at(-1);
}
