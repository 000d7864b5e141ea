import { isMap, isNode, isPair, isScalar, isSeq, type Pair, stringify, visit } from 'yaml';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { YamlFile } from '#decision/rules/parse/yaml-file.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';

/**
 * Leaves out the part of a rule set that a platform may not read: the sections and cases of other platforms. The
 * first line of a shortened file says so. Returns the same map if nothing is left out.
 */
export function excludeForeignParts(files: RuleFiles, platform: string): RuleFiles {
  const own = new Map(
    [...files].flatMap(([path, text]) => {
      const kept = keepOwnText(path, text, platform);
      return kept === null ? [] : [[path, kept] as const];
    }),
  );
  return [...files].every(([path, text]) => own.get(path) === text) ? files : own;
}

/** Returns null if nothing is left of the file. */
function keepOwnText(path: string, text: string, platform: string): string | null {
  const part = findPlatformItemsMember(path, platform);
  return part === null ? text : leaveOut(path, text, part);
}

/** The member of a file whose items belong to single platforms. */
export interface PlatformItemsMember {
  readonly member: string;
  /** The word for the items in messages. */
  readonly what: 'sections' | 'cases';
  /** Whether the platform may read the item. */
  readonly isOwn: (item: unknown) => boolean;
}

/**
 * Finds the part of a file that belongs to single platforms. Returns null if all of the file belongs to everybody.
 */
export function findPlatformItemsMember(path: string, platform: string): PlatformItemsMember | null {
  if (path === 'ruleset.yaml') return { member: 'platforms', what: 'sections', isOwn: isSectionOf(platform) };
  if (path.startsWith('cases/')) return { member: 'cases', what: 'cases', isOwn: isCaseOf(platform) };
  return null;
}

function isSectionOf(platform: string) {
  return (item: unknown) => isPair(item) && isScalar(item.key) && item.key.value === platform;
}

/** A case without a platform belongs to all platforms. */
function isCaseOf(platform: string) {
  return (item: unknown) =>
    isMap(item) && (!item.has('platform') || String(item.get('platform')) === platform);
}

const NOTE_START = '# Not shown: ';

/** The line that says what was left out, wherever somebody has moved it. */
const NOTE =
  /^# Not shown: (?:(?:sections|cases) of other platforms, \d|this file is no sound YAML, and may).*(?:\r?\n|$)/gm;

/** Removes the line that says what was left out. */
export function excludeShorteningNote(text: string): string {
  return text.replace(NOTE, '');
}

/**
 * Finds files that have only the part that one platform may read. A version with such a file lacks the parts of other
 * platforms.
 */
export function listShortenedFileProblems(files: RuleFiles): readonly RuleProblem[] {
  return [...files].flatMap(([path, text]) => {
    const [note] = text.matchAll(NOTE);
    if (note === undefined) return [];
    const line = text.slice(0, note.index).split('\n').length;
    const message =
      'this file may lack parts of other platforms, because it was copied from what one platform may read; propose the draft in the console, and its release puts them back, or put them back here and remove this line';
    return [{ at: { file: path, line, column: 1 }, message }];
  });
}

function leaveOut(path: string, text: string, { member, what, isOwn }: PlatformItemsMember): string | null {
  const problems: RuleProblem[] = [];
  // This is a copy, because all readers of a text share the parsed nodes.
  const root = new YamlFile(path, text, problems).root?.clone();
  if (problems.length > 0)
    return `${NOTE_START}this file is no sound YAML, and may have ${what} of other platforms.\n`;
  if (!isMap(root)) return text;
  const at = root.items.findIndex(({ key }) => isScalar(key) && key.value === member);
  const found = root.items[at]?.value;
  if (!isMap(found) && !isSeq(found)) return text;
  const own = found.items.filter(isOwn);
  const hidden = found.items.length - own.length;
  if (hidden === 0) return text;
  if (own.length === 0 && isSeq(found)) return null;
  const note = `${NOTE_START}${what} of other platforms, ${hidden} in all. The release of a proposed draft puts them back.\n`;
  found.items.splice(0, Infinity, ...own);
  // All comments are removed, because each may be about a removed item above or below it.
  visit(found, (_, node) => {
    if (isNode(node)) Object.assign(node, { comment: null, commentBefore: null });
  });
  if (root.flow === true) return note + stringify(root);
  const kept = stringify({ [member]: found }, { lineWidth: 0 });
  return note + text.slice(0, findStart(root.items[at])) + kept + text.slice(findStart(root.items[at + 1]));
}

/**
 * Returns the offset at which a member of a file begins. If the file has no such member, returns the end of the file.
 */
function findStart(pair: Pair | undefined): number {
  return (isNode(pair?.key) ? pair.key.range?.[0] : undefined) ?? Number.POSITIVE_INFINITY;
}
