import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { NoAnswerError, PlatformClient, ScoringClient } from '#sdk/client.ts';
import { startNode } from '../processes/node-process.ts';
import { freePort } from '../servers/free-port.ts';
import { hasProgram } from '../servers/needed-programs.ts';
import { startSentinel } from '../servers/redis.ts';
import { command } from '../servers/redis-command.ts';
import { FLUSHED_AT_ONCE, startRedis } from '../servers/redis-process.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';

const COPY = join(import.meta.dirname, '..', '..', 'scripts', 'examples', 'copy-events.ts');
const CLIENTS = ['ann', 'bob', 'eve'];
const VERDICTS = 24;

/** What is killed after how many verdicts. */
type Accident = 'service' | 'copy' | 'redis';

describe('copies of the feed while everything is killed again and again', () => {
  it('have each acknowledged verdict once and in order, on SQLite', () =>
    survive(null, ['service', 'copy', 'service']));

  if (hasProgram('redis-server'))
    it('have each acknowledged verdict once and in order, on Redis', async () => {
      const redis = await startRedis(temporaryDirectory(), await freePort(), FLUSHED_AT_ONCE);
      try {
        const restart = async () => {
          await redis.kill();
          await redis.restart();
        };
        await survive({ url: redis.url, strike: restart }, ['redis', 'service', 'redis', 'copy']);
      } finally {
        await redis.kill();
      }
    });

  if (hasProgram('redis-server'))
    it('have each replicated verdict once and in order when a master is replaced', async () => {
      const servers = await startSentinel();
      const [master, replica] = servers.nodes;
      const replace = async () => {
        const offset = async (port = 0) =>
          /master_repl_offset:(\d+)/.exec(String(await command(port, ['INFO', 'replication'])))?.[1];
        await until(
          'the replica has all',
          async () => (await offset(master?.port)) === (await offset(replica?.port)),
        );
        await master?.kill();
      };
      try {
        await survive({ url: servers.url, strike: replace }, ['copy', 'redis', 'service']);
      } finally {
        await servers.stop();
      }
    });
});

interface FailingRedis {
  readonly url: string;
  readonly strike: () => Promise<void>;
}

async function survive(redis: FailingRedis | null, accidents: readonly Accident[]): Promise<void> {
  const dataDir = temporaryDirectory();
  const accessKey = await issueKey({ dataDir, redisUrl: redis?.url });
  const [port, platformPort] = [await freePort(), await freePort()];
  const start = () =>
    spawnService(dataDir, {
      PORT: String(port),
      PLATFORM_PORT: String(platformPort),
      REDIS_URL: redis?.url ?? '',
      SIGNAL_SECRET: 'a secret of the tests, long enough',
    });
  let service: ServiceProcess = await start();
  const baseUrl = service.platformUrl;
  const file = join(temporaryDirectory(), 'events.db');
  const copying = () =>
    startNode([COPY, '--platform-url', baseUrl, '--key', accessKey, '--file', file], { env: {} });
  let copy = copying();
  const ended = new AbortController();
  const slow = readSlowly(new PlatformClient({ baseUrl, accessKey }), ended.signal);
  const acknowledged: string[] = [];
  const scoring = new ScoringClient({ baseUrl: service.callerUrl, accessKey });
  const hit = async (accident: Accident) => {
    switch (accident) {
      case 'service':
        service.child.kill('SIGKILL');
        await service.exited;
        service = await start();
        return;
      case 'copy':
        copy.child.kill('SIGKILL');
        await copy.exited;
        copy = copying();
        return;
      case 'redis':
        await redis?.strike();
        return;
      default:
        throw new Error(accident satisfies never);
    }
  };
  try {
    for (const [index, accident] of accidents.entries()) {
      // Between answers and in the middle of requests.
      const [traffic] = await Promise.all([
        decideSome(scoring, `round-${index}`),
        index === 0 ? hit(accident) : null,
      ]);
      acknowledged.push(...traffic);
      if (index > 0) await hit(accident);
    }
    acknowledged.push(...(await decideSome(scoring, 'last')));
    expect(acknowledged.length).to.be.at.least(VERDICTS);
    const isCopied = (orders: readonly string[]) => acknowledged.every((order) => orders.includes(order));
    await until('the copy has all', async () => isCopied(copiedOrders(file)), 60_000);
    await until('the slow reader has all', async () => isCopied(slow.orders()), 60_000);
    for (const orders of [copiedOrders(file), slow.orders()])
      for (const client of CLIENTS) {
        const own = (order: string) => order.startsWith(client) && acknowledged.includes(order);
        expect(orders.filter(own)).to.deep.equal(acknowledged.filter(own));
      }
  } finally {
    ended.abort();
    copy.child.kill('SIGKILL');
    await copy.exited;
    await slow.done;
    await service.stop();
  }
}

/** Verdicts one after the other; gives the orders of those that were acknowledged, in their order. */
async function decideSome(scoring: ScoringClient, name: string): Promise<readonly string[]> {
  const acknowledged: string[] = [];
  for (let number = 0; number < VERDICTS; number += 1) {
    const clientIdKey = CLIENTS[number % CLIENTS.length] ?? 'ann';
    const orderRef = `${clientIdKey}-${name}-${number}`;
    const request = { sellPointKey: 's', clientIdKey, method: 'card', amountRequested: '1.00', orderRef };
    try {
      await scoring.verdict(request);
      acknowledged.push(orderRef);
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      // Like a shop: while the service is away, the client pauses for a moment.
      await sleep(150);
    }
  }
  return acknowledged;
}

function copiedOrders(file: string): readonly string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = db
      .prepare("SELECT data ->> '$.decision.orderRef' AS o FROM events WHERE type = 'verdict' ORDER BY rowid")
      .all();
    return rows.map(({ o }) => String(o));
  } finally {
    db.close();
  }
}

/** Reads few events at a time, pauses after each, and drops them. */
function readSlowly(platform: PlatformClient, signal: AbortSignal) {
  const seen = new Map<string, string>();
  let next: string | null = null;
  const place = {
    load: () => next,
    save: (newer: string) => {
      next = newer;
    },
  };
  const readOn = async () => {
    for await (const event of platform.events(place, { limit: 3 }, { signal })) {
      if (event.type === 'verdict' && !seen.has(event.id)) seen.set(event.id, event.data.decision.orderRef);
      await sleep(20);
    }
  };
  const read = async () => {
    while (!signal.aborted)
      await readOn().catch(async (error: unknown) => {
        if (!(error instanceof NoAnswerError) && !signal.aborted) throw error;
        await sleep(200);
      });
  };
  return { orders: () => [...seen.values()], done: read() };
}
