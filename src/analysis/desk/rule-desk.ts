import { join } from 'node:path';
import { LimitedThread } from '../../limited-thread.ts';
import type { Constant } from '../../rules/folder/constant.ts';
import type { Problem } from '../../rules/problem.ts';
import type { RuleVersion } from '../../rules/rule-set.ts';
import type { RuleCoverage } from '../cases/rule-coverages.ts';
import type { RuleDiff } from '../diff/rule-diffs.ts';

/** A version's folder as somebody opens it. */
export interface OpenedFolder {
  /** Long texts are cut, and say so. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly problems: readonly Problem[];
  /** Of what lies there now; null when it is not sound. */
  readonly digest: string | null;
  readonly coverage: RuleCoverage | null;
  /** What may be varied, as it is written; empty when it is not sound. */
  readonly constants: readonly Pick<Constant, 'path' | 'text'>[];
}

export type DeskTask =
  | { readonly kind: 'open'; readonly folder: string }
  | { readonly kind: 'compare'; readonly before: string; readonly after: string };

export type DeskReply =
  /** Null when there is no such folder. */
  | { readonly kind: 'open'; readonly opened: OpenedFolder | null }
  /** Null when one of the two is not sound any more. */
  | { readonly kind: 'compare'; readonly diff: RuleDiff | null };

/** Both take less than a second, except for what is made to be hard. */
const LIMITS = { timeMs: 8000, memoryMiB: 256 } as const;

const THREAD = new URL('./desk-thread.ts', import.meta.url);

/**
 * Opens and compares rule sets as they lie on the disk, in a thread of its own: a draft may be as hard to
 * read as it likes, and no request waits for it. What takes too much throws ThreadLimitExceeded.
 */
export class RuleDesk {
  readonly #rulesDir: string;
  readonly #thread = new LimitedThread<DeskTask, DeskReply>(THREAD, LIMITS);

  constructor(rulesDir: string) {
    this.#rulesDir = rulesDir;
  }

  /** Null when there is no such folder. */
  async open(version: RuleVersion): Promise<OpenedFolder | null> {
    const reply = await this.#thread.run({ kind: 'open', folder: join(this.#rulesDir, version) });
    return reply.kind === 'open' ? reply.opened : null;
  }

  /** Null when one of the two is not sound any more. */
  async compare(before: RuleVersion, after: RuleVersion): Promise<RuleDiff | null> {
    const folders = { before: join(this.#rulesDir, before), after: join(this.#rulesDir, after) };
    const reply = await this.#thread.run({ kind: 'compare', ...folders });
    return reply.kind === 'compare' ? reply.diff : null;
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}
