import type { Credential } from '#checkout/access/caller.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { DraftText } from '#decision/rules/text/draft-text.ts';
import type { ErasedClients } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import type { AskedOptions } from '#history/evidence/question.ts';

/** A question to the archive, as plain data: the same question is the same text. */
export interface EvidenceTask {
  /** Of a question in questions.ts. */
  readonly kind: string;
  readonly options: AskedOptions;
  /** The digests of the rule sets that the options name, by version, as they were when it was asked. */
  readonly ruleSets: Readonly<Record<string, string>>;
  /** Null for all platforms. */
  readonly platform: PlatformName | null;
  /** Decisions from this time on and before that one, epoch ms; null for all. */
  readonly from: number | null;
  readonly to: number | null;
  /** As known at this moment, epoch ms; null for all that is known. */
  readonly asOf: number | null;
}

interface EvidenceFolders {
  readonly archiveDir: string;
  /** The evidence of the task: the archive, or those of its segments that were fetched for it. */
  readonly segmentsDir: string;
  readonly leftOut: readonly Segment[];
  /** Erased clients whom the archive may still hold. */
  readonly erased: ErasedClients;
  readonly rulesDir: string;
}

export interface EvidenceWork {
  readonly task: EvidenceTask;
  readonly folders: EvidenceFolders;
  /** The draft that an option names, where one is kept that differs from RULES_DIR. */
  readonly draft: DraftText | null;
  readonly holdoutSecret: string;
  readonly formerSecret: string | null;
}

export const JOB_STATES = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;

type JobState = (typeof JOB_STATES)[number];

/** A job as every node reads it. Times are epoch ms. */
export interface EvidenceJob {
  readonly jobId: string;
  readonly platform: PlatformName;
  readonly task: EvidenceTask;
  /** Who asked, as the audit names it. */
  readonly askedBy: string;
  readonly credential: Credential;
  readonly state: JobState;
  readonly askedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** When its node last reported that it still works on it. */
  readonly seenAt: number;
  readonly progress: EvidenceProgress | null;
  /** The oldest segment of decisions that it read; null before it began, and of an archive without decisions. */
  readonly oldestRead: string | null;
  /** Why it failed, for people; null unless it did. */
  readonly trouble: string | null;
}

/** A node reports every second that it still works on a job. */
export const SEEN_EVERY_MS = 1_000;

/** After this long without a report its node is gone. */
const SILENT_MS_MAX = 30_000;

export const NODE_GONE = 'the node that worked on it was stopped; ask again';

export const ASKER_GONE = 'the access key or session that asked has ended; ask again';

/** The job as it is now: failed when its node fell silent. */
export function expireJob(job: EvidenceJob, now: number): EvidenceJob {
  if (!isUnderWay(job) || now - job.seenAt <= SILENT_MS_MAX) return job;
  return { ...job, state: 'failed', endedAt: job.seenAt, trouble: NODE_GONE };
}

export function isUnderWay({ state }: Pick<EvidenceJob, 'state'>): boolean {
  return state === 'waiting' || state === 'running';
}

/** How far the work is, in decisions. */
export interface EvidenceProgress {
  readonly done: number;
  readonly of: number;
}
