import { expect } from 'chai';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { startUnrulyProxy, type UnrulyProxy } from '../../servers/unruly-proxy.ts';
import { until } from '../../servers/until.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { newClient, verdictOn } from '../clients.ts';

describeWithServer('redis-server', 'a garbled answer of Redis', () => {
  let servers: RedisServers;
  let proxy: UnrulyProxy;
  let store: Store;
  before(async () => {
    servers = await startStandalone();
    proxy = await startUnrulyProxy(servers.nodes[0]?.port ?? 0);
  });
  after(async () => {
    await proxy.stop();
    await servers.stop();
  });
  beforeEach(async () => {
    store = await openPatiently(`redis://127.0.0.1:${proxy.port}`);
    // Scripts are known to the server from now on.
    await takeStep();
  });
  afterEach(async () => {
    proxy.meddle(null);
    await store.close();
  });

  /** A verdict about a new client, and whether it was committed. */
  async function takeStep(client = newClient()): Promise<string> {
    return store.commit(verdictOn(client, await store.load(client), 'order-1'));
  }

  /** Replaces the first matching bytes, once. */
  function spoilOnce(pattern: RegExp, spoiled: (found: string) => string): void {
    proxy.meddle((piece) => {
      const text = piece.toString('latin1');
      if (!pattern.test(text)) return piece;
      proxy.meddle(null);
      return Buffer.from(text.replace(pattern, spoiled), 'latin1');
    });
  }

  const answersAgain = () =>
    until('the store answers again', () =>
      takeStep().then(
        () => true,
        () => false,
      ),
    );

  const refused = async (call: Promise<unknown>) => {
    const failure = await call.catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StoreUnavailable);
  };

  for (const [what, pattern, spoiled] of [
    ['a time that is a text', /\r\n1\d{9}\r/, (found: string) => found.replace('1', 'x')],
    ['a time of another century', /\r\n1\d{9}\r/, (found: string) => found.replace('1', '9')],
    ['a kind that does not exist', /\$10\r/, (found: string) => `\x00${found.slice(1)}`],
    ['a text of another length', /\$10\r/, () => '$99\r'],
    ['the ticket of another call', /\r\n\w+\r\n$/, () => '\r\n0\r\n'],
    ['a reply too few', /^\$-1\r\n/, () => ''],
    ['a reply too many', /^\$-1\r\n/, (found: string) => found + found],
  ] as const)
    it(`like ${what} is refused, and the next one is accepted again`, async () => {
      spoilOnce(pattern, spoiled);
      await refused(store.load(newClient()));
      await answersAgain();
      expect(await takeStep()).to.equal('committed');
      expect(store.clockOffsetMs()).to.be.within(-1000, 1000);
    });

  it('to another question does not count as the answer', async () => {
    let held: Buffer | null = null;
    proxy.meddle((piece) => {
      if (held === null) {
        held = piece;
        return Buffer.alloc(0);
      }
      proxy.meddle(null);
      return Buffer.concat([piece, held]);
    });
    const first = store.load(newClient());
    await until('its answer is held', async () => held !== null);
    const second = store.load(newClient());
    await Promise.all([refused(first), refused(second)]);
    await answersAgain();
  });

  it('to a change is checked: a change that was made is acknowledged', async () => {
    const client = newClient();
    const change = verdictOn(client, await store.load(client), 'order-1');
    spoilOnce(/:1\r\n/, () => '+1\r\n');
    expect(await store.commit(change)).to.equal('committed');
  });

  it('is lost with its connection; a change that was made is acknowledged all the same', async () => {
    const client = newClient();
    const change = verdictOn(client, await store.load(client), 'order-1');
    proxy.meddle(() => {
      proxy.meddle(null);
      return null;
    });
    expect(await store.commit(change)).to.equal('committed');
  });

  it('leaves no entry without a time', async () => {
    const client = newClient();
    const change = verdictOn(client, await store.load(client), 'order-1');
    const timeless = { ...change, entry: { ...change.entry, at: Number.NaN } };
    expect(await store.commit(timeless).catch(String)).to.equal(
      'RangeError: a journal entry without a time is not written',
    );
    expect((await store.load(client)).state.seq).to.equal(0);
  });
});
