import { formatCount } from '#base/count-text.ts';
import { CLIENT_GROUPS, VERDICTS } from '#decision/decision-words.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';
import { formatShare } from '#history/evidence/presentation.ts';
import { estimateShareByClusterIfEnough } from '#history/statistics/intervals.ts';
import { formatTable } from '#workbench/commands/print.ts';
import type { OperationCounts } from './driver.ts';
import type { Observation } from './observation.ts';
import type { ReplayResult } from './replay.ts';
import type { BotQuality, PaymentScoreQuality, ReplaySummary, VerdictCounts } from './summary.ts';

type Row = readonly string[];

/**
 * Formats the report for people: what was replayed, then one table for each question. The text does not end with a
 * line break.
 */
export function formatReplayReport(path: string, replayed: ReplayResult, summary: ReplaySummary): string {
  const parts = [
    formatIntroduction(path, replayed, summary),
    formatShortAnswer(replayed.observations),
    formatRequests(replayed.operationCounts, replayed.elapsedMs),
    formatVerdicts(summary),
    formatGroups(summary),
    formatBotFlags(summary),
    formatLadder(summary),
    summary.paymentScore === null ? null : formatPaymentScore(summary.paymentScore),
    summary.reliability === null ? null : formatReliability(summary.reliability),
    summary.bot === null ? null : formatBot(summary.bot),
  ];
  return parts.filter((part) => part !== null).join('\n\n');
}

function formatIntroduction(
  path: string,
  replayed: ReplayResult,
  { payments, withoutUserAgent }: ReplaySummary,
): string {
  const { time, observations, badLines, ruleVersion, digest, storeName } = replayed;
  const from = new Date(time.firstAt).toISOString();
  const to = new Date(time.lastAt).toISOString();
  return [
    `${path}: ${formatCount(observations.length, 'recorded payment')}, ${from} to ${to}`,
    ...(badLines.length === 0 ? [] : [`not replayed: ${formatCount(badLines.length, 'line')}`]),
    `rules ${ruleVersion} sha256:${digest}, store ${storeName}`,
    ...(withoutUserAgent === 0
      ? []
      : [
          `no userAgent was recorded for ${formatWhole(withoutUserAgent)} of ${formatCount(payments, 'payment')}: ` +
            'rules that count its absence, like missing-user-agent, see it absent there',
        ]),
  ].join('\n');
}

/**
 * Says what the rules would have done to payments, by their outcomes. The shares' intervals allow for payments of one
 * payer depending on each other.
 */
function formatShortAnswer(observations: readonly Observation[]): string {
  const unknown = observations.filter(({ outcome }) => outcome === null).length;
  const lines = [
    formatHeldBack(
      'paid',
      observations.filter(({ outcome }) => outcome === 'PAID'),
    ),
    formatHeldBack(
      'unpaid',
      observations.filter(({ outcome }) => outcome === 'UNPAID'),
    ),
    unknown === 0
      ? null
      : `without an outcome, ${formatCount(unknown, 'payment')}: what it costs to hold them back is not known`,
  ].filter((line) => line !== null);
  const title = 'What these rules would have done with the payments, by how they ended:';
  return [title, ...lines.map((line) => `- ${line}`)].join('\n');
}

function formatHeldBack(ending: string, observations: readonly Observation[]): string | null {
  if (observations.length === 0) return null;
  const byPayer = Map.groupBy(observations, ({ clientIdKey }) => clientIdKey)
    .values()
    .toArray();
  const told = (wanted: Verdict, done: string) => {
    const clusters = byPayer.map((own) => ({
      part: own.filter(({ verdict }) => verdict === wanted).length,
      whole: own.length,
    }));
    const part = clusters.reduce((sum, cluster) => sum + cluster.part, 0);
    const interval = estimateShareByClusterIfEnough(clusters);
    const share = interval === null ? '(too few for a share)' : `(${formatShare(interval)})`;
    return `${formatWhole(part)} ${done} ${share}`;
  };
  const payments = formatCount(observations.length, 'payment');
  return `${ending}, ${payments}: ${told('BLOCK', 'refused')}, ${told('WAIT', 'made to wait')}`;
}

