import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createFixedRuleSource } from '#checkout/rollout/loaded-rules.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import { labelFactValues } from '#decision/assess.ts';
import { NO_HOLDOUTS } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import type { ReportedOutcome } from '#decision/payer/order.ts';
import { SideBySideReplays } from '#history/evidence/backtest/replay.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { rebuildState } from '#workbench/payers/rebuild.ts';
import { PlatformRecords } from '#workbench/payers/records.ts';
import { clientKey } from '../../decision/payer/client-keys.ts';
import { edited } from '../../rule-fixtures/sound-rules.ts';
import { currentRules } from '../../service/current-rules.ts';
import { inputsOf } from '../../service/journal-inputs.ts';
import { START_MS } from '../../service/movable-clock.ts';
import { scoringService } from '../../service/scoring-service.ts';
import { entriesAbout } from '../../state/read-journal.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const PLATFORM = toPlatformName('shop');
const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;
const A_SECOND = 1 / 3600;
const PAID_AMOUNT = 'paidAmount(90d)';

/** Refuses a requisite for the amount of 13, shows one for any other, and asks for the amount that was paid. */
const RULES = edited({
  'verdicts.yaml': () => `
rules:
  - name: unlucky
    priority: 2
    conditions: { all: [{ fact: amount, operator: equal, value: 13 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "no" } }
  - name: never
    priority: 1
    conditions: { all: [{ fact: paidAmount, params: { window: 90d }, operator: greaterThan, value: 99999999 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "no" } }
otherwise: { verdict: GET_NEW, reason: "ok" }
`,
});

/** An event: the hour, the order, and its amount or result, with the hour of the result, `-` for none. */
type Step = readonly [hour: number, order: string, what: string, dated: string];

/** `0 a` and `0 a 13` ask, for 25 or 13, at hour 0; `1 a PAID` tells, `1 a PAID 0.5` dates it, `1 a PAID -` does not. */
function stepsOf(story: string): readonly Step[] {
  return story.split(', ').map((line) => {
    const [hour = '', order = '', what = '25', dated = hour] = line.split(' ');
    return [Number(hour), order, what, dated];
  });
}

const NEWER = Array.from({ length: 9 }, (_, n) => `${1 + n} newer-${n}`).join(', ');
const REFUSED = Array.from({ length: 100 }, () => '1 a 13').join(', ');

/** What is known of the payer afterwards, and what the reports did. */
interface Told {
  readonly paid?: number;
  readonly unpaid?: number;
  readonly amount?: number;
  readonly effects?: string;
}

const TURNED_AWAY: Readonly<Record<string, readonly [story: string, told: Told]>> = {
  'one that was refused says nothing about the payer': [
    '0 a 13, 1 a EXPIRED -',
    { paid: 0, unpaid: 0, effects: 'recorded' },
  ],
  'also when that is said three days after the refusal, and other requests came since': [
    '0 a 13, 30 b, 60 c, 72 a EXPIRED -',
    { paid: 0, unpaid: 0, effects: 'recorded' },
  ],
  'one that was granted three days ago is unpaid, although it was refused since': [
    `0 a, ${NEWER}, 71 a 13, 72 a EXPIRED -`,
    { paid: 0, unpaid: 1, effects: 'recorded' },
  ],
  'one that was granted and then asked for a hundred times is unpaid': [
    `0 a, ${REFUSED}, 2 a EXPIRED -`,
    { paid: 0, unpaid: 1, effects: 'recorded' },
  ],
  'one that nobody asked for is unpaid': ['0 b, 30 a EXPIRED -', { paid: 0, unpaid: 1, effects: 'recorded' }],
  'one that was refused is paid all the same': [
    '0 a 13, 1 a EXPIRED -, 2 a PAID -',
    { paid: 1, unpaid: 0, effects: 'recorded superseded' },
  ],
  'a grant opens it, and the next report counts although it says the same': [
    '0 a 13, 1 a EXPIRED -, 2 a, 3 a EXPIRED -, 4 a EXPIRED -',
    { paid: 0, unpaid: 1, effects: 'recorded recorded unchanged' },
  ],
  'the same three days later': [
    '0 a 13, 1 a EXPIRED -, 30 a, 40 b, 102 a EXPIRED -',
    { paid: 0, unpaid: 1, effects: 'recorded recorded' },
  ],
  'a refusal after the report changes nothing': [
    '0 a, 1 a EXPIRED -, 2 a 13, 3 a EXPIRED -',
    { paid: 0, unpaid: 1, effects: 'recorded unchanged' },
  ],
  'nor does one after a report of an order that nobody had asked for': [
    '1 a EXPIRED -, 2 a 13, 3 a EXPIRED -',
    { paid: 0, unpaid: 1, effects: 'recorded unchanged' },
  ],
};

