import type { Candidate } from './rollout.ts';

/** A part of a candidate's trial in which the arms stay the same: it ends when the mode, a share of the draw or the active version changes. */
export interface Stage {
  readonly trial: string;
  /** Epoch ms. */
  readonly since: number;
}

/** The stage that a candidate is in. Clients who changed arms with a new share are counted from zero. */
export function stageOf({ trial, version, mode, percent, stageSince }: Candidate): Stage {
  return { trial: `${trial}/${version}/${mode}/${percent}/${stageSince}`, since: stageSince };
}
