import { expect } from 'chai';
import { type ClientKey, toPlatformName } from '#decision/payer/client-key.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import type { Store, TextPlace } from '#state/store.ts';
import { Audit } from '#workbench/access/audit.ts';
import {
  findUnreadableTexts,
  type RebuiltClient,
  rebuildClient,
  type UnreadableText,
} from '#workbench/payers/rebuild.ts';
import { clientKey } from '../../decision/payer/client-keys.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { endOfJournal } from '../../state/read-journal.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const NONSENSE = '{"torn';

describeOnStores('unreadable data in a store', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  const unreadable = (): Promise<readonly UnreadableText[]> =>
    Array.fromAsync(findUnreadableTexts(store(), () => undefined));

  it('is not found where everything can be read', async () => {
    await shop.verdict({ clientIdKey: 'sound' });
    expect(await unreadable()).to.deep.equal([]);
  });

  it("of a client is rebuilt from the client's records", async () => {
    const client = await liveALittle('lived');
    const { state } = await store().load(client);
    await spoil(store(), placeOf(client));
    expect((await shop.verdict({ clientIdKey: 'lived' })).status).to.equal(503);
    const rebuilt = await rebuild(client);
    expect(rebuilt?.why).to.match(/JSON/);
    expect(rebuilt).to.include({ entries: 6, complete: true });
    expect((await store().load(client)).state).to.deep.equal(state);
    expect((await shop.verdict({ clientIdKey: 'lived' })).status).to.equal(200);
  });

  it('has an entry in the audit once it is rebuilt, with the state before and after, which is erased with its client', async () => {
    const client = await liveALittle('audited');
    await spoil(store(), placeOf(client));
    await rebuild(client);
    const [entry, ...others] = await rebuildsOf('audited');
    expect(others).to.deep.equal([]);
    expect(entry).to.include({
      who: 'user ann on ops-1',
      action: 'client rebuilt',
      platform: 'shop',
      reason: 'a disk failed',
    });
    expect(entry?.before).to.deep.equal({
      sha256: 'df69e53c15430119f9e2b31a69e020149b7a2e1575ad72c21677583a1be2510c',
      bytes: NONSENSE.length,
    });
    expect(entry?.after).to.have.all.keys('sha256', 'bytes');
    await shop.ask('DELETE', 'client?clientIdKey=audited');
    expect(await rebuildsOf('audited')).to.deep.equal([]);
  });

  it('is found among readable data, with its client', async () => {
    const client = await liveALittle('found');
    await spoil(store(), placeOf(client));
    const found = await unreadable();
    expect(found.map(({ kind, name }) => ({ kind, name }))).to.deep.equal([placeOf(client)]);
    const lookup = new DecisionLookup(store(), ArchiveReader.withoutArchive(store()));
    expect(await lookup.findClient(client.hash)).to.deep.equal(client);
    await shop.ask('DELETE', 'client?clientIdKey=found');
    expect(await unreadable()).to.deep.equal([]);
  });

  it('is rebuilt without reusing a decision number, also without a journal of the client', async () => {
    const client = await liveALittle('forgotten');
    await store().trimJournal((await endOfJournal(store())) ?? '', {
      journalEntries: 0,
      decisionsHotMs: 24 * 3_600_000,
    });
    await spoil(store(), placeOf(client));
    expect(await rebuild(client)).to.deep.include({ entries: 0, since: null });
    expect((await store().load(client)).state.seq).to.equal(2);
    await shop.verdict({ clientIdKey: 'forgotten' });
    expect((await store().decisionsOfClient(client, 10)).map(({ seq }) => seq)).to.deep.equal([3, 2, 1]);
  });

  it('is not rebuilt where it is readable or missing', async () => {
    const client = await liveALittle('readable');
    const before = await store().texts.read(placeOf(client));
    expect(await rebuild(client)).to.equal(null);
    expect(await store().texts.read(placeOf(client))).to.deep.equal(before);
    expect(await rebuild(clientKey(toPlatformName('shop'), 'nobody'))).to.equal(null);
  });

  it('may be a rollout', async () => {
    await store().registers.compareAndSet('rollout', null, NONSENSE);
    const found = await unreadable();
    expect(found).to.deep.equal([{ kind: 'register', name: 'rollout', why: 'it holds no rollout' }]);
  });

  /** Six entries: a score, two verdicts, an outcome, a binding and an override. */
  async function liveALittle(clientIdKey: string): Promise<ClientKey> {
    await shop.score({ clientIdKey, fingerprint: `device-of-${clientIdKey}` });
    for (const orderRef of ['order-1', 'order-2']) {
      await shop.verdict({ clientIdKey, orderRef });
      service.clock.moveSeconds(5);
    }
    await shop.outcome(clientIdKey, 'order-1', 'UNPAID');
    await shop.bind(clientIdKey);
    await shop.override(clientIdKey, 'TRUSTED');
    return clientKey(toPlatformName('shop'), clientIdKey);
  }

  function rebuild(client: ClientKey): Promise<RebuiltClient | null> {
    const audit = new Audit(store().auditLog, service.clock.now);
    const parts = {
      store: store(),
      decisions: new DecisionLookup(store(), ArchiveReader.withoutArchive(store())),
      audit,
    };
    return rebuildClient(parts, client, 'user ann on ops-1', 'a disk failed');
  }

  async function rebuildsOf(clientIdKey: string) {
    const { entries } = await new Audit(store().auditLog, service.clock.now).read(null, 1000);
    return entries.filter(({ action, subject }) => action === 'client rebuilt' && subject === clientIdKey);
  }
});

function placeOf({ hash }: ClientKey): TextPlace {
  return { kind: 'client', name: hash };
}

/** Replaces a stored text with nonsense, as a failing disk or another program might. */
async function spoil({ texts }: Store, place: TextPlace, text = NONSENSE): Promise<void> {
  const found = await texts.read(place);
  expect(await texts.replace(place, found?.stamp ?? '', text)).to.equal(true);
}
