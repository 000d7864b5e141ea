import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { ARCHIVE_REGISTER } from '../../src/archive/archive-home.ts';
import { platformName } from '../../src/client/client-key.ts';
import { NO_HOLDOUTS } from '../../src/decision/holdout.ts';
import { Replays } from '../../src/evidence/backtest/replay.ts';
import { Metrics } from '../../src/metrics/metrics.ts';
import { fixedRules } from '../../src/rollout/loaded-rules.ts';
import { rebuiltState } from '../../src/service/rebuild.ts';
import { ScoringService } from '../../src/service/scoring.ts';
import { StoreUnavailable } from '../../src/state/store-errors.ts';
import { clientKey } from '../client/client-keys.ts';
import { edited } from '../rule-fixtures/sound-rules.ts';
import { entriesAbout } from '../state/read-journal.ts';
import { describeOnStores } from '../stores/describe-on-stores.ts';
import { currentRules } from './current-rules.ts';
import { inputsOf } from './journal-inputs.ts';
import { START_MS } from './movable-clock.ts';

const PLATFORM = platformName('shop');
const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;

/** Refuses a requisite for the amount of 13, and shows one for any other. */
const RULES = edited({
  'verdicts.yaml': () => `
rules:
  - name: unlucky
    priority: 1
    conditions: { all: [{ fact: amount, operator: equal, value: 13 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "no" } }
otherwise: { verdict: GET_NEW, reason: "ok" }
`,
});

type Step = { readonly hour: number } & (
  | { readonly ask: string; readonly amount: string }
  | { readonly tell: string; readonly result: 'PAID' | 'EXPIRED'; readonly effect: string }
);

/** `0 a grant` and `0 a refuse` ask at hour 0, `1 a PAID` tells, `1 a PAID unchanged` what that does, if not `recorded`. */
function stepsOf(story: string): readonly Step[] {
  return story.split(', ').map((line) => {
    const [at = '', order = '', what, effect = 'recorded'] = line.split(' ');
    const hour = Number(at);
    if (what === 'PAID' || what === 'EXPIRED') return { hour, tell: order, result: what, effect };
    return { hour, ask: order, amount: what === 'grant' ? '25' : '13' };
  });
}

const NEWER = Array.from({ length: 9 }, (_, n) => `${1 + n} newer-${n} grant`).join(', ');
const REFUSED = Array.from({ length: 100 }, () => '1 a refuse').join(', ');

const HISTORIES: Readonly<Record<string, readonly [story: string, unpaid: number, paid?: number]>> = {
  'one that was refused says nothing about the payer': ['0 a refuse, 1 a EXPIRED', 0],
  'also when that is said three days after the refusal, and other requests came since': [
    '0 a refuse, 30 b grant, 60 c grant, 72 a EXPIRED',
    0,
  ],
  'one that was granted three days ago is unpaid, although it was refused since': [
    `0 a grant, ${NEWER}, 71 a refuse, 72 a EXPIRED`,
    1,
  ],
  'one that was granted and then asked for a hundred times is unpaid': [
    `0 a grant, ${REFUSED}, 2 a EXPIRED`,
    1,
  ],
  'one that nobody asked for is unpaid': ['0 b grant, 30 a EXPIRED', 1],
  'one that was refused is paid all the same': ['0 a refuse, 1 a EXPIRED, 2 a PAID superseded', 0, 1],
  'a grant opens it, and the next report counts although it says the same': [
    '0 a refuse, 1 a EXPIRED, 2 a grant, 3 a EXPIRED, 4 a EXPIRED unchanged',
    1,
  ],
  'the same three days later': ['0 a refuse, 1 a EXPIRED, 30 a grant, 40 b grant, 102 a EXPIRED', 1],
  'a refusal after the report changes nothing': [
    '0 a grant, 1 a EXPIRED, 2 a refuse, 3 a EXPIRED unchanged',
    1,
  ],
  'nor does one after a report of an order that nobody had asked for': [
    '1 a EXPIRED, 2 a refuse, 3 a EXPIRED unchanged',
    1,
  ],
};

describeOnStores('an order that was turned away', (store) => {
  let service: ScoringService;
  let nowMs = START_MS;
  const start = (rules: ReturnType<typeof currentRules>) => {
    const [clock, pseudonym] = [() => nowMs, (_kind: string, text: string) => text];
    const [ruleSource, metrics] = [fixedRules(rules), new Metrics()];
    service = new ScoringService({ store: store(), ruleSource, clock, pseudonym, metrics });
  };

  const ask = (clientIdKey: string, orderRef: string, amountRequested: string) => {
    const body = { sellPointKey: 's', clientIdKey, method: 'card', amountRequested, orderRef };
    return service.verdict(PLATFORM, body, { requestId: 'r', idempotencyKey: null });
  };
  const tell = (clientIdKey: string, orderRef: string, result: 'PAID' | 'EXPIRED') => {
    const outcome = result === 'PAID' ? result : 'UNPAID';
    const cause = result === 'PAID' ? null : result;
    return service.outcome(PLATFORM, { clientIdKey, orderRef, outcome, cause, occurredAt: null });
  };

  for (const [title, [story, unpaidCount, paidCount = 0]] of Object.entries(HISTORIES)) {
    it(`counts the same live, rebuilt and in a backtest: ${title}`, async () => {
      start(RULES);
      const clientIdKey = randomUUID();
      for (const step of stepsOf(`${story}, 120 last refuse`)) {
        nowMs = START_MS + step.hour * HOUR_MS;
        if ('ask' in step) await ask(clientIdKey, step.ask, step.amount);
        else expect(await tell(clientIdKey, step.tell, step.result)).to.equal(step.effect);
      }
      const client = clientKey(PLATFORM, clientIdKey);
      const { state } = await store().load(client);
      const entries = await entriesAbout(store(), client);
      expect({ paidCount, unpaidCount }).to.deep.equal({
        paidCount: state.outcomes.paidCount,
        unpaidCount: state.outcomes.unpaidCount,
      });
      expect(rebuiltState(entries)).to.deep.equal(state);
      const replays = new Replays([() => RULES], () => RULES, NO_HOLDOUTS);
      const place = RULES.facts.findIndex(({ label }) => label === 'paymentScore');
      const scores = inputsOf(entries).map((input) => replays.replay(input)?.[0]?.values[place]);
      const [last] = await store().decisionsOfClient(client, 1);
      expect(Number(scores.at(-1)).toFixed(4)).to.equal(last?.paymentScore);
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
      expect(await tell(long, `${nowMs}-69`, 'EXPIRED')).to.equal('recorded');
      expect(await tell(randomUUID(), 'of-somebody-new', 'EXPIRED')).to.equal('recorded');
    });
  });
});
