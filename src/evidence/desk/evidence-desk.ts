import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type AccessKey, INSTALLATION } from '../../access/access-keys.ts';
import { erasedClients } from '../../archive/archive.ts';
import type { PlatformName } from '../../client/client-key.ts';
import type { DraftText } from '../../rules/folder/draft.ts';
import type { Store } from '../../state/store.ts';
import { WorkElsewhere } from '../../work/work-elsewhere.ts';
import type { EvidenceWorks } from './desk-process.ts';
import { type EvidenceJob, isUnderWay, NODE_GONE, SEEN_EVERY_MS } from './evidence-job.ts';
import type { EvidenceFolders, EvidenceResult, EvidenceTask, EvidenceWork } from './evidence-task.ts';
import { JobShelf } from './job-shelf.ts';

export interface EvidenceDeskParts {
  /** Null for a node that keeps no archive. */
  readonly archiveDir: string | null;
  readonly rulesDir: string;
  /** Of the fleet: it says which clients are held out of which rules. */
  readonly signalSecret: string;
  readonly store: Pick<Store, 'documents' | 'unshippedErasures'>;
  /** Epoch ms. */
  readonly clock: () => number;
  /** What cannot be kept does not end the work; somebody should hear of it. */
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Who asks: a key, whose platform keeps the job. */
export type EvidenceAsker = Pick<AccessKey, 'id' | 'platform'>;

/** This node has as much to work out as it takes. */
export class EvidenceDeskBusy extends Error {
  override readonly name = 'EvidenceDeskBusy';
}

/** There is nothing that evidence could be worked out from. */
export class NoArchive extends Error {
  override readonly name = 'NoArchive';
}

interface Entry {
  job: EvidenceJob;
  readonly asker: EvidenceAsker;
  /** A rule set that lies in no folder stays in the memory of this node, for as long as the work takes. */
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

/** One is worked on at a time, and this many may wait for it. */
export const WAITING_MAX = 4;

/** Of one platform, with the one that is worked on: a platform that asks for much leaves room for the others. */
export const PLATFORM_JOBS_MAX = 3;

/** The same question within this time is answered with what was worked out before. */
const FRESH_MS = 10 * 60_000;

const PROCESS = new URL('./desk-process.ts', import.meta.url);

/**
 * Works out evidence for users of the console: one job at a time, in a process of its own with limits on time and
 * memory. Jobs and results are kept in the store for some days, so that any node shows and cancels them.
 */
export class EvidenceDesk {
  readonly shelf: JobShelf;
  readonly #parts: EvidenceDeskParts;
  readonly #entries: Entry[] = [];
  readonly #process = new WorkElsewhere<EvidenceWorks>(PROCESS, LIMITS);
  #working: Promise<void> | null = null;
  #closed = false;

  constructor(parts: EvidenceDeskParts) {
    this.#parts = parts;
    this.shelf = new JobShelf(parts.store.documents, parts.clock);
  }

