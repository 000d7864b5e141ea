import { withConstants } from '../../rules/folder/constant.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { FoundEdit } from './edit-search.ts';
import type { ExampleCase } from './example-case.ts';
import { type SuggestedRule, withRules } from './suggested-rule.ts';

/** A change as it is written into a draft. */
export type NamedChange = SuggestedRule | FoundEdit;

/** The files with changed constants and further rules; all else stays as it is. */
export function withChanges(files: RuleFiles, changes: readonly NamedChange[]): RuleFiles {
  const edits = changes.flatMap((change) =>
    change.kind === 'edit' ? [[change.constant, change.value] as const] : [],
  );
  // Constants are found by their places in the text, so rules are added after them.
  return withRules(
    withConstants(files, edits),
    changes.flatMap((change) => (change.kind === 'rule' ? [change] : [])),
  );
}

/** The files with a file of cases that none of them has. */
export function withCases(files: RuleFiles, cases: readonly ExampleCase[]): RuleFiles {
  let name = 'cases/suggested.yaml';
  for (let number = 2; files.has(name); number++) name = `cases/suggested-${number}.yaml`;
  return new Map([...files, [name, caseFile(cases)]]);
}

function caseFile(cases: readonly ExampleCase[]): string {
  return [
    '# yaml-language-server: $schema=../../schema/cases.schema.json',
    '',
    '# One case for each suggested change, after what a payer did, with every name made up.',
    'cases:',
    cases.map(({ yaml }) => yaml).join('\n\n'),
    '',
  ].join('\n');
}
