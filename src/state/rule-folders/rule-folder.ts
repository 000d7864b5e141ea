import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { listComparisons } from '#decision/rules/condition.ts';
import { compileRuleSet } from '#decision/rules/evaluate/compile.ts';
import { RuleEngine } from '#decision/rules/evaluate/engine.ts';
import { RULE_FILE_NAMES, RULE_SET_FILES_MAX, type RuleFiles } from '#decision/rules/parse/parse.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import {
  groupRulesByFile,
  isRuleVersion,
  listConditions,
  type ParsedRules,
} from '#decision/rules/rule-set.ts';
import { computeDigest, type LoadResult, parseAndProveRules } from '#decision/rules/text/draft-text.ts';
import { listReleaseDifferences } from './release.ts';
import { explainSystemError, RELEASE_FILE, requireSystemErrorCode } from './rules-dir.ts';

/** The content of a folder: sound rules that are not compiled yet, or all their problems. */
type ReadResult =
  | {
      readonly ok: true;
      readonly rules: ParsedRules;
      /** The sha256 over all files that decide, in hex. */
      readonly digest: string;
      readonly released: boolean;
    }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

/** Loads the rule set in a folder such as `rules/p2.v10`, or returns all its problems. */
export function loadRuleSet(folder: string): LoadResult {
  const read = readFolder(folder);
  return read.ok ? { ok: true, ruleSet: compileRuleSet(read.rules, read.digest, read.released) } : read;
}

/**
 * Reads a rule set as `loadRuleSet` does, without compiling the functions that decide. Throws if json-rules-engine
 * refuses a rule.
 */
export function readRuleSet(folder: string): ReadResult {
  const read = readFolder(folder);
  // The engine is tried here and not on a thread that answers requests.
  if (read.ok) for (const rules of groupRulesByFile(read.rules)) new RuleEngine(rules, read.rules.facts);
  return read;
}

/**
 * The most comparisons in a rule set. A node receives sound rules from the reader's thread, and this limit keeps the
 * work of receiving them to some milliseconds.
 */
const COMPARISONS_MAX = 5000;

function readFolder(folder: string): ReadResult {
  const problems: RuleProblem[] = [];
  const files = readRuleFiles(folder, problems);
  if (files === null || problems.length > 0) return { ok: false, problems };
  const version = basename(folder);
  const release = readText(folder, RELEASE_FILE, problems);
  if (release !== null) problems.push(...listReleaseDifferences(release, version, files));
  const result = parseAndProveRules(version, files);
  if (!result.ok) return { ok: false, problems: [...problems, ...result.problems] };
  if (problems.length > 0) return { ok: false, problems };
  const comparisons = listComparisons(listConditions(result.rules)).length;
  if (comparisons > COMPARISONS_MAX) {
    const message = `the rule set has ${comparisons} comparisons; a node loads at most ${COMPARISONS_MAX}`;
    return { ok: false, problems: [createProblem('ruleset.yaml', message)] };
  }
  return { ok: true, rules: result.rules, digest: computeDigest(files), released: release !== null };
}

/**
 * Lists the folders in `rulesDir` that hold rule files but are not named like a version. Nobody reads these folders.
 */
export function listMisnamedFolders(rulesDir: string): readonly string[] {
  return readdirSync(rulesDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !isRuleVersion(entry.name))
    .map((entry) => entry.name)
    .filter((name) => RULE_FILE_NAMES.some((file) => existsSync(join(rulesDir, name, file))))
    .toSorted();
}

/**
 * Reads the texts of all rule files, lists and cases in a folder. Returns null if there is no such folder. Adds a
 * problem to `problems` for each file that cannot be read, and for each link that leads out of the folder of rule
 * sets.
 */
export function readRuleFiles(folder: string, problems: RuleProblem[]): RuleFiles | null {
  const before = problems.length;
  const place = resolvePlace(folder, '.', problems);
  if (place === null || !statSync(place).isDirectory()) {
    if (problems.length === before) problems.push(createProblem('.', 'there is no such folder'));
    return null;
  }
  const files = new Map<string, string>();
  const paths = ['.', 'cases', 'lists'].flatMap((below) => listYamlFiles(folder, below, problems));
  // One file more than allowed is read, so that the parser reports that there are too many.
  for (const path of paths.slice(0, RULE_SET_FILES_MAX + 1)) {
    const text = readText(folder, path, problems);
    if (text !== null) files.set(path, text);
  }
  return files;
}

/** A larger file is refused before it is read. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;

function listYamlFiles(folder: string, below: string, problems: RuleProblem[]): readonly string[] {
  const place = resolvePlace(folder, below, problems);
  if (place === null || !statSync(place).isDirectory()) return [];
  try {
    return readdirSync(place, { withFileTypes: true })
      .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && /\.ya?ml$/.test(entry.name))
      .map((entry) => (below === '.' ? entry.name : `${below}/${entry.name}`));
  } catch (error) {
    problems.push(createUnreadableProblem(below, error));
    return [];
  }
}

/**
 * Reads the text of a file. Returns null if it is missing. Adds a problem to `problems` if the file cannot be read or
 * is not UTF-8.
 */
function readText(folder: string, path: string, problems: RuleProblem[]): string | null {
  const place = resolvePlace(folder, path, problems);
  if (place === null) return null;
  try {
    const found = statSync(place);
    if (!found.isFile()) return null;
    if (found.size > FILE_BYTES_MAX) {
      problems.push(createProblem(path, `the file is larger than ${FILE_BYTES_MAX / 1024 / 1024} MiB`));
      return null;
    }
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(place));
  } catch (error) {
    const why =
      error instanceof TypeError
        ? createProblem(path, 'the file is not UTF-8 text')
        : createUnreadableProblem(path, error);
    problems.push(why);
    return null;
  }
}

/** Resolves links of a path below a folder. Returns null if there is nothing at the path, or if it may not be read. */
function resolvePlace(folder: string, path: string, problems: RuleProblem[]): string | null {
  try {
    const place = realpathSync(join(folder, path));
    if (place.startsWith(realpathSync(dirname(folder)) + sep)) return place;
    problems.push(
      createProblem(
        path,
        'it is a link that leads out of the folder of rule sets; replace it by what it points to',
      ),
    );
    return null;
  } catch (error) {
    if (requireSystemErrorCode(error) !== 'ENOENT') problems.push(createUnreadableProblem(path, error));
    return null;
  }
}

function createUnreadableProblem(path: string, error: unknown): RuleProblem {
  return createProblem(path, `it cannot be read: ${explainSystemError(requireSystemErrorCode(error))}`);
}

function createProblem(file: string, message: string): RuleProblem {
  return { at: { file, line: 1, column: 1 }, message };
}
