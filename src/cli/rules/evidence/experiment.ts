import type { Command } from 'commander';
import { experiment } from '../../../evidence/experiment/experiment.ts';
import { isRuleVersion, versionNameRefusal } from '../../../rules/rule-set.ts';
import { UsageError } from '../../exit.ts';
import { type EvidenceOptions, evidenceOptions, onEvidence } from './evidence-options.ts';
import { printResult } from './print-result.ts';

/** rules experiment: what the versions on trial are worth, in orders and money. */
export function experimentCommand(rules: Command): void {
  evidenceOptions(rules.command('experiment [versions...]'))
    .description(
      'compare the versions of the newest trial by their clients: orders, money, requisites and waits, with intervals that hold however often somebody looks, and what to do next',
    )
    .action((versions: readonly string[], options: EvidenceOptions) => run(versions, options));
}

async function run(versions: readonly string[], options: EvidenceOptions): Promise<void> {
  for (const version of versions)
    if (!isRuleVersion(version)) throw new UsageError(versionNameRefusal(version));
  const found = await onEvidence(options, (evidence, show) => experiment(evidence, versions, show));
  printResult(found, options);
}
