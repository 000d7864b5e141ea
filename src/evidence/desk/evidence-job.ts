import type { PlatformName } from '../../client/client-key.ts';
import type { EvidenceProgress } from './desk-process.ts';
import type { EvidenceTask } from './evidence-task.ts';

export const JOB_STATES = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** Something that is worked out, as every node may read it. Times are epoch ms. */
export interface EvidenceJob {
  readonly jobId: string;
  /** Whose it is. */
  readonly platform: PlatformName;
  readonly task: EvidenceTask;
  /** The key that asked, by its id. */
  readonly keyId: string;
  readonly state: JobState;
  readonly askedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** When its node last said that it is still at it. */
  readonly seenAt: number;
  readonly progress: EvidenceProgress | null;
  /** Why it failed, for people; null unless it did. */
  readonly trouble: string | null;
}

/** A node says every second that it is still at a job. */
export const SEEN_EVERY_MS = 1_000;

/** Longer without a word, and its node is gone. */
const SILENT_MS_MAX = 30_000;

export const NODE_GONE = 'the node that worked on it was stopped; ask again';

export const KEY_ENDED = 'the access key that asked was revoked or has expired; ask again with another';

/** The job as it is by now: one whose node fell silent has failed. */
export function jobAt(job: EvidenceJob, now: number): EvidenceJob {
  if (!isUnderWay(job) || now - job.seenAt <= SILENT_MS_MAX) return job;
  return { ...job, state: 'failed', endedAt: job.seenAt, trouble: NODE_GONE };
}

export function isUnderWay({ state }: Pick<EvidenceJob, 'state'>): boolean {
  return state === 'waiting' || state === 'running';
}