function formatRequests(use: OperationCounts, elapsedMs: number): string {
  const counts = Object.entries(use);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const rows = [...counts, [`all, in ${(elapsedMs / 1000).toFixed(1)} s`, total] as const];
  return formatNumberTable(
    ['REQUESTS', 'COUNT'],
    rows.map(([name, count]) => [name, formatWhole(count)]),
  );
}

function formatVerdicts({ payments, verdicts, verdictsByOutcome }: ReplaySummary): string {
  const { PAID, UNPAID, none } = verdictsByOutcome;
  const columns = [verdicts, PAID, UNPAID, none];
  const rows = VERDICTS.map((verdict) => [
    verdict,
    formatWhole(verdicts[verdict]),
    ...columns.map((counts) => formatPart(counts[verdict], sumCounts(counts))),
  ]);
  return formatNumberTable(
    ['VERDICT', 'COUNT', 'SHARE', 'OF PAID', 'OF UNPAID', 'NO OUTCOME'],
    [
      ...rows,
      [
        'payments',
        formatWhole(payments),
        '',
        formatWhole(sumCounts(PAID)),
        formatWhole(sumCounts(UNPAID)),
        formatWhole(sumCounts(none)),
      ],
    ],
  );
}

function formatGroups({ payments, groups }: ReplaySummary): string {
  const rows = CLIENT_GROUPS.map((group) => [
    group,
    formatWhole(groups[group]),
    formatPart(groups[group], payments),
  ]);
  return formatNumberTable(['GROUP AT SCORE', 'COUNT', 'SHARE'], rows);
}

function formatBotFlags({ payments, botFlags }: ReplaySummary): string {
  return formatNumberTable(
    ['ISBOT TRUE AT', 'COUNT', 'SHARE'],
    [
      ['score', formatWhole(botFlags.score), formatPart(botFlags.score, payments)],
      ['verdict', formatWhole(botFlags.verdict), formatPart(botFlags.verdict, payments)],
    ],
  );
}

function formatLadder({ ladder, verdicts }: ReplaySummary): string {
  if (ladder.length === 0) return 'Nobody had to wait.';
  const rows = ladder.map(({ level, waits }) => [
    `level ${level}`,
    formatWhole(waits),
    formatPart(waits, verdicts.WAIT),
  ]);
  return formatNumberTable(['COOLDOWN', 'WAITS', 'SHARE'], rows);
}

function formatPaymentScore({ measured, auc, brier }: PaymentScoreQuality): string {
  return formatNumberTable(
    ['PAYMENT SCORE', ''],
    [
      ['measured on', formatWhole(measured)],
      ['AUC', formatDecimal(auc)],
      ['Brier score', formatDecimal(brier)],
    ],
  );
}

function formatReliability(bins: NonNullable<ReplaySummary['reliability']>): string {
  const rows = bins.map(({ from, to, count, meanScore, paidShare }) => [
    `${from.toFixed(1)} to ${to.toFixed(1)}`,
    formatWhole(count),
    formatDecimal(meanScore),
    formatDecimal(paidShare),
  ]);
  return formatNumberTable(['SCORE', 'COUNT', 'MEAN SCORE', 'PAID SHARE'], rows);
}

function formatBot(quality: BotQuality): string {
  const { truePositives, falsePositives, falseNegatives, trueNegatives, precision, recall } = quality;
  const confusion = formatNumberTable(
    ['ISBOT AT VERDICT', 'ABUSE', 'NO ABUSE'],
    [
      ['true', formatWhole(truePositives), formatWhole(falsePositives)],
      ['false', formatWhole(falseNegatives), formatWhole(trueNegatives)],
    ],
  );
  return `${confusion}\nprecision ${formatDecimal(precision)}, recall ${formatDecimal(recall)}`;
}

/** Formats a table with the first column at the left and numbers at the right. */
function formatNumberTable(headings: Row, rows: readonly Row[]): string {
  return formatTable(headings, rows, { right: headings.keys().drop(1).toArray() });
}

function sumCounts(counts: VerdictCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function formatWhole(count: number): string {
  return count.toLocaleString('en-US');
}

function formatPart(part: number, of: number): string {
  return of === 0 ? '-' : `${((100 * part) / of).toFixed(2)} %`;
}

function formatDecimal(value: number | null): string {
  return value === null ? '-' : value.toFixed(4);
}
