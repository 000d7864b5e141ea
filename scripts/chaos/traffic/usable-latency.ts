import { stoodStillMs } from '../../../test/servers/standstill.ts';
import type { Sample } from './load.ts';

/**
 * The slowest of these answers, ms, without the time in which the machine gave us no processor: a promise about
 * time is a promise about a machine that runs. Only what is over the limit is looked at so closely.
 * `watchStandstills` must have been called before.
 */
export function slowestUsableMs(
  samples: readonly Pick<Sample, 'sentAtMs' | 'answeredAtMs'>[],
  limitMs: number,
): number {
  return Math.max(0, ...samples.map((sample) => usableMs(sample, limitMs)));
}

function usableMs(
  { sentAtMs, answeredAtMs }: Pick<Sample, 'sentAtMs' | 'answeredAtMs'>,
  limitMs: number,
): number {
  const tookMs = answeredAtMs - sentAtMs;
  return tookMs <= limitMs ? tookMs : tookMs - stoodStillMs(sentAtMs, answeredAtMs);
}
