import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { SALT_REGISTER, SaltRefused } from '#state/client-salt.ts';
import { registerKey } from '#state/keys.ts';
import { openRedisStore } from '#state/redis/store.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { isFitToServe } from '#workbench/upkeep/store-watch.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../servers/redis.ts';
import { command } from '../servers/redis-command.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const SHOP = toPlatformName('shop');
const ANOTHER_SALT = 'salt-of-another-house-';

const hashOf = ({ clientKeys }: Store) => clientKeys.of(SHOP, 'ann').hash;

/** Opens one installation several times; `begin` starts a new one. */
interface Installations {
  begin(): Promise<void>;
  open(): Promise<Store>;
}

function saltSuite(make: () => Installations): void {
  let installations: Installations;
  let open: Store[];
  beforeEach(async () => {
    installations = make();
    open = [];
    await installations.begin();
  });
  afterEach(() => Promise.all(open.map((store) => store.close())));

  async function opened(): Promise<Store> {
    const store = await installations.open();
    open.push(store);
    return store;
  }

  it('gives a payer one hash on all nodes that begin at once, and on those that come later', async () => {
    const nodes = await Promise.all([opened(), opened(), opened()]);
    const hashes = new Set([...nodes, await opened()].map(hashOf));
    expect(hashes.size).to.equal(1);
  });

  it('gives the same payer another hash in another installation', async () => {
    const here = hashOf(await opened());
    await installations.begin();
    expect(hashOf(await opened())).to.not.equal(here);
  });

  it('is refused with what to restore when it is damaged', async () => {
    const { registers, clientKeys } = await opened();
    await registers.compareAndSet(SALT_REGISTER, clientKeys.salt, '{"torn');
    const refused = await opened().catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(SaltRefused);
    expect(String(refused)).to.equal(
      'SaltRefused: what the store holds as register/client-salt is not a salt, so no payer can be found; restore it from a backup of the store, or from the file client-salt in the folder of its archive',
    );
  });
}

describe('the salt of payers on SQLite', () => {
  saltSuite(() => {
    let directory: string;
    return {
      begin: async () => {
        directory = temporaryDirectory();
      },
      open: async () => openSqliteStore(directory),
    };
  });
});

describeWithServer('redis-server', 'the salt of payers on Redis', () => {
  let redis: RedisServers;
  before(async () => {
    redis = await startStandalone();
  });
  const flush = () => command(redis.nodes[0]?.port ?? 0, ['FLUSHALL']);
  const open = () => openRedisStore(redis.url, () => {}, { commandTimeoutMs: 10_000 });

  saltSuite(() => ({
    begin: async () => {
      await flush();
    },
    open,
  }));

  it('that is gone alone is put back by a running node', async () => {
    const node = await open();
    await command(redis.nodes[0]?.port ?? 0, ['DEL', registerKey(SALT_REGISTER)]);
    expect(isFitToServe(await node.check())).to.equal(true);
    const newcomer = await open();
    expect(hashOf(newcomer)).to.equal(hashOf(node));
    await Promise.all([node.close(), newcomer.close()]);
  });

  it('that is gone alone is never made anew by a start', async () => {
    const { name, close } = await open();
    await close();
    await command(redis.nodes[0]?.port ?? 0, ['DEL', registerKey(SALT_REGISTER)]);
    expect(await open().catch(String)).to.equal(
      `StoreUnavailable: ${name} has lost its register client-salt, so no payer could be found; restore it from a backup of the store, or from the file client-salt in the folder of its archive`,
    );
    await flush();
  });

  it('of another store makes a running node say so', async () => {
    await flush();
    const node = await open();
    await node.registers.compareAndSet(SALT_REGISTER, node.clientKeys.salt, ANOTHER_SALT);
    const [health] = await node.check();
    expect(health?.failure).to.equal(
      `${node.name} is another store: its payers are hashed with another salt, so this node would recognise none of them; restore the known store, or accept this one: "state accept-empty --reason TEXT"`,
    );
    await node.close();
  });
});
