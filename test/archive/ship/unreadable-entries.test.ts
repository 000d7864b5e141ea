import { expect } from 'chai';
import { ArchiveReader } from '../../../src/archive/read/archive-reader.ts';
import { readSetAside } from '../../../src/archive/set-aside.ts';
import { journalKey, partitionOf } from '../../../src/state/keys.ts';
import { openRedisStore } from '../../../src/state/redis/store.ts';
import { TEST_SALT } from '../../client/client-keys.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { newClient, verdict } from '../../state/clients.ts';
import { ArchivedStore } from '../archived-store.ts';

describeWithServer('redis-server', 'an entry of the journal that cannot be read', () => {
  let servers: RedisServers;
  let place: ArchivedStore;
  before(async () => {
    servers = await startStandalone();
    place = await ArchivedStore.open(await openRedisStore(servers.url, () => {}, { salt: TEST_SALT }));
  });
  after(async () => {
    await place.close();
    await servers.stop();
  });

  it('is set aside and named, while everything else is shipped and listed', async () => {
    const client = newClient();
    const { store, archive } = place;
    const port = servers.nodes[0]?.port ?? 0;
    const key = journalKey(partitionOf(client.hash));
    const add = (text: string) =>
      command(port, ['XADD', key, '*', 'entry', `${client.platform} ${client.hash} ${text}`]);
    await verdict(store, client, 'order-1');
    await add('z["of a newer version"]');
    await add('o[1,');
    await verdict(store, client, 'order-2');
    const reader = new ArchiveReader(archive, store);
    const { entries, isWhole } = await reader.history(client, null, 10);
    expect({ entries: entries.length, isWhole }).to.deep.equal({ entries: 2, isWhole: false });
    const found = await reader.findDecisions(client.platform, {}, 10);
    await reader.close();
    expect(found.decisions.map(({ orderRef }) => orderRef)).to.deep.equal(['order-2', 'order-1']);
    await place.shipAll();
    expect(archive.segments(archive.read(), { table: 'decisions' })[0]?.rows).to.equal(2);
    expect(archive.contents().setAsideEntries).to.equal(2);
    const [newer, damaged] = readSetAside(archive.folder);
    expect(newer?.text).to.equal('z["of a newer version"]');
    expect(newer?.why).to.equal('no journal entry is stored as z["of a newer version"]');
    expect(damaged?.text).to.equal('o[1,');
  });

  it('is forgotten with its client', async () => {
    const client = newClient();
    const port = servers.nodes[0]?.port ?? 0;
    await verdict(place.store, client, 'order-1');
    const key = journalKey(partitionOf(client.hash));
    await command(port, ['XADD', key, '*', 'entry', `${client.platform} ${client.hash} z`]);
    await place.shipAll();
    const before = readSetAside(place.archive.folder).length;
    await place.store.erase(client);
    await place.shipAll();
    expect(readSetAside(place.archive.folder)).to.have.length(before - 1);
  });

  it('whose record is damaged is set aside, too', async () => {
    const client = newClient();
    await verdict(place.store, client, 'order-1');
    await verdict(place.store, client, 'order-2');
    const port = servers.nodes[0]?.port ?? 0;
    const keys = await command(port, ['KEYS', `d:*${client.hash}.1`]);
    const [record] = Array.isArray(keys) ? keys.map(String) : [];
    await command(port, ['SET', record ?? '', '[no record']);
    const before = place.archive.contents().setAsideEntries;
    await place.shipAll();
    expect(place.archive.contents().setAsideEntries).to.equal(before + 1);
  });
});
