import type { RuleFiles } from '../../rules/parse/parse.ts';
import { type Problem, sortProblems } from '../../rules/problem.ts';
import type { Example } from '../../rules/proof/relations.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { parseCases } from '../cases/parse-cases.ts';
import { prove } from '../prove.ts';
import { type KnownLists, sharedListNotes } from '../shared-list-notes.ts';

/** A remark about a rule set, with facts that show it when there are any. */
export type Remark = Problem & { readonly example?: Example | null };

export interface Examined {
  readonly problems: readonly Remark[];
  /** Worth knowing, and no reason to fail. */
  readonly notes: readonly Remark[];
}

/**
 * The remarks about a rule set whose files are sound: what can be proved of its rules together, and whether its cases
 * can be read. `lists` are those of a store; null when it was not asked.
 */
export function examine(ruleSet: RuleSet, files: RuleFiles, lists: KnownLists | null): Examined {
  const caseProblems: Problem[] = [];
  parseCases(ruleSet, files, caseProblems);
  const { findings, notes } = prove(ruleSet, files);
  return {
    problems: sortProblems([...findings, ...caseProblems]),
    notes: sortProblems([...notes, ...sharedListNotes(ruleSet, lists)]),
  };
}
