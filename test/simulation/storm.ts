import { Metrics } from '#checkout/metrics/metrics.ts';
import { TooManyWaiting } from '#checkout/scoring/client-updates.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { START_MS } from '../service/movable-clock.ts';
import { ConnectionLost, type Faults, SimulatedFleet } from './fleet.ts';
import type { AttemptStatus, History, OutcomeAttempt, VerdictAttempt } from './history.ts';
import { Scheduler } from './scheduler.ts';
import { SeededRandom } from './seeded-random.ts';
import type { StoreServer } from './simulated-store.ts';
import { StoredClients } from './stored-clients.ts';

export const PLATFORM = toPlatformName('shop');

/** The history of a seed, and the store after it. */
export interface Storm {
  readonly history: History;
  readonly clients: StoredClients;
}

/** Puts a bug into the store of a storm. */
export type Sabotage = (clients: StoredClients, random: SeededRandom) => StoreServer;

const HOUR_MS = 3_600_000;
const PATIENCE = 6;
const HEALTHY_AFTER_MS = 30 * HOUR_MS;

// One for all seeds: its default metrics watch the process, and nothing ends them.
const metrics = new Metrics();

/** Runs the storm of a seed. */
export async function storm(seed: number, sabotage: Sabotage = (clients) => clients): Promise<Storm> {
  const random = new SeededRandom(seed);
  const clients = new StoredClients();
  const scheduler = new Scheduler(random, START_MS, random.pick([1, 20, 200]));
  const fleet = new SimulatedFleet({
    scheduler,
    random,
    clients,
    server: sabotage(clients, random),
    metrics,
    nodes: random.whole(1, 3),
    faults: faultsOf(random),
  });
  const callers = new Callers(fleet, scheduler, random);
  scheduler.later(() => fleet.heal(), HEALTHY_AFTER_MS);
  const living = callers.live();
  // With no task left, a waiting caller would wait for ever.
  const history = await Promise.race([living, scheduler.run().then(hangs)]);
  return { history, clients };
}

function hangs(): never {
  throw new Error('a request hangs: nothing is left to do, and it has no answer');
}

function faultsOf(random: SeededRandom): Faults {
  return {
    requestLost: random.pick([0, 0.02, 0.15]),
    answerLost: random.pick([0, 0.02, 0.15]),
    crash: random.pick([0, 0.05, 0.2]),
    replyLost: random.pick([0, 0.1]),
    skewMs: random.pick([0, 500, 10_000, HOUR_MS]),
  };
}

/** Some callers at once, each with one request after the other for few clients, so that they meet. */
class Callers {
  readonly #fleet: SimulatedFleet;
  readonly #scheduler: Scheduler;
  readonly #random: SeededRandom;
  readonly #verdicts: VerdictAttempt[] = [];
  readonly #outcomes: OutcomeAttempt[] = [];
  readonly #clientIdKeys: readonly [string, ...string[]];
  #operations = 0;

  constructor(fleet: SimulatedFleet, scheduler: Scheduler, random: SeededRandom) {
    this.#fleet = fleet;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#clientIdKeys = random.pick([['ann'], ['ann', 'bob']] as const satisfies readonly unknown[]);
  }

