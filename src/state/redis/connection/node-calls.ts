import type { RunCall } from '../../run-call.ts';
import { StoreUnavailable } from '../../store-errors.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { isReplicasRefusal } from './connect-anew.ts';
import type { RedisConnection } from './connection.ts';
import { BadReply } from './reply.ts';
import type { RoundTrips } from './round-trips.ts';

/** A circuit breaker for each server: one that stalls does not stop calls on the others. */
export class NodeCalls {
  readonly #connection: RedisConnection;
  readonly #roundTrips: RoundTrips;
  readonly #limitMs: (roundTripMs: number) => number;
  readonly #breakers = new Map<string, CircuitBreaker>();
  #closed = false;

  /** `limitMs` says how long a call may take where the way to its server and back takes so long. */
  constructor(connection: RedisConnection, roundTrips: RoundTrips, limitMs: (roundTripMs: number) => number) {
    this.#connection = connection;
    this.#roundTrips = roundTrips;
    this.#limitMs = limitMs;
  }

  /** How long a call on the server that answers for a key may take now, ms. */
  limitMsOn(key: string): number {
    return this.#limitOf(this.#connection.nodeOf(key));
  }

  /** For calls on the server that answers for a key. */
  readonly on = (key: string): RunCall => this.onNode(this.#connection.nodeOf(key));

  /** For calls on one server. */
  readonly onNode = (node: string): RunCall => (this.#closed ? refuse : this.#breakerOf(node).run);

  /** The same for calls that change nothing. */
  readonly reading = (key: string): RunCall =>
    this.#closed ? refuse : this.#breakerOf(this.#connection.nodeOf(key)).read;

  close(): void {
    this.#closed = true;
  }

  #limitOf(node: string): number {
    return this.#limitMs(this.#roundTrips.of(node));
  }

  #breakerOf(node: string): CircuitBreaker {
    const known = this.#breakers.get(node);
    if (known !== undefined) return known;
    const probe = () => this.#connection.pingNode(node);
    const onFailure = (error: unknown) => {
      if (isReplicasRefusal(error)) this.#connection.connectAnew?.();
      if (error instanceof BadReply) this.#connection.renew(node);
    };
    const onAnswer = (tookMs: number) => this.#roundTrips.observe(node, tookMs);
    const limitMs = () => this.#limitOf(node);
    const breaker = new CircuitBreaker(`Redis at ${node}`, limitMs, probe, { onFailure, onAnswer });
    this.#breakers.set(node, breaker);
    return breaker;
  }
}

const refuse: RunCall = () => Promise.reject(new StoreUnavailable('the store is closed'));
