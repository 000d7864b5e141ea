import type { CredentialRef } from '#checkout/access/caller.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { DraftText } from '#decision/rules/text/draft-text.ts';
import type { ErasedClientNumbers } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import type { AskedOptions } from '#history/evidence/question.ts';

/** A question about the archive, as plain data. The same question has the same text in JSON. */
export interface EvidenceTask {
  /** The kind of a question in questions.ts. */
  readonly kind: string;
  readonly options: AskedOptions;
  /** The digests of the rule sets that the options name, by version, as they were when the question was asked. */
  readonly ruleSets: Readonly<Record<string, string>>;
  /** The platform. Null for all platforms. */
  readonly platform: PlatformName | null;
  /** The span in epoch ms: decisions from `from` on and before `to`. Null if there is no limit. */
  readonly from: number | null;
  readonly to: number | null;
  /** The moment (epoch ms) to which the figures refer. Null if all data is used. */
  readonly asOf: number | null;
}

interface EvidenceFolders {
  readonly archiveDir: string;
  /** The folder with the evidence of the task: the archive, or the segments that were fetched for the task. */
  readonly segmentsDir: string;
  readonly leftOut: readonly Segment[];
  /** Erased clients whom the archive may still hold. */
  readonly erased: ErasedClientNumbers;
  readonly rulesDir: string;
}

export interface EvidenceProcessInput {
  readonly task: EvidenceTask;
  readonly folders: EvidenceFolders;
  /** The draft that an option names. Null if all versions that options name are in RULES_DIR. */
  readonly draft: DraftText | null;
  readonly holdoutSecret: string;
  readonly formerSecret: string | null;
}

export const JOB_STATES = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;

type JobState = (typeof JOB_STATES)[number];

/** A job as every node reads it. Times are in epoch ms. */
export interface EvidenceJob {
  readonly jobId: string;
  readonly platform: PlatformName;
  readonly task: EvidenceTask;
  /** The user who asked, as the audit names it. */
  readonly askedBy: string;
  readonly credential: CredentialRef;
  readonly state: JobState;
  readonly askedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** When the job's node last reported that it still works on the job. */
  readonly seenAt: number;
  readonly progress: EvidenceProgress | null;
  /**
   * The oldest segment of decisions that the job read. Null before the job begins, and for an archive without
   * decisions.
   */
  readonly oldestRead: string | null;
  /** Why the job failed, for people. Null unless it failed. */
  readonly trouble: string | null;
}

/** How often a node reports that it still works on a job. */
export const JOB_SEEN_EVERY_MS = 1_000;

/** After this time without a report, the node is taken to be gone. */
const SILENT_MS_MAX = 30_000;

export const NODE_GONE_MESSAGE = 'the node that worked on it was stopped; ask the question again';

export const CREDENTIAL_ENDED_MESSAGE =
  'the access key or session that asked has ended; ask the question again';

/** Returns the present state of a job. A job whose node fell silent has failed. */
export function expireJob(job: EvidenceJob, now: number): EvidenceJob {
  if (!isUnderWay(job) || now - job.seenAt <= SILENT_MS_MAX) return job;
  return { ...job, state: 'failed', endedAt: job.seenAt, trouble: NODE_GONE_MESSAGE };
}

export function isUnderWay({ state }: Pick<EvidenceJob, 'state'>): boolean {
  return state === 'waiting' || state === 'running';
}

/** The progress of a job, in decisions. */
export interface EvidenceProgress {
  readonly done: number;
  readonly of: number;
}
