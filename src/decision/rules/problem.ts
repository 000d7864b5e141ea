import { join } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { Type } from '#base/json-schema.ts';
import { plainText, shape, type ValueOf } from '#base/shapes.ts';

export const locationSchema = shape('A place in a rule file', {
  file: plainText('Like verdicts.yaml', 'verdicts.yaml'),
  line: Type.Integer({ minimum: 1, description: 'From 1' }),
  column: Type.Integer({ minimum: 1, description: 'From 1' }),
});

export type Location = ValueOf<typeof locationSchema>;

export const RuleProblemSchema = shape('What is wrong in a rule file', {
  at: locationSchema,
  message: plainText('What, and what would be right', 'the file is missing'),
});

export type RuleProblem = ValueOf<typeof RuleProblemSchema>;

/** Formats a place like `verdicts.yaml:12:17`. */
export function formatLocation({ file, line, column }: Location): string {
  return `${file}:${line}:${column}`;
}

/** Formats a problem like `verdicts.yaml:12:17  unknown fact "waitServd"; did you mean "waitServed"?` */
export function formatProblem({ at, message }: RuleProblem): string {
  return `${formatLocation(at)}  ${message}`;
}

/** Formats the problems of a folder as lines, each with the path from the working folder. */
export function formatProblems(folder: string, problems: readonly RuleProblem[]): string {
  return problems
    .map(({ at, message }) => formatProblem({ at: { ...at, file: join(folder, at.file) }, message }))
    .join('\n');
}

/** Sorts problems in the sequence in which a person reads files. */
export function sortProblems<One extends RuleProblem>(problems: readonly One[]): readonly One[] {
  return problems.toSorted(
    (a, b) => a.at.file.localeCompare(b.at.file) || a.at.line - b.at.line || a.at.column - b.at.column,
  );
}

/**
 * Writes the end of a message about an unknown name: the nearest allowed name if one is near, otherwise all allowed
 * names.
 */
export function formatNameHint(name: string, allowed: readonly string[]): string {
  if (allowed.length === 0) return '; nothing is allowed here';
  const nearest = findNearestName(name, allowed);
  const meant = nearest === null ? findNamesWith(name, allowed) : [nearest];
  if (meant.length === 0) return `; allowed: ${allowed.join(', ')}`;
  return `; did you mean ${meant.map((one) => `"${one}"`).join(' or ')}?`;
}

const NAMES_WITH_MAX = 3;

/** Lists the few names that contain the word, as ladderLevel contains "level". */
function findNamesWith(word: string, allowed: readonly string[]): readonly string[] {
  if (word.length < 4) return [];
  const having = allowed.filter((name) => name.toLowerCase().includes(word.toLowerCase()));
  return having.length <= NAMES_WITH_MAX ? having : [];
}

/** Finds the name that was probably meant. Returns null if none is near. */
export function findNearestName(name: string, known: readonly string[]): string | null {
  const [nearest] = known
    .map((candidate) => ({ candidate, steps: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, steps }) => steps <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.steps - b.steps);
  return nearest?.candidate ?? null;
}
