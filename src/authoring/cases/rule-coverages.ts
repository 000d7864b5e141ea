import { LRUCache } from 'lru-cache';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { PLAIN } from '../explain/trace-text.ts';
import { runCases, traceFailure } from './cases.ts';
import type { RuleCoverage } from './coverage.ts';
import { failureLines } from './failure-text.ts';

const COVERAGES_KEPT_MAX = 20;

const FAILURES_TOLD_MAX = 20;

/** What the cases of rule sets say, worked out once for a digest: it takes some tens of milliseconds. */
export class RuleCoverages {
  readonly #kept = new LRUCache<string, Promise<RuleCoverage>>({ max: COVERAGES_KEPT_MAX });

  of(ruleSet: RuleSet, files: RuleFiles): Promise<RuleCoverage> {
    const known = this.#kept.get(ruleSet.digest);
    if (known !== undefined) return known;
    const coverage = coverageOf(ruleSet, files);
    this.#kept.set(ruleSet.digest, coverage);
    coverage.catch(() => this.#kept.delete(ruleSet.digest));
    return coverage;
  }
}

async function coverageOf(ruleSet: RuleSet, files: RuleFiles): Promise<RuleCoverage> {
  const { problems, passed, failures, coverage } = runCases(ruleSet, files);
  const told = failures.slice(0, FAILURES_TOLD_MAX).map(async (failure) => {
    const trace = await traceFailure(ruleSet, failure);
    const [, ...lines] = failureLines(failure, trace, ruleSet, '', PLAIN);
    return { caseName: failure.caseName, at: failure.at, lines };
  });
  return { problems, passed, failed: failures.length, failures: await Promise.all(told), coverage };
}
