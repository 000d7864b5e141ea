import { type Command, Option } from 'commander';
import { report } from '../../../evidence/report/report.ts';
import { SLICE_NAMES, type SliceName } from '../../../evidence/report/rule-report.ts';
import { chosenRules, type EvidenceOptions, evidenceOptions, onEvidence } from './evidence-options.ts';
import { printResult } from './print-result.ts';

interface ReportOptions extends EvidenceOptions {
  readonly by?: SliceName;
}

/** rules report: what each rule was worth on the outcomes that were seen. */
export function reportCommand(rules: Command): void {
  evidenceOptions(rules.command('report [version]'))
    .description('what each rule matched, decided and was needed for, and what became of those orders')
    .addOption(new Option('--by <slice>', 'besides all decisions, each rule by').choices(SLICE_NAMES))
    .action((version: string | undefined, options: ReportOptions) => run(version, options));
}

async function run(version: string | undefined, options: ReportOptions): Promise<void> {
  const found = await onEvidence(options, async (evidence, onProgress) => {
    const rules = await chosenRules(version, evidence);
    return report(evidence, { rules, by: options.by ?? null, onProgress });
  });
  printResult(found, options);
}
