import { CLIENT_GROUPS, VERDICTS } from '#decision/decision-words.ts';
import { formatTable } from '#workbench/commands/print.ts';
import type { Use } from './driver.ts';
import type { Replay } from './replay.ts';
import type { BotQuality, PaymentScoreQuality, Summary, VerdictCounts } from './summary.ts';

type Row = readonly string[];

/** The report for people: what was replayed, then one table a question. Ends without a line break. */
export function report(path: string, replayed: Replay, summary: Summary): string {
  const parts = [
    introduction(path, replayed),
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

/** The first column to the left, the numbers to the right. */
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
