import { Type } from '../../json-schema.ts';
import { editedYaml, placeOfNamed } from '../../rules/edited-yaml.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { count, type Shape, shape, word } from '../../shapes.ts';
import { runCases } from './cases.ts';
import type { CaseFailure } from './rule-case.ts';

export const ChangedLineSchema = shape('A line of a case file', {
  file: word('Like cases/ladder.yaml'),
  line: count('From 1'),
  before: Type.String({ description: 'As it is' }),
  after: Type.String({ description: 'As it would be' }),
});

export type ChangedLine = Shape<typeof ChangedLineSchema>;

export interface UpdatedCases {
  /** The texts of the case files that change, by path; comments and layout stay. */
  readonly files: RuleFiles;
  readonly lines: readonly ChangedLine[];
  /** Cases that stay as they are, because something else than the length of a wait differs. */
  readonly left: readonly CaseFailure[];
}

/**
 * The cases with the lengths of waits that the rules give now, also in the words of reasons. A case in which a
 * verdict or a rule differs stays as it is: a person has to judge that.
 */
export function updateCases(rules: RuleSet, files: RuleFiles): UpdatedCases {
  const left = new Map<string, CaseFailure>();
  // When a case turns out to stay as it is, all begin again without it.
  for (;;) {
    const found = rewritten(rules, files, left);
    if (found.stuck.length === 0) return { ...changed(files, found.files), left: [...left.values()] };
    for (const failure of found.stuck) left.set(nameOf(failure), failure);
  }
}

function rewritten(rules: RuleSet, files: RuleFiles, left: ReadonlyMap<string, CaseFailure>) {
  const done = new Set<string>();
  let now = files;
  for (;;) {
    const failures = runCases(rules, now).failures.filter((failure) => !left.has(nameOf(failure)));
    // A step that fails again after it was rewritten would do so for ever.
    const stuck = failures.filter((failure) => !isLengthOnly(failure) || done.has(stepOf(failure)));
    if (stuck.length > 0 || failures.length === 0) return { files: now, stuck };
    for (const failure of failures) {
      done.add(stepOf(failure));
      now = withLength(now, failure);
    }
  }
}

function isLengthOnly({ differences }: CaseFailure): boolean {
  return differences.every(({ member, expected, seen }) => {
    if (member === 'waitSeconds') return typeof expected === 'number' && typeof seen === 'number';
    return member === 'reason' && wordsOf(expected) === wordsOf(seen);
  });
}

/** A reason without its seconds and levels. */
function wordsOf(reason: unknown): string {
  return String(reason).replaceAll(/\d+/g, '#');
}

function withLength(files: RuleFiles, { caseName, at, step, differences }: CaseFailure): RuleFiles {
  const text = files.get(at.file) ?? '';
  const place = placeOfNamed(text, 'cases', caseName);
  const edits = differences.flatMap(({ member, seen }) =>
    typeof seen === 'number' || typeof seen === 'string'
      ? [{ path: ['cases', place, 'steps', step - 1, 'expect', member], value: seen }]
      : [],
  );
  return new Map([...files, [at.file, editedYaml(text, edits)]]);
}

function changed(before: RuleFiles, after: RuleFiles): Pick<UpdatedCases, 'files' | 'lines'> {
  const files = new Map([...after].filter(([file, text]) => before.get(file) !== text));
  const lines = [...files].flatMap(([file, text]) => {
    const was = (before.get(file) ?? '').split('\n');
    return text.split('\n').flatMap((line, place) => {
      const old = was[place] ?? '';
      return old === line ? [] : [{ file, line: place + 1, before: old, after: line }];
    });
  });
  return { files, lines };
}

function nameOf({ caseName, at }: CaseFailure): string {
  return JSON.stringify([at.file, caseName]);
}

function stepOf(failure: CaseFailure): string {
  return `${nameOf(failure)} ${failure.step}`;
}
