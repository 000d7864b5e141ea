import { Gauge, type Registry } from 'prom-client';

export interface GaugeOptions {
  readonly labels?: readonly string[];
  /** What the figures of several workers make together. */
  readonly ofWorkers?: 'sum' | 'min' | 'max';
}

/** Adds a gauge to a registry; `collect` sets it at every scrape. */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  collect: (gauge: Gauge) => void | Promise<void>,
  { labels = [], ofWorkers = 'sum' }: GaugeOptions = {},
): void {
  new Gauge({
    name,
    help,
    labelNames: labels,
    aggregator: ofWorkers,
    registers: [registry],
    collect() {
      return collect(this);
    },
  });
}
