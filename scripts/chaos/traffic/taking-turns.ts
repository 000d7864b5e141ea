import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure, never, reported } from '../figure.ts';
import type { ServiceNode } from '../processes/service-node.ts';
import type { ScenarioRun } from '../scenario.ts';
import { failed, latencyPercentile, type Sample } from './load.ts';
import { loadDuring } from './load-during.ts';

const ROUNDS = { full: 5, quick: 3 } as const;
const WINDOW_MS = { full: 10_000, quick: 5_000 } as const;

/** Something that is done beside another's callers. */
export interface WorkBeside<T> {
  /** What it is called in reports and figures. */
  readonly what: string;
  /** Resolves once it is under way; what it gives ends it. */
  readonly begin: () => Promise<() => Promise<T>>;
  /** How long it may still have an effect when it is over. */
  readonly settleMs: number;
}

/** Verdicts that were asked for without the work and beside it, and what it gave in each round. */
export interface TakenTurns<T> {
  readonly alone: readonly Sample[];
  readonly beside: readonly Sample[];
  readonly results: readonly T[];
}

/** Windows without and with the work take turns, so that a machine that becomes busier meets both. */
export async function takeTurns<T>(
  store: string,
  service: ServiceNode,
  { what, begin, settleMs }: WorkBeside<T>,
  { quick, report }: ScenarioRun,
): Promise<TakenTurns<T>> {
  const size = quick ? 'quick' : 'full';
  const windowMs = WINDOW_MS[size];
  await loadDuring(service, () => delay(windowMs));
  const [alone, beside, results]: [Sample[], Sample[], T[]] = [[], [], []];
  for (let round = 0; round < ROUNDS[size]; round++) {
    alone.push(...(await loadDuring(service, () => delay(windowMs))).samples);
    const end = await begin();
    beside.push(...(await loadDuring(service, () => delay(windowMs))).samples);
    results.push(await end());
    await delay(settleMs);
    report(
      `${store}, round ${round + 1}: p99 ${percentiles(alone, beside, 99).join(' without, ')} with ${what}`,
    );
  }
  return { alone, beside, results };
}

/** What the verdicts suffered: beside the work their p99 may be so many times as long. */
export function turnFigures(
  store: string,
  what: string,
  { alone, beside }: TakenTurns<unknown>,
  p99TimesMax: number,
): readonly Figure[] {
  const times = latencyPercentile(beside, 99) / latencyPercentile(alone, 99);
  const [median, p99] = [percentiles(alone, beside, 50), percentiles(alone, beside, 99)];
  return [
    never(`${store}: refused of ${beside.length} verdicts beside ${what}`, failed(beside).length),
    reported(`${store}: of ${alone.length} without it`, String(failed(alone).length)),
    atMost(`${store}: p99 beside ${what} against that without`, times, p99TimesMax, 'x'),
    reported(`${store}: median, p99 without it`, `${median[0]}, ${p99[0]}`),
    reported(`${store}: median, p99 beside it`, `${median[1]}, ${p99[1]}`),
  ];
}

function percentiles(alone: readonly Sample[], beside: readonly Sample[], percent: number) {
  return [alone, beside].map((samples) => `${latencyPercentile(samples, percent).toFixed(1)} ms`);
}
