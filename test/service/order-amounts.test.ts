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

const A_SECOND = 1 / 3600;

/** `1 a PAID` tells at hour 1, `1 a PAID 0.5` dates it, `1 a PAID -` does not; `0 a` asks for 25, `0 a 7` for 7. */
function stepsOf(story: string): readonly Step[] {
  return story.split(', ').map((line) => {
    const [at = '', order = '', what = '25', moment] = line.split(' ');
    const hour = Number(at);
    if (what !== 'PAID' && what !== 'UNPAID' && what !== 'REVERSED') return ask(hour, order, what);
    if (moment === undefined) return { hour, tell: order, result: what };
    return { hour, tell: order, result: what, dated: moment === '-' ? null : Number(moment) };
  });
}

const HISTORIES: Readonly<Record<string, readonly [story: string, paid: number]>> = {
  'UNPAID, another verdict a day later, then PAID': ['0 a, 1 a UNPAID, 26 b 7, 27 a PAID', 25],
  'PAID, another verdict a day later, then PAID dated a second earlier': [
    `0 a, 1 a PAID, 26 b 7, 27 a PAID ${1 - A_SECOND}`,
    25,
  ],
  'PAID, REVERSED, another verdict a day later, then PAID again': [
    '0 a, 1 a PAID, 2 a REVERSED, 26 b 7, 27 a PAID',
    25,
  ],
  'two orders paid at the same moment, of which one is reversed': [
    '0 a 7, 0 b, 1 a PAID, 1 b PAID, 2 b REVERSED',
    7,
  ],
  'a repeat of PAID after the order was asked for again with another amount': [
    '0 a, 1 a PAID, 2 a 90, 3 a PAID',
    25,
  ],
  'a stale report after the order was asked for again with another amount, and a moment that moves back': [
    '0 a, 2 a PAID, 3 a 90, 4 a UNPAID 0.5, 29 b 7, 30 a PAID 1',
    25,
  ],
  'a report that counts anew after the order was asked for again with another amount': [
    '0 a, 1 a UNPAID, 2 a 90, 3 a PAID',
    90,
  ],
  'UNPAID without a date and its repeat, with a payment between them that is told later': [
    '0 a, 1 a UNPAID -, 1.2 a UNPAID -, 2 a PAID 1.1',
    25,
  ],
};

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

  for (const [title, [story, paid]] of Object.entries(HISTORIES)) {
    it(`is that of the report that counted, live, rebuilt and in a backtest: ${title}`, async () => {
      const clientIdKey = randomUUID();
      await live(clientIdKey, [...stepsOf(story), ask(31, 'last', '1')]);
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