  async live(): Promise<History> {
    const callers = this.#random.whole(1, 4);
    await Promise.all(Array.from({ length: callers }, () => this.#call()));
    await this.#scheduler.pause(HEALTHY_AFTER_MS + HOUR_MS);
    for (const clientIdKey of this.#clientIdKeys) await this.#verdict(clientIdKey);
    return { verdicts: this.#verdicts, outcomes: this.#outcomes, clientIdKeys: this.#clientIdKeys };
  }

  async #call(): Promise<void> {
    for (let left = this.#random.whole(2, 6); left > 0; left--) {
      await this.#scheduler.pause(this.#random.pick([0, 5, 100, 20_000, 40_000, HOUR_MS]));
      const clientIdKey = this.#random.pick(this.#clientIdKeys);
      const kind = this.#random.pick([
        'verdict',
        'verdict',
        'verdict',
        'verdict',
        'outcome',
        'score',
        'bind',
      ]);
      if (kind === 'verdict') await this.#verdict(clientIdKey);
      else if (kind === 'outcome') await this.#outcome(clientIdKey);
      else if (kind === 'score') await this.#ask((service) => service.score(PLATFORM, scoreOf(clientIdKey)));
      else await this.#ask((service) => service.setBinding(PLATFORM, clientIdKey, BINDING));
    }
  }

  /** Asks until there is an answer; with a key sometimes twice at once, like an impatient proxy. */
  async #verdict(clientIdKey: string): Promise<void> {
    this.#operations += 1;
    const operation = `operation-${this.#operations}`;
    const idempotencyKey = this.#random.chance(0.6) ? operation : null;
    const orderRef = this.#random.pick(ORDERS);
    for (let tries = 1; tries <= PATIENCE; tries++) {
      const copies = this.#random.chance(0.2) ? 2 : 1;
      const attempts = Array.from({ length: copies }, (_, copy) =>
        this.#attemptVerdict(`${operation}.${tries}.${copy}`, clientIdKey, orderRef, idempotencyKey),
      );
      const statuses = await Promise.all(attempts);
      if (statuses.some(({ kind }) => kind === 'answered')) return;
      await this.#scheduler.pause(this.#random.whole(0, 50));
    }
  }

  async #attemptVerdict(
    requestId: string,
    clientIdKey: string,
    orderRef: string,
    idempotencyKey: string | null,
  ): Promise<AttemptStatus<unknown>> {
    const body = { ...verdictOf(clientIdKey), orderRef };
    const status = await this.#ask((service) =>
      service.verdict(PLATFORM, body, { requestId, idempotencyKey }),
    );
    this.#verdicts.push({ requestId, clientIdKey, orderRef, idempotencyKey, status });
    return status;
  }

  async #outcome(clientIdKey: string): Promise<void> {
    const orderRef = this.#random.pick(ORDERS);
    const outcome = this.#random.pick(['PAID', 'UNPAID'] as const satisfies readonly unknown[]);
    const cause =
      outcome === 'PAID'
        ? null
        : this.#random.pick(['DECLINED', 'TECHNICAL'] as const satisfies readonly unknown[]);
    // Sometimes with the time of another report, which often arrived before.
    const occurredAt = this.#random.pick([null, START_MS, START_MS + HOUR_MS]);
    const report = { clientIdKey, orderRef, outcome, cause, occurredAt };
    for (let tries = 1; tries <= PATIENCE; tries++) {
      const status = await this.#ask(async (service) => (await service.outcome(PLATFORM, report)).effect);
      this.#outcomes.push({ clientIdKey, orderRef, outcome, cause, status });
      if (status.kind === 'answered') return;
    }
  }

  async #ask<T>(request: (service: ScoringService) => Promise<T>): Promise<AttemptStatus<T>> {
    try {
      return { kind: 'answered', answer: await this.#fleet.ask(request) };
    } catch (error) {
      if (error instanceof TooManyWaiting) return { kind: 'refused' };
      if (error instanceof StoreUnavailable || error instanceof ConnectionLost) return { kind: 'unknown' };
      throw error;
    }
  }
}

const ORDERS = ['order-1', 'order-2', 'order-3'] as const;

const BINDING = { requisiteRef: 'requisite-7', acceptorKeys: ['acceptor-1'], method: null, expiresAt: null };

function verdictOf(clientIdKey: string) {
  return { sellPointKey: 'shop-1', clientIdKey, method: 'card', amountRequested: '25.00' };
}

function scoreOf(clientIdKey: string) {
  const { method: selectedMethodKey, ...rest } = verdictOf(clientIdKey);
  return {
    ...rest,
    selectedMethodKey,
    fingerprint: 'f'.repeat(20),
    ip: '192.0.2.7',
    userAgent: 'Mozilla/5.0',
  };
}
