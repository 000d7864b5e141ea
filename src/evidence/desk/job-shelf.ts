import type { PlatformName } from '../../client/client-key.ts';
import type { Documents } from '../../state/documents.ts';
import { type EvidenceJob, isUnderWay, jobAt } from './evidence-job.ts';
import type { EvidenceResult } from './evidence-task.ts';

/** What each platform keeps, so that a link to a result holds for days and the store stays small. */
const JOBS_KEPT_MAX = 40;
const KEPT_MS = 7 * 24 * 3_600_000;
const RESULT_BYTES_MAX = 2 * 1024 * 1024;

/** A word to whichever node works on a job; it looks every second. */
const CANCELLATION_KEPT_MS = 3_600_000;
const CANCELLATIONS = 'evidence-cancellations';

/** Jobs of the whole installation with their results, in the store that all nodes share. */
export class JobShelf {
  readonly #documents: Documents;
  readonly #clock: () => number;

  constructor(documents: Documents, clock: () => number) {
    this.#documents = documents;
    this.#clock = clock;
  }

  /** Newest first. */
  async list(platform: PlatformName): Promise<readonly EvidenceJob[]> {
    const jobs = await this.#documents.list<EvidenceJob>(jobsOf(platform));
    const now = this.#clock();
    return jobs.map((job) => jobAt(job, now)).toSorted((a, b) => b.askedAt - a.askedAt);
  }

  async get(platform: PlatformName, jobId: string): Promise<EvidenceJob | null> {
    const job = await this.#documents.get<EvidenceJob>(jobsOf(platform), jobId);
    return job === undefined ? null : jobAt(job, this.#clock());
  }

  /** Keeps a new job, and lets those go that are too old or too many. */
  async add(platform: PlatformName, job: EvidenceJob): Promise<void> {
    await this.put(platform, job);
    const old = (await this.list(platform)).filter(
      (one, place) => !isUnderWay(one) && (place >= JOBS_KEPT_MAX || one.askedAt < this.#clock() - KEPT_MS),
    );
    for (const { jobId } of old) await this.remove(platform, jobId);
  }

  put(platform: PlatformName, job: EvidenceJob): Promise<void> {
    return this.#documents.set(jobsOf(platform), job.jobId, job);
  }

  async remove(platform: PlatformName, jobId: string): Promise<void> {
    await this.removeResult(platform, jobId);
    await this.#documents.delete(jobsOf(platform), jobId);
  }

  removeResult(platform: PlatformName, jobId: string): Promise<void> {
    return this.#documents.delete(resultsOf(platform), jobId);
  }

  /** Throws when it is larger than what is kept. */
  async keepResult(platform: PlatformName, jobId: string, result: EvidenceResult): Promise<void> {
    if (JSON.stringify(result).length > RESULT_BYTES_MAX)
      throw new Error(`the result has more than ${RESULT_BYTES_MAX} bytes; the command line prints it whole`);
    await this.#documents.set(resultsOf(platform), jobId, result);
  }

  /** Null unless the job is done. */
  async result(platform: PlatformName, jobId: string): Promise<EvidenceResult | null> {
    return (await this.#documents.get<EvidenceResult>(resultsOf(platform), jobId)) ?? null;
  }

  /** Asks whichever node works on it to stop. */
  cancel(jobId: string): Promise<void> {
    return this.#documents.set(CANCELLATIONS, jobId, true, CANCELLATION_KEPT_MS);
  }

  async isCancelled(jobId: string): Promise<boolean> {
    return (await this.#documents.get<boolean>(CANCELLATIONS, jobId)) === true;
  }

  forgetCancellation(jobId: string): Promise<void> {
    return this.#documents.delete(CANCELLATIONS, jobId);
  }
}

function jobsOf(platform: PlatformName): string {
  return `evidence-jobs:${platform}`;
}

function resultsOf(platform: PlatformName): string {
  return `evidence-results:${platform}`;
}