  /**
   * The job for a task: a new one, or one that is under way or was done just now. `draft` is the rule set of the task
   * where it lies in no folder. Throws EvidenceDeskBusy or NoArchive.
   */
  async ask(asker: EvidenceAsker, task: EvidenceTask, draft: DraftText | null = null): Promise<EvidenceJob> {
    const now = this.#parts.clock();
    const before = await this.#before(asker, task, now);
    if (before !== null) return before;
    this.#archiveDir();
    const own = this.#entries.filter((entry) => entry.asker.platform === asker.platform);
    if (this.#closed || this.#entries.length > WAITING_MAX || own.length >= PLATFORM_JOBS_MAX)
      throw new EvidenceDeskBusy(`${this.#entries.length} are under way`);
    const job: EvidenceJob = {
      jobId: randomUUID().slice(0, 13),
      task,
      keyId: asker.id,
      state: 'waiting',
      askedAt: now,
      startedAt: null,
      endedAt: null,
      seenAt: now,
      progress: null,
      trouble: null,
    };
    const entry: Entry = { job, asker, draft, stopping: new AbortController() };
    this.#entries.push(entry);
    await this.shelf.add(asker.platform, job).catch((error: unknown) => {
      // It would have no end, and keep its place for ever.
      this.#drop(entry);
      throw error;
    });
    this.#working ??= this.#workAll();
    return job;
  }

  /** Stops what is under way, on whichever node, and forgets what is over. */
  async remove({ platform }: EvidenceAsker, { jobId, state }: EvidenceJob): Promise<void> {
    if (!isUnderWay({ state })) return this.shelf.remove(platform, jobId);
    await this.shelf.cancel(jobId);
    // It may have been kept since the job was read.
    await this.shelf.removeResult(platform, jobId);
    this.#entries.find(({ job }) => job.jobId === jobId)?.stopping.abort();
    // It may have ended since it was read; its node looks once more after that, before nobody does.
    const now = await this.shelf.get(platform, jobId);
    if (now?.state === 'done') await this.shelf.remove(platform, jobId);
  }

  /**
   * Drops the backtests that may name orders of a platform, since one of its clients was erased: its own and
   * those of the whole installation.
   */
  async forgetOrders(platform: PlatformName): Promise<void> {
    for (const keeper of new Set([platform, INSTALLATION])) {
      const backtests = (await this.shelf.list(keeper)).filter(({ task }) => task.kind === 'backtest');
      for (const job of backtests) await this.remove({ id: job.keyId, platform: keeper }, job);
    }
  }

  /** Stops all work; resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { stopping } of this.#entries) stopping.abort();
    await this.#working;
    await this.#process.close();
  }

  async #before(asker: EvidenceAsker, task: EvidenceTask, now: number): Promise<EvidenceJob | null> {
    const question = JSON.stringify(task);
    const jobs = await this.shelf.list(asker.platform);
    const isFresh = ({ state, endedAt }: EvidenceJob) =>
      isUnderWay({ state }) || (state === 'done' && now - (endedAt ?? 0) < FRESH_MS);
    return jobs.find((job) => isFresh(job) && JSON.stringify(job.task) === question) ?? null;
  }

  #drop(entry: Entry): void {
    const place = this.#entries.indexOf(entry);
    if (place !== -1) this.#entries.splice(place, 1);
  }

  async #folders(): Promise<EvidenceFolders> {
    const { rulesDir, store } = this.#parts;
    return { archiveDir: this.#archiveDir(), erased: await erasedClients(store), rulesDir };
  }

  #archiveDir(): string {
    const { archiveDir } = this.#parts;
    if (archiveDir !== null && existsSync(archiveDir)) return archiveDir;
    throw new NoArchive('there is no archive on this node');
  }

  async #workAll(): Promise<void> {
    const beat = setInterval(() => this.#beat().catch(this.#untold), SEEN_EVERY_MS);
    for (let [entry] = this.#entries; entry !== undefined; [entry] = this.#entries) {
      await this.#work(entry);
      this.#drop(entry);
    }
    clearInterval(beat);
    this.#working = null;
  }

  async #work(entry: Entry): Promise<void> {
    const { clock } = this.#parts;
    const { draft } = entry;
    const { task, jobId } = entry.job;
    const { signal } = entry.stopping;
    entry.job = { ...entry.job, state: 'running', startedAt: clock() };
    const onProgress = (progress: EvidenceJob['progress']) => {
      entry.job = { ...entry.job, progress };
    };
    try {
      await this.#tell(entry);
      const { signalSecret: holdoutSecret } = this.#parts;
      const work: EvidenceWork = { task, folders: await this.#folders(), draft, holdoutSecret };
      const result = await this.#process.run('answer', work, { onProgress, signal });
      entry.job = { ...entry.job, state: await this.#keep(entry, result) };
    } catch (error) {
      const trouble = error instanceof Error ? error.message : String(error);
      if (this.#closed) entry.job = { ...entry.job, state: 'failed', trouble: NODE_GONE };
      else if (signal.aborted) entry.job = { ...entry.job, state: 'cancelled' };
      else entry.job = { ...entry.job, state: 'failed', trouble };
    }
    entry.job = { ...entry.job, endedAt: clock() };
    await this.#tell(entry).catch(this.#untold);
    await this.#lookBack(entry).catch(this.#untold);
    await this.shelf.forgetCancellation(jobId).catch(this.#untold);
  }

  /** Whoever cancels a job does so before removing its result: what is kept behind that is removed here. */
  async #keep({ asker: { platform }, job: { jobId } }: Entry, result: EvidenceResult) {
    await this.shelf.keepResult(platform, jobId, result);
    if (!(await this.shelf.isCancelled(jobId))) return 'done';
    await this.shelf.removeResult(platform, jobId);
    return 'cancelled';
  }

  /** Whoever cancelled before the job was told to be done could not see that it was, and took its result away. */
  async #lookBack(entry: Entry): Promise<void> {
    if (entry.job.state !== 'done' || !(await this.shelf.isCancelled(entry.job.jobId))) return;
    entry.job = { ...entry.job, state: 'cancelled' };
    await this.#tell(entry);
  }

  /** Tells of every job that this node is still at it, and hears whether another node was asked to stop it. */
  async #beat(): Promise<void> {
    for (const entry of [...this.#entries]) {
      if (await this.shelf.isCancelled(entry.job.jobId)) entry.stopping.abort();
      if (isUnderWay(entry.job)) await this.#tell(entry);
    }
  }

  async #tell(entry: Entry): Promise<void> {
    entry.job = { ...entry.job, seenAt: this.#parts.clock() };
    await this.shelf.put(entry.asker.platform, entry.job);
  }

  readonly #untold = (error: unknown): void => {
    this.#parts.onTrouble('what evidence comes to cannot be kept in the store', error);
  };
}
