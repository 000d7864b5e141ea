import type { Metrics } from '#checkout/metrics/metrics.ts';
import { createFixedRuleSource } from '#checkout/rollout/loaded-rules.ts';
import { ScoringService } from '#checkout/scoring/scoring.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { currentRules } from '../service/current-rules.ts';
import type { Scheduler } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';
import { type Carrier, type StoreServer, simulatedStore } from './simulated-store.ts';
import type { StoredClients } from './stored-clients.ts';

/** The faults of a seed, as probabilities per message, call or request. */
export interface Faults {
  /** A call to the store is lost before it is applied. */
  readonly requestLost: number;
  /** A call is applied, but the node hears that the store could not be reached. */
  readonly answerLost: number;
  /** The node that answers a request crashes about then. */
  readonly crash: number;
  /** The caller never receives an answer that the node gave. */
  readonly replyLost: number;
  /** How far a node's clock may be off, ms. */
  readonly skewMs: number;
}

/** The answer did not reach the caller: it may or may not have been given. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/** One run of a node; its work under way is lost with it. */
interface Node {
  readonly service: ScoringService;
  readonly died: Promise<never>;
  readonly die: () => void;
}

/** Some nodes on one store, the network between them, and a crash now and then. */
export class SimulatedFleet {
  readonly #scheduler: Scheduler;
  readonly #random: SeededRandom;
  readonly #clients: StoredClients;
  readonly #server: StoreServer;
  readonly #metrics: Metrics;
  readonly #nodes: Node[];
  #faults: Faults;

  constructor(parts: {
    readonly scheduler: Scheduler;
    readonly random: SeededRandom;
    readonly clients: StoredClients;
    readonly server: StoreServer;
    readonly metrics: Metrics;
    readonly nodes: number;
    readonly faults: Faults;
  }) {
    this.#scheduler = parts.scheduler;
    this.#random = parts.random;
    this.#clients = parts.clients;
    this.#server = parts.server;
    this.#metrics = parts.metrics;
    this.#faults = parts.faults;
    this.#nodes = Array.from({ length: parts.nodes }, () => this.#boot());
  }

  /** Ends all faults. */
  heal(): void {
    this.#faults = { ...this.#faults, requestLost: 0, answerLost: 0, crash: 0, replyLost: 0 };
  }

  /** Sends a request to any node, and gives its answer unless that is lost. */
  async ask<T>(request: (service: ScoringService) => Promise<T>): Promise<T> {
    const index = this.#random.whole(0, this.#nodes.length - 1);
    const node = this.#nodes[index];
    if (node === undefined) throw new Error('a fleet has at least one node');
    if (this.#random.chance(this.#faults.crash)) this.#crashSoon(index, node);
    const answer = await Promise.race([request(node.service), node.died]);
    await Promise.race([this.#scheduler.pause(0), node.died]);
    if (this.#random.chance(this.#faults.replyLost)) throw new ConnectionLost('the answer was lost');
    return answer;
  }

  #crashSoon(index: number, node: Node): void {
    this.#scheduler.later(
      () => {
        node.die();
        if (this.#nodes[index] === node) this.#nodes[index] = this.#boot();
      },
      this.#random.whole(0, 60),
    );
  }

  #boot(): Node {
    const { promise: died, reject } = Promise.withResolvers<never>();
    // Nobody may be waiting for a node when it dies.
    died.catch(() => {});
    const life = { alive: true };
    const skewMs = this.#random.whole(-this.#faults.skewMs, this.#faults.skewMs);
    const clock = () => this.#scheduler.nowMs + skewMs;
    const store = simulatedStore(this.#clients, this.#server, this.#carrier(life), clock);
    const service = new ScoringService({
      store,
      ruleSource: createFixedRuleSource(currentRules()),
      clock,
      pseudonym: (kind, text) => `${kind}-${text}`,
      metrics: this.#metrics,
      pace: {
        monotonicMs: () => this.#scheduler.nowMs,
        pauseAfterRace: () => this.#scheduler.pause(this.#random.whole(0, 4)),
      },
    });
    const die = () => {
      life.alive = false;
      reject(new ConnectionLost('the node crashed'));
    };
    return { service, died, die };
  }

  /** A message to the store and one back, each a step that may be lost. */
  #carrier(life: { readonly alive: boolean }): Carrier {
    return <T>(call: () => T) => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const hear = (settle: () => void) =>
        this.#scheduler.later(() => {
          if (life.alive) settle();
        });
      const unheard = () => hear(() => reject(new StoreUnavailable('the store did not answer')));
      this.#scheduler.later(() => {
        // Messages that a node sent right before it died may still arrive.
        if (!life.alive && this.#random.chance(0.5)) return;
        if (this.#random.chance(this.#faults.requestLost)) return unheard();
        const value = call();
        if (this.#random.chance(this.#faults.answerLost)) return unheard();
        hear(() => resolve(value));
      });
      return promise;
    };
  }
}
