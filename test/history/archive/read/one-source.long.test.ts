import { expect } from 'chai';
import { type RunningService, startService } from '../../../service/running-service.ts';
import { Tenant } from '../../../service/tenant.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { ArchivedStore } from '../archived-store.ts';

const QUESTIONS = 200;
const NODES = 3;
const PAYERS = 12;
const SPAN_SECONDS = 3 * 3600;

const oneOf = <T>(values: readonly T[]): T => {
  const value = values[Math.floor(Math.random() * values.length)];
  if (value === undefined) throw new Error('there is nothing to choose from');
  return value;
};

const utc = (at: number) => new Date(at).toISOString();

/** Each entry is shipped by a commit of few, and forgotten by the journal at once. */
const LIMITS = {
  limits: { commitEntriesMax: 4, pageEntriesMax: 4 },
  kept: { journalEntries: 0, decisionsHotMs: 0 },
};

describeOnStores('the same question to every node of a fleet', (store) => {
  let place: ArchivedStore;
  const nodes: RunningService[] = [];
  let tenants: readonly Tenant[];
  let begin: number;

  before(async () => {
    place = await ArchivedStore.open(store());
    for (let node = 0; node < NODES; node += 1) {
      nodes.push(await startService({ store: store(), archive: place.reader() }));
    }
    const [first] = nodes;
    if (first === undefined) throw new Error('there is a node');
    const shop = await first.tenant('shop');
    tenants = nodes.map((node) => new Tenant(node.application, shop.key));
    begin = first.clock.now();
    await live(shop, (seconds) => {
      for (const { clock } of nodes) clock.moveSeconds(seconds);
    });
  });
  after(async () => {
    for (const node of nodes) await node.stop();
    await place?.release();
  });

  async function live(shop: Tenant, moveSeconds: (seconds: number) => void): Promise<void> {
    for (let step = 0; step < 220; step += 1) {
      const payer = Math.floor(Math.random() * PAYERS);
      const clientIdKey = `payer-${payer}`;
      const order = { clientIdKey, orderRef: `order-${payer}-${Math.floor(step / 30)}` };
      const asked = {
        amountRequested: `${(Math.random() * 100).toFixed(2)}`,
        method: oneOf(['card', 'wallet']),
      };
      await shop.score({ clientIdKey, fingerprint: `device-${payer % 4}`, ip: `192.0.2.${payer % 5}` });
      await shop.verdict({ ...order, ...asked });
      if (Math.random() < 0.4) await shop.outcome(clientIdKey, order.orderRef, oneOf(['PAID', 'UNPAID']));
      moveSeconds(1 + Math.floor((Math.random() * 2 * SPAN_SECONDS) / 220));
    }
  }

  function question(): string {
    const [one, other] = [0, 0].map(() => begin + Math.floor(Math.random() * SPAN_SECONDS * 1000));
    const span = `from=${utc(Math.min(one ?? 0, other ?? 0))}&to=${utc(Math.max(one ?? 0, other ?? 0) + 1)}`;
    const clientIdKey = `clientIdKey=payer-${Math.floor(Math.random() * PAYERS)}`;
    const filter = oneOf(['', '&method=card', '&amountMin=40', '&clientGroup=NEW', '&amountMax=20.5']);
    return oneOf([
      `explore?${span}${filter}&include=money&by=${oneOf(['verdict', 'rule', 'method', 'group', 'waitLevel'])}`,
      `explore?${span}${filter}&include=money&verdict=WAIT&by=rule&againstFrom=${utc(begin - 1)}&againstTo=${utc((one ?? 0) + 1)}`,
      `decisions?${span}${filter}&limit=${oneOf([1, 7, 100])}${oneOf(['', '&outcome=PAID', '&outcome=UNKNOWN'])}`,
      `client/history?${clientIdKey}&limit=${oneOf([1, 10, 200])}`,
      `client/links?${clientIdKey}`,
    ]);
  }

  async function answers(path: string, nodes = tenants): Promise<readonly unknown[]> {
    return Promise.all(
      nodes.map(async (tenant) => {
        const { status, body } = await tenant.ask('GET', path);
        expect(status, `${path}: ${JSON.stringify(body)}`).to.equal(200);
        return body;
      }),
    );
  }

  it('is answered alike to the last digit while entries are shipped, and afterwards', async function () {
    this.timeout(600_000);
    const shipper = place.shipper({ ...LIMITS, clock: () => nodes[0]?.clock.now() ?? 0 });
    const asked: { readonly path: string; readonly answer: unknown }[] = [];
    let commits = 0;
    while (asked.length < QUESTIONS) {
      const path = question();
      const [[answer, ...others], step] = await Promise.all([answers(path), shipper.step()]);
      for (const other of others) expect(other, path).to.deep.equal(answer);
      asked.push({ path, answer });
      if (step.did !== 'nothing') commits += 1;
    }
    expect(commits).to.be.above(50);
    await place.shipAll(place.shipper({ clock: () => nodes[0]?.clock.now() ?? 0 }));
    for (const { path, answer } of asked)
      expect((await answers(path, tenants.slice(0, 1)))[0], path).to.deep.equal(answer);
  });
});
