import { randomUUID } from 'node:crypto';
import { isAttempt } from '#decision/conclude-verdict.ts';
import { decideScore, decideVerdict } from '#decision/decide.ts';
import { DeviceSightingsInMemory } from '#decision/device-sightings.ts';
import { recordOutcome } from '#decision/payer/changes.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { getKnownHints } from '#decision/payer/hints.ts';
import { getSightingMarks, toPaymentNote } from '#decision/payer/sighting-marks.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import type { JournalEntry } from '#state/journal.ts';
import { clientKey } from '../../test/decision/payer/client-keys.ts';
import { SeededRandom } from '../../test/simulation/seeded-random.ts';
import { BENCH_PLATFORM } from './sample.ts';

/** The number of payers at a time. A payer who is done is replaced by a new one. */
const PAYERS = 2000;
const AGAIN = 2 / 3;
const METHODS = ['card', 'sbp', 'wallet', 'transfer'] as const;

interface Payer {
  readonly client: ClientKey;
  readonly fingerprint: string;
  readonly ip: string;
  readonly paysShare: number;
  state: ClientState;
  /** The granted order that is not reported yet. */
  owed: string | null;
}

/**
 * The requests and reports of a made-up platform, decided by the rules as in the service. A payer asks for three
 * verdicts on average, and all ids are random UUIDs. Some payers share a device, some pay and some never do. A tenth
 * of the orders is never reported.
 */
export class MadeUpHistory {
  readonly #rules: RuleSet;
  readonly #random = new SeededRandom(1);
  readonly #stepMs: number;
  readonly #payers: Payer[];
  #devices = new DeviceSightingsInMemory();
  #now: number;

  /** Makes one verdict each `stepMs`, from `from` (epoch ms) on. */
  constructor(rules: RuleSet, from: number, stepMs: number) {
    this.#rules = rules;
    this.#now = from;
    this.#stepMs = stepMs;
    this.#payers = Array.from({ length: PAYERS }, () => this.#newPayer());
  }

  /** Returns the next entries, with this many verdicts among them. */
  take(verdicts: number): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    // Earlier devices do not appear again and would only fill memory.
    this.#devices = new DeviceSightingsInMemory();
    for (let count = 0; count < verdicts; count++) {
      this.#now += this.#stepMs;
      const place = this.#random.whole(0, PAYERS - 1);
      const payer = this.#payers[place];
      if (payer === undefined) continue;
      this.#settle(payer, entries);
      if (this.#random.chance(0.8)) this.#score(payer, entries);
      this.#ask(payer, entries);
      if (!this.#random.chance(AGAIN)) this.#payers[place] = this.#newPayer();
    }
    return entries;
  }

  #newPayer(): Payer {
    const shared = this.#random.chance(0.1) ? String(this.#random.whole(0, 50)) : randomUUID();
    return {
      client: clientKey(BENCH_PLATFORM, randomUUID()),
      fingerprint: shared,
      ip: shared,
      paysShare: this.#random.pick([0, 0.7, 0.9, 1]),
      state: UNKNOWN_CLIENT_STATE,
      owed: null,
    };
  }

  #settle(payer: Payer, entries: JournalEntry[]): void {
    const orderRef = payer.owed;
    if (orderRef === null) return;
    payer.owed = null;
    if (this.#random.chance(0.1)) return;
    const outcome = this.#random.chance(payer.paysShare) ? 'PAID' : 'UNPAID';
    const reported = { orderRef, outcome, cause: null, occurredAt: null } as const;
    const change = recordOutcome(payer.state, null, reported, this.#now);
    payer.state = change.state;
    const payment = toPaymentNote(change, this.#now);
    if (payment !== null)
      this.#devices.notePayment(payer.client.clientIdKey, payment.since, payment.isUnpaid);
    entries.push({ ...this.#base(payer), kind: 'outcome', at: this.#now, orderRef, order: change.report });
  }

  #score(payer: Payer, entries: JournalEntry[]): void {
    const request = {
      ...this.#payment(),
      fingerprint: payer.fingerprint,
      ip: payer.ip,
      jsOk: true,
      honeypotTriggered: false,
      userAgentPresent: true,
      userAgentIsAutomated: false,
      userAgentIsApp: false,
    };
    const { answer, nextState } = decideScore(this.#rules, this.#standing(payer), request);
    payer.state = nextState;
    const { version: ruleVersion } = this.#rules;
    entries.push({ ...this.#base(payer), kind: 'score', at: nextState.lastAt, request, ruleVersion, answer });
  }

  #ask(payer: Payer, entries: JournalEntry[]): void {
    const orderRef = randomUUID();
    const { decision, nextState } = decideVerdict(this.#rules, this.#standing(payer), {
      ...this.#payment(),
      orderRef,
      requestId: randomUUID(),
      arm: 'active',
    });
    payer.state = nextState;
    if (isAttempt(decision.verdict)) payer.owed = orderRef;
    entries.push({ ...this.#base(payer), kind: 'verdict', at: decision.at, decision });
  }

  #standing({ client, state }: Payer) {
    const hints = getKnownHints(state.hints, this.#now);
    const marks = getSightingMarks(state, this.#now);
    this.#devices.recordDevices(client.clientIdKey, hints, this.#now, marks);
    const { sharing } = this.#rules;
    const sightings = this.#devices.countClientsOnDevices(
      client.clientIdKey,
      hints,
      sharing,
      this.#now,
      marks,
    );
    return { client, state, sightings, now: this.#now };
  }

  #payment() {
    const amount = `${this.#random.whole(1, 500)}.${this.#random.pick(['00', '50', '99'])}`;
    const sellPointKey = `shop-${this.#random.whole(1, 20)}`;
    return { sellPointKey, method: this.#random.pick(METHODS), amount, currency: null };
  }

  #base({ client: { platform, clientIdKey } }: Payer) {
    return { platform, clientIdKey };
  }
}
