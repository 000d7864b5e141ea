import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Peers } from './peers.ts';

/** Metrics as one process tells them to another. */
type Told = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** The text of a node's metrics: those of this process and its peers, and what peers that are gone had counted. */
export class Exposition {
  readonly #registry: Registry;
  readonly #isAlone: boolean;
  readonly #gather: (argument: string) => Promise<readonly Told[]>;
  #inherited: Promise<Told> = Promise.resolve([]);
  #text: Promise<string> | null = null;

  constructor(registry: Registry, peers: Peers) {
    this.#registry = registry;
    this.#isAlone = peers.workers === 1;
    this.#gather = peers.topic(
      'metrics',
      () => this.#tell(),
      (left) => this.#inherit(left),
    );
  }

  /** Whoever asks while it is being made gets the same. */
  text(): Promise<string> {
    this.#text ??= this.#make().finally(() => {
      this.#text = null;
    });
    return this.#text;
  }

  async #make(): Promise<string> {
    if (this.#isAlone) return this.#registry.metrics();
    return AggregatorRegistry.aggregate([...(await this.#gather(''))]).metrics();
  }

  async #tell(): Promise<Told> {
    return sumUp([await this.#registry.getMetricsAsJSON(), await this.#inherited]);
  }

  /** Gauges tell how a process is; of one that is gone only what it counted is kept. */
  #inherit(left: Told): void {
    const counted = left.filter(({ type }) => String(type) !== 'gauge');
    this.#inherited = this.#inherited.then((before) => sumUp([counted, before]));
  }
}

async function sumUp([one, other]: readonly [Told, Told]): Promise<Told> {
  return other.length === 0 ? one : AggregatorRegistry.aggregate([one, other]).getMetricsAsJSON();
}
