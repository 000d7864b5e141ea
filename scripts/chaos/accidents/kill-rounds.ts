import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceNode } from '../processes/service-node.ts';
import type { ScenarioRun } from '../scenario.ts';
import { Load, payersInTurn, type Sample } from '../traffic/load.ts';
import { doubled, firstSuccess, lost, recordedDecisions, retryAll } from '../traffic/records.ts';

const KILLS = 50;
const QUICK_KILLS = 5;
const CONNECTIONS = 8;
const CLIENTS_A_ROUND = 20;
/** Long enough for an answer that is under way; who is not answered by then never is. */
const TIMEOUT_MS = 3_000;
const LOAD_MS = 300;
const AFTERWARDS_MS = 100;
const RECOVERY_LIMIT_MS = 10_000;

/** What dies in each round, and under which load. */
export interface KillPlan {
  readonly service: ServiceNode;
  /** Killed at once and started again on the same port: the service itself, or its store. */
  readonly victim: { kill(): Promise<void>; restart(): Promise<void> };
  /** Null: callers that never pause. */
  readonly ratePerSecond: number | null;
  readonly samplesMax?: number;
  /** How many of a round's refused verdicts are asked for again; all when absent. */
  readonly retriedMax?: number;
  /** Every so many kills the load before it lasts so long; it is about 300 ms otherwise. */
  readonly longLoad?: { readonly everyNth: number; readonly ms: number };
}

/** One kill under load, and what was kept of the verdicts around it. */
export interface KillRound {
  readonly samples: readonly Sample[];
  readonly acknowledged: readonly Sample[];
  /** Those not answered 200 that were asked for again. */
  readonly refused: readonly Sample[];
  /** Of these, steps that had been taken: only the answer was lost. */
  readonly refusedButTaken: readonly Sample[];
  /** Acknowledged before the kill, and not found afterwards. */
  readonly lost: readonly Sample[];
  /** The same of the retries, after which nobody was killed. */
  readonly lostOnRetry: readonly Sample[];
  /** Orders with more than one step, also after the retries. */
  readonly doubled: readonly string[];
  readonly killedAtMs: number;
  /** From the moment when the victim is back to the first verdict, ms. */
  readonly recoveryMs: number;
}

/** Kills, starts again and looks, 50 times or, in a quick run, 5 times. */
export async function killAgainAndAgain(
  plan: KillPlan,
  { quick, report }: ScenarioRun,
): Promise<readonly KillRound[]> {
  const rounds: KillRound[] = [];
  for (let round = 0; round < (quick ? QUICK_KILLS : KILLS); round++) {
    const done = await killRound(plan, round);
    report(`kill ${round + 1}: ${done.samples.length} verdicts asked for`);
    rounds.push(done);
  }
  return rounds;
}

async function killRound(plan: KillPlan, round: number): Promise<KillRound> {
  const { service, victim, longLoad } = plan;
  const load = new Load({
    ...plan,
    target: service,
    connections: CONNECTIONS,
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    ask: payersInTurn(CLIENTS_A_ROUND, `round-${round}-`),
  });
  const isLong = longLoad !== undefined && round % longLoad.everyNth === 0;
  await delay(isLong ? longLoad.ms : LOAD_MS * (0.5 + Math.random()));
  const killedAtMs = performance.now();
  await victim.kill();
  await delay(AFTERWARDS_MS);
  const samples = await load.stop();
  await victim.restart();
  const backAtMs = performance.now();
  const recoveryMs = (await firstSuccess(service, `after-${round}`, RECOVERY_LIMIT_MS)) - backAtMs;
  return { samples, killedAtMs, recoveryMs, ...(await account(plan, samples)) };
}

/** Reads back what was acknowledged, then asks again for what was not, as a careful caller does. */
async function account(
  { service, retriedMax = Number.POSITIVE_INFINITY }: KillPlan,
  samples: readonly Sample[],
): Promise<Omit<KillRound, 'samples' | 'killedAtMs' | 'recoveryMs'>> {
  const acknowledged = samples.filter(({ status }) => status === 200);
  // The first ones were under way at the kill, which is where doubt can be; later ones found the victim gone.
  const refused = samples.filter(({ status }) => status !== 200).slice(0, retriedMax);
  const before = await recordedDecisions(service, ordersOf([...acknowledged, ...refused]));
  const retried = await retryAll(service, refused);
  const after = await recordedDecisions(service, ordersOf(refused));
  return {
    acknowledged,
    refused,
    refusedButTaken: refused.filter(({ orderRef }) => before.get(orderRef)?.length),
    lost: lost(acknowledged, before),
    lostOnRetry: lost(retried, after),
    doubled: [...doubled(before), ...doubled(after)],
  };
}

function ordersOf(samples: readonly Sample[]): readonly string[] {
  return samples.map(({ orderRef }) => orderRef);
}
