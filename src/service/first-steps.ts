import type { AccessKeys } from '../access/access-keys.ts';
import type { Audit } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import { type PlatformName, platformName } from '../client/client-key.ts';
import { isGrant } from '../decision/conclude-verdict.ts';
import {
  DAY_MS,
  type ExamplePayment,
  examplePayments,
  HOUR_MS,
  START_MS,
} from '../example-data/example-payments.ts';
import type { Verdict } from '../rules/rule-set.ts';
import type { Registers } from '../state/store.ts';
import type { Records } from './records.ts';
import type { ScoringService } from './scoring.ts';

/** The platform of the key that a first start prints. */
export const DEMO = platformName('demo');

export interface FirstStepsParts {
  readonly registers: Registers;
  readonly keys: AccessKeys;
  readonly audit: Audit;
  readonly records: Records;
  readonly clock: () => number;
  /** The service of this node with another clock: what is made up happened during the day before. */
  readonly serviceAt: (clock: () => number) => ScoringService;
}

export const TRAFFIC = ['none', 'possible', 'made', 'used'] as const;

export interface FirstStepsView {
  /**
   * `possible`: made-up traffic may be asked for; `made`: it was; `used`: it would mix with decisions that are there
   * already; `none`: the store is for real traffic.
   */
  readonly traffic: (typeof TRAFFIC)[number];
  /** The newest decision of the kind; null when there is none. */
  readonly waiting: string | null;
  readonly blocked: string | null;
  readonly ruleVersion: string | null;
}

const NOTHING: FirstStepsView = { traffic: 'none', waiting: null, blocked: null, ruleVersion: null };

const REGISTER = 'first-steps';

/** More decisions than somebody makes who tries the printed calls. */
export const TRIED_DECISIONS_MAX = 20;

/** The newcomer's first steps on a new store. */
export class FirstSteps {
  readonly #parts: FirstStepsParts;

  constructor(parts: FirstStepsParts) {
    this.#parts = parts;
  }

  async view(platform: PlatformName): Promise<FirstStepsView> {
    const traffic = await this.#traffic(platform);
    if (traffic !== 'made') return { ...NOTHING, traffic };
    const [waiting, blocked] = await Promise.all([this.#newest('WAIT'), this.#newest('BLOCK')]);
    return {
      traffic,
      waiting: waiting?.decisionId ?? null,
      blocked: blocked?.decisionId ?? null,
      ruleVersion: waiting?.ruleVersion ?? null,
    };
  }

  /** Makes up a day of traffic, once in the life of a store; false where the store is for real traffic, or has it. */
  async makeTraffic(platform: PlatformName, { text: who }: Pick<Actor, 'text'>): Promise<boolean> {
    if ((await this.#traffic(platform)) !== 'possible') return false;
    const { registers, audit, clock } = this.#parts;
    if (!(await registers.compareAndSet(REGISTER, 'begun', 'made'))) return false;
    const payments = madeUpDay(clock());
    const reason = 'first steps of a new store';
    const after = { payments: payments.length };
    await audit.note({
      who,
      action: 'made-up traffic',
      platform,
      subject: null,
      before: null,
      after,
      reason,
    });
    await this.#live(payments);
    return true;
  }

  async #traffic(platform: PlatformName): Promise<FirstStepsView['traffic']> {
    const { registers, keys, records } = this.#parts;
    if (platform !== DEMO) return 'none';
    const begun = await registers.read(REGISTER);
    if (begun === null || (await keys.list()).some((key) => key.platform !== DEMO)) return 'none';
    if (begun === 'made') return 'made';
    const { decisions } = await records.findDecisions(DEMO, {}, TRIED_DECISIONS_MAX);
    return decisions.length < TRIED_DECISIONS_MAX ? 'possible' : 'used';
  }

  async #newest(verdict: Verdict) {
    const { decisions } = await this.#parts.records.findDecisions(DEMO, { verdict }, 1);
    return decisions.at(0);
  }

  /** In the order of time, as callers and the platform would have asked. */
  async #live(payments: readonly ExamplePayment[]): Promise<void> {
    const until = this.#parts.clock();
    let now = until;
    const service = this.#parts.serviceAt(() => now);
    const granted = new Set<string>();
    const steps = payments.flatMap((payment) => {
      const { at, outcomeAt = Number.POSITIVE_INFINITY } = payment;
      const asks = { at, take: () => ask(service, payment, granted) };
      return [asks, { at: outcomeAt, take: () => report(service, payment, granted) }];
    });
    for (const { at, take } of steps.toSorted((one, other) => one.at - other.at)) {
      if (at > until) return;
      now = at;
      await take();
    }
  }
}

/** Noted with the printed key: nothing is ever made up in a store that began otherwise. */
export async function beginFirstSteps(registers: Registers): Promise<void> {
  await registers.compareAndSet(REGISTER, null, 'begun');
}

/** The end of the made-up day: the evening, when most people pay. */
const SEED = 1;
const EVENING_MS = START_MS + 2 * DAY_MS - 4 * HOUR_MS;

/** The payments of the day before that evening, moved so that it is now. */
function madeUpDay(now: number): readonly ExamplePayment[] {
  const later = now - EVENING_MS;
  return examplePayments(SEED)
    .filter(({ at }) => at > EVENING_MS - DAY_MS && at <= EVENING_MS)
    .map(({ outcomeAt, ...payment }) => ({
      ...payment,
      at: payment.at + later,
      ...(outcomeAt !== undefined && { outcomeAt: outcomeAt + later }),
    }));
}

async function ask(service: ScoringService, payment: ExamplePayment, granted: Set<string>): Promise<void> {
  const { sellPointKey, clientIdKey, method, amountRequested, toPayCurrency, orderRef } = payment;
  const { fingerprint, ip, userAgent } = payment;
  const payer = { sellPointKey, clientIdKey, amountRequested, toPayCurrency };
  const seen = { fingerprint, ip, userAgent, clientHints: { jsOk: true } };
  await service.score(DEMO, { ...payer, ...seen, selectedMethodKey: method });
  const context = { requestId: `made-up-${orderRef}`, idempotencyKey: null };
  const { answer } = await service.verdict(DEMO, { ...payer, method, orderRef }, context);
  if (isGrant(answer.verdict)) granted.add(orderRef);
}

/** An order without a requisite cannot be paid. */
async function report(
  service: ScoringService,
  { clientIdKey, orderRef, outcome, outcomeAt }: ExamplePayment,
  granted: ReadonlySet<string>,
): Promise<void> {
  if (outcome === undefined || !granted.has(orderRef)) return;
  await service.outcome(DEMO, { clientIdKey, orderRef, outcome, cause: null, occurredAt: outcomeAt ?? null });
}
