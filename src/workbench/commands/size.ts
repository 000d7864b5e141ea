import { type Command, InvalidArgumentError } from 'commander';
import { RETENTION } from '#state/retention.ts';
import { formatTable, print } from './print.ts';

/**
 * The cost of a verdict, its Idempotency-Key, a score and an outcome: CPU in microseconds of one core, and everything
 * else in bytes. They were measured by `node scripts/memory.ts` and `npm run bench -- --parts cost,archive` on the
 * machine that scripts/bench/README.md names.
 */
const EACH = {
  /** CPU of the processes that answer, on a machine with no other load. Scores and outcomes were not measured apart. */
  serviceMicros: { verdict: 130, key: 0, score: 115, outcome: 115 },
  /** CPU of a busy redis-server. If it runs one command at a time, each takes up to four times as long. */
  redisMicros: { verdict: 32, key: 20, score: 48, outcome: 36 },
  shippingMicros: { verdict: 48, key: 0, score: 17, outcome: 17 },
  /** Bytes between the service and Redis, in both directions. */
  network: { verdict: 1250, key: 1300, score: 1340, outcome: 1750 },
  /** Bytes in segments of ten thousand rows or more. */
  archive: { verdict: 65, key: 0, score: 50, outcome: 54 },
  journal: { verdict: 50, key: 0, score: 290, outcome: 205 },
} as const;

/**
 * Bytes of the state of a payer who no longer comes: `bare` without orders, and `order` for each of the newest orders
 * that the state remembers, at most `ordersMax`. A state takes `asked` more bytes, at three verdicts, while windows
 * of rules still reach the payer's requests.
 */
const STATE = { bare: 163, order: 13.2, ordersMax: 64, asked: 240 };

/**
 * Bytes that a thing takes in Redis while it is kept, with its share of Redis's tables of keys. `notes` are the notes
 * of a payer with two devices.
 */
const KEPT = { notes: 195, order: 40, answer: 26, device: 288, decision: 348, idempotencyKey: 111 };

/**
 * The bytes of the index of decisions by order. All orders share `keys` keys. If a key has more than `packedMax`
 * orders, Redis no longer packs them, and each takes `orderUnpacked` bytes.
 */
const BY_ORDER = { keys: 64 * 64 ** 3, key: 134, order: 48, packedMax: 128, orderUnpacked: 124 };

/**
 * The number of days for which orders are kept that a state no longer remembers. Without an archive they are kept as
 * long as decisions.
 */
const DISPLACED_DAYS = 3;
const DAYS_WITHOUT_ARCHIVE = 90;
const DEVICE_DAYS = 7;

const DAY_SECONDS = 86_400;
const JOURNAL_ENTRIES_KEPT = 100_000;

/** If the memory of a master is filled beyond this share, the journal loses its oldest entries. */
const JOURNAL_SHARE_MAX = 0.8;

/** The numbers of masters over which the 64 partitions spread evenly. */
const EVEN_MASTERS = [1, 3, 6, 8, 12, 32, 64];

/**
 * The share of the cores that is busy at the peak. Half stay idle, so that answers stay fast and one of two nodes may
 * fail. The same share holds for shipping, because a shipper that is behind rests as long as it works.
 */
const BUSY_SHARE = 0.5;

/**
 * The share of memory that is filled. The rest is for rewrites of the append-only file, which copy the changes that
 * come during a rewrite.
 */
const FILLED_SHARE = 0.6;

interface Load
  extends Readonly<Record<'verdictsPerSecond' | 'peak' | 'days' | 'scores' | 'outcomes', number>> {
  readonly payers?: number;
  readonly idempotent: number;
  readonly daysHot: number;
  readonly masterGb: number;
}

