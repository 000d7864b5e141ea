import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { formatCount } from '#base/count-text.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { readConfig } from '#config.ts';
import { type Location, sortProblems } from '#decision/rules/problem.ts';
import type { PromiseBreach } from '#decision/rules/promises.ts';
import { type ExampleFacts, formatExampleFacts } from '#decision/rules/proof/example.ts';
import {
  countRules,
  describeBadVersionName,
  explainCountedExtras,
  type RuleSet,
} from '#decision/rules/rule-set.ts';
import { listShortenedFileProblems } from '#decision/rules/text/own-part.ts';
import { listMisnamedFolders, loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import {
  examineRuleSet,
  type RuleRemark,
  selectVisibleSharedLists,
  type VisibleSharedLists,
} from '#workbench/authoring/desk/examine.ts';
import { EXIT_CODES, UsageError } from '#workbench/commands/exit.ts';
import { withCommandContext } from '#workbench/commands/operation-command.ts';
import { print } from '#workbench/commands/print.ts';
import { listChosenFolders, toRelativePath } from './rule-folders.ts';

const FORMATS = ['text', 'json', 'github'] as const;

type Format = (typeof FORMATS)[number];

interface CheckOptions {
  readonly format: Format;
  readonly json?: true;
  readonly lists?: true;
}

/** A remark about a rule set. Its file is a path from the working folder. */
interface RemarkWithPath extends Location {
  readonly message: string;
  /** Facts that show the problem. */
  readonly example?: ExampleFacts;
  /** The promise that the remark is about, by the name that ruleset.yaml gives it under "meant". */
  readonly promise?: PromiseBreach;
}

interface Checked {
  readonly folder: string;
  /** The number of rules, in words. Null if a file has problems. */
  readonly rules: string | null;
  readonly problems: readonly RemarkWithPath[];
  /** Remarks that do not make the check fail. */
  readonly notes: readonly RemarkWithPath[];
}

/** Adds `rules check`, which shows all problems of rule sets at once, and notes about them. */
export function addCheckCommand(rules: Command): void {
  rules
    .command('check [folders...]')
    .description(
      'list every problem of rule sets with file, line and column; without folders: of all rule sets',
    )
    .addOption(new Option('--format <format>', 'how to print').choices(FORMATS).default('text'))
    .option('--json', 'the same as --format json')
    .option('--lists', 'also check in the store whether the shared lists that rules check have entries')
    .action((folders: string[], { format, json, lists }: CheckOptions) =>
      check(folders, json === true ? 'json' : format, lists === true),
    );
}

async function check(chosen: readonly string[], format: Format, looksAtLists: boolean): Promise<void> {
  const folders = listChosenFolders(chosen);
  const skipped = chosen.length === 0 ? listSkippedFolders() : [];
  if (folders.length === 0) {
    const found = skipped.map(({ file, message }) => `\n${file}: ${message}`).join('');
    throw new UsageError(`there is no rule set in RULES_DIR; name a folder to check${found}`);
  }
  const lists = looksAtLists
    ? await withCommandContext({ lists: true }, {}, INSTALLATION_PLATFORM, async ({ parts }) =>
        selectVisibleSharedLists(parts.lists.copy, parts.clock(), INSTALLATION_PLATFORM),
      )
    : null;
  const checked = folders.map((folder) => checkFolder(folder, lists));
  const text = formatChecked(checked, skipped, format);
  if (text !== '') print(text);
  if (checked.some(({ problems }) => problems.length > 0)) process.exitCode = EXIT_CODES.findings;
}

/** Lists a note about each folder of rule files whose name is not that of a version. */
function listSkippedFolders(): readonly RemarkWithPath[] {
  const { rulesDir } = readConfig();
  return listMisnamedFolders(rulesDir).map((name) => ({
    file: toRelativePath(join(rulesDir, name)),
    line: 1,
    column: 1,
    message: `the folder is skipped: ${describeBadVersionName(name)}`,
  }));
}

/**
 * Checks a rule set. If all its files are sound, the set is examined as a whole, and its cases are read. `lists` are
 * the shared lists of a store. They are null if the store was not asked.
 */
function checkFolder(folder: string, lists: VisibleSharedLists | null = null): Checked {
  const name = toRelativePath(folder);
  const remarks = (some: readonly RuleRemark[]) => some.map((one) => toRemarkWithPath(name, one));
  const loaded = loadRuleSet(folder);
  if (!loaded.ok)
    return { folder: name, rules: null, problems: remarks(sortProblems(loaded.problems)), notes: [] };
  const { ruleSet } = loaded;
  const files = readRuleFiles(folder, []) ?? new Map<string, string>();
  const { problems, notes } = examineRuleSet(ruleSet, files, lists);
  return {
    folder: name,
    rules: formatRules(ruleSet),
    problems: remarks([...listShortenedFileProblems(files), ...problems]),
    notes: remarks(notes),
  };
}

/** Returns a remark whose file is a path from the working folder. `folder` is such a path to the rule set. */
export function toRemarkWithPath(
  folder: string,
  { at, message, example, promise }: RuleRemark,
): RemarkWithPath {
  return {
    ...at,
    file: join(folder, at.file),
    message,
    ...(example ? { example } : {}),
    ...(promise ? { promise } : {}),
  };
}

function formatChecked(
  checked: readonly Checked[],
  skipped: readonly RemarkWithPath[],
  format: Format,
): string {
  const problems = checked.flatMap((one) => one.problems);
  const notes = [...skipped, ...checked.flatMap((one) => one.notes)];
  switch (format) {
    case 'text':
      return [...skipped.map((note) => formatRemark(note, 'note: ')), ...checked.map(formatLines)].join('\n');
    case 'json':
      return JSON.stringify({ problems, notes });
    case 'github':
      return [
        ...problems.map((problem) => formatWorkflowCommand('error', problem)),
        ...notes.map((note) => formatWorkflowCommand('notice', note)),
      ].join('\n');
    default:
      return format satisfies never;
  }
}

export function formatProblemLines(problems: Checked['problems']): string {
  return problems.map((problem) => formatRemark(problem, '')).join('\n');
}

function formatLines({ folder, rules, problems, notes }: Checked): string {
  return [
    ...(problems.length === 0 ? [] : [formatProblemLines(problems)]),
    ...notes.map((note) => formatRemark(note, 'note: ')),
    `${folder}: ${formatSummary(problems.length, rules)}`,
  ].join('\n');
}

export function formatRemark({ file, line, column, message, example }: RemarkWithPath, kind: string): string {
  const shown = example === undefined ? '' : `\n    example: ${formatExampleFacts(example)}`;
  return `${file}:${line}:${column}  ${kind}${message}${shown}`;
}

function formatRules(rules: RuleSet): string {
  return `${formatCount(countRules(rules), 'rule')}, ${explainCountedExtras(rules)}`;
}

function formatSummary(problems: number, rules: string | null): string {
  const found = formatCount(problems, 'problem');
  if (rules === null) return `${found}; fix these first, conflicts between rules are checked afterwards`;
  return problems === 0 ? `sound, ${rules}` : `${found} in ${rules}`;
}

/** Formats a remark as a line that GitHub Actions shows beside the line of the file. */
function formatWorkflowCommand(level: 'error' | 'notice', remark: RemarkWithPath): string {
  const { file, line, column, message, example } = remark;
  const shown = example === undefined ? '' : `\nexample: ${formatExampleFacts(example)}`;
  const properties = `file=${escapeData(file).replaceAll(':', '%3A').replaceAll(',', '%2C')},line=${line},col=${column}`;
  return `::${level} ${properties}::${escapeData(`${message}${shown}`)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