/** The amount that was paid is that of the report that counted. */
const AMOUNTS: typeof TURNED_AWAY = {
  'UNPAID, another verdict a day later, then PAID': ['0 a, 1 a UNPAID, 26 b 7, 27 a PAID', { amount: 25 }],
  'PAID, another verdict a day later, then PAID dated a second earlier': [
    `0 a, 1 a PAID, 26 b 7, 27 a PAID ${1 - A_SECOND}`,
    { amount: 25 },
  ],
  'PAID, REVERSED, another verdict a day later, then PAID again': [
    '0 a, 1 a PAID, 2 a REVERSED, 26 b 7, 27 a PAID',
    { amount: 25 },
  ],
  'two orders paid at the same moment, of which one is reversed': [
    '0 a 7, 0 b, 1 a PAID, 1 b PAID, 2 b REVERSED',
    { amount: 7 },
  ],
  'a repeat of PAID after the order was asked for again with another amount': [
    '0 a, 1 a PAID, 2 a 90, 3 a PAID',
    { amount: 25 },
  ],
  'a stale report after the order was asked for again with another amount, and a moment that moves back': [
    '0 a, 2 a PAID, 3 a 90, 4 a UNPAID 0.5, 29 b 7, 30 a PAID 1',
    { amount: 25 },
  ],
  'a report that counts anew after the order was asked for again with another amount': [
    '0 a, 1 a UNPAID, 2 a 90, 3 a PAID',
    { amount: 90 },
  ],
  'UNPAID without a date and its repeat, with a payment between them that is told later': [
    '0 a, 1 a UNPAID -, 1.2 a UNPAID -, 2 a PAID 1.1',
    { amount: 25 },
  ],
};

function resultOf(what: string): Pick<ReportedOutcome, 'outcome' | 'cause'> {
  if (what === 'PAID' || what === 'UNPAID') return { outcome: what, cause: null };
  return { outcome: 'UNPAID', cause: what === 'REVERSED' ? what : 'EXPIRED' };
}

