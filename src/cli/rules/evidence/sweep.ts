import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { OutcomeAssumption } from '../../../evidence/backtest/lives.ts';
import { sweep } from '../../../evidence/sweep/sweep.ts';
import {
  BadVariation,
  combinationsOf,
  parseVariation,
  type Variation,
} from '../../../evidence/sweep/vary.ts';
import { UnknownConstant } from '../../../rules/folder/constant.ts';
import { readRuleFiles } from '../../../rules/folder/rule-folder.ts';
import type { RuleFiles } from '../../../rules/parse/parse.ts';
import { UsageError } from '../../exit.ts';
import { draftFrom } from '../new.ts';
import { chosenFolders, fromHere, soundRuleSet } from '../rule-folders.ts';
import { outcomesOption } from './backtest.ts';
import { type EvidenceOptions, evidenceOptions, onEvidence } from './evidence-options.ts';
import { printResult } from './print-result.ts';

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
    .action((version: string, options: SweepOptions) => run(version, options));
}

async function run(version: string, options: SweepOptions): Promise<void> {
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
export function filesOf(version: string): { readonly name: string; readonly files: RuleFiles } {
  soundRuleSet(version);
  const [folder = ''] = chosenFolders([version]);
  return { name: basename(folder), files: readRuleFiles(folder, []) ?? new Map() };
}
