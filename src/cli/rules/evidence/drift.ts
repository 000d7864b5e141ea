import type { Command } from 'commander';
import { drift } from '../../../evidence/drift.ts';
import { isRuleVersion, versionNameRefusal } from '../../../rules/rule-set.ts';
import { UsageError } from '../../exit.ts';
import { parseTime } from '../../time.ts';
import { type EvidenceOptions, evidenceOptions, onEvidence, splitOption } from './evidence-options.ts';
import { printResult } from './print-result.ts';

interface DriftOptions extends EvidenceOptions {
  readonly split?: string;
}

/** rules drift: what has changed from one part of the time to the other. */
export function driftCommand(rules: Command): void {
  splitOption(evidenceOptions(rules.command('drift [version]')))
    .description(
      'compare facts, verdicts, paid share and calibration of the later part of the time with the earlier, of all decisions or of those that one version made',
    )
    .action((version: string | undefined, options: DriftOptions) => run(version, options));
}

async function run(version: string | undefined, options: DriftOptions): Promise<void> {
  if (version !== undefined && !isRuleVersion(version)) throw new UsageError(versionNameRefusal(version));
  const asked = version === undefined ? options : { ...options, decidedBy: version };
  const splitAt = parseTime(options.split, '--split');
  const found = await onEvidence(asked, (evidence, onProgress) => drift(evidence, splitAt, onProgress));
  printResult(found, options);
}
