import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Archive } from '../../../src/archive/archive.ts';
import { openShipper } from '../../../src/archive/ship/open-shipper.ts';
import { type Kept, redisBytes, redisCoresOf, trafficBytes, weigh } from '../../../src/sizing/sizing.ts';
import { UNIT_COSTS } from '../../../src/sizing/unit-costs.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { RULES_FOLDER } from '../../../test/service/current-rules.ts';
import type { Figure } from '../figure.ts';
import { FilledRedis, payersNamed, type RedisUsage, usedBetween } from '../filled-redis.ts';

export interface SizingPlan {
  /** Payers of the first mix; the others have so many that each mix takes about as long. */
  readonly payers: number;
  readonly onProgress: (text: string) => void;
}

/** What each payer does, a day and an hour between two verdicts. */
interface Mix {
  readonly name: string;
  readonly shareOfPayers: number;
  readonly verdicts: number;
  readonly scores: number;
  readonly outcomes: number;
  readonly idempotent: boolean;
}

const MIXES: readonly Mix[] = [
  { name: 'one of each', shareOfPayers: 1, verdicts: 1, scores: 1, outcomes: 1, idempotent: true },
  { name: 'one verdict', shareOfPayers: 1, verdicts: 1, scores: 0, outcomes: 0, idempotent: false },
  {
    name: '3 verdicts, 2 scores, 1 outcome',
    shareOfPayers: 0.5,
    verdicts: 3,
    scores: 2,
    outcomes: 1,
    idempotent: true,
  },
  { name: 'ten of each', shareOfPayers: 0.1, verdicts: 10, scores: 10, outcomes: 10, idempotent: true },
];

const PAUSE_MS = 25 * 3600_000;

/** How far what `scoring size` says lies from what a Redis and an archive of known contents take. */
export async function measureSizing(plan: SizingPlan): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const mix of MIXES) {
    plan.onProgress(`sizing: payers with ${mix.name}`);
    figures.push(...(await measureMix(mix, Math.ceil(plan.payers * mix.shareOfPayers))));
  }
  return [...largestErrors(figures), ...figures];
}

async function measureMix(mix: Mix, count: number): Promise<readonly Figure[]> {
  const redis = await FilledRedis.start();
  try {
    const before = await redis.usage();
    await fill(redis, mix, count);
    const used = usedBetween(before, await redis.usage());
    const figures = redisFigures(mix, count, used);
    // Days of few decisions make small segments, which say nothing of large ones.
    return mix.verdicts > 1 ? figures : [...figures, ...(await archiveFigures(mix, count, redis.url))];
  } finally {
    await redis.stop();
  }
}

async function fill(redis: FilledRedis, mix: Mix, count: number): Promise<void> {
  const payers = payersNamed(count);
  redis.nowMs = Date.now() - mix.verdicts * PAUSE_MS;
  for (let round = 0; round < mix.verdicts; round++) {
    const orders = new Map(payers.map(({ name }) => [name, randomUUID()]));
    const orderOf = (name: string) => orders.get(name) ?? '';
    if (round < mix.scores) await redis.each(payers, (payer) => redis.score(payer));
    await redis.each(payers, (payer) =>
      redis.verdict(payer, orderOf(payer.name), mix.idempotent ? randomUUID() : null),
    );
    if (round < mix.outcomes) await redis.each(payers, (payer) => redis.outcome(payer, orderOf(payer.name)));
    redis.nowMs += PAUSE_MS;
  }
}

function redisFigures(mix: Mix, count: number, used: RedisUsage): readonly Figure[] {
  const work = workOf(mix, count);
  const share = mix.idempotent ? 1 : 0;
  return [
    ...compared(mix, 'Redis memory', 'B a payer', used.bytes / count, modelBytes(mix, count) / count),
    ...compared(
      mix,
      'append-only file',
      'B a payer',
      used.logBytes / count,
      trafficBytes(work, share, 'log') / count,
    ),
    ...compared(
      mix,
      'network',
      'B a payer',
      (used.received + used.sent) / count,
      trafficBytes(work, share, 'network') / count,
    ),
    ...compared(
      mix,
      'redis-server CPU',
      'us a payer',
      used.cpuMicros / count,
      (1e6 * redisCoresOf(work, share)) / count,
    ),
  ];
}

function workOf({ verdicts, scores, outcomes }: Mix, count: number) {
  return { verdict: verdicts * count, score: scores * count, outcome: outcomes * count };
}

/** Nothing of it has run out or was shipped, and the server was empty before. */
function modelBytes(mix: Mix, count: number): number {
  const journal = workOf(mix, count);
  const idempotencyKeys = mix.idempotent ? journal.verdict : 0;
  const notes = journal.outcome + idempotencyKeys;
  const kept: Kept = {
    payers: count,
    requestsOfPayer: (journal.verdict + journal.score + journal.outcome) / count,
    payersWithNotes: notes === 0 ? 0 : count,
    notes,
    devices: mix.scores === 0 ? 0 : count,
    decisions: journal.verdict,
    idempotencyKeys,
    journal,
  };
  return redisBytes(kept).total - UNIT_COSTS.redis.server;
}

/** Ships the journal in this process, so that its CPU time is this one's. */
async function archiveFigures(mix: Mix, count: number, redisUrl: string): Promise<readonly Figure[]> {
  const folder = temporaryDirectory();
  const archiveDir = join(folder, 'archive');
  const open = await openShipper(
    {
      archiveDir,
      archiveKeepMs: 400 * 86_400_000,
      decisionsHotMs: 7 * 86_400_000,
      rulesDir: join(RULES_FOLDER, '..'),
      redisUrl,
      dataDir: folder,
    },
    () => {},
  );
  try {
    const before = process.cpuUsage();
    let entries = 0;
    for (let step = await open.shipper.step(); step.did !== 'nothing'; step = await open.shipper.step())
      if (step.did === 'shipped') entries += step.entries;
    const { user, system } = process.cpuUsage(before);
    const work = workOf(mix, count);
    const model = weigh(work, UNIT_COSTS.archive);
    const shippingMicros = weigh(work, UNIT_COSTS.shippingMicros);
    const { bytes } = new Archive(archiveDir).contents();
    return [
      ...compared(mix, 'archive', 'B a payer', bytes / count, model / count),
      ...compared(mix, 'shipping CPU', 'us an entry', (user + system) / entries, shippingMicros / entries),
    ];
  } finally {
    await open.close();
  }
}

function compared(
  { name }: Mix,
  what: string,
  unit: string,
  measured: number,
  model: number,
): readonly Figure[] {
  const part = 'sizing';
  return [
    { part, name: `${name}: ${what}`, value: measured, unit, target: null },
    {
      part,
      name: `${name}: ${what}, model off by`,
      value: 100 * (model / measured - 1),
      unit: '%',
      target: null,
    },
  ];
}

/** Bytes must come out within a sixth on every mix; CPU is that of the machine. */
function largestErrors(figures: readonly Figure[]): readonly Figure[] {
  return ['Redis memory', 'append-only file', 'network', 'redis-server CPU', 'archive', 'shipping CPU'].map(
    (what) => {
      const errors = figures.filter(({ name }) => name.endsWith(`: ${what}, model off by`));
      const value = Math.max(...errors.map((error) => Math.abs(error.value)));
      const target = what.endsWith('CPU') ? null : { atMost: 17 };
      return { part: 'sizing', name: `largest error of ${what}`, value, unit: '%', target };
    },
  );
}
