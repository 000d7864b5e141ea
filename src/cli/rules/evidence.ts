import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { backtest } from '../../evidence/backtest/backtest.ts';
import { BACKTEST_MODES, type BacktestMode } from '../../evidence/backtest/backtest-report.ts';
import {
  OUTCOME_ASSUMPTIONS,
  type OutcomeAssumption,
  type RulesOfRequest,
} from '../../evidence/backtest/lives.ts';
import { drift } from '../../evidence/drift.ts';
import { experiment } from '../../evidence/experiment/experiment.ts';
import { report } from '../../evidence/report/report.ts';
import { SLICE_NAMES, type SliceName } from '../../evidence/report/rule-report.ts';
import {
  BadVariation,
  combinationsOf,
  parseVariation,
  sweep,
  type Variation,
} from '../../evidence/sweep/sweep.ts';
import { UnknownConstant } from '../../rules/folder/constant.ts';
import { readRuleFiles } from '../../rules/folder/rule-folder.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { isRuleVersion, versionNameRefusal } from '../../rules/rule-set.ts';
import { UsageError } from '../exit.ts';
import { parseTime } from '../options.ts';
import {
  chosenRules,
  type EvidenceOptions,
  evidenceOptions,
  keptByDigest,
  missingText,
  onEvidence,
  printResult,
  splitOption,
} from './evidence-options.ts';
import { chosenFolders, draftFrom, fromHere, soundRuleSet } from './rule-folders.ts';

interface ReportOptions extends EvidenceOptions {
  readonly by?: SliceName;
}

export function reportCommand(rules: Command): void {
  evidenceOptions(rules.command('report [version]'))
    .description('what each rule matched, decided and was needed for, and what became of those orders')
    .addOption(new Option('--by <slice>', 'besides all decisions, each rule by').choices(SLICE_NAMES))
    .action(async (version: string | undefined, options: ReportOptions) => {
      const found = await onEvidence(options, async (evidence, onProgress) => {
        const rules = await chosenRules(version, evidence);
        return report(evidence, { rules, by: options.by ?? null, onProgress });
      });
      printResult(found, options);
    });
}

interface SplitOptions extends EvidenceOptions {
  readonly split?: string;
}

export function driftCommand(rules: Command): void {
  splitOption(evidenceOptions(rules.command('drift [version]')))
    .description(
      'compare facts, verdicts, paid share and calibration of the later part of the time with the earlier, of all decisions or of those that one version made',
    )
    .action(async (version: string | undefined, options: SplitOptions) => {
      requireVersions(version === undefined ? [] : [version]);
      const asked = version === undefined ? options : { ...options, decidedBy: version };
      const splitAt = parseTime(options.split, '--split');
      printResult(await onEvidence(asked, (evidence, show) => drift(evidence, splitAt, show)), options);
    });
}

/** rules experiment: what the versions on trial are worth, in orders and money. */
export function experimentCommand(rules: Command): void {
  evidenceOptions(rules.command('experiment [versions...]'))
    .description(
      'compare the versions of the newest trial by their clients: orders, money, requisites and waits, with intervals that hold however often somebody looks, and what to do next',
    )
    .action(async (versions: readonly string[], options: EvidenceOptions) => {
      requireVersions(versions);
      printResult(
        await onEvidence(options, (evidence, show) => experiment(evidence, versions, show)),
        options,
      );
    });
}

function requireVersions(names: readonly string[]): void {
  for (const name of names) if (!isRuleVersion(name)) throw new UsageError(versionNameRefusal(name));
}

interface BacktestOptions extends EvidenceOptions {
  readonly against?: string;
  readonly mode: BacktestMode;
  readonly outcomes: OutcomeAssumption;
}

/** rules backtest: what a version would have decided on recorded history. */
export function backtestCommand(rules: Command): void {
  evidenceOptions(rules.command('backtest <version>'))
    .description('what a version, draft or released, would have decided on what happened')
    .option('--against <version>', 'compare with this version instead of with what was recorded')
    .addOption(
      new Option(
        '--mode <mode>',
        'recorded: each decision again on its recorded facts; closed-loop: all inputs again from an empty state',
      )
        .choices(BACKTEST_MODES)
        .default('recorded'),
    )
    .addOption(outcomesOption())
    .action(async (version: string, { against, mode, outcomes, ...options }: BacktestOptions) => {
      const candidate = soundRuleSet(version);
      const base = against === undefined ? null : soundRuleSet(against);
      const rulesOf = recordedRuleSets();
      const found = await onEvidence(options, (evidence, onProgress) =>
        backtest(evidence, { candidate, against: base, mode, outcomes, rulesOf, onProgress }),
      );
      printResult(found, options);
    });
}

function outcomesOption(): Option {
  return new Option(
    '--outcomes <which>',
    'closed-loop: granted lets only outcomes of orders happen that the version granted, all repeats every recorded one',
  )
    .choices(OUTCOME_ASSUMPTIONS)
    .default('granted');
}

/** The rule sets that decided, each only with the digest that was recorded. */
function recordedRuleSets(): RulesOfRequest {
  const kept = keptByDigest();
  return (asked) => {
    const found = kept(asked);
    if (found !== null) return found;
    throw new UsageError(`${missingText(asked, 'decided')}; name the base yourself: --against <version>`);
  };
}

interface SweepOptions extends EvidenceOptions {
  readonly vary: readonly string[];
  readonly outcomes: OutcomeAssumption;
  readonly write?: string;
}

/** rules sweep: what other values of a version's constants would have done. */
export function sweepCommand(rules: Command): void {
  evidenceOptions(rules.command('sweep <version>'))
    .description('replay history with other values of a constant, and print what each choice costs and saves')
    .requiredOption(
      '--vary <path=values>',
      'like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s; several are combined',
      (value: string, before: readonly string[] = []) => [...before, value],
    )
    .addOption(outcomesOption())
    .option('--write <version>', 'write the one combination that is varied to as a draft of this name')
    .action((version: string, options: SweepOptions) => runSweep(version, options));
}

async function runSweep(version: string, options: SweepOptions): Promise<void> {
  const { vary, outcomes, write } = options;
  const { name, files } = filesOf(version);
  const combinations = variationsOf(name, files, vary);
  if (write !== undefined && combinations.length !== 2)
    throw new UsageError(
      `--write wants the one combination that becomes the draft, and ${combinations.length - 1} are asked for; name one value for each --vary`,
    );
  const report = await onEvidence(options, (evidence, onProgress) =>
    sweep(evidence, { version: name, combinations, outcomes, threads: availableParallelism(), onProgress }),
  );
  const folder = write === undefined ? null : draftFrom(version, write, {}, combinations[1]?.files);
  printResult(report, options, folder === null ? null : { draft: folder, text: draftText(folder) });
}

function draftText(folder: string): string {
  const version = basename(folder);
  return `${fromHere(folder)} is a draft with these values. Its cases may pin the old ones: rules check ${version}, rules test ${version}.`;
}

function variationsOf(version: string, files: RuleFiles, vary: readonly string[]) {
  try {
    const variations: readonly Variation[] = vary.map((text) => parseVariation(files, text));
    return combinationsOf(version, files, variations);
  } catch (error) {
    if (error instanceof BadVariation || error instanceof UnknownConstant)
      throw new UsageError(error.message);
    throw error;
  }
}

/** The texts of a sound version; throws FindingsError with every problem of an unsound one. */
function filesOf(version: string): { readonly name: string; readonly files: RuleFiles } {
  soundRuleSet(version);
  const [folder = ''] = chosenFolders([version]);
  return { name: basename(folder), files: readRuleFiles(folder, []) ?? new Map() };
}
