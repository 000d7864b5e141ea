import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Peers } from './peers.ts';

type ProcessMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** The text of a node's metrics: those of this process, its peers, and the counts of peers that are gone. */
export class Exposition {
  readonly #registry: Registry;
  readonly #isAlone: boolean;
  readonly #gather: (argument: string) => Promise<readonly ProcessMetrics[]>;
  #inherited: Promise<ProcessMetrics> = Promise.resolve([]);
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

  /** Concurrent callers share one text. */
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

  async #tell(): Promise<ProcessMetrics> {
    return sumUp([await this.#registry.getMetricsAsJSON(), await this.#inherited]);
  }

  /** A gauge describes a running process; only the counts of one that is gone are kept. */
  #inherit(left: ProcessMetrics): void {
    const counted = left.filter(({ type }) => String(type) !== 'gauge');
    this.#inherited = this.#inherited.then((before) => sumUp([counted, before]));
  }
}

async function sumUp([one, other]: readonly [ProcessMetrics, ProcessMetrics]): Promise<ProcessMetrics> {
  return other.length === 0 ? one : AggregatorRegistry.aggregate([one, other]).getMetricsAsJSON();
}
