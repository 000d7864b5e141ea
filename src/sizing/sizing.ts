import { UNIT_COSTS } from './unit-costs.ts';

/** What is asked of an installation on Redis, and how long things are kept. */
export interface Workload {
  /** On average over a day. */
  readonly verdictsPerSecond: number;
  /** How many times the average the busiest second has. */
  readonly peakFactor: number;
  /** For how long it has been in operation. */
  readonly days: number;
  /** Payers known by then. */
  readonly payers: number;
  readonly scoresPerVerdict: number;
  readonly outcomesPerVerdict: number;
  /** Of verdicts, the share that carries an Idempotency-Key. */
  readonly idempotentShare: number;
  readonly daysHot: number;
  readonly daysArchived: number;
  /** Memory of the machine of one master. */
  readonly masterBytes: number;
}

/** Numbers of what Redis holds at one moment. */
export interface Kept {
  readonly payers: number;
  /** Of one payer, on average. */
  readonly requestsOfPayer: number;
  /** Payers with an outcome or an Idempotency-Key within 90 days, and how many of those there were. */
  readonly payersWithNotes: number;
  readonly notes: number;
  readonly devices: number;
  readonly decisions: number;
  readonly idempotencyKeys: number;
  readonly journal: Counts;
}

/** So many of each. */
export interface Counts {
  readonly verdict: number;
  readonly score: number;
  readonly outcome: number;
}

/** Bytes of Redis by what they are for. */
export interface RedisBytes {
  readonly payers: number;
  readonly devices: number;
  readonly decisions: number;
  readonly idempotencyKeys: number;
  readonly journal: number;
  readonly total: number;
}

export interface Needs {
  /** Cores of the processes that answer, busy at the peak; and to plan with. */
  readonly service: { readonly busyCores: number; readonly cores: number };
  readonly redis: {
    readonly busyCores: number;
    readonly bytes: RedisBytes;
    /** Null: more than one cluster can have. */
    readonly masters: number | null;
    readonly mastersForCpu: number;
    readonly mastersForMemory: number;
    /** Of one copy; before a rewrite the append-only file is up to twice as long as after it. */
    readonly diskBytes: number;
    readonly networkBytesPerSecond: number;
  };
  readonly archiveBytes: number;
  readonly limits: {
    /** Of what one thread can ship, the share that is needed on average. */
    readonly shippingShare: number;
    /** How long the archive may be away before entries of the journal are lost to it. */
    readonly archiveAwaySeconds: number;
  };
}

const DAY_SECONDS = 86_400;

/** What works at half of what it can keeps its answers fast at the peak, and one of two may fail. */
const PLANNED_SHARE = 0.5;

/** A rewrite of the append-only file copies what changes meanwhile. */
const FILLED_SHARE = 0.6;

/** Over so many masters the 64 partitions spread evenly. */
const EVEN_MASTERS = [1, 3, 6, 8, 12, 32, 64] as const;

/** Retention of Redis, in days (`RETENTION` of the store). */
const NOTES_DAYS = 90;
const DEVICE_DAYS = 7;
const KEY_DAYS = 1;

/** Notes of a payer that have ended are looked for when there are so many more. */
const NOTES_TIDIED_EVERY = 64;

/** Of the journal; entries that are shipped are kept up to the first, unshipped ones up to the second. */
const JOURNAL_ENTRIES = 100_000;
const JOURNAL_ENTRIES_MAX = 1_000_000;

/** While it is behind the shipping process rests as long as it works. */
const SHIPPING_SHARE = 0.5;

/** What this workload needs. Checked against measured points by the part `sizing` of the bench. */
export function sizing(workload: Workload): Needs {
  const perSecond = mean(workload);
  const bytes = redisBytes(keptOf(workload));
  const serviceCores = workload.peakFactor * busyCores(perSecond, UNIT_COSTS.serviceMicros);
  const redisCores = workload.peakFactor * redisCoresOf(perSecond, workload.idempotentShare);
  const mastersForCpu = Math.ceil(redisCores / PLANNED_SHARE);
  const mastersForMemory = Math.ceil(bytes.total / (workload.masterBytes * FILLED_SHARE));
  const wanted = Math.max(mastersForCpu, mastersForMemory);
  return {
    service: { busyCores: serviceCores, cores: Math.ceil(serviceCores / PLANNED_SHARE) },
    redis: {
      busyCores: redisCores,
      bytes,
      masters: EVEN_MASTERS.find((masters) => masters >= wanted) ?? null,
      mastersForCpu,
      mastersForMemory,
      diskBytes: 2 * bytes.total,
      networkBytesPerSecond:
        workload.peakFactor * trafficBytes(perSecond, workload.idempotentShare, 'network'),
    },
    archiveBytes:
      DAY_SECONDS * Math.min(workload.days, workload.daysArchived) * weigh(perSecond, UNIT_COSTS.archive),
    limits: {
      shippingShare: busyCores(perSecond, UNIT_COSTS.shippingMicros) / SHIPPING_SHARE,
      archiveAwaySeconds: JOURNAL_ENTRIES_MAX / requestsOf(perSecond),
    },
  };
}

