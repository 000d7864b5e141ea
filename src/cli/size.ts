import { type Command, InvalidArgumentError } from 'commander';
import { type Needs, sizing, type Workload } from '../sizing/sizing.ts';
import { print } from './print.ts';
import { table } from './table.ts';

interface SizeOptions {
  readonly verdictsPerSecond: number;
  readonly peak: number;
  readonly days: number;
  readonly payers?: number;
  readonly scores: number;
  readonly outcomes: number;
  readonly idempotent: number;
  readonly daysHot: number;
  readonly daysArchived: number;
  readonly masterGb: number;
  readonly json?: true;
}

/** A payer who comes back asks so often within the time that is looked at, unless it is said how many payers there are. */
const VERDICTS_A_PAYER = 3;

const DAY_SECONDS = 86_400;
const GB = 1e9;

/** size: what an installation on Redis needs for a load. */
export function sizeCommand(program: Command): void {
  program
    .command('size')
    .description('cores, Redis masters, memory and disk for a load, on Redis; see packaging/OPERATING.md')
    .requiredOption('--verdicts-per-second <n>', 'on average over a day', positive)
    .option('--peak <n>', 'how many times the average the busiest second has', positive, 3)
    .option('--days <n>', 'after so many days of operation', positive, 90)
    .option('--payers <n>', 'payers known by then; without it, one for three verdicts', positive)
    .option('--scores <n>', 'scores a verdict', notNegative, 1)
    .option('--outcomes <n>', 'outcomes a verdict', notNegative, 1)
    .option('--idempotent <n>', 'share of verdicts with an Idempotency-Key', share, 1)
    .option('--days-hot <n>', 'DECISIONS_HOT; 90 without an archive', positive, 7)
    .option('--days-archived <n>', 'ARCHIVE_KEEP', positive, 400)
    .option('--master-gb <n>', 'memory of the machine of one Redis master, GB', positive, 32)
    .option('--json', 'print one JSON object')
    .action((options: SizeOptions) => {
      const workload = workloadOf(options);
      const needs = sizing(workload);
      print(options.json ? JSON.stringify({ workload, needs }) : inWords(workload, needs));
    });
}

function workloadOf(options: SizeOptions): Workload {
  const { verdictsPerSecond, days } = options;
  return {
    verdictsPerSecond,
    days,
    peakFactor: options.peak,
    payers: options.payers ?? Math.round((verdictsPerSecond * DAY_SECONDS * days) / VERDICTS_A_PAYER),
    scoresPerVerdict: options.scores,
    outcomesPerVerdict: options.outcomes,
    idempotentShare: options.idempotent,
    daysHot: options.daysHot,
    daysArchived: options.daysArchived,
    masterBytes: options.masterGb * GB,
  };
}

function inWords(workload: Workload, needs: Needs): string {
  const { verdictsPerSecond, peakFactor, days, payers } = workload;
  const { service, redis, archiveBytes, limits } = needs;
  const rows = [
    [
      'service, cores',
      decimal(service.busyCores),
      `${service.cores}`,
      'busy at the peak; planned: half idle',
    ],
    ['Redis, cores', decimal(redis.busyCores), `${redis.mastersForCpu}`, 'one a master'],
    ...Object.entries(redis.bytes).map(([what, bytes]) => [
      `Redis memory, ${WORDS[what] ?? what}`,
      size(bytes),
      '',
      '',
    ]),
    [
      'Redis masters',
      '',
      mastersText(redis),
      `${redis.mastersForMemory} for memory, ${redis.mastersForCpu} for CPU`,
    ],
    ['Redis disk, all masters', '', size(redis.diskBytes), 'append-only files before a rewrite'],
    ['network to Redis, a second', size(redis.networkBytesPerSecond), '', 'at the peak, both ways'],
    ['archive, disk', '', size(archiveBytes), `after ${Math.min(days, workload.daysArchived)} days`],
    [
      'shipping process',
      `${decimal(100 * limits.shippingShare)} %`,
      '',
      'of what one thread ships, on average',
    ],
    ['archive may be away', '', duration(limits.archiveAwaySeconds), 'then journal entries are lost to it'],
  ];
  return [
    `${whole(verdictsPerSecond)} verdicts a second on average, ${whole(verdictsPerSecond * peakFactor)} at the peak; ${whole(payers)} payers after ${days} days.`,
    '',
    table(['what', 'used', 'to plan', ''], rows, { right: [1, 2] }),
    '',
    'Replicas of Redis come on top: each as much memory and disk again. CPU is of the machine that scripts/bench/README.md',
    'names; npm run bench -- --parts cost,sizing measures yours.',
  ].join('\n');
}

const WORDS: Readonly<Record<string, string>> = {
  payers: 'payers',
  devices: 'devices, 7 days',
  decisions: 'hot decisions',
  idempotencyKeys: 'Idempotency-Keys, a day',
  journal: 'the journal',
  total: 'in all',
};

function mastersText({ masters }: Needs['redis']): string {
  return masters === null ? 'more than 64: several clusters' : String(masters);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function decimal(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 2 });
}

function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  return `${(bytes / 1000 ** step).toLocaleString('en', { maximumSignificantDigits: 3 })} ${units[step]}`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function positive(text: string): number {
  const value = notNegative(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}

function share(text: string): number {
  const value = notNegative(text);
  if (value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}

function notNegative(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number, such as 1000 or 0.5.');
}
