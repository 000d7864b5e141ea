import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { formatCount } from '#base/count-text.ts';
import type { Location } from '#decision/rules/problem.ts';
import { formatProblems } from '#decision/rules/problem.ts';
import { explainCountedExtras, type RuleSet } from '#decision/rules/rule-set.ts';
import { loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { listCaseValuesUnknownToRules } from '#workbench/authoring/cases/case-remarks.ts';
import {
  type CasesRunResult,
  runCases,
  traceFailure,
  type UpdatedCases,
  updateCaseWaits,
} from '#workbench/authoring/cases/cases.ts';
import type { Coverage, CoveredShare } from '#workbench/authoring/cases/coverage.ts';
import { formatFailureLines } from '#workbench/authoring/cases/expectations.ts';
import { formatFileLine, type PaintText } from '#workbench/authoring/explain/explanation-text.ts';
import { EXIT_CODES, UsageError } from '#workbench/commands/exit.ts';
import { markTone, print } from '#workbench/commands/print.ts';
import { formatRemark, toRemarkWithPath } from './check.ts';
import { listChosenFolders, toRelativePath } from './rule-folders.ts';

interface TestOptions {
  readonly minCoverage?: string;
  readonly update?: true;
  readonly json?: true;
}

export function addTestCommand(rules: Command): void {
  rules
    .command('test [versions...]')
    .description(
      'run the cases of rule sets, and show what they leave untested; without versions: all rule sets',
    )
    .option(
      '--min-coverage <percent>',
      'fail when fewer percent of the rules decide in a case; conditions are shown but not counted',
    )
    .option('--update', 'update the waits that the cases of drafts expect to those that the rules give now')
    .option('--json', 'print one JSON object')
    .action((versions: string[], options: TestOptions) => runTests(versions, options));
}

async function runTests(
  versions: readonly string[],
  { minCoverage, update: isUpdate, json }: TestOptions,
): Promise<void> {
  const minPercent = minCoverage === undefined ? 0 : parsePercent(minCoverage);
  const folders = listChosenFolders(versions);
  const updates = isUpdate === true ? folders.flatMap(update) : [];
  const runs = folders.map((folder) => run(folder));
  const reports = runs.map(({ report }) => report);
  if (json === true)
    print(
      JSON.stringify({
        reports: await Promise.all(runs.map(toJsonReport)),
        ...(isUpdate === true ? { updated: updates.flatMap(({ lines }) => lines) } : {}),
      }),
    );
  else {
    const texts = await Promise.all(runs.map((one) => describe(one, minPercent, markTone)));
    print([...updates.map(formatUpdatedCases), ...texts].join('\n\n'));
  }
  if (reports.some((report) => !isFine(report, minPercent))) process.exitCode = EXIT_CODES.findings;
}

function parsePercent(text: string): number {
  const percent = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && percent <= 100) return percent;
  throw new UsageError(`--min-coverage must be a percentage from 0 to 100, like 90, not "${text}"`);
}

interface Updated extends Pick<UpdatedCases, 'lines' | 'written' | 'left'> {
  readonly folder: string;
}

/**
 * Rewrites the cases in which only the lengths of waits differ. A rule set with problems is skipped, because running
 * its cases shows them.
 */
function update(folder: string): readonly Updated[] {
  const loaded = loadRuleSet(folder);
  if (!loaded.ok) return [];
  const { files, lines, ...cases } = updateCaseWaits(loaded.ruleSet, readRuleFiles(folder, []) ?? new Map());
  const name = toRelativePath(folder);
  if (files.size > 0 && loaded.ruleSet.released)
    throw new UsageError(
      `${name} is released, so its files and cases never change; start a new version: rules new`,
    );
  for (const [file, text] of files) writeFileSync(join(folder, file), text);
  const placed = lines.map((line) => ({ ...line, file: join(name, line.file) }));
  return [{ ...cases, folder: name, lines: placed }];
}

function formatUpdatedCases({ folder, lines, written, left }: Updated): string {
  const wrote = `${folder}: ${written === 0 ? 'no case' : formatCount(written, 'case')} rewritten`;
  const others = `${formatCount(left.length, 'case')} not rewritten, because more than the length of a wait differs`;
  const texts = lines.map(
    ({ file, line, before, after }) => `${file}:${line}\n- ${before.trim()}\n+ ${after.trim()}`,
  );
  return [...texts, left.length === 0 ? wrote : `${wrote}; ${others}`].join('\n\n');
}

interface FolderReport {
  readonly folder: string;
  readonly problems: readonly string[];
  /** Remarks on values in the cases that no rule sees. They do not make the test fail. */
  readonly notes: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly failures: CasesRunResult['failures'];
  /** Null if nothing could be run. */
  readonly coverage: Coverage | null;
}

interface Run {
  readonly report: FolderReport;
  readonly rules: RuleSet | null;
}

