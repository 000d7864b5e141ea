import { join } from 'node:path';
import { formatCount } from '#base/count-text.ts';
import { BackgroundWork, type WorkSettings } from '#base/work/background-work.ts';
import { FairQueue } from '#base/work/fair-queue.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { formatProblem } from '#decision/rules/problem.ts';
import type { RuleVersion } from '#decision/rules/rule-set.ts';
import type { DraftText } from '#decision/rules/text/draft-text.ts';
import { explainUnreleasableDraft } from '#state/rule-folders/release.ts';
import type { UpdatedCases } from '#workbench/authoring/cases/cases.ts';
import type { RuleDiff } from '#workbench/authoring/diff/rule-diff.ts';
import { DraftRefused, type DraftToSave, type SaveDraftResult } from '#workbench/authoring/draft.ts';
import type { DraftWithOrigin } from './begun-draft.ts';
import type {
  CheckedDraft,
  DeskJobs,
  DeskReleaseObstacle,
  OpenedFolder,
  ReleasableFilesResult,
  ReleaseCheck,
} from './desk-thread.ts';
import type { VisibleSharedLists } from './examine.ts';

/** Limits of one task. A task takes less than a second, except for rule sets that are made to be hard. */
const LIMITS = {
  where: 'thread',
  cpuMs: 8000,
  memoryMiB: 256,
  idleMs: 600_000,
  givesWay: 'to callers',
} as const;

/** The limit of the wall-clock time, in ms, of one job of the desk. */
export type DeskTimeLimit = Pick<WorkSettings, 'timeMs'>;

/**
 * The limits of the queue in which platforms take turns. A platform with hard tasks delays only itself. The owner of
 * the installation always has a free thread.
 */
const TURNS = {
  atOnceMax: 3,
  ownerMax: 1,
  waitingMax: 64,
  first: { owner: INSTALLATION_PLATFORM, kept: 1 },
} as const;

/** The most rule sets that a node holds in memory for its desk. Each may be a megabyte. */
export const DRAFTS_IN_MEMORY_MAX = 16;

/**
 * The most rule sets of one platform in memory. The limit leaves room for other platforms if one sends slowly or
 * sends many rule sets.
 */
export const PLATFORM_DRAFTS_IN_MEMORY_MAX = 4;

const DRAFTS = {
  atOnceMax: DRAFTS_IN_MEMORY_MAX,
  ownerMax: PLATFORM_DRAFTS_IN_MEMORY_MAX,
  waitingMax: 0,
  first: { owner: INSTALLATION_PLATFORM, kept: 1 },
} as const;

const THREAD = new URL('./desk-thread.ts', import.meta.url);

/**
 * Opens, compares, checks and saves rule sets for platforms, which take turns. The work runs in separate threads, so
 * no request of another platform waits for it, however hard a draft is to read. The methods throw `JobTimeOrMemoryExceeded` for
 * work that exceeds its limits, and `QueueFull` if too much work waits. If an AbortSignal ends the work, they throw
 * its `reason`.
 */
export class RuleDesk {
  readonly rulesDir: string;
  readonly #threads: BackgroundWork<DeskJobs>;
  readonly #drafts = new FairQueue(DRAFTS);

  constructor(rulesDir: string, limits: DeskTimeLimit = {}) {
    this.rulesDir = rulesDir;
    this.#threads = new BackgroundWork(THREAD, { ...LIMITS, ...limits, turns: TURNS });
  }

  /**
   * Opens a version. Parts of other platforms are left out, here and in comparisons. Returns null if there is no
   * such folder.
   */
  open(owner: PlatformName, version: RuleVersion, signal?: AbortSignal): Promise<OpenedFolder | null> {
    const source = { folder: join(this.rulesDir, version), reader: owner };
    return this.#threads.run('open', source, { owner, signal });
  }

