import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { until } from '../servers/until.ts';
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
