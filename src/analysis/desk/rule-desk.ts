import { join } from 'node:path';
import { LimitedThread } from '../../limited-thread.ts';
import type { Constant } from '../../rules/folder/constant.ts';
import type { DraftText } from '../../rules/folder/draft.ts';
import { DraftRefused } from '../../rules/folder/draft-refused.ts';
import type { DraftToSave, SavedDraft } from '../../rules/folder/save-draft.ts';
import type { Problem } from '../../rules/problem.ts';
import type { RuleVersion } from '../../rules/rule-set.ts';
import type { RuleCoverage } from '../cases/rule-coverages.ts';
import type { RuleDiff } from '../diff/rule-diffs.ts';
import type { KnownLists } from '../shared-list-notes.ts';
import type { Remark } from './examine.ts';
import type { ReleaseObstacle } from './release-version.ts';

/** A version's folder as somebody opens it. */
export interface OpenedFolder {
  /** Long texts are cut, and say so. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** False: a text was cut, so that nothing may be saved in its place. */
  readonly isWhole: boolean;
  /** Over the files as they lie there, sound or not; null when something cannot be read. */
  readonly filesDigest: string | null;
  readonly problems: readonly Problem[];
  /** Of what lies there now; null when it is not sound. */
  readonly digest: string | null;
  readonly coverage: RuleCoverage | null;
  /** What may be varied, as it is written; empty when it is not sound. */
  readonly constants: readonly Constant[];
}

/** What is to be told about a draft as it stands. */
export interface CheckedDraft {
  /** Null when it is not sound file by file; a node would refuse it. */
  readonly digest: string | null;
  /** When it is not sound, in what; otherwise what stands in the way of a release. */
  readonly problems: readonly Remark[];
  readonly notes: readonly Remark[];
  /** Null when it is not sound. */
  readonly coverage: RuleCoverage | null;
  /** What may be varied, as it is written; empty when it is not sound. */
  readonly constants: readonly Constant[];
}

export type DeskTask =
  | { readonly kind: 'open'; readonly folder: string }
  | { readonly kind: 'compare'; readonly before: RulesSource; readonly after: RulesSource }
  | { readonly kind: 'check'; readonly draft: DraftText; readonly lists: KnownLists | null }
  | { readonly kind: 'save'; readonly rulesDir: string; readonly draft: DraftToSave }
  | { readonly kind: 'release'; readonly folder: string; readonly digest: string };

/** Somebody looked at other files than those that lie there now. */
export type DeskObstacle = ReleaseObstacle | { readonly is: 'other files' };

/** A folder, or a draft that lies in none. */
export type RulesSource = string | DraftText;

export type DeskReply =
  /** Null when there is no such folder. */
  | { readonly kind: 'open'; readonly opened: OpenedFolder | null }
  /** Null when one of the two is not sound any more. */
  | { readonly kind: 'compare'; readonly diff: RuleDiff | null }
  | { readonly kind: 'check'; readonly checked: CheckedDraft }
  | { readonly kind: 'save'; readonly saved: SavedDraft }
  /** Null when it is released now. */
  | { readonly kind: 'release'; readonly obstacle: DeskObstacle | null }
  | { readonly kind: 'refused'; readonly message: string };

/** Every task takes less than a second, except for what is made to be hard. */
const LIMITS = { cpuMs: 8000, memoryMiB: 256 } as const;

/** A node has as many rule sets at hand for its desk as it takes; each may be a megabyte. */
export const DESK_TURNS_MAX = 16;

/** Of one platform: one that sends slowly, or much at once, leaves room for the others. */
export const PLATFORM_TURNS_MAX = 4;

/** Too many wait for the desk already. */
export class DeskBusy extends Error {
  override readonly name = 'DeskBusy';
}

const THREAD = new URL('./desk-thread.ts', import.meta.url);

/**
 * Opens, compares, checks and keeps rule sets, in a thread of its own: a draft may be as hard to read as it
 * likes, and no request waits for it. What takes too much throws ThreadLimitExceeded.
 */
export class RuleDesk {
  readonly #rulesDir: string;
  readonly #thread = new LimitedThread<DeskTask, DeskReply>(THREAD, LIMITS);
  /** The platform of each that is under way. */
  readonly #turns: string[] = [];

  constructor(rulesDir: string) {
    this.#rulesDir = rulesDir;
  }

  /** Null when there is no such folder. */
  async open(version: RuleVersion): Promise<OpenedFolder | null> {
    const reply = await this.#thread.run({ kind: 'open', folder: join(this.#rulesDir, version) });
    return reply.kind === 'open' ? reply.opened : null;
  }

  /** Null when one of the two is not sound any more. */
  async compare(before: RuleVersion, after: RuleVersion | DraftText): Promise<RuleDiff | null> {
    const reply = await this.#thread.run({
      kind: 'compare',
      before: join(this.#rulesDir, before),
      after: typeof after === 'string' ? join(this.#rulesDir, after) : after,
    });
    return reply.kind === 'compare' ? reply.diff : null;
  }

  async check(draft: DraftText, lists: KnownLists | null): Promise<CheckedDraft> {
    const reply = await this.#thread.run({ kind: 'check', draft, lists });
    if (reply.kind === 'check') return reply.checked;
    throw unexpected(reply);
  }

  /** Throws DraftRefused. */
  async save(draft: DraftToSave): Promise<SavedDraft> {
    const reply = await this.#thread.run({ kind: 'save', rulesDir: this.#rulesDir, draft });
    if (reply.kind === 'save') return reply.saved;
    throw unexpected(reply);
  }

  /**
   * Releases what lies there now, when that has the digest; otherwise gives what stands in the way. A folder that may not
   * be written to throws DraftRefused.
   */
  async release(version: RuleVersion, digest: string): Promise<DeskObstacle | null> {
    const folder = join(this.#rulesDir, version);
    const reply = await this.#thread.run({ kind: 'release', folder, digest });
    if (reply.kind === 'release') return reply.obstacle;
    throw unexpected(reply);
  }

  /** Around work of a platform that brings a rule set along, its reading included. Throws DeskBusy. */
  async turn<T>(platform: string, work: () => Promise<T>): Promise<T> {
    const own = this.#turns.filter((one) => one === platform);
    if (this.#turns.length >= DESK_TURNS_MAX || own.length >= PLATFORM_TURNS_MAX)
      throw new DeskBusy(`${this.#turns.length} are under way, ${own.length} of them of ${platform}`);
    this.#turns.push(platform);
    try {
      return await work();
    } finally {
      this.#turns.splice(this.#turns.indexOf(platform), 1);
    }
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

function unexpected(reply: DeskReply): Error {
  return reply.kind === 'refused'
    ? new DraftRefused(reply.message)
    : new Error(`the thread did something else: ${reply.kind}`);
}