describeOnStores('an order that was turned away', (store) => {
  let service: ScoringService;
  let records: PlatformRecords;
  let nowMs = START_MS;
  const start = (rules: ReturnType<typeof currentRules>) => {
    const [clock, ruleSource] = [() => nowMs, createFixedRuleSource(rules)];
    service = scoringService(store(), clock, { ruleSource });
    records = new PlatformRecords({ store: store(), ruleSource, clock });
  };

  const ask = (clientIdKey: string, orderRef: string, amountRequested: string) => {
    const body = { sellPointKey: 's', clientIdKey, method: 'card', amountRequested, orderRef };
    return service.verdict(PLATFORM, body, { requestId: 'r', idempotencyKey: null });
  };
  const tell = (clientIdKey: string, orderRef: string, what: string, occurredAt: number | null = null) =>
    service.outcome(PLATFORM, { clientIdKey, orderRef, ...resultOf(what), occurredAt });

  for (const [title, [story, told]] of Object.entries({ ...TURNED_AWAY, ...AMOUNTS })) {
    it(`counts the same live, rebuilt and in a backtest: ${title}`, async () => {
      start(RULES);
      const clientIdKey = randomUUID();
      const effects: string[] = [];
      for (const [hour, order, what, dated] of stepsOf(`${story}, 120 last 13`)) {
        nowMs = START_MS + hour * HOUR_MS;
        const at = dated === '-' ? null : START_MS + Number(dated) * HOUR_MS;
        if (/^\d/.test(what)) await ask(clientIdKey, order, what);
        else effects.push((await tell(clientIdKey, order, what, at)).effect);
      }
      const view = await records.findClient(PLATFORM, clientIdKey);
      if (view === null) throw new Error('nothing is known of the client');
      const { paidCount: paid, unpaidCount: unpaid } = view.state.outcomes;
      const amount = labelFactValues(view.rules, view.facts.values)[PAID_AMOUNT];
      expect({ paid, unpaid, amount, effects: effects.join(' ') }).to.include(told);
      const client = clientKey(PLATFORM, clientIdKey);
      const entries = await entriesAbout(store(), client);
      expect(rebuildState(entries)).to.deep.equal(view.state);
      const replays = new SideBySideReplays([() => RULES], () => RULES, NO_HOLDOUTS);
      const last = inputsOf(entries)
        .map((input) => replays.replay(input)?.[0]?.values)
        .at(-1);
      const replayed = (wanted: string) => last?.[RULES.facts.findIndex(({ label }) => label === wanted)];
      const [decision] = await store().decisionsOfClient(client, 1);
      expect(Number(replayed('paymentScore')).toFixed(4)).to.equal(decision?.paymentScore);
      expect(replayed(PAID_AMOUNT)).to.equal(amount);
    });
  }

  it('blocks nobody when one requisite was shown and three waits are reported EXPIRED', async () => {
    start(currentRules());
    const clientIdKey = randomUUID();
    const verdicts: string[] = [];
    for (const order of ['a', 'b', 'c', 'd', 'e']) {
      verdicts.push((await ask(clientIdKey, order, '25')).answer.verdict);
      if (order !== 'e') await tell(clientIdKey, order, 'EXPIRED');
      nowMs += 10_000;
    }
    expect(verdicts).to.deep.equal(['GET_NEW', 'WAIT', 'WAIT', 'WAIT', 'WAIT']);
    const { state } = await store().load(clientKey(PLATFORM, clientIdKey));
    expect(state.outcomes).to.deep.include({ paidCount: 0, unpaidCount: 1, neitherCount: 3 });
  });

  it('takes no place from orders that count', async () => {
    start(RULES);
    const clientIdKey = randomUUID();
    for (let order = 0; order < 70; order++) {
      nowMs += HOUR_MS;
      if (order < 2) await tell(clientIdKey, `paid-${order}`, 'PAID');
      else {
        await ask(clientIdKey, `refused-${order}`, '13');
        await tell(clientIdKey, `refused-${order}`, 'EXPIRED');
      }
    }
    nowMs += DAY_HOURS * HOUR_MS;
    const { recent } = (await store().load(clientKey(PLATFORM, clientIdKey))).state.outcomes;
    expect(recent.map(({ outcome }) => outcome).slice(0, 3)).to.deep.equal(['PAID', 'PAID', 'UNPAID']);
  });

  describe("on a node without the fleet's archive", () => {
    const long = randomUUID();
    beforeEach(async () => {
      start(RULES);
      const { registers } = store();
      await registers.compareAndSet(ARCHIVE_REGISTER, await registers.read(ARCHIVE_REGISTER), 'of-others');
      // Enough that the first requests are forgotten.
      for (let order = 0; order < 70; order++) {
        nowMs += 1000;
        await ask(long, `${nowMs}-${order}`, '13');
      }
    });
    after(async () => {
      const { registers } = store();
      await registers.compareAndSet(ARCHIVE_REGISTER, 'of-others', 'none');
    });

    it('differs from an order without a request', async () => {
      const refused = await tell(long, 'shipped-long-ago', 'EXPIRED').catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(StoreUnavailable);
      expect(refused).to.have.property(
        'message',
        'this node has no archive, where others wrote whether the order was asked for; report it to a node that has one',
      );
      const { state } = await store().load(clientKey(PLATFORM, long));
      expect(state.outcomes).to.deep.include({ unpaidCount: 0, neitherCount: 0 });
    });

    it('is accepted where the hot store knows what it was, or nothing else can be known', async () => {
      expect(await tell(long, `${nowMs}-69`, 'EXPIRED')).to.include({ effect: 'recorded' });
      expect(await tell(randomUUID(), 'of-somebody-new', 'EXPIRED')).to.include({ effect: 'recorded' });
    });
  });
});
