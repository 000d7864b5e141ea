import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ShippingReport } from './archive/ship/shipping.ts';
import type { Decision, ScoreAnswer } from './decision/decision.ts';
import type { ListsReport } from './lists/list-node.ts';
import type { NodeReport } from './rollout/fleet.ts';
import { sumTrialCounts, type TrialFigures } from './rollout/trial-counts.ts';
import { VERSION } from './sdk/version.ts';
import { type StoreHealth, WARNING_KINDS } from './state/health/store-health.ts';
import { alone, type Peers } from './workers/peers.ts';

/** Seconds; the service answers in about a millisecond, and gives up at 0.3 s. */
const LATENCY_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Wants to know what is counted, as it is counted. */
export interface Watcher {
  request(operation: string, status: number, seconds: number): void;
  verdict(decision: Decision): void;
}

/** What the metrics show of the store. */
export interface StoreReport {
  readonly health: StoreHealth;
  readonly clockOffsetMs: number;
}

interface GaugeOptions {
  readonly labels?: readonly string[];
  /** What the figures of several workers make together. */
  readonly ofWorkers?: 'sum' | 'min' | 'max';
}

/** All Prometheus metrics of one process, by the names that dashboards and alerts use. */
export class Metrics {
  readonly registry = new Registry();

  readonly #requests = new Histogram({
    name: 'scoring_request_duration_seconds',
    help: 'Time from the first byte to the answer, rate limit delay included',
    labelNames: ['operation', 'status'],
    buckets: LATENCY_BUCKETS,
    registers: [this.registry],
  });
  readonly #verdicts = this.#counter('scoring_verdicts_total', 'Verdicts given', [
    'verdict',
    'rule_version',
    'rule',
  ]);
  readonly #groups = this.#counter('scoring_client_groups_total', 'Client groups found, by operation', [
    'operation',
    'group',
  ]);
  readonly #bots = this.#counter('scoring_bot_flags_total', 'Answers with isBot true', ['operation']);
  readonly #signals = this.#counter('scoring_bot_signals_total', 'Bot signals that matched in verdicts', [
    'signal',
  ]);
  readonly #ladder = this.#counter(
    'scoring_ladder_waits_total',
    'Waits imposed, by level of the cooldown ladder',
    ['level'],
  );
  readonly #outcomes = this.#counter('scoring_outcomes_total', 'Outcome reports', ['outcome', 'effect']);
  readonly #storeErrors = this.#counter(
    'scoring_store_errors_total',
    'Requests that failed because state could not be reached',
    ['operation'],
  );
  readonly #races = this.#counter(
    'scoring_commit_races_total',
    'Commits lost to another node, then decided again',
    ['operation'],
  );
  readonly #replays = this.#counter(
    'scoring_idempotent_replays_total',
    'Verdicts answered again under their Idempotency-Key',
    [],
  );
  readonly #shed = this.#counter('scoring_shed_total', 'Requests refused because there was too much work', [
    'operation',
  ]);
  readonly #limited = this.#counter('scoring_rate_limited_total', 'Requests over the rate limit', ['effect']);

  readonly #watcher: Watcher | null;
  readonly #gather: (argument: string) => Promise<readonly object[]>;
  #exposition: Promise<string> | null = null;

  constructor(watcher: Watcher | null = null, peers: Peers = alone()) {
    this.#watcher = watcher;
    this.#gather = peers.topic('metrics', () => this.registry.getMetricsAsJSON());
    collectDefaultMetrics({ register: this.registry });
    this.#gauge(
      'scoring_build_info',
      '1; which version of the service runs, and on which Node',
      (gauge) => gauge.set({ version: VERSION, node: process.version }, 1),
      { labels: ['version', 'node'], ofWorkers: 'max' },
    );
    // Seen before the first failure, so that the first one is seen as a rise.
    for (const operation of ['score', 'verdict']) {
      this.#storeErrors.inc({ operation }, 0);
      this.#shed.inc({ operation }, 0);
    }
  }

  /** The text of all metrics of the node; whoever asks while it is being made gets the same. */
  exposition(): Promise<string> {
    this.#exposition ??= this.#expose().finally(() => {
      this.#exposition = null;
    });
    return this.#exposition;
  }

  async #expose(): Promise<string> {
    const parts = await this.#gather('');
    return parts.length === 1 ? this.registry.metrics() : AggregatorRegistry.aggregate([...parts]).metrics();
  }

  request(operation: string, status: number, seconds: number): void {
    this.#requests.observe({ operation, status }, seconds);
    this.#watcher?.request(operation, status, seconds);
  }

  score({ clientGroup, isBot }: ScoreAnswer): void {
    this.#groups.inc({ operation: 'score', group: clientGroup });
    if (isBot) this.#bots.inc({ operation: 'score' });
  }

  verdict(decision: Decision): void {
    const { verdict, ruleVersion, rule, clientGroup, isBot, signals, ladderAfter } = decision;
    this.#watcher?.verdict(decision);
    this.#verdicts.inc({ verdict, rule_version: ruleVersion, rule });
    this.#groups.inc({ operation: 'verdict', group: clientGroup });
    if (isBot) this.#bots.inc({ operation: 'verdict' });
    for (const signal of signals) this.#signals.inc({ signal });
    if (verdict === 'WAIT') this.#ladder.inc({ level: ladderAfter.level });
  }

  outcome(outcome: string, effect: string): void {
    this.#outcomes.inc({ outcome, effect });
  }

  storeError(operation: string): void {
    this.#storeErrors.inc({ operation });
  }

  commitRace(operation: string): void {
    this.#races.inc({ operation });
  }

  idempotentReplay(): void {
    this.#replays.inc();
  }

  shed(operation: 'score' | 'verdict'): void {
    this.#shed.inc({ operation });
  }

  rateLimited(effect: 'delayed' | 'dropped'): void {
    this.#limited.inc({ effect });
  }

  /** Shows, at every scrape, what this node reports to the fleet. */
  watchRollout(report: () => NodeReport): void {
    this.#gauge(
      'scoring_rollout_revision',
      'Revision of the rollout that this node follows',
      (gauge) => gauge.set(report().revision),
      { ofWorkers: 'min' },
    );
    this.#gauge(
      'scoring_rules_refused',
      'Version folders that this node refuses',
      (gauge) => gauge.set(report().refused.length),
      { ofWorkers: 'max' },
    );
    this.#gauge(
      'scoring_rollout_trouble',
      '1 while this node cannot follow the newest revision',
      (gauge) => gauge.set(report().trouble === null ? 0 : 1),
      { ofWorkers: 'max' },
    );
    this.#gauge('scoring_shadow_compared', 'Verdicts that the shadow decided, too, in this trial', (gauge) =>
      gauge.set(figuresOf(report()).shadow.compared),
    );
    this.#gauge(
      'scoring_shadow_different',
      'Verdicts that the shadow would have answered otherwise',
      (gauge) => gauge.set(figuresOf(report()).shadow.different),
    );
    this.#gauge(
      'scoring_candidate_errors',
      'Decisions in this trial for which the candidate threw',
      (gauge) => gauge.set(figuresOf(report()).candidateErrors),
    );
  }

  watchShipping(report: () => ShippingReport): void {
    this.#gauge('scoring_archive_leads', '1 while this node ships the journal to the archive', (gauge) =>
      gauge.set(report().leads ? 1 : 0),
    );
    this.#gauge(
      'scoring_archive_lag_seconds',
      'Since everything in the journal was shipped, while this node ships',
      (gauge) => {
        const { leads, trouble, caughtUpAt } = report();
        gauge.set(leads || trouble !== null ? Math.max(0, Date.now() - caughtUpAt) / 1000 : 0);
      },
    );
    this.#gauge('scoring_archive_shipped_entries', 'Journal entries that this process shipped', (gauge) =>
      gauge.set(report().shippedEntries),
    );
    this.#gauge('scoring_archive_segments', 'Segments in the archive', (gauge) =>
      gauge.set(report().segments),
    );
    this.#gauge('scoring_archive_bytes', 'Bytes of all segments of the archive', (gauge) =>
      gauge.set(report().bytes),
    );
    this.#gauge(
      'scoring_archive_gap_entries',
      "Journal entries that were lost to the journal's bound before they were shipped",
      (gauge) => gauge.set(report().gapEntries),
    );
  }

  /** Shows, at every scrape, the copy of the shared lists that this node holds. */
  watchLists(report: () => ListsReport): void {
    this.#gauge(
      'scoring_lists_entries',
      'Entries of shared lists that this node holds',
      (gauge) => gauge.set(report().entries),
      { ofWorkers: 'max' },
    );
    this.#gauge('scoring_lists', 'Shared lists that this node holds', (gauge) => gauge.set(report().lists), {
      ofWorkers: 'max',
    });
    this.#gauge(
      'scoring_lists_age_seconds',
      'Since this node compared its copy of the shared lists with the store',
      (gauge) => gauge.set((report().ageMs ?? 0) / 1000),
      { ofWorkers: 'max' },
    );
  }

  /** Shows, at every scrape, how the store was when it was last looked at. */
  watchStore(report: () => StoreReport): void {
    this.#gauge(
      'scoring_store_clock_offset_seconds',
      "By how much the store's clock, which decides, is ahead of this node's",
      (gauge) => gauge.set(report().clockOffsetMs / 1000),
      { ofWorkers: 'max' },
    );
    this.#gauge(
      'scoring_store_servers_failing',
      'Servers of the store that take no writes',
      (gauge) => gauge.set(report().health.filter(({ failure }) => failure !== null).length),
      { ofWorkers: 'max' },
    );
    this.#gauge(
      'scoring_store_memory_used_ratio',
      'Share of its maxmemory that a server of the store uses, where it has one',
      (gauge) => {
        for (const { server, memoryUsedShare } of report().health)
          if (memoryUsedShare !== undefined) gauge.set({ server }, memoryUsedShare);
      },
      { labels: ['server'], ofWorkers: 'max' },
    );
    const warnings = () => report().health.flatMap((server) => server.warnings);
    this.#gauge(
      'scoring_store_warnings',
      'Promises that a server of the store does not keep, or that could not be checked',
      (gauge) => {
        for (const kind of WARNING_KINDS)
          gauge.set({ kind }, warnings().filter((warning) => warning.kind === kind).length);
      },
      { labels: ['kind'], ofWorkers: 'max' },
    );
  }

  #gauge(
    name: string,
    help: string,
    collect: (gauge: Gauge) => void,
    { labels = [], ofWorkers = 'sum' }: GaugeOptions = {},
  ): void {
    new Gauge({
      name,
      help,
      labelNames: labels,
      aggregator: ofWorkers,
      registers: [this.registry],
      collect() {
        collect(this);
      },
    });
  }

  #counter<Labels extends string>(name: string, help: string, labelNames: Labels[]): Counter<Labels> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}

/** What this node saw of its trial, on all platforms. */
function figuresOf({ counts }: NodeReport): TrialFigures {
  return sumTrialCounts(counts?.trial ?? '', counts === null ? [] : [counts], null);
}