/** Adds `size`, which computes what an installation on Redis needs for a load. */
export function addSizeCommand(program: Command): void {
  program
    .command('size')
    .description('cores, Redis masters, memory and disk for a load, on Redis; see packaging/OPERATING.md')
    .requiredOption('--verdicts-per-second <n>', 'on average over a day', positive)
    .option('--peak <n>', 'the busiest second, as a multiple of the average', positive, 3)
    .option('--days <n>', 'days of operation to plan for', positive, 90)
    .option('--payers <n>', 'payers known by then; without it, one for three verdicts', positive)
    .option('--scores <n>', 'scores a verdict', notNegative, 1)
    .option('--outcomes <n>', 'outcomes a verdict', notNegative, 1)
    .option('--idempotent <n>', 'share of verdicts with an Idempotency-Key', share, 1)
    .option('--days-hot <n>', 'DECISIONS_HOT; 90 without an archive', positive, 1)
    .option('--master-gb <n>', 'memory of the machine of one Redis master, GB', positive, 32)
    .option('--json', 'print one JSON object')
    .action(({ json, ...load }: Load & { readonly json?: true }) => {
      const payers = load.payers ?? Math.round((load.verdictsPerSecond * DAY_SECONDS * load.days) / 3);
      const needs = computeNeeds({ ...load, payers });
      const told = Object.fromEntries(needs.map(([name, value]) => [name, value]));
      print(
        json ? JSON.stringify({ load: { ...load, payers }, needs: told }) : formatNeeds(load, payers, needs),
      );
    });
}

/** A figure: its name for programs, its value, its unit, and its meaning. */
type Need = readonly [name: string, value: number | null, unit: '' | 'B' | '%' | 'min', words: string];

function computeNeeds(load: Load & { readonly payers: number }): readonly Need[] {
  const { verdictsPerSecond, payers, days, peak } = load;
  const work = { verdict: 1, key: load.idempotent, score: load.scores, outcome: load.outcomes };
  const each = (what: keyof typeof EACH) => {
    const { verdict, key, score, outcome } = EACH[what];
    return verdict + work.key * key + work.score * score + work.outcome * outcome;
  };
  const within = (aVerdict: number, kept: number) =>
    verdictsPerSecond * aVerdict * DAY_SECONDS * Math.min(days, kept);
  const entries = 1 + load.scores + load.outcomes;
  // Every payer who is known after at most DEVICE_DAYS came within these days.
  const seen = (mean: number) => (mean > 0 && days <= DEVICE_DAYS ? 1 : computeSeenShare(mean));
  const [askedIn7Days, newest, displaced] = [
    seen(within(1, DEVICE_DAYS) / payers),
    computeRememberedOrders(within(work.outcome, days) / payers),
    computeDisplacedShare(within(work.outcome, days) / payers),
  ];
  const displacedDays = load.daysHot < DAYS_WITHOUT_ARCHIVE ? DISPLACED_DAYS : DAYS_WITHOUT_ARCHIVE;
  const ofPayers =
    payers * (STATE.bare + newest * STATE.order + askedIn7Days * (STATE.asked + KEPT.notes)) +
    displaced * within(work.outcome, displacedDays) * KEPT.order +
    within(work.key, 1) * KEPT.answer;
  const devices = payers * seen(within(work.score, DEVICE_DAYS) / payers) * KEPT.device;
  const hot = within(1, load.daysHot);
  const decisions = hot * KEPT.decision + computeOrderIndexBytes(hot);
  const keys = within(work.key, 1) * KEPT.idempotencyKey;
  const journal = (JOURNAL_ENTRIES_KEPT * each('journal')) / entries;
  const memory = ofPayers + devices + decisions + keys + journal;
  const service = (peak * verdictsPerSecond * each('serviceMicros')) / 1e6;
  const redis = (peak * verdictsPerSecond * each('redisMicros')) / 1e6;
  const forCpu = Math.ceil(redis / BUSY_SHARE);
  const forMemory = Math.ceil(memory / (load.masterGb * 1e9 * FILLED_SHARE));
  const masters = EVEN_MASTERS.find((some) => some >= Math.max(forCpu, forMemory)) ?? null;
  const shipping = (verdictsPerSecond * each('shippingMicros')) / 1e6 / BUSY_SHARE;
  const network = peak * verdictsPerSecond * each('network');
  // Entries that are not shipped stay in the store, with their decisions. A new installation of this size has the
  // room for them.
  const room = (masters ?? EVEN_MASTERS.at(-1) ?? 1) * load.masterGb * 1e9 * JOURNAL_SHARE_MAX - memory;
  const roomVerdicts = room / (each('journal') + KEPT.decision + BY_ORDER.order);
  const { journalEntries, journalEntriesMin } = RETENTION;
  const heldEntries = Math.max(journalEntriesMin, Math.min(journalEntries, roomVerdicts * entries));
  const away = heldEntries / (verdictsPerSecond * entries) / 60;
  return [
    ['serviceBusyCores', service, '', 'service: cores busy at the peak'],
    ['serviceCores', Math.ceil(service / BUSY_SHARE), '', 'service: cores to plan, half of them idle then'],
    ['redisBusyCores', redis, '', 'Redis: cores busy at the peak, one a master'],
    ['payersBytes', ofPayers, 'B', 'Redis memory: payers'],
    ['devicesBytes', devices, 'B', 'Redis memory: devices, 7 days'],
    ['decisionsBytes', decisions, 'B', 'Redis memory: hot decisions'],
    ['idempotencyKeysBytes', keys, 'B', 'Redis memory: Idempotency-Keys, a day'],
    ['journalBytes', journal, 'B', 'Redis memory: the journal'],
    ['memoryBytes', memory, 'B', 'Redis memory: in all'],
    ['mastersForMemory', forMemory, '', 'Redis: masters that the memory takes'],
    ['mastersForCpu', forCpu, '', 'Redis: masters that the cores take'],
    ['masters', masters, '', 'Redis: masters to plan'],
    ['diskBytes', 2 * memory, 'B', 'Redis: disk, append-only files before a rewrite'],
    ['networkBytesPerSecond', network, 'B', 'network a second at the peak, both ways'],
    ['archiveBytes', within(1, days) * each('archive'), 'B', `archive: disk after ${days} days`],
    ['shippingPercent', 100 * shipping, '%', 'shipping: share of what one process can ship, on average'],
    ['archiveAwayMinutes', away, 'min', 'archive: how long it may be down before entries are lost'],
  ];
}

