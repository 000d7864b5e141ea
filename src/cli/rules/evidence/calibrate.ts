import { basename } from 'node:path';
import type { Command } from 'commander';
import { type Calibration, calibrate, type SmoothingQuality } from '../../../evidence/calibrate/calibrate.ts';
import type { ReliabilityRow, ScoreFigures } from '../../../evidence/calibrate/score-figures.ts';
import type { EvidenceSpan } from '../../../evidence/source/evidence.ts';
import { UsageError } from '../../exit.ts';
import { parsePlatform } from '../../platform-option.ts';
import { print } from '../../print.ts';
import { table } from '../../table.ts';
import { parseTime, timeText } from '../../time.ts';
import { draftFrom } from '../new.ts';
import { fromHere, soundRuleSet } from '../rule-folders.ts';
import { type EvidenceOptions, evidenceOptions, onEvidence, splitOption } from './evidence-options.ts';
import { countText, estimateText, NO_DECISION, section, shareText, spanText } from './evidence-text.ts';

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
  const { found, span } = await onEvidence(options, async (evidence, onProgress) => ({
    found: await calibrate(evidence, { rules, platform, splitAt, onProgress }),
    span: evidence.span,
  }));
  const draft = options.write === undefined ? null : write(version, options.write, platform, found);
  if (options.json === true) print(JSON.stringify(draft === null ? found : { ...found, draft }));
  else print([describe(found, span), ...(draft === null ? [] : [draftText(draft)])].join('\n\n'));
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

function describe(found: Calibration, span: EvidenceSpan): string {
  const { version, digest, orders, splitAt, before, after, byVersion } = found;
  const name = `${version} (sha256:${digest.slice(0, 12)})`;
  if (span.decisions === 0) return `${name}\n${NO_DECISION}`;
  const parts = `Found on ${countText(orders.earlier)} orders before ${timeText(splitAt)}, shown on ${countText(orders.later)} from then on; ${countText(orders.unknown)} orders with an unknown outcome are in neither.`;
  const head = [name, ...spanText(span), parts].join('\n');
  if (after === null)
    return `${head}\n\nThere is no order with an outcome in the earlier part: nothing can be found.`;
  return [
    head,
    section('Later part, with 95 % intervals by client', qualityTable(version, before, after)),
    verdictText(found),
    section(
      `Reliability of ${version}: what scores said and what was paid`,
      reliabilityTable(before.reliability),
    ),
    section('Reliability with the smoothing that was found', reliabilityTable(after.reliability)),
    section('As it was answered, both parts, by version', versionTable(byVersion)),
  ].join('\n\n');
}

function qualityTable(version: string, before: SmoothingQuality, after: SmoothingQuality): string {
  const row = (name: string, { smoothing: { prior, weight }, ...quality }: SmoothingQuality) => [
    name,
    String(prior),
    String(weight),
    estimateText(quality.brier),
    estimateText(quality.auc),
    estimateText(quality.calibrationError),
    estimateText(quality.calibrationErrorOfKnown),
  ];
  return table(
    ['', 'PRIOR', 'WEIGHT', 'BRIER SCORE', 'AUC', 'CALIBRATION ERROR', 'OF CLIENTS WITH AN OUTCOME'],
    [row(version, before), row('found', after)],
    { right: [1, 2, 3, 4, 5, 6] },
  );
}

function verdictText({ change, holds, newClients, orders }: Calibration): string {
  const { paid, unpaid, paidShare } = newClients;
  const theirs = Math.abs(paid - 0.5 * (paid + unpaid)) / Math.max(1, orders.later);
  const same = change?.brier?.low === 0 && change.brier.high === 0;
  return [
    same
      ? 'The smoothing is already the one that fits best.'
      : `The Brier score changes by ${estimateText(change?.brier ?? null)}: ${holds ? 'it gets better beyond chance' : 'chance explains that, so keep what there is'}.`,
    `${countText(paid + unpaid)} of the orders are of clients without a final outcome, whose score is 0.5000 by the interface; ${shareText(paidShare)} of them were paid. That alone is ${theirs.toFixed(4)} of calibration error, and no smoothing moves it.`,
  ].join('\n');
}

function reliabilityTable(rows: readonly ReliabilityRow[]): string {
  const cells = rows.map(({ from, to, count, meanScore, paidShare }) => [
    `${from.toFixed(1)} to ${to.toFixed(1)}`,
    countText(count),
    `${(100 * meanScore).toFixed(1)} %`,
    shareText(paidShare),
  ]);
  return table(['SCORE', 'ORDERS', 'MEAN SCORE', 'PAID SHARE, 95 %'], cells, { right: [1, 2, 3] });
}

function versionTable(versions: readonly (ScoreFigures & { readonly version: string })[]): string {
  const rows = versions.map(({ version, orders, brier, auc, calibrationError }) => [
    version,
    countText(orders),
    estimateText(brier),
    estimateText(auc),
    estimateText(calibrationError),
  ]);
  return table(['VERSION', 'ORDERS', 'BRIER SCORE', 'AUC', 'CALIBRATION ERROR'], rows, {
    right: [1, 2, 3, 4],
  });
}
