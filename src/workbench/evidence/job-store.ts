import { isInstallation } from '#checkout/access/access-keys.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { QuestionAnswer } from '#history/evidence/question.ts';
import type { Documents } from '#state/documents.ts';
import { type EvidenceJob, expireJob, isUnderWay } from './evidence-task.ts';

/** The most jobs that a platform keeps. A link to a result works for days, and the store stays small. */
const JOBS_KEPT_MAX = 40;
const KEPT_MS = 7 * 24 * 3_600_000;
const RESULT_BYTES_MAX = 2 * 1024 * 1024;

/** How long a cancellation is kept. The node that works on the job checks for it every second. */
const CANCELLATION_KEPT_MS = 3_600_000;
const CANCELLATIONS = 'evidence-cancellations';

/** The index of the jobs under way. Jobs of a node that died stay in it until they expire. */
const UNDER_WAY = 'evidence-under-way';
const UNDER_WAY_KEPT_MS = 24 * 3_600_000;

type JobPlace = Pick<EvidenceJob, 'platform' | 'jobId'>;

/** The jobs of the whole installation and their results, in the store that all nodes share. */
export class EvidenceJobStore {
  readonly #documents: Documents;
  readonly #clock: () => number;

  constructor(documents: Documents, clock: () => number) {
    this.#documents = documents;
    this.#clock = clock;
  }

  /** Lists the jobs of a platform, newest first. */
  async list(platform: PlatformName): Promise<readonly EvidenceJob[]> {
    const jobs = await this.#documents.list<EvidenceJob>(getJobsName(platform));
    const now = this.#clock();
    return jobs.map((job) => expireJob(job, now)).toSorted((a, b) => b.askedAt - a.askedAt);
  }

  /**
   * Lists the jobs that a platform may see, newest first: its own, and for the owner of the installation also all
   * jobs under way.
   */
  async listVisible(platform: PlatformName): Promise<readonly EvidenceJob[]> {
    const own = await this.list(platform);
    if (!isInstallation(platform)) return own;
    const places = await this.#documents.list<JobPlace>(UNDER_WAY);
    const others = places.filter((place) => place.platform !== platform);
    const jobs = await Promise.all(others.map((place) => this.#get(place)));
    const underWay = jobs.filter((job) => job !== null).filter(isUnderWay);
    return [...own, ...underWay].toSorted((a, b) => b.askedAt - a.askedAt);
  }

  /** Finds a job. Returns null unless the platform may see it. */
  async findVisible(platform: PlatformName, jobId: string): Promise<EvidenceJob | null> {
    const own = await this.#get({ platform, jobId });
    if (own !== null || !isInstallation(platform)) return own;
    const place = await this.#documents.get<JobPlace>(UNDER_WAY, jobId);
    const job = place === undefined ? null : await this.#get(place);
    // A job stays in the index for a moment after its end.
    return job !== null && isUnderWay(job) ? job : null;
  }

  async #get({ platform, jobId }: JobPlace): Promise<EvidenceJob | null> {
    const job = await this.#documents.get<EvidenceJob>(getJobsName(platform), jobId);
    return job === undefined ? null : expireJob(job, this.#clock());
  }

  /** Stores a new job, and deletes jobs of the platform that are too old or too many. */
  async add(job: EvidenceJob): Promise<void> {
    await this.put(job);
    const { platform, jobId } = job;
    await this.#documents.set<JobPlace>(UNDER_WAY, jobId, { platform, jobId }, UNDER_WAY_KEPT_MS);
    const old = (await this.list(platform)).filter(
      (one, place) => !isUnderWay(one) && (place >= JOBS_KEPT_MAX || one.askedAt < this.#clock() - KEPT_MS),
    );
    for (const one of old) await this.remove(one);
  }

  put(job: EvidenceJob): Promise<void> {
    return this.#documents.set(getJobsName(job.platform), job.jobId, job);
  }

  /** Stores the end of a job. From then on only its platform sees the job. */
  async settle(job: EvidenceJob): Promise<void> {
    await this.put(job);
    await this.#documents.delete(UNDER_WAY, job.jobId);
  }

  async remove(job: JobPlace): Promise<void> {
    await this.removeResult(job);
    await this.#documents.delete(getJobsName(job.platform), job.jobId);
  }

  removeResult({ platform, jobId }: JobPlace): Promise<void> {
    return this.#documents.delete(getResultsName(platform), jobId);
  }

  /** Stores a result. Throws if the result is too large. */
  async keepResult({ platform, jobId }: JobPlace, result: QuestionAnswer): Promise<void> {
    if (JSON.stringify(result).length > RESULT_BYTES_MAX)
      throw new Error(`the result has more than ${RESULT_BYTES_MAX} bytes; the command line prints it whole`);
    await this.#documents.set(getResultsName(platform), jobId, result);
  }

  /** Reads a result. Returns null unless the job is done. */
  async findResult({ platform, jobId }: JobPlace): Promise<QuestionAnswer | null> {
    return (await this.#documents.get<QuestionAnswer>(getResultsName(platform), jobId)) ?? null;
  }

  /** Asks the node that works on the job to stop. */
  requestCancellation(jobId: string): Promise<void> {
    return this.#documents.set(CANCELLATIONS, jobId, true, CANCELLATION_KEPT_MS);
  }

  async isCancelled(jobId: string): Promise<boolean> {
    return (await this.#documents.get<boolean>(CANCELLATIONS, jobId)) === true;
  }

  forgetCancellation(jobId: string): Promise<void> {
    return this.#documents.delete(CANCELLATIONS, jobId);
  }
}

function getJobsName(platform: PlatformName): string {
  return `evidence-jobs:${platform}`;
}

function getResultsName(platform: PlatformName): string {
  return `evidence-results:${platform}`;
}