/*
 * Most payers ask seldom and some ask very often. The functions below assume that the number of times is distributed
 * exponentially around its mean. Real payers differ even more. If all payers were equal, all would fill their states.
 */

/** Returns the share of payers who come at least once, for the mean number of times that a payer comes. */
function computeSeenShare(mean: number): number {
  return mean / (1 + mean);
}

/** Returns the bytes of the index by order for this many decisions. */
function computeOrderIndexBytes(decisions: number): number {
  const { keys, key, order, packedMax, orderUnpacked } = BY_ORDER;
  const ofEach = decisions / keys > packedMax ? orderUnpacked : order;
  return keys * (1 - Math.exp(-decisions / keys)) * key + decisions * ofEach;
}

/** Returns the mean number of orders that a state remembers. */
function computeRememberedOrders(meanOrders: number): number {
  return meanOrders * (1 - Math.exp(-STATE.ordersMax / meanOrders));
}

/**
 * Returns the share of new orders that displace an older one in a state. They belong to payers who have had more
 * orders than a state remembers.
 */
function computeDisplacedShare(meanOrders: number): number {
  const full = STATE.ordersMax / meanOrders;
  return Math.exp(-full) * (1 + full);
}

function formatNeeds(
  { verdictsPerSecond, peak, days }: Load,
  payers: number,
  needs: readonly Need[],
): string {
  const text = (value: number | null, unit: Need[2]) =>
    value === null ? 'more than 64: several clusters' : formatFigure(value, unit);
  const rows = needs.map(([, value, unit, words]) => [words, text(value, unit)]);
  return `${formatFigure(verdictsPerSecond)} verdicts a second on average, ${formatFigure(verdictsPerSecond * peak)} at the peak; ${formatFigure(payers)} payers after ${days} days.

${formatTable(['what', 'figure'], rows, { right: [1] })}

Each replica of Redis takes the same memory and disk again. CPU is of the machine that scripts/bench/README.md
names; npm run bench -- --parts cost and node scripts/memory.ts measure yours.`;
}

function formatFigure(value: number, unit: Need[2] = ''): string {
  if (unit === '' && value >= 10) return Math.round(value).toLocaleString('en');
  const step = unit === 'B' ? Math.min(5, Math.floor(Math.log10(Math.max(1, value)) / 3)) : 0;
  const text = (value / 1000 ** step).toLocaleString('en', { maximumSignificantDigits: step === 0 ? 2 : 3 });
  return `${text} ${unit === 'B' ? ['B', 'kB', 'MB', 'GB', 'TB', 'PB'][step] : unit}`.trimEnd();
}

const positive = createNumberParser('above 0', Number.MIN_VALUE);
const notNegative = createNumberParser('such as 1000 or 0.5', 0);
const share = createNumberParser('from 0 to 1', 0, 1);

function createNumberParser(form: string, min: number, max = Number.MAX_VALUE): (text: string) => number {
  return (text) => {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number ${form}.`);
  };
}
