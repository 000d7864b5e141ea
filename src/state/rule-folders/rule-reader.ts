import { join } from 'node:path';
import { BackgroundWork, JobTimeOrMemoryExceeded } from '#base/work/background-work.ts';
import { bindFactToAttribute } from '#decision/facts/attribute.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import { toFactOverWindow } from '#decision/facts/fact.ts';
import { compileRuleSet } from '#decision/rules/evaluate/compile.ts';
import type { ParsedRules, RuleVersion } from '#decision/rules/rule-set.ts';
import type { LoadResult } from '#decision/rules/text/draft-text.ts';
import type { ReaderJobs } from './reader-thread.ts';
import type { ScannedFolder } from './scan.ts';

export interface RuleReader {
  /** Lists all versions in the folder, the oldest first. */
  scan(): Promise<readonly ScannedFolder[]>;
  load(version: RuleVersion): Promise<LoadResult>;
  close(): Promise<void>;
}

/**
 * The limits of reading a rule set. Reading a rule set and checking its holdouts takes milliseconds. Only a rule set
 * made to be hard to check comes near these limits.
 */
const LIMITS = { where: 'thread', cpuMs: 10_000, memoryMiB: 256 } as const;

const THREAD = new URL('./reader-thread.ts', import.meta.url);

/**
 * Reads, parses and checks rule sets in a thread of its own. Nodes use this reader, so that requests never wait
 * behind a draft on the disk. The reader refuses a rule set that takes too much work. Only sound rules come back from
 * the thread, as plain data, and are compiled here.
 */
export class ThreadedRuleReader implements RuleReader {
  readonly #rulesDir: string;
  readonly #thread = new BackgroundWork<ReaderJobs>(THREAD, LIMITS);

  constructor(rulesDir: string) {
    this.#rulesDir = rulesDir;
  }

  scan(): Promise<readonly ScannedFolder[]> {
    return this.#thread.run('scan', this.#rulesDir);
  }

  async load(version: RuleVersion): Promise<LoadResult> {
    try {
      const read = await this.#thread.run('load', join(this.#rulesDir, version));
      return read.ok
        ? { ok: true, ruleSet: compileRuleSet(restoreFacts(read.rules), read.digest, read.released) }
        : read;
    } catch (error) {
      if (!(error instanceof JobTimeOrMemoryExceeded)) throw error;
      const message = `it was not loaded: ${error.message} to read and prove it; "rules check ${version}" has no such limit and says more`;
      return { ok: false, problems: [{ at: { file: '.', line: 1, column: 1 }, message }] };
    }
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

/**
 * Gives the facts of rules their functions again. The list `facts`, the conditions and the reasons share the same
 * fact objects, so it is enough to go through the list.
 */
function restoreFacts(rules: ParsedRules): ParsedRules {
  for (const ref of rules.facts) {
    const declared = rules.attributes.get(ref.attribute ?? '');
    const fact = bindFactToAttribute(FACTS.get(ref.name), declared);
    if (fact === undefined) throw new Error(`there is no fact ${ref.name}`);
    Object.assign(ref, { fact: toFactOverWindow(fact, ref.windowMs) });
  }
  return rules;
}
