import { setTimeout as delay } from 'node:timers/promises';
import type { Tenant } from '../../../test/service/tenant.ts';
import { atLeast, type Figure } from '../figure.ts';
import { sameOnEachStore } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { fill } from '../traffic/fill.ts';
import { takeTurns, turnFigures } from '../traffic/taking-turns.ts';

/** What the archive holds: enough that each piece of evidence takes seconds. */
const DECISIONS = { full: 40_000, quick: 10_000 } as const;
/** The archive is shipped at least every ten seconds. */
const SHIPPED_MS = 12_000;
const LOOK_MS = 200;
/** A process that is ended is gone at once; the store then forgets its job. */
const SETTLE_MS = 1_500;

const VERSION = 'p2.v10';

/** What is asked, each in turn; another beginning makes another question of it, so that none is answered from before. */
const QUESTIONS = [
  ['sweep', { version: VERSION, vary: ['groups.blocked-by-unpaid-chain.unpaidChain=2..5'] }],
  ['report', { version: VERSION, by: 'method' }],
  ['backtest', { version: VERSION, mode: 'closed-loop' }],
  ['drift', {}],
] as const;

/** Evidence is worked out without a pause beside another's callers. */
export const busyEvidence: Scenario = {
  name: 'busy-evidence',
  does: 'evidence is worked out from the archive without a pause: verdicts take at most 1.2 times their p99',
  limitSeconds: 600,
  run: (run) =>
    sameOnEachStore(run, async (store, place) => evidenceBeside(store, await startServiceNode(place), run)),
};

async function evidenceBeside(
  store: string,
  service: ServiceNode,
  run: ScenarioRun,
): Promise<readonly Figure[]> {
  await fill(service, DECISIONS[run.quick ? 'quick' : 'full']);
  await delay(SHIPPED_MS);
  const worked = { done: 0 };
  const work = (forMs: number) => workFor(forMs, service.shop, worked);
  const turns = await takeTurns(store, service, { what: 'evidence', work, settleMs: SETTLE_MS }, run);
  await service.kill();
  return [
    atLeast(`${store}: pieces of evidence worked out`, worked.done, 1),
    ...turnFigures(store, 'evidence', turns, 1.2),
  ];
}

/** Asks for one thing after the other for so long, then cancels what is under way. */
async function workFor(forMs: number, shop: Tenant, worked: { done: number }): Promise<void> {
  const until = performance.now() + forMs;
  for (let asked = worked.done; performance.now() < until; asked++) {
    const [path, body] = QUESTIONS[asked % QUESTIONS.length] ?? QUESTIONS[0];
    const job = await shop.ask<{ readonly jobId: string }>('POST', `evidence/${path}`, {
      ...body,
      from: Math.round(performance.now()),
    });
    if (job.status !== 200)
      throw new Error(`${path} was answered ${job.status}: ${JSON.stringify(job.body)}`);
    if (await isDone(shop, job.body.jobId, until)) worked.done++;
    else await shop.ask('DELETE', `evidence/${job.body.jobId}`);
  }
}

async function isDone(shop: Tenant, jobId: string, until: number): Promise<boolean> {
  while (performance.now() < until) {
    const { body } = await shop.ask<{
      readonly job: { readonly state: string; readonly trouble: string | null };
    }>('GET', `evidence/${jobId}`);
    if (body.job.state === 'done') return true;
    if (body.job.state === 'failed') throw new Error(`evidence failed: ${body.job.trouble}`);
    await delay(LOOK_MS);
  }
  return false;
}
