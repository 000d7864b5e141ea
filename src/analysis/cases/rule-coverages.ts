import { LRUCache } from 'lru-cache';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { Problem } from '../../rules/problem.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { runCases } from './cases.ts';
import type { Coverage } from './coverage.ts';

const COVERAGES_KEPT_MAX = 20;

/** What the cases of a rule set say. */
export interface RuleCoverage {
  readonly problems: readonly Problem[];
  readonly passed: number;
  readonly failed: number;
  readonly coverage: Coverage;
}

/** What the cases of rule sets say, worked out once for a digest: it takes some tens of milliseconds. */
export class RuleCoverages {
  readonly #kept = new LRUCache<string, RuleCoverage>({ max: COVERAGES_KEPT_MAX });

  of(ruleSet: RuleSet, files: RuleFiles): RuleCoverage {
    const known = this.#kept.get(ruleSet.digest);
    if (known !== undefined) return known;
    const coverage = coverageOf(ruleSet, files);
    this.#kept.set(ruleSet.digest, coverage);
    return coverage;
  }
}

function coverageOf(ruleSet: RuleSet, files: RuleFiles): RuleCoverage {
  const { problems, passed, failures, coverage } = runCases(ruleSet, files);
  return { problems, passed, failed: failures.length, coverage };
}
