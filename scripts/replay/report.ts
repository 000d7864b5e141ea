import { formatCount } from '#base/count-text.ts';
import { CLIENT_GROUPS, VERDICTS } from '#decision/decision-words.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';
import { formatShare } from '#history/evidence/presentation.ts';
import { estimateClusteredShare } from '#history/statistics/intervals.ts';
import { formatTable } from '#workbench/commands/print.ts';
import type { Use } from './driver.ts';
import type { Observation } from './observation.ts';
import type { Replay } from './replay.ts';
import type { BotQuality, PaymentScoreQuality, Summary, VerdictCounts } from './summary.ts';

type Row = readonly string[];

/**
 * Formats the report for people: what was replayed, then one table for each question. The text does not end with a
 * line break.
 */
export function report(path: string, replayed: Replay, summary: Summary): string {
  const parts = [
    introduction(path, replayed),
    inShort(replayed.observations),
    requests(replayed.use, replayed.elapsedMs),
    verdicts(summary),
    groups(summary),
    botFlags(summary),
    ladder(summary),
    summary.paymentScore === null ? null : paymentScore(summary.paymentScore),
    summary.reliability === null ? null : reliability(summary.reliability),
    summary.bot === null ? null : bot(summary.bot),
  ];
  return parts.filter((part) => part !== null).join('\n\n');
}

function introduction(path: string, replayed: Replay): string {
  const { time, observations, badLines, ruleVersion, digest, storeName } = replayed;
  const from = new Date(time.firstAt).toISOString();
  const to = new Date(time.lastAt).toISOString();
  return [
    `${path}: ${whole(observations.length)} recorded payments, ${from} to ${to}`,
    ...(badLines.length === 0 ? [] : [`left out: ${whole(badLines.length)} lines`]),
    `rules ${ruleVersion} sha256:${digest}, store ${storeName}`,
  ].join('\n');
}

/** Says what the rules would have done to payments, by their outcomes. Payments of one payer depend on each other. */
function inShort(observations: readonly Observation[]): string {
  const unknown = observations.filter(({ outcome }) => outcome === null).length;
  const lines = [
    heldBack(
      'paid',
      observations.filter(({ outcome }) => outcome === 'PAID'),
    ),
    heldBack(
      'unpaid',
      observations.filter(({ outcome }) => outcome === 'UNPAID'),
    ),
    unknown === 0
      ? null
      : `${formatCount(unknown, 'payment')} had no outcome: what holding them back costs is not known`,
  ].filter((line) => line !== null);
  return ['Of the payments as they came, these rules would have', ...lines.map((line) => `- ${line}`)].join(
    '\n',
  );
}

function heldBack(ending: string, observations: readonly Observation[]): string | null {
  if (observations.length === 0) return null;
  const byPayer = Map.groupBy(observations, ({ clientIdKey }) => clientIdKey)
    .values()
    .toArray();
  const told = (wanted: Verdict) => {
    const clusters = byPayer.map((own) => ({
      part: own.filter(({ verdict }) => verdict === wanted).length,
      whole: own.length,
    }));
    const part = clusters.reduce((sum, cluster) => sum + cluster.part, 0);
    const interval = estimateClusteredShare(clusters);
    return `${whole(part)}, ${interval === null ? 'too few for a share' : formatShare(interval)}`;
  };
  return `of ${whole(observations.length)} that ended ${ending}: refused ${told('BLOCK')}; made wait ${told('WAIT')}`;
}

function requests(use: Use, elapsedMs: number): string {
  const counts = Object.entries(use);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const rows = [...counts, [`all, in ${(elapsedMs / 1000).toFixed(1)} s`, total] as const];
  return numbers(
    ['REQUESTS', 'COUNT'],
    rows.map(([name, count]) => [name, whole(count)]),
  );
}

function verdicts({ payments, verdicts, verdictsByOutcome }: Summary): string {
  const { PAID, UNPAID, none } = verdictsByOutcome;
  const columns = [verdicts, PAID, UNPAID, none];
  const rows = VERDICTS.map((verdict) => [
    verdict,
    whole(verdicts[verdict]),
    ...columns.map((counts) => share(counts[verdict], total(counts))),
  ]);
  return numbers(
    ['VERDICT', 'COUNT', 'SHARE', 'OF PAID', 'OF UNPAID', 'NO OUTCOME'],
    [
      ...rows,
      ['payments', whole(payments), '', whole(total(PAID)), whole(total(UNPAID)), whole(total(none))],
    ],
  );
}

function groups({ payments, groups }: Summary): string {
  const rows = CLIENT_GROUPS.map((group) => [group, whole(groups[group]), share(groups[group], payments)]);
  return numbers(['GROUP AT SCORE', 'COUNT', 'SHARE'], rows);
}

function botFlags({ payments, botFlags }: Summary): string {
  return numbers(
    ['ISBOT TRUE AT', 'COUNT', 'SHARE'],
    [
      ['score', whole(botFlags.score), share(botFlags.score, payments)],
      ['verdict', whole(botFlags.verdict), share(botFlags.verdict, payments)],
    ],
  );
}

function ladder({ ladder, verdicts }: Summary): string {
  if (ladder.length === 0) return 'Nobody had to wait.';
  const rows = ladder.map(({ level, waits }) => [
    `level ${level}`,
    whole(waits),
    share(waits, verdicts.WAIT),
  ]);
  return numbers(['COOLDOWN', 'WAITS', 'SHARE'], rows);
}

function paymentScore({ measured, auc, brier }: PaymentScoreQuality): string {
  return numbers(
    ['PAYMENT SCORE', ''],
    [
      ['measured on', whole(measured)],
      ['AUC', decimal(auc)],
      ['Brier score', decimal(brier)],
    ],
  );
}

function reliability(bins: NonNullable<Summary['reliability']>): string {
  const rows = bins.map(({ from, to, count, meanScore, paidShare }) => [
    `${from.toFixed(1)} to ${to.toFixed(1)}`,
    whole(count),
    decimal(meanScore),
    decimal(paidShare),
  ]);
  return numbers(['SCORE', 'COUNT', 'MEAN SCORE', 'PAID SHARE'], rows);
}

function bot(quality: BotQuality): string {
  const { truePositives, falsePositives, falseNegatives, trueNegatives, precision, recall } = quality;
  const confusion = numbers(
    ['ISBOT AT VERDICT', 'ABUSE', 'NO ABUSE'],
    [
      ['true', whole(truePositives), whole(falsePositives)],
      ['false', whole(falseNegatives), whole(trueNegatives)],
    ],
  );
  return `${confusion}\nprecision ${decimal(precision)}, recall ${decimal(recall)}`;
}

/** Formats a table with the first column at the left and numbers at the right. */
function numbers(headings: Row, rows: readonly Row[]): string {
  return formatTable(headings, rows, { right: headings.keys().drop(1).toArray() });
}

function total(counts: VerdictCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function whole(count: number): string {
  return count.toLocaleString('en-US');
}

function share(part: number, of: number): string {
  return of === 0 ? '-' : `${((100 * part) / of).toFixed(2)} %`;
}

function decimal(value: number | null): string {
  return value === null ? '-' : value.toFixed(4);
}
