import { LRUCache } from 'lru-cache';
import type { RuleSet, RuleVersion } from '../../rules/rule-set.ts';
import { diffRuleSets } from './diff.ts';
import { type DiffExample, diffExamplesWithin } from './examples.ts';
import type { RuleDifference } from './rule-difference.ts';

/** The search for examples takes less than a second, and is ended after this on a busy node. */
const SEARCH_MS_MAX = 3000;

const DIFFS_KEPT_MAX = 20;

/** How two versions differ, and payers whom they answer differently. */
export interface RuleDiff {
  readonly before: RuleVersion;
  readonly after: RuleVersion;
  readonly differences: readonly RuleDifference[];
  readonly examples: readonly DiffExample[];
  /** False: time was up before everything was tried. */
  readonly searched: boolean;
}

/** Diffs of the last pairs that were asked for; a second request for the same pair waits for the same search. */
export class RuleDiffs {
  readonly #kept = new LRUCache<string, Promise<RuleDiff>>({ max: DIFFS_KEPT_MAX });

  of(before: RuleSet, after: RuleSet): Promise<RuleDiff> {
    const key = `${before.digest} ${after.digest}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const diff = this.#search(before, after);
    this.#kept.set(key, diff);
    const forget = () => this.#kept.delete(key);
    // What a busy node did not finish may be asked for again.
    diff.then(({ searched }) => searched || forget(), forget);
    return diff;
  }

  async #search(before: RuleSet, after: RuleSet): Promise<RuleDiff> {
    const differences = diffRuleSets(before, after);
    const found =
      differences.length === 0
        ? { examples: [], searched: true }
        : await diffExamplesWithin(before, after, SEARCH_MS_MAX);
    return { before: before.version, after: after.version, differences, ...found };
  }
}