  /**
   * Compares two versions. Returns null if one of them has problems, which a folder may have got since it was loaded.
   */
  compare(
    owner: PlatformName,
    before: RuleVersion,
    after: RuleVersion | DraftText,
    signal?: AbortSignal,
  ): Promise<RuleDiff | null> {
    const sources = {
      before: join(this.rulesDir, before),
      after: typeof after === 'string' ? join(this.rulesDir, after) : after,
      reader: owner,
    };
    return this.#threads.run('compare', sources, { owner, signal });
  }

  check(
    owner: PlatformName,
    draft: DraftWithOrigin,
    lists: VisibleSharedLists | null,
    signal?: AbortSignal,
  ): Promise<CheckedDraft> {
    const task = { rulesDir: this.rulesDir, draft, lists, reader: owner };
    return this.#threads.run('check', task, { owner, signal });
  }

  /** Returns the files that would be released with a draft, including the parts that `draftOwner` may not read. */
  complete(
    owner: PlatformName,
    draft: DraftWithOrigin,
    draftOwner: PlatformName,
  ): Promise<ReleasableFilesResult> {
    return this.#threads.run('complete', { rulesDir: this.rulesDir, draft, draftOwner }, { owner });
  }

  /**
   * Rewrites the waits that the cases of a draft expect. Afterwards their lengths are those that its rules give now.
   * Returns null if the draft has problems.
   */
  rewriteCases(owner: PlatformName, draft: DraftText, signal?: AbortSignal): Promise<UpdatedCases | null> {
    return this.#threads.run('rewriteCases', draft, { owner, signal });
  }

  /** Saves a draft. Throws `DraftRefused`. */
  save(owner: PlatformName, draft: DraftToSave): Promise<SaveDraftResult> {
    return restoreRefusal(this.#threads.run('save', { rulesDir: this.rulesDir, draft }, { owner }));
  }

  /**
   * Releases the folder if it has this digest and nothing prevents the release. Throws `DraftRefused` if the folder
   * may not be written to.
   */
  release(owner: PlatformName, version: RuleVersion, digest: string): Promise<ReleaseCheck> {
    return this.#release(owner, version, digest, false);
  }

  /**
   * Checks whether `release` would release the folder, and changes nothing. The result has the reason that prevents
   * the release.
   */
  checkReleasable(owner: PlatformName, version: RuleVersion, digest: string): Promise<ReleaseCheck> {
    return this.#release(owner, version, digest, true);
  }

  #release(owner: PlatformName, version: RuleVersion, digest: string, isDryRun: boolean) {
    const folder = join(this.rulesDir, version);
    return restoreRefusal(this.#threads.run('release', { folder, digest, isDryRun }, { owner }));
  }

  /**
   * Runs the work of a request whose body is a rule set, including reading the body. Throws `QueueFull` at once if
   * there is no room.
   */
  runWithDraftInMemory<T>(owner: PlatformName, work: () => Promise<T>): Promise<T> {
    return this.#drafts.run(owner, work);
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

async function restoreRefusal<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isRefused = error instanceof Error && error.name === DraftRefused.name;
    throw isRefused ? new DraftRefused(error.message) : error;
  }
}

export function formatObstacle(version: RuleVersion, obstacle: DeskReleaseObstacle): string {
  switch (obstacle.is) {
    case 'draft name':
      return explainUnreleasableDraft(version);
    case 'released':
      return `${version} is released already`;
    case 'other files':
      return `${version} was changed or removed since you opened it; open it again`;
    case 'findings':
      return `${version} has findings; correct them first:\n${obstacle.problems.map(formatProblem).join('\n')}`;
    case 'no cases':
      return `${version} has no cases; write what it must answer, or copy the cases of the version before it`;
    case 'failed cases': {
      const cases = formatCount(obstacle.failed, 'case');
      return `${cases} of ${version} failed; correct the rules, or what the cases expect, first`;
    }
    default:
      return obstacle satisfies never;
  }
}
