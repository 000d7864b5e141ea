import { setTimeout as delay } from 'node:timers/promises';
import { Load, type Sample } from './load.ts';
import { doubled, firstSuccess, lost, recordedDecisions, retryAll } from './records.ts';
import { atLeast, type Figure, never, reported, type Scenario, type ScenarioRun } from './scenario.ts';
import { type ServiceProcess, startService } from './service-process.ts';

const CONNECTIONS = 8;
const CLIENTS_A_ROUND = 20;
const LOAD_MS = 300;
const AFTERWARDS_MS = 100;
const RECOVERY_LIMIT_MS = 10_000;
const TIMEOUT_MS = 3_000;
const MOST_A_ROUND = 2_000;

interface Kept {
  acknowledged: number;
  unanswered: number;
  /** Unanswered, and yet recorded: the retry then gave the stored answer. */
  unansweredButTaken: number;
  lost: number;
  doubled: number;
}

/** The service dies at once, again and again, and starts on the same SQLite file. */
export const serviceKills: Scenario = {
  name: 'service-kills',
  does: 'kill -9 of the service under load on SQLite, 50 times: no acknowledged verdict is lost or doubled',
  limitSeconds: 600,
  run,
};

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  const rounds = quick ? 5 : 50;
  const service = await startService();
  const kept: Kept = { acknowledged: 0, unanswered: 0, unansweredButTaken: 0, lost: 0, doubled: 0 };
  try {
    for (let round = 0; round < rounds; round++) {
      const samples = await killUnderLoad(service, round);
      await account(service, samples, kept);
      report(`kill ${round + 1}: ${samples.length} verdicts asked for`);
    }
  } finally {
    await service.stop();
  }
  return [
    reported('kills', String(rounds)),
    atLeast('verdicts acknowledged before a kill', kept.acknowledged, rounds),
    reported('requests that a kill left without an answer', String(kept.unanswered)),
    reported('of these, steps that had been taken', String(kept.unansweredButTaken)),
    never('acknowledged verdicts lost', kept.lost),
    never('verdicts doubled, every unanswered one retried under its key', kept.doubled),
  ];
}

async function killUnderLoad(service: ServiceProcess, round: number): Promise<readonly Sample[]> {
  const load = new Load({
    target: service,
    connections: CONNECTIONS,
    ratePerSecond: null,
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    mostSamples: MOST_A_ROUND,
    ask: (n) => ({
      clientIdKey: `round-${round}-payer-${n % CLIENTS_A_ROUND}`,
      orderRef: `round-${round}-order-${n}`,
    }),
  });
  await delay(LOAD_MS * (0.5 + Math.random()));
  await service.kill('SIGKILL');
  await delay(AFTERWARDS_MS);
  const samples = await load.stop();
  await service.restart();
  await firstSuccess(service, `after-${round}`, RECOVERY_LIMIT_MS);
  return samples;
}

/** Reads back what was acknowledged, then asks again for what was not, as a careful caller does. */
async function account(service: ServiceProcess, samples: readonly Sample[], kept: Kept): Promise<void> {
  const unanswered = samples.filter(({ status }) => status !== 200);
  const before = await recordedDecisions(
    service,
    samples.map(({ orderRef }) => orderRef),
  );
  const retried = await retryAll(service, unanswered);
  const after = await recordedDecisions(
    service,
    unanswered.map(({ orderRef }) => orderRef),
  );
  kept.acknowledged += samples.length - unanswered.length;
  kept.unanswered += unanswered.length;
  kept.unansweredButTaken += unanswered.filter(({ orderRef }) => before.get(orderRef)?.length).length;
  kept.lost += lost(samples, before).length + lost(retried, after).length;
  kept.doubled += doubled(before).length + doubled(after).length;
}
