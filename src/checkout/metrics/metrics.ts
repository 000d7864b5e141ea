import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Decision, ScoreAnswer } from '#decision/decision.ts';

/** Adds a gauge to a registry. `collect` sets its value at every scrape. */
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

/** Bucket limits in seconds. The service answers in about a millisecond and gives up at 0.3 s. */
const LATENCY_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Counters by the names that dashboards and alerts use. Each has its help text, then its labels. */
const COUNTERS = {
  scoring_verdicts_total: ['Verdicts given', 'verdict', 'rule_version', 'rule'],
  scoring_client_groups_total: ['Client groups found, by operation', 'operation', 'group'],
  scoring_bot_flags_total: ['Answers with isBot true', 'operation'],
  scoring_bot_signals_total: ['Bot signals that matched in verdicts', 'signal'],
  scoring_flags_total: ['Verdicts that were recorded with a flag of flags.yaml', 'flag'],
  scoring_ladder_waits_total: ['Waits imposed, by level of the cooldown ladder', 'level'],
  scoring_outcomes_total: ['Outcome reports', 'outcome', 'effect'],
  scoring_outcomes_of_another_client_total: [
    'Outcome reports that name another client than the one who asked for the order',
  ],
  scoring_absent_hints_total: [
    'Fingerprints and IP addresses of scores that are placeholders or not public, and count as absent',
    'field',
    'why',
  ],
  scoring_unknown_attributes_total: [
    'Attributes of requests whose value does not fit the declaration in the deciding rule set, and counts as not known',
    'attribute',
    'why',
  ],
  scoring_undeclared_attributes_total: [
    'Attributes of requests that the deciding rule set does not declare, and ignores',
    'operation',
  ],
  scoring_placeholder_clients_total: [
    'Requests whose clientIdKey is a placeholder like guest or undefined, so that different payers count as one',
    'operation',
  ],
  scoring_store_errors_total: ['Requests that failed because the store could not be reached', 'operation'],
  scoring_commit_races_total: [
    'Commits that lost a race against another node and were decided again',
    'operation',
  ],
  scoring_idempotent_replays_total: [
    'Verdicts whose stored answer was given again for the same Idempotency-Key',
  ],
  scoring_shed_total: ['Requests refused because of overload', 'operation'],
  scoring_rate_limited_total: ['Requests over the rate limit', 'effect'],
} as const;

type CounterName = keyof typeof COUNTERS;

type LabelOf<Name extends CounterName> = (typeof COUNTERS)[Name] extends readonly [string, ...infer Labels]
  ? Extract<Labels[number], string>
  : never;

/** All Prometheus metrics of one process. */
export class Metrics {
  readonly registry = new Registry();

  readonly #requests = new Histogram({
    name: 'scoring_request_duration_seconds',
    help: 'Time from the first byte to the answer, rate limit delay included',
    labelNames: ['operation', 'status'],
    buckets: LATENCY_BUCKETS,
    registers: [this.registry],
  });
  readonly #counters = new Map<string, Counter>();
  readonly #waitsRefused = new Gauge({
    name: 'scoring_too_many_waits_ended_timestamp_seconds',
    help: 'When ending a wait was last refused, because too many had been ended within 24 hours',
    labelNames: ['who'],
    registers: [this.registry],
  });

  constructor() {
    for (const [name, [help, ...labelNames]] of Object.entries(COUNTERS))
      this.#counters.set(name, new Counter({ name, help, labelNames, registers: [this.registry] }));
    collectDefaultMetrics({ register: this.registry });
    // Counters start at 0, so that Prometheus sees the first failure as an increase.
    for (const operation of ['score', 'verdict']) {
      this.count('scoring_store_errors_total', { operation }, 0);
      this.count('scoring_shed_total', { operation }, 0);
    }
  }

  formatExposition(): Promise<string> {
    return this.registry.metrics();
  }

  count<Name extends CounterName>(
    name: Name,
    labels: Readonly<Record<LabelOf<Name>, string | number>>,
    by = 1,
  ): void {
    this.#counters.get(name)?.inc(labels, by);
  }

  recordRequest(operation: string, status: number, seconds: number): void {
    this.#requests.observe({ operation, status }, seconds);
  }

  noteTooManyWaitsEnded(who: string): void {
    this.#waitsRefused.set({ who }, Date.now() / 1000);
  }

  countScore({ clientGroup, isBot }: ScoreAnswer): void {
    this.#countAnswer('score', clientGroup, isBot);
  }

  countVerdict(decision: Decision): void {
    const { verdict, ruleVersion, rule, clientGroup, isBot, signals, flags = [], ladderAfter } = decision;
    this.count('scoring_verdicts_total', { verdict, rule_version: ruleVersion, rule });
    this.#countAnswer('verdict', clientGroup, isBot);
    for (const signal of signals) this.count('scoring_bot_signals_total', { signal });
    for (const flag of flags) this.count('scoring_flags_total', { flag });
    if (verdict === 'WAIT') this.count('scoring_ladder_waits_total', { level: ladderAfter.level });
  }

  #countAnswer(operation: 'score' | 'verdict', group: string, isBot: boolean): void {
    this.count('scoring_client_groups_total', { operation, group });
    if (isBot) this.count('scoring_bot_flags_total', { operation });
  }
}
