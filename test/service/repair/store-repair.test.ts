import { expect } from 'chai';
import { AccessKeys } from '../../../src/access/access-keys.ts';
import { Audit } from '../../../src/access/audit.ts';
import { DecisionLookup } from '../../../src/archive/read/decision-lookup.ts';
import { type ClientKey, clientKey, platformName } from '../../../src/client/client-key.ts';
import { type RepairPlan, StoreRepair, type Unreadable } from '../../../src/service/repair/store-repair.ts';
import type { TextPlace } from '../../../src/state/health/stored-texts.ts';
import { type Store, StoreUnavailable } from '../../../src/state/store.ts';
import { endOfJournal } from '../../state/read-journal.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';
import { type RunningService, startService } from '../running-service.ts';
import type { Tenant } from '../tenant.ts';

const NONSENSE = '{"torn';

describeOnStores('the repair of a store', (store) => {
  let service: RunningService;
  let shop: Tenant;
  let repair: StoreRepair;
  before(async () => {
    service = await startService({ store: store() });
    shop = await service.tenant('shop');
    repair = new StoreRepair(
      store(),
      new DecisionLookup(store(), null),
      new Audit(store().auditLog, service.clock.now),
    );
  });
  after(() => service?.stop());

  const unreadable = (): Promise<readonly Unreadable[]> =>
    Array.fromAsync(repair.unreadable(() => undefined));

  it('finds nothing where everything can be read', async () => {
    await shop.verdict({ clientIdKey: 'sound' });
    expect(await unreadable()).to.deep.equal([]);
  });

  it('gives a client back what it was, from what was recorded of it', async () => {
    const client = await liveALittle('lived');
    const { state } = await store().load(client);
    await spoil(store(), placeOf(client));
    expect((await shop.verdict({ clientIdKey: 'lived' })).status).to.equal(503);
    const plan = await planFor(placeOf(client));
    expect(plan.client).to.deep.equal(client);
    expect(plan.why).to.match(/JSON/);
    expect(plan.rebuilt).to.include({ entries: 6, complete: true });
    expect(await repair.carryOut(plan, 'user ann on ops-1', 'a disk failed')).to.equal(true);
    expect((await store().load(client)).state).to.deep.equal(state);
    expect((await shop.verdict({ clientIdKey: 'lived' })).status).to.equal(200);
  });

  it('is one entry of the audit, with what was there and what is there now, and goes with its client', async () => {
    const client = await liveALittle('audited');
    await spoil(store(), placeOf(client));
    const plan = await planFor(placeOf(client));
    await repair.carryOut(plan, 'user ann on ops-1', 'a disk failed');
    const [entry, ...others] = await repairsOf('audited');
    expect(others).to.deep.equal([]);
    expect(entry).to.include({
      who: 'user ann on ops-1',
      action: 'client repaired',
      platform: 'shop',
      reason: 'a disk failed',
    });
    expect(entry?.before).to.deep.equal({
      sha256: 'df69e53c15430119f9e2b31a69e020149b7a2e1575ad72c21677583a1be2510c',
      bytes: NONSENSE.length,
    });
    expect(entry?.after).to.have.all.keys('sha256', 'bytes');
    await shop.ask('DELETE', 'clients/audited');
    expect(await repairsOf('audited')).to.deep.equal([]);
  });

  it('finds whose state cannot be read, among all that can', async () => {
    const client = await liveALittle('found');
    await spoil(store(), placeOf(client));
    const found = await unreadable();
    expect(found.map(({ kind, client: whose }) => [kind, whose])).to.deep.equal([['client', client]]);
    await shop.ask('DELETE', 'clients/found');
    expect(await unreadable()).to.deep.equal([]);
  });

  it('does not touch what changed meanwhile', async () => {
    const client = await liveALittle('busy');
    await spoil(store(), placeOf(client));
    const plan = await planFor(placeOf(client));
    await spoil(store(), placeOf(client), '{"torn again');
    expect(await repair.carryOut(plan, 'user ann on ops-1', 'a disk failed')).to.equal(false);
    expect(await repairsOf('busy')).to.deep.equal([]);
    await shop.ask('DELETE', 'clients/busy');
  });

  it('never gives a decision number twice, also when the journal holds nothing of the client', async () => {
    const client = await liveALittle('forgotten');
    await store().trimJournal((await endOfJournal(store())) ?? '', {
      journalEntries: 0,
      decisionsHotMs: 24 * 3_600_000,
    });
    await spoil(store(), placeOf(client));
    const plan = await planFor(placeOf(client), client);
    expect(plan.rebuilt).to.deep.include({ entries: 0, since: null });
    await repair.carryOut(plan, 'user ann on ops-1', 'a disk failed');
    expect((await store().load(client)).state.seq).to.equal(2);
    await shop.verdict({ clientIdKey: 'forgotten' });
    expect((await store().decisionsOfClient(client, 10)).map(({ seq }) => seq)).to.deep.equal([3, 2, 1]);
  });

  it('says that nothing is wrong with what can be read, and with what is not there', async () => {
    const client = await liveALittle('readable');
    expect(await repair.plan(placeOf(client))).to.equal(null);
    expect(await repair.plan(placeOf(clientKey(platformName('shop'), 'nobody')))).to.equal(null);
  });

  it('removes a document that cannot be read, which nobody can use before', async () => {
    const keys = new AccessKeys(store().documents, service.clock.now);
    const { key, record } = await keys.issue(platformName('shop'), ['score'], null);
    const place = { kind: 'document', name: `access-keys/${record.id}` } as const;
    await spoil(store(), place);
    const failure = await keys.list().catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StoreUnavailable);
    expect(String(failure)).to.match(
      new RegExp(
        `^StoreUnavailable: the document access-keys/${record.id} cannot be read \\(.+\\); "state repair" removes it$`,
      ),
    );
    const plan = await planFor(place);
    expect(plan.next).to.equal(null);
    expect(await repair.carryOut(plan, 'user ann on ops-1', 'a disk failed')).to.equal(true);
    expect(await keys.authenticate(key)).to.equal(null);
    expect((await keys.list()).map(({ id }) => id)).not.to.include(record.id);
  });

  it('finds a rollout that cannot be read', async () => {
    await store().registers.compareAndSet('rollout', null, NONSENSE);
    const found = await unreadable();
    expect(found).to.deep.equal([
      { kind: 'register', name: 'rollout', why: 'it holds no rollout', client: null },
    ]);
  });

  /** Six entries: a score, two verdicts, an outcome, a binding and a decision by a person. */
  async function liveALittle(clientIdKey: string): Promise<ClientKey> {
    await shop.score({ clientIdKey, fingerprint: `device-of-${clientIdKey}` });
    for (const orderRef of ['order-1', 'order-2']) {
      await shop.verdict({ clientIdKey, orderRef });
      service.clock.moveSeconds(5);
    }
    await shop.outcome(clientIdKey, 'order-1', 'UNPAID');
    await shop.bind(clientIdKey);
    await shop.override(clientIdKey, 'TRUSTED');
    return clientKey(platformName('shop'), clientIdKey);
  }

  async function planFor(place: TextPlace, known?: ClientKey): Promise<RepairPlan> {
    const plan = await repair.plan(place, known);
    if (plan === null) throw new Error('nothing to repair');
    return plan;
  }

  async function repairsOf(clientIdKey: string) {
    const { entries } = await new Audit(store().auditLog, service.clock.now).read(null, 1000);
    return entries.filter(({ action, subject }) => action === 'client repaired' && subject === clientIdKey);
  }
});

function placeOf({ hash }: ClientKey): TextPlace {
  return { kind: 'client', name: hash };
}

/** Puts nonsense in the place of a stored text, as a failing disk or another program would. */
async function spoil({ texts }: Store, place: TextPlace, text = NONSENSE): Promise<void> {
  const found = await texts.read(place);
  expect(await texts.replace(place, found?.stamp ?? '', text)).to.equal(true);
}
