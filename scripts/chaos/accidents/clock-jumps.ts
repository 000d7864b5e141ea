import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { type Figure, never, reported } from '../figure.ts';
import { notRun } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';

const HOUR_SECONDS = 3600;
/** A wait is over in its last second, rounded up. */
const SLACK_MS = 1200;

/** The wait that a payer was told. */
export interface Told {
  readonly verdict: string;
  readonly waitSeconds?: number;
}

/** How the system clock of one service is set, by libfaketime; its monotonic clock runs on as it does. */
interface SettableClock {
  readonly env: Readonly<Record<string, string>>;
  set(offsetSeconds: number): Promise<void>;
}

export const clockJumps: Scenario = {
  name: 'clock-jumps',
  does: 'sets the system clock forward and back by an hour under waiting payers: no wait may be shortened or skipped',
  limitSeconds: 180,
  run: async (run) => {
    const library = faketimeLibrary();
    if (library === null) return [notRun('install libfaketime (the package faketime)', run.report)];
    const clock = settableClock(library);
    const service = await startServiceNode({ env: { ...clock.env } });
    return [...(await whileRunning(service, clock, run)), ...(await overRestarts(service, clock, run))];
  },
};

/** Three payers wait at once, so that the real seconds of a wait pass only once. */
async function whileRunning(
  service: ServiceNode,
  clock: SettableClock,
  { report }: ScenarioRun,
): Promise<readonly Figure[]> {
  const told = await sendToWait(service, ['forward', 'back', 'early']);
  const waitSeconds = told.waitSeconds ?? Number.NaN;
  const waitUntilMs = performance.now() + waitSeconds * 1000 + SLACK_MS;
  const movedBy: number[] = [];
  await clock.set(HOUR_SECONDS);
  movedBy.push(await serverOffsetSeconds(service));
  const afterForward = await verdict(service, 'forward');
  await clock.set(-HOUR_SECONDS);
  movedBy.push(await serverOffsetSeconds(service));
  const afterBack = await verdict(service, 'early');
  report(`the clock was set by ${movedBy.join(' s and ')} s; a wait of ${waitSeconds} s passes`);
  await delay(waitUntilMs - performance.now());
  const afterWait = await verdict(service, 'back');
  await clock.set(0);
  return [
    never(
      'clocks that did not move when set',
      movedBy.filter((seconds) => Math.abs(seconds) < HOUR_SECONDS / 2).length,
    ),
    never('waits skipped when the clock was set forward', isWaiting(afterForward) ? 0 : 1),
    never('waits skipped when the clock was set back', isWaiting(afterBack) ? 0 : 1),
    never('waits not over after their real seconds', isWaiting(afterWait) ? 1 : 0),
  ];
}

/**
 * A process takes the time from the system clock when it starts, and nothing that a store keeps could tell it that
 * the clock was wrong. That case is only reported.
 */
async function overRestarts(
  service: ServiceNode,
  clock: SettableClock,
  { report }: ScenarioRun,
): Promise<readonly Figure[]> {
  await sendToWait(service, ['restart-forward', 'restart-back']);
  await clock.set(-HOUR_SECONDS);
  await restart(service);
  const back = await verdict(service, 'restart-back');
  await clock.set(HOUR_SECONDS);
  await restart(service);
  const forward = await verdict(service, 'restart-forward');
  await clock.set(0);
  report(`after restarts: back ${JSON.stringify(back)}, forward ${JSON.stringify(forward)}`);
  return [
    never('waits skipped by a restart with the clock an hour back', isWaiting(back) ? 0 : 1),
    reported('a restart with the clock an hour forward', isWaiting(forward) ? 'waits' : 'skips the wait'),
  ];
}

async function restart(service: ServiceNode): Promise<void> {
  await service.kill('SIGTERM');
  await service.restart();
}

/** Two verdicts without a payment: the second is told to wait. */
async function sendToWait(service: ServiceNode, payers: readonly string[]): Promise<Told> {
  let last: Told = { verdict: 'nobody asked' };
  for (const payer of payers) {
    await verdict(service, payer);
    last = await verdict(service, payer);
    if (!isWaiting(last)) throw new Error(`${payer} should wait, and was told ${JSON.stringify(last)}`);
  }
  return last;
}

/** Told to wait, for some time that is left. */
export function isWaiting({ verdict, waitSeconds = 0 }: Told): boolean {
  return verdict === 'WAIT' && waitSeconds > 0;
}

async function verdict({ shop }: ServiceNode, payer: string): Promise<Told> {
  const { status, body } = await shop.verdict({ clientIdKey: payer, orderRef: `order-of-${payer}` });
  if (status !== 200) throw new Error(`${payer} got ${status}`);
  return body;
}

/** How far the clock of the service process is off, as its Date header tells. */
async function serverOffsetSeconds({ platformUrl }: ServiceNode): Promise<number> {
  const answer = await fetch(`${platformUrl}/livez`);
  await answer.arrayBuffer();
  return Math.round((Date.parse(answer.headers.get('Date') ?? '') - Date.now()) / 1000);
}

function settableClock(library: string): SettableClock {
  const folder = temporaryDirectory();
  const file = join(folder, 'clock');
  const write = (offsetSeconds: number) => writeFileSync(file, clockOffset(offsetSeconds));
  write(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      // A clock that somebody sets leaves the monotonic clock alone.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set: async (offsetSeconds) => {
      write(offsetSeconds);
      // Node writes the Date header from a copy that it renews every second.
      await delay(SLACK_MS);
    },
  };
}

/** An offset as libfaketime reads it. */
export function clockOffset(seconds: number): string {
  return `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}s\n`;
}

/** The variant for processes with threads, where distributions keep it; null when it is not installed. */
function faketimeLibrary(): string | null {
  const parents = ['/usr/lib', '/usr/lib64', '/usr/local/lib'].filter((folder) => existsSync(folder));
  const folders = parents.flatMap((parent) => [
    parent,
    ...readdirSync(parent)
      .filter((name) => name.endsWith('-linux-gnu'))
      .map((name) => join(parent, name)),
  ]);
  const candidates = folders.map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'));
  return candidates.find((candidate) => existsSync(candidate)) ?? null;
}
