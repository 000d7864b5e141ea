import { basename } from 'node:path';
import type { Command } from 'commander';
import { calibrate } from '../../../evidence/calibrate/calibrate.ts';
import type { Calibration } from '../../../evidence/calibrate/calibration.ts';
import { UsageError } from '../../exit.ts';
import { parsePlatform } from '../../platform-option.ts';
import { parseTime } from '../../time.ts';
import { draftFrom } from '../new.ts';
import { fromHere, soundRuleSet } from '../rule-folders.ts';
import { type EvidenceOptions, evidenceOptions, onEvidence, splitOption } from './evidence-options.ts';
import { printResult } from './print-result.ts';

interface CalibrateOptions extends EvidenceOptions {
  readonly split?: string;
  readonly write?: string;
}

/** rules calibrate: the smoothing of paymentScore that fits what happened. */
export function calibrateCommand(rules: Command): void {
  splitOption(evidenceOptions(rules.command('calibrate <version>')))
    .description(
      'find the smoothing of paymentScore on the earlier part of the time, and show it on the later',
    )
    .option('--write <version>', 'make a draft of this name with the smoothing that was found')
    .action((version: string, options: CalibrateOptions) => run(version, options));
}

async function run(version: string, options: CalibrateOptions): Promise<void> {
  const rules = soundRuleSet(version);
  const splitAt = parseTime(options.split, '--split');
  const platform = options.platform === undefined ? null : parsePlatform(options.platform);
  const found = await onEvidence(options, (evidence, onProgress) =>
    calibrate(evidence, { rules, platform, splitAt, onProgress }),
  );
  const draft = options.write === undefined ? null : write(version, options.write, platform, found);
  printResult(found, options, draft === null ? null : { draft, text: draftText(draft) });
}

function write(version: string, name: string, platform: string | null, { after }: Calibration): string {
  if (after === null)
    throw new UsageError(
      'there is no order with an outcome in the earlier part, so there is nothing to write',
    );
  const at = [...(platform === null ? ['settings'] : ['platforms', platform]), 'smoothing'];
  const edits = (['prior', 'weight'] as const).map((name) => ({
    path: [...at, name],
    value: after.smoothing[name],
  }));
  return draftFrom(version, name, { 'ruleset.yaml': edits });
}

function draftText(folder: string): string {
  return [
    `${fromHere(folder)} is a draft with this smoothing. Cases that pin a paymentScore fail until they are changed, and`,
    `thresholds that rules compare paymentScore with mean something else: rules test ${basename(folder)}`,
  ].join('\n');
}
