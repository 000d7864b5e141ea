import { randomUUID } from 'node:crypto';
import { NamedError } from '#base/named-error.ts';
import { BackgroundWork } from '#base/work/background-work.ts';
import { FairQueue } from '#base/work/fair-queue.ts';
import { AccessKeys, INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { DraftText } from '#decision/rules/text/draft-text.ts';
import { Archive, readUnshippedErasedClientNumbers } from '#history/archive/archive.ts';
import { isArchivedElsewhere } from '#history/archive/archive-home.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { withSnapshotFiles } from '#history/archive/snapshot.ts';
import type { QuestionAnswer } from '#history/evidence/question.ts';
import { findQuestion } from '#history/evidence/questions.ts';
import { createReadSegmentFilter, createSpanSegmentFilter } from '#history/evidence/source/evidence.ts';
import type { Store } from '#state/store.ts';
import type { RoleMapping } from '#workbench/access/roles.ts';
import { Sessions } from '#workbench/access/sessions.ts';
import type { EvidenceProcessJobs } from './desk-process.ts';
import {
  CREDENTIAL_ENDED_MESSAGE,
  type EvidenceJob,
  type EvidenceTask,
  isUnderWay,
  JOB_SEEN_EVERY_MS,
  NODE_GONE_MESSAGE,
} from './evidence-task.ts';
import { EvidenceJobStore } from './job-store.ts';

interface EvidenceDeskParts {
  /** Reads the archive. Null on a node that keeps no archive. */
  readonly past: ArchiveReader | null;
  readonly rulesDir: string;
  /** The fleet's secret, which decides which clients are held out of which rules. */
  readonly signalSecret: string;
  /** The former secret. Null if it was not changed. */
  readonly signalSecretPrevious?: string | null;
  readonly store: Pick<Store, 'documents' | 'registers' | 'unshippedErasures'>;
  /** The roles that people have by OIDC_ROLES. If missing, people have no roles. */
  readonly roles?: readonly RoleMapping[];
  /** The time in epoch ms. */
  readonly clock: () => number;
  /** Is called when a result cannot be kept. The work continues. */
  readonly onTrouble: (message: string, error: unknown) => void;
}

export type EvidenceAsker = Pick<Caller, 'actor' | 'credential' | 'platform'>;

/** The node has as much work as it accepts. */
export class EvidenceDeskBusy extends NamedError {
  /** Whether the platform that asks has too many jobs waiting. Otherwise all platforms together have too many. */
  readonly isOfOwn: boolean;

  constructor(isOfOwn: boolean) {
    super('as many questions wait as may');
    this.isOfOwn = isOfOwn;
  }
}

/** There is no archive from which evidence could be computed. The message says why, for people. */
export class NoArchive extends NamedError {}

interface Entry {
  job: EvidenceJob;
  /** A draft that the task names. It is only in this node's memory, and only while the work lasts. */
  readonly draft: DraftText | null;
  readonly stopping: AbortController;
}

const LIMITS = {
  where: 'process',
  timeMs: 15 * 60_000,
  memoryMiB: 1024,
  idleMs: 60_000,
  givesWay: 'to everybody',
} as const;

/** The most jobs of one platform that may wait, in addition to the current one. */
export const PLATFORM_WAITING_MAX = 3;

/** The most jobs of all platforms that may wait. Each may have a draft of a megabyte in memory. */
export const ALL_WAITING_MAX = 32;

/** One job runs at a time, and the platforms take turns. A job of the installation's owner always comes next. */
const TURNS = {
  atOnceMax: 1,
  ownerMax: 1,
  waitingMax: PLATFORM_WAITING_MAX,
  allWaitingMax: ALL_WAITING_MAX,
  first: { owner: INSTALLATION_PLATFORM, kept: 0 },
} as const;

/** The same question within this time (ms) gets the earlier result, as long as the archive has only grown since. */
const FRESH_MS = 10 * 60_000;

const PROCESS = new URL('./desk-process.ts', import.meta.url);

/**
 * Computes evidence for users of the console. One job runs at a time, in a separate process with limits on time and
 * memory. Jobs and results are kept in the store for some days, so any node can show and cancel them.
 */
export class EvidenceDesk {
  readonly jobStore: EvidenceJobStore;
  readonly #parts: EvidenceDeskParts;
  readonly #sessions: Sessions;
  readonly #turns = new FairQueue(TURNS);
  readonly #entries = new Map<Entry, Promise<void>>();
  readonly #process = new BackgroundWork<EvidenceProcessJobs>(PROCESS, LIMITS);
  #closed = false;

  constructor(parts: EvidenceDeskParts) {
    this.#parts = parts;
    this.jobStore = new EvidenceJobStore(parts.store.documents, parts.clock);
    const { store, clock, roles = [] } = parts;
    this.#sessions = new Sessions(store.documents, new AccessKeys(store.documents, clock), roles, clock);
  }

  /**
   * Returns the job for a task: a new one, or one that is under way or was done just now. `draft` is the rule set of
   * the task if it is kept as a draft. Throws `EvidenceDeskBusy` or `NoArchive`.
   */
  async findOrAddJob(
    { actor, credential, platform }: EvidenceAsker,
    task: EvidenceTask,
    draft: DraftText | null = null,
  ): Promise<EvidenceJob> {
    const now = this.#parts.clock();
    const before = await this.#before(platform, task, now);
    if (before !== null) return before;
    await this.#past();
    if (this.#closed || this.#turns.isFull(platform))
      throw new EvidenceDeskBusy(this.#turns.isOwnerFull(platform));
    const job: EvidenceJob = {
      jobId: randomUUID().slice(0, 13),
      platform,
      task,
      askedBy: actor.text,
      credential,
      state: 'waiting',
      askedAt: now,
      startedAt: null,
      endedAt: null,
      seenAt: now,
      oldestRead: null,
      progress: null,
      trouble: null,
    };
    const entry: Entry = { job, draft, stopping: new AbortController() };
    const kept = this.jobStore.add(job);
    this.#entries.set(entry, this.#live(entry, kept));
    await kept;
    return job;
  }

  /** Stops a job that is under way, on whichever node, or deletes a job that has ended. */
  async stopOrDeleteJob(job: EvidenceJob): Promise<void> {
    const { jobId, platform } = job;
    if (!isUnderWay(job)) return this.jobStore.remove(job);
    await this.jobStore.requestCancellation(jobId);
    // The result may have been kept since the job was read.
    await this.jobStore.removeResult(job);
    for (const entry of this.#entries.keys()) if (entry.job.jobId === jobId) entry.stopping.abort(CANCELLED);
    // The job may have ended since it was read. Its node checks for a cancellation once more after the end.
    const now = await this.jobStore.findVisible(platform, jobId);
    if (now?.state === 'done') await this.jobStore.remove(now);
  }

  /**
   * Deletes jobs and results that may name orders of a platform as examples, because one of its clients was erased.
   * These are jobs of the platform and of the whole installation.
   */
  async deleteJobsNamingOrders(platform: PlatformName): Promise<void> {
    for (const keeper of new Set([platform, INSTALLATION_PLATFORM])) {
      const jobs = await this.jobStore.list(keeper);
      for (const job of jobs.filter(({ task }) => findQuestion(task.kind)?.namesOrders !== false))
        await this.stopOrDeleteJob(job);
    }
  }

  /** Stops all work. Resolves when no work is left. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { stopping } of this.#entries.keys()) stopping.abort(NODE_GONE_MESSAGE);
    await Promise.all(this.#entries.values());
    await this.#process.close();
  }

  async #before(platform: PlatformName, task: EvidenceTask, now: number): Promise<EvidenceJob | null> {
    const question = JSON.stringify(task);
    const jobs = await this.jobStore.list(platform);
    const isFresh = ({ state, endedAt, oldestRead }: EvidenceJob) =>
      isUnderWay({ state }) ||
      (state === 'done' && now - (endedAt ?? 0) < FRESH_MS && oldestRead === this.#oldest(task));
    return jobs.find((job) => JSON.stringify(job.task) === question && isFresh(job)) ?? null;
  }

  /**
   * Returns the segment with the first decisions that a task reads. It identifies the archive: no other archive has
   * this segment, and a merge or an erasure replaces it. Returns null if there are no decisions. A local archive is
   * read from disk each time, because somebody may have replaced the folder.
   */
  #oldest(task: EvidenceTask): string | null {
    const { past } = this.#parts;
    if (past === null) return null;
    const { segments } = new Archive(past.folder).read();
    const read = [...segments.values()]
      .filter(({ table }) => table === 'decisions')
      .filter(createSpanSegmentFilter(task));
    return read.toSorted((a, b) => a.from - b.from || (a.name < b.name ? -1 : 1))[0]?.name ?? null;
  }

  async #past(): Promise<ArchiveReader> {
    const { past, store } = this.#parts;
    if (past === null) throw new NoArchive(NOWHERE);
    if (await isArchivedElsewhere(store.registers, past.folder)) throw new NoArchive(NOT_THIS_STORES);
    return past;
  }

  async #live(entry: Entry, kept: Promise<void>): Promise<void> {
    const { stopping, job } = entry;
    const { signal } = stopping;
    const beat = setInterval(() => this.#beat(entry).catch(this.#reportUnkept), JOB_SEEN_EVERY_MS);
    // If the store did not accept a job, the job leaves the queue at once.
    kept.catch((error: unknown) => stopping.abort(error));
    try {
      await this.#turns.run(job.platform, () => kept.then(() => this.#work(entry)), signal);
    } catch (error) {
      entry.job = { ...entry.job, ...toFailedState(error, signal) };
    }
    clearInterval(beat);
    await kept.then(() => this.#settle(entry)).catch(() => {});
    this.#entries.delete(entry);
  }

  async #work(entry: Entry): Promise<void> {
    const { clock, signalSecret: holdoutSecret, rulesDir, store } = this.#parts;
    const { signalSecretPrevious: formerSecret = null } = this.#parts;
    const { draft } = entry;
    const { signal } = entry.stopping;
    const { task } = entry.job;
    const oldestRead = this.#oldest(task);
    entry.job = { ...entry.job, state: 'running', startedAt: clock(), oldestRead };
    await this.#tell(entry);
    const onProgress = (progress: EvidenceJob['progress']) => {
      entry.job = { ...entry.job, progress };
    };
    const past = await this.#past();
    const erased = await readUnshippedErasedClientNumbers(store);
    const reads = findQuestion(task.kind)?.reads ?? 'allTimes';
    const result = await withSnapshotFiles(
      past.openToEnd,
      createReadSegmentFilter(reads, task),
      ({ folder, leftOut }) => {
        const folders = { archiveDir: past.folder, segmentsDir: folder, leftOut, erased, rulesDir };
        return this.#process.run(
          'answer',
          { task, folders, draft, holdoutSecret, formerSecret },
          { onProgress, signal },
        );
      },
    );
    entry.job = { ...entry.job, state: await this.#keep(entry.job, result) };
  }

  async #settle(entry: Entry): Promise<void> {
    entry.job = { ...entry.job, endedAt: this.#parts.clock() };
    await this.jobStore.settle(entry.job).catch(this.#reportUnkept);
    await this.#lookBack(entry).catch(this.#reportUnkept);
    await this.jobStore.forgetCancellation(entry.job.jobId).catch(this.#reportUnkept);
  }

  /**
   * Keeps a result unless the job was cancelled. A cancellation is written before the result is removed, so a result
   * that was kept after that removal is removed here.
   */
  async #keep(job: EvidenceJob, result: QuestionAnswer) {
    await this.jobStore.keepResult(job, result);
    if (!(await this.jobStore.isCancelled(job.jobId))) return 'done';
    await this.jobStore.removeResult(job);
    return 'cancelled';
  }

  /**
   * Marks a finished job as cancelled if somebody cancelled it before it was marked as done. That person could not
   * know that the job was done, and removed its result.
   */
  async #lookBack(entry: Entry): Promise<void> {
    if (entry.job.state !== 'done' || !(await this.jobStore.isCancelled(entry.job.jobId))) return;
    entry.job = { ...entry.job, state: 'cancelled' };
    await this.#tell(entry);
  }

  /**
   * Reports that this node still works on the job. Stops the job if somebody cancelled it at another node, or if the
   * user who asked for it lost the right to it.
   */
  async #beat(entry: Entry): Promise<void> {
    const { jobId, credential, platform } = entry.job;
    if (await this.jobStore.isCancelled(jobId)) entry.stopping.abort(CANCELLED);
    if (!(await this.#sessions.isGranted(credential, platform, 'rules')))
      entry.stopping.abort(CREDENTIAL_ENDED_MESSAGE);
    if (isUnderWay(entry.job)) await this.#tell(entry);
  }

  async #tell(entry: Entry): Promise<void> {
    entry.job = { ...entry.job, seenAt: this.#parts.clock() };
    await this.jobStore.put(entry.job);
  }

  readonly #reportUnkept = (error: unknown): void => {
    this.#parts.onTrouble('the result of evidence cannot be kept in the store', error);
  };
}

const NOWHERE = 'This node has no archive, because ARCHIVE_DIR is off.';
const NOT_THIS_STORES =
  "ARCHIVE_DIR of this node is not the archive that the store's decisions are in; set it to that one, or if that archive is lost, run state forget-archive.";

const CANCELLED = 'cancelled';

/** Returns the state of a job that did not complete. */
function toFailedState(error: unknown, signal: AbortSignal): Pick<EvidenceJob, 'state' | 'trouble'> {
  if (signal.reason === CANCELLED) return { state: 'cancelled', trouble: null };
  return { state: 'failed', trouble: error instanceof Error ? error.message : String(error) };
}