/** Bytes that Redis takes for this. */
export function redisBytes(kept: Kept): RedisBytes {
  const { redis } = UNIT_COSTS;
  // A short state is written in fewer bytes; it is as long as it gets after a few requests.
  const known = Math.min(1, Math.max(0, (kept.requestsOfPayer - 1) / 2));
  const state = redis.state.once + known * (redis.state.known - redis.state.once);
  const payers = kept.payers * state + kept.payersWithNotes * redis.notes + kept.notes * redis.note;
  const parts = {
    payers: payers * redis.tables,
    devices: kept.devices * redis.device * redis.tables,
    decisions: kept.decisions * (redis.decision + redis.order) * redis.tables,
    idempotencyKeys: kept.idempotencyKeys * redis.idempotencyKey * redis.tables,
    journal: weigh(kept.journal, redis.journal),
  };
  return { ...parts, total: Object.values(parts).reduce((sum, bytes) => sum + bytes, redis.server) };
}

/** Bytes that so much work adds to the append-only file, or sends between service and Redis. */
export function trafficBytes(work: Counts, idempotentShare: number, where: 'log' | 'network'): number {
  const costs = UNIT_COSTS[where];
  return weigh(work, costs) + work.verdict * idempotentShare * costs.idempotencyKey;
}

/** Seconds of one core of redis-server that so much work takes. */
export function redisCoresOf(work: Counts, idempotentShare: number): number {
  const { redisMicros } = UNIT_COSTS;
  return busyCores(work, redisMicros) + (work.verdict * idempotentShare * redisMicros.idempotencyKey) / 1e6;
}

function busyCores(work: Counts, micros: Counts): number {
  return weigh(work, micros) / 1e6;
}

/** What so much work costs in all, in the unit of the costs. */
export function weigh(work: Counts, costs: Counts): number {
  return work.verdict * costs.verdict + work.score * costs.score + work.outcome * costs.outcome;
}

function requestsOf({ verdict, score, outcome }: Counts): number {
  return verdict + score + outcome;
}

function mean({ verdictsPerSecond, scoresPerVerdict, outcomesPerVerdict }: Workload): Counts {
  return {
    verdict: verdictsPerSecond,
    score: verdictsPerSecond * scoresPerVerdict,
    outcome: verdictsPerSecond * outcomesPerVerdict,
  };
}

function keptOf(workload: Workload): Kept {
  const { days, payers, idempotentShare, daysHot } = workload;
  const perSecond = mean(workload);
  const within = (perSecondOne: number, keptDays: number) =>
    perSecondOne * DAY_SECONDS * Math.min(days, keptDays);
  const keysWithin = (keptDays: number) => within(perSecond.verdict * idempotentShare, keptDays);
  const answers = Math.min(keysWithin(NOTES_DAYS), (payers * NOTES_TIDIED_EVERY) / 2 + keysWithin(KEY_DAYS));
  const notes = within(perSecond.outcome, NOTES_DAYS) + answers;
  const entries = requestsOf(perSecond);
  const inJournal = (perSecondOne: number) => (JOURNAL_ENTRIES * perSecondOne) / entries;
  return {
    payers,
    requestsOfPayer: payers === 0 ? 0 : (entries * DAY_SECONDS * days) / payers,
    payersWithNotes: Math.min(payers, notes),
    notes,
    devices: Math.min(payers, within(perSecond.score, DEVICE_DAYS)),
    decisions: within(perSecond.verdict, daysHot),
    idempotencyKeys: keysWithin(KEY_DAYS),
    journal: {
      verdict: inJournal(perSecond.verdict),
      score: inJournal(perSecond.score),
      outcome: inJournal(perSecond.outcome),
    },
  };
}
