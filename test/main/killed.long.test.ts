import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { ErasureLedger } from '#workbench/payers/erasure.ts';
import { s3Environment, startS3 } from '../servers/s3.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { describeOnSharedStates } from '../stores/shared-state.ts';

/** Few, because each needs a start. Fifty are done by `npm run chaos -- service-kills`. */
const ROUNDS = 2;
const CALLERS = 8;

/** A round is killed after this many answers or more, a different number each time. */
const ANSWERS_MIN = 10;
const ANSWERS_MORE_EACH_ROUND = 13;

/** Refusals of a starved Redis do not count, so on a busy machine a round may take long. */
const LOAD_MS_MAX = 120_000;

/** A service whose Redis gets no CPU refuses; asking again at once would only take more CPU. */
const REST_MS = 50;

/** Orders answered with 200 before the kill, by client. */
class Acknowledged {
  readonly orders = new Map<string, string[]>();
  /** Refused or unanswered, so decided or not. */
  unknown = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(clientIdKey: string, orderRef: string): void {
    const known = this.orders.get(clientIdKey);
    if (known === undefined) this.orders.set(clientIdKey, [orderRef]);
    else known.push(orderRef);
    this.#count++;
  }
}

/** Eight callers ask for four clients without a pause, until the service is killed under them. */
async function killUnderLoad(
  service: ServiceProcess,
  key: string,
  round: number,
  acknowledged: Acknowledged,
): Promise<void> {
  const shop = new Tenant(service, key);
  let killed = false;
  const caller = async (number: number) => {
    const clientIdKey = `payer-${number % 4}`;
    for (let order = 0; !killed; order++) {
      const orderRef = `${round}-${number}-${order}`;
      const isDecided = await shop.verdict({ clientIdKey, orderRef }).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isDecided) {
        acknowledged.add(clientIdKey, orderRef);
      } else {
        acknowledged.unknown++;
        await sleep(REST_MS);
      }
    }
  };
  const enough = acknowledged.count + ANSWERS_MIN + ANSWERS_MORE_EACH_ROUND * round;
  const callers = Array.from({ length: CALLERS }, (_, number) => caller(number));
  await until('the load is real', async () => acknowledged.count >= enough, LOAD_MS_MAX);
  service.signal('SIGKILL');
  await service.exited;
  killed = true;
  await Promise.all(callers);
}

describeOnSharedStates('a service that is killed', (share) => {
  it(`${ROUNDS} times in the middle of its work loses no given verdict`, async function () {
    this.timeout(600_000);
    const { dataDir, env, key } = await share();
    const quiet = { ...env, LOG_LEVEL: 'silent' };
    const acknowledged = new Acknowledged();
    for (let round = 0; round < ROUNDS; round++) {
      await killUnderLoad(await spawnService(dataDir, quiet), key, round, acknowledged);
    }
    const service = await spawnService(dataDir, quiet);
    const shop = new Tenant(service, key);
    expect(acknowledged.orders.size).to.equal(4);
    for (const [clientIdKey, orders] of acknowledged.orders) {
      const decided = await shop.allDecisions({ clientIdKey });
      const found = new Set(decided.map(({ orderRef }) => orderRef));
      expect(
        orders.filter((orderRef) => !found.has(orderRef)),
        'acknowledged but not recorded',
      ).to.deep.equal([]);
      const { decisionCount } = (await shop.client(clientIdKey)).body;
      expect(decisionCount).to.be.at.least(orders.length);
      expect(decisionCount, 'at most what was asked').to.be.at.most(orders.length + acknowledged.unknown);
    }
    await service.stop();
  });
});

const PAYERS = 10;

describe("a disk that refuses to sync SQLite's writes", () => {
  it('ends the service without another answer, and a restart reads what is on the disk', async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir });
    const refusing = join(dataDir, 'refusing');
    const preload = `--import=${join(import.meta.dirname, 'refusing-disk.ts')}`;
    const start = () => spawnService(dataDir, { NODE_OPTIONS: preload, REFUSING_DISK: refusing });

    const first = await start();
    const shop = new Tenant(first, key);
    const acknowledged = Array.from({ length: PAYERS }, (_, n) => `order-${n}`);
    for (const orderRef of acknowledged)
      expect((await shop.verdict({ clientIdKey: `payer of ${orderRef}`, orderRef })).status).to.equal(200);
    writeFileSync(refusing, '');
    const unheard = { clientIdKey: 'unheard', orderRef: 'unheard' };
    const answered = await shop.verdict(unheard, { 'Idempotency-Key': 'unheard' }).then(
      ({ status }) => status,
      () => 'no answer',
    );
    expect(answered).to.equal('no answer');
    expect(await first.exited).to.equal(1);
    expect(first.stderr()).to.include(
      'the disk could not store what was written (EIO: i/o error, fdatasync); check the disk, then start the service again',
    );

    rmSync(refusing);
    const second = await start();
    const again = new Tenant(second, key);
    const kept = await Promise.all(
      acknowledged.map(async (orderRef) => {
        const { body } = await again.ask<{ decisions: unknown[] }>('GET', `decisions?orderRef=${orderRef}`);
        return body.decisions.length;
      }),
    );
    expect(kept).to.deep.equal(acknowledged.map(() => 1));
    const repeated = await again.verdict(unheard, { 'Idempotency-Key': 'unheard' });
    expect([repeated.status, repeated.body.verdict]).to.deep.equal([200, 'GET_NEW']);
    expect((await again.client('unheard')).body.decisionCount).to.equal(1);
    await second.stop();
  });
});

const ANN = 'ann-who-is-erased';

describe('a start while S3 is away', function () {
  this.timeout(120_000);

  it('serves callers, and repeats erasures in the store at once and in the archive later', async () => {
    const dataDir = temporaryDirectory();
    const ledger = join(temporaryDirectory(), 'ledger');
    const server = await startS3();
    const env = { ...s3Environment(server.port, 'years'), ERASURE_LEDGER: ledger };
    const key = await issueKey({ dataDir });
    let service = await spawnService(dataDir, env);
    await new Tenant(service, key).verdict({ clientIdKey: ANN });
    await service.stop();
    const store = openSqliteStore(dataDir);
    const platform = toPlatformName('shop');
    const { hash: clientHash } = store.clientKeys.of(platform, ANN);
    await store.close();
    await new ErasureLedger(ledger).append({ at: Date.now(), platform, clientHash });

    await server.stop();
    service = await spawnService(dataDir, env);
    const shop = new Tenant(service, key);
    expect((await shop.verdict({ clientIdKey: 'bob' })).status).to.equal(200);
    expect((await shop.ask('GET', `client?clientIdKey=${ANN}`)).status).to.equal(404);
    expect(logOf(service)).to.include('payers that a restored backup had brought back were erased again');
    expect(logOf(service)).to.include('the archive cannot be reached; the erasure ledger is repeated');
    await server.restart();
    await until('the ledger is repeated on the archive', async () =>
      logOf(service).includes('the archive can be reached again, and the erasure ledger was repeated on it'),
    );
    await service.stop();
    await server.stop();
  });
});

function logOf(service: ServiceProcess): string {
  return service.stdout() + service.stderr();
}