function run(folder: string): Run {
  const name = toRelativePath(folder);
  const loaded = loadRuleSet(folder);
  if (!loaded.ok) return createUnsoundRun(name, formatProblems(name, loaded.problems));
  const files = readRuleFiles(folder, []) ?? new Map<string, string>();
  const report = runCases(loaded.ruleSet, files);
  if (report.problems.length > 0) return createUnsoundRun(name, formatProblems(name, report.problems));
  const { passed, failures, coverage } = report;
  const failed = failures.length;
  const notes = listCaseValuesUnknownToRules(loaded.ruleSet, files).map((one) =>
    formatRemark(toRemarkWithPath(name, one), 'note: '),
  );
  return {
    report: { folder: name, problems: [], notes, passed, failed, failures, coverage },
    rules: loaded.ruleSet,
  };
}

function createUnsoundRun(folder: string, problems: string): Run {
  const report = {
    folder,
    problems: problems.split('\n'),
    notes: [],
    passed: 0,
    failed: 0,
    failures: [],
    coverage: null,
  };
  return { report, rules: null };
}

function isFine({ problems, failed, coverage }: FolderReport, minPercent: number): boolean {
  return problems.length === 0 && failed === 0 && coverage !== null && reaches(coverage.rules, minPercent);
}

/**
 * Whether the tested share reaches `minPercent`. The exact share is compared, while the percentage that is shown is
 * rounded down.
 */
function reaches({ tested, total }: CoveredShare, minPercent: number): boolean {
  return tested * 100 >= minPercent * total;
}

/** Returns the report for JSON. Each failure has its facts by their labels, and a trace of the rules on these facts. */
async function toJsonReport({ report, rules }: Run) {
  if (rules === null) return report;
  const failures = await Promise.all(
    report.failures.map(async ({ values, ...failure }) => ({
      ...failure,
      facts:
        values === null
          ? null
          : Object.fromEntries(rules.facts.map(({ label, index }) => [label, values[index]])),
      trace: await traceFailure(rules, { ...failure, values }),
    })),
  );
  return { ...report, failures };
}

async function describe({ report, rules }: Run, minPercent: number, paint: PaintText): Promise<string> {
  const { folder, problems, notes, passed, failed, failures, coverage } = report;
  if (rules === null || coverage === null) return problems.join('\n');
  const lines: string[] = [];
  for (const failure of failures) {
    lines.push(...formatFailureLines(failure, await traceFailure(rules, failure), rules, folder, paint), '');
  }
  const cases = `${folder}: ${formatCount(passed, 'case')} passed, ${failed} failed`;
  lines.push(...notes);
  lines.push(paint(failed === 0 ? 'pass' : 'fail', cases), ...formatCoverage(coverage, rules, paint));
  if (!reaches(coverage.rules, minPercent))
    lines.push(
      paint('fail', `  Too few: --min-coverage requires that ${minPercent} % of the rules decide in a case.`),
    );
  else if (!reaches(coverage.conditions, minPercent))
    lines.push('  Enough for --min-coverage, which counts rules, not conditions.');
  return lines.join('\n');
}

function formatCoverage(coverage: Coverage, ruleSet: RuleSet, paint: PaintText): readonly string[] {
  const { rules, conditions, untestedRules, oneSidedConditions } = coverage;
  const width = String(Math.max(rules.total, conditions.total)).length;
  const shareLine = (what: string, { tested, total, percent }: CoveredShare, meaning: string) =>
    `  ${what}  ${String(percent).padStart(3)} %  ${String(tested).padStart(width)} of ${String(total).padStart(width)}  ${meaning}`;
  return [
    shareLine('rules     ', rules, `decided in a case, ${explainCountedExtras(ruleSet)}`),
    shareLine('conditions', conditions, 'were seen both true and false'),
    ...formatSection(
      '  Rules without a test:',
      untestedRules.map(({ name, at, asked }) => ({
        words: [
          name,
          asked ? 'was asked but never decided' : 'was never asked: another rule always answered first',
        ],
        at,
      })),
      paint,
    ),
    ...formatSection(
      '  Conditions seen only one way:',
      oneSidedConditions.map(({ rule, condition, at, missing }) => ({
        words: [rule, condition, missing === 'true and false' ? 'never asked' : `never ${missing}`],
        at,
      })),
      paint,
    ),
  ];
}

/**
 * Formats aligned columns under a title. Each line ends with the position in the file. Returns an empty array if
 * there are no entries.
 */
function formatSection(
  title: string,
  entries: readonly { readonly words: readonly string[]; readonly at: Location }[],
  paint: PaintText,
): readonly string[] {
  if (entries.length === 0) return [];
  const widths = (entries[0]?.words ?? []).map((_, column) =>
    Math.max(...entries.map(({ words }) => words[column]?.length ?? 0)),
  );
  return [
    title,
    ...entries.map(({ words, at }) => {
      const columns = words.map((word, column) => word.padEnd(widths[column] ?? 0));
      return `    ${columns.join('  ')}  ${paint('faint', formatFileLine(at))}`;
    }),
  ];
}
