import type { Command } from 'commander';
import { type Drift, type DriftPart, drift } from '../../../evidence/drift/drift.ts';
import type { FactDrift } from '../../../evidence/drift/fact-drift.ts';
import type { EvidenceSpan } from '../../../evidence/source/evidence.ts';
import { isRuleVersion, VERDICTS, versionNameRefusal } from '../../../rules/rule-set.ts';
import { UsageError } from '../../exit.ts';
import { print } from '../../print.ts';
import { table } from '../../table.ts';
import { parseTime, timeText } from '../../time.ts';
import { type EvidenceOptions, evidenceOptions, onEvidence, splitOption } from './evidence-options.ts';
import { countText, estimateText, NO_DECISION, section, shareText, spanText } from './evidence-text.ts';

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
  const { found, span } = await onEvidence(asked, async (evidence, onProgress) => ({
    found: await drift(evidence, splitAt, onProgress),
    span: evidence.span,
  }));
  print(options.json === true ? JSON.stringify(found) : describe(found, span));
}

function describe(found: Drift, span: EvidenceSpan): string {
  const { version, splitAt, earlier, later, facts } = found;
  const sizes = ({ decisions, clients }: DriftPart) =>
    `${countText(decisions)} decisions of ${countText(clients)} clients`;
  const beyond = facts.filter(({ index, byChance }) => index > byChance);
  const head = version === null ? 'Decisions of all versions' : `Decisions of ${version}`;
  if (span.decisions === 0) return `${head}\n${NO_DECISION}`;
  return [
    [
      head,
      ...spanText(span),
      `Earlier: ${sizes(earlier)}; later, from ${timeText(splitAt)} on: ${sizes(later)}.`,
      'A hint where to look, no proof: whatever else changed between the two parts is in these figures. Payments of the later part may still be reported: until then their orders are unknown.',
    ].join('\n'),
    section('Answers and outcomes, with 95 % intervals', mixTable(earlier, later)),
    beyond.length === 0
      ? 'No fact has moved by more than chance explains.'
      : section('Facts that moved by more than chance explains, the most first', factTable(beyond)),
  ].join('\n\n');
}

function mixTable(earlier: DriftPart, later: DriftPart): string {
  const shares = VERDICTS.map((verdict) => [
    verdict,
    shareText(earlier.verdicts[verdict]),
    shareText(later.verdicts[verdict]),
  ]);
  const figures = (
    [
      ['Brier score', 'brier'],
      ['AUC', 'auc'],
      ['calibration error', 'calibrationError'],
    ] as const
  ).map(([name, figure]) => [name, estimateText(earlier.score[figure]), estimateText(later.score[figure])]);
  const rows = [
    ...shares,
    ['paid, of orders with an outcome', shareText(earlier.paidShare), shareText(later.paidShare)],
    ['orders with an unknown outcome', unknownText(earlier), unknownText(later)],
    ...figures,
  ];
  return table(['', 'EARLIER', 'LATER'], rows, { right: [1, 2] });
}

function unknownText({ orders: { known, unknown } }: DriftPart): string {
  return `${countText(unknown)} of ${countText(known + unknown)}`;
}

function factTable(facts: readonly FactDrift[]): string {
  const rows = facts.map(({ fact, index, byChance, moved }) => [
    fact,
    index.toFixed(4),
    byChance.toFixed(4),
    moved.values,
    shareText(moved.intervals.earlier),
    shareText(moved.intervals.later),
  ]);
  return table(['FACT', 'PSI', 'BY CHANCE UP TO', 'MOST MOVED', 'EARLIER, 95 %', 'LATER, 95 %'], rows, {
    right: [1, 2, 4, 5],
  });
}
