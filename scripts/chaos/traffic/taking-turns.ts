import { setTimeout as delay } from 'node:timers/promises';
import { atMost, countEach, type Figure, never, reported } from '../figure.ts';
import type { ScenarioRun } from '../scenario.ts';
import {
  computeLatencyPercentile,
  computePercentile,
  runUnderLoad,
  type Sample,
  selectFailed,
} from './load.ts';
import type { ServiceAccess } from './requests.ts';

/** The number of rounds is odd, so that the median is the value of one round. */
const ROUNDS = { full: 7, quick: 5 } as const;
const WINDOW_MS = { full: 10_000, quick: 4_000 } as const;

/** Work that runs beside the callers of another tenant. */
export interface WorkBeside<T> {
  /** The name of the work in reports and figures. */
  readonly what: string;
  /**
   * Begins the work. Resolves when the work is under way, with a function that ends the work and returns its result.
   */
  readonly begin: () => Promise<() => Promise<T>>;
  /** How long, in ms, the work may still have an effect after its end. */
  readonly settleMs: number;
}

/** The samples of a window without the work, those of a window beside the work, and the result of the work. */
export interface TurnRound<T> {
  readonly alone: readonly Sample[];
  readonly beside: readonly Sample[];
  readonly result: T;
}

/**
 * Measures in windows of time, alternately without and beside the work. A machine that becomes busier then affects
 * both kinds of windows.
 */
export async function runWindowsInTurn<T>(
  store: string,
  service: ServiceAccess,
  { what, begin, settleMs }: WorkBeside<T>,
  { quick, report }: ScenarioRun,
): Promise<readonly TurnRound<T>[]> {
  const size = quick ? 'quick' : 'full';
  const windowMs = WINDOW_MS[size];
  await runUnderLoad(service, () => delay(windowMs));
  const rounds: TurnRound<T>[] = [];
  while (rounds.length < ROUNDS[size]) {
    const { samples: alone } = await runUnderLoad(service, () => delay(windowMs));
    const end = await begin();
    const { samples: beside } = await runUnderLoad(service, () => delay(windowMs));
    const result = await end();
    await delay(settleMs);
    rounds.push({ alone, beside, result });
    const [without, withIt] = [alone, beside].map((samples) =>
      formatMs(computeLatencyPercentile(samples, 99)),
    );
    report(`${store}, round ${rounds.length}: p99 is ${without} without and ${withIt} beside ${what}`);
  }
  return rounds;
}

/**
 * Returns figures of the work's effect on verdicts. Beside the work, the p99 of verdicts may be up to `p99TimesMax`
 * times the p99 without it. The medians of all windows are compared, so that one window in which the machine stalled
 * decides nothing. `log` is the service's log, which says why the service refused requests.
 */
export function createTurnFigures(
  what: string,
  rounds: readonly TurnRound<unknown>[],
  p99TimesMax: number,
  log: string,
): readonly Figure[] {
  const [alone, beside] = [rounds.flatMap((round) => round.alone), rounds.flatMap((round) => round.beside)];
  const { without, withIt } = computeP99(rounds);
  const reasons = (samples: readonly Sample[]) =>
    countRefusalCauses(samples, log).map(([why, count]) => reported(`of these: ${why}`, String(count)));
  return [
    never(`verdicts refused beside ${what}, of ${beside.length}`, selectFailed(beside).length),
    ...reasons(beside),
    reported(`verdicts refused without it, of ${alone.length}`, String(selectFailed(alone).length)),
    ...reasons(alone),
    atMost(`p99 beside ${what} against that without`, withIt / without, p99TimesMax, 'x'),
    ...createP99Figures(what, rounds),
  ];
}

/** Returns the p99 without the work and the p99 beside it, as figures without a target. */
export function createP99Figures(what: string, rounds: readonly TurnRound<unknown>[]): readonly Figure[] {
  const { without, withIt } = computeP99(rounds);
  return [reported('p99 without it', formatMs(without)), reported(`p99 beside ${what}`, formatMs(withIt))];
}

/** Returns the medians of the windows' p99s, in ms. */
function computeP99(rounds: readonly TurnRound<unknown>[]) {
  const p99 = (side: 'alone' | 'beside') => {
    const windows = rounds.map((round) => computeLatencyPercentile(round[side], 99));
    return computePercentile(windows, 50);
  };
  return { without: p99('alone'), withIt: p99('beside') };
}

/**
 * Counts the causes for which verdicts were refused. A cause is taken from the service's log, or else from the
 * answer.
 */
export function countRefusalCauses(
  samples: readonly Sample[],
  log: string,
): readonly (readonly [string, number])[] {
  const logged = new Map(log.split('\n').flatMap(parseReason));
  const causes = selectFailed(samples).map(
    ({ orderRef, refusal, status }) => logged.get(orderRef) ?? refusal ?? `status ${status}`,
  );
  return [...countEach(causes)];
}

function parseReason(line: string): readonly (readonly [string, string])[] {
  if (!line.includes('"request failed"')) return [];
  const { requestId, why }: { requestId: string; why?: string } = JSON.parse(line);
  return why === undefined ? [] : [[requestId, why]];
}

function formatMs(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
