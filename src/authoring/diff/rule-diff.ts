import { LRUCache } from 'lru-cache';
import { type RuleSet, ruleVersion } from '../../rules/rule-set.ts';
import { list, named, type Shape, shape, word } from '../../shapes.ts';
import { diffRuleSets, type RuleDifference, RuleDifferenceSchema } from './differences.ts';
import { type DiffExamples, diffExamples, diffExamplesWithin, FOUND } from './examples.ts';

export const RuleDiffSchema = named(
  'RuleDiff',
  shape('In what two versions differ', {
    before: ruleVersion,
    after: ruleVersion,
    differences: list(RuleDifferenceSchema, 'Part by part; comments, layout and descriptions do not count'),
    ...FOUND,
    note: word('For people: what the examples are, or that there are none'),
  }),
);

export type RuleDiff = Shape<typeof RuleDiffSchema>;

/** As long as it takes; most take less than a second. */
export function ruleDiff(before: RuleSet, after: RuleSet): RuleDiff {
  const differences = diffRuleSets(before, after);
  return told(before, after, differences, differences.length === 0 ? ALIKE : diffExamples(before, after));
}

const ALIKE: DiffExamples = { examples: [], searched: true };

function told(
  { version: before }: RuleSet,
  { version: after }: RuleSet,
  differences: readonly RuleDifference[],
  found: DiffExamples,
): RuleDiff {
  const note = differences.length === 0 ? `${before} and ${after} decide alike.` : noteOn(found);
  return { before, after, differences, ...found, note };
}

function noteOn({ examples, searched }: DiffExamples) {
  if (examples.length > 0) {
    const rest = searched ? '' : ' Not everything could be decided, so there may be others.';
    return `Answered differently, for example (facts not named are those of an ordinary first request).${rest}`;
  }
  return searched
    ? 'No payer is answered differently, now or later; names of rules and reasons do not count.'
    : 'No payer was found whom the two answer differently, and not every one could be ruled out.';
}

/** A search on a busy node is ended after this. */
const SEARCH_MS_MAX = 3000;

const DIFFS_KEPT_MAX = 20;

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
    const isAlike = differences.length === 0;
    const found = isAlike ? ALIKE : await diffExamplesWithin(before, after, SEARCH_MS_MAX);
    return told(before, after, differences, found);
  }
}
