import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Decision, ScoreAnswer } from '../decision/decision.ts';
import { VERSION } from '../sdk/version.ts';

/** Adds a gauge to a registry; `collect` sets it at every scrape. */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  collect: (gauge: Gauge) => void | Promise<void>,
  labels: readonly string[] = [],
): void {
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      return collect(this);
    },
  });
}

/** Seconds; the service answers in about a millisecond, and gives up at 0.3 s. */
const LATENCY_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

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
  readonly #waitsRefused = new Gauge({
    name: 'scoring_too_many_waits_ended_timestamp_seconds',
    help: 'When somebody was last refused to end a wait, because of how many were ended in 24 hours',
    labelNames: ['who'],
    registers: [this.registry],
  });
  readonly #limited = this.#counter('scoring_rate_limited_total', 'Requests over the rate limit', ['effect']);

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    addGauge(
      this.registry,
      'scoring_build_info',
      '1; which version of the service runs, and on which Node',
      (gauge) => gauge.set({ version: VERSION, node: process.version }, 1),
      ['version', 'node'],
    );
    // Set to 0 from the start, so that Prometheus sees the first failure as a rise.
    for (const operation of ['score', 'verdict']) {
      this.#storeErrors.inc({ operation }, 0);
      this.#shed.inc({ operation }, 0);
    }
  }

  /** The text of all metrics. */
  exposition(): Promise<string> {
    return this.registry.metrics();
  }

  request(operation: string, status: number, seconds: number): void {
    this.#requests.observe({ operation, status }, seconds);
  }

  tooManyWaitsEnded(who: string): void {
    this.#waitsRefused.set({ who }, Date.now() / 1000);
  }

  score({ clientGroup, isBot }: ScoreAnswer): void {
    this.#groups.inc({ operation: 'score', group: clientGroup });
    if (isBot) this.#bots.inc({ operation: 'score' });
  }

  verdict(decision: Decision): void {
    const { verdict, ruleVersion, rule, clientGroup, isBot, signals, ladderAfter } = decision;
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

  #counter<Labels extends string>(name: string, help: string, labelNames: Labels[]): Counter<Labels> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}
