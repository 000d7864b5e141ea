import { expect } from 'chai';
import { UNKNOWN_CLIENT } from '../../../src/client/client-state.ts';
import { encodeClientState } from '../../../src/client/state-document.ts';
import { commitCall, commitScriptOf, KEPT } from '../../../src/state/redis/clients.ts';
import { connectRedis, type RedisConnection } from '../../../src/state/redis/connection/connection.ts';
import { parseRedisUrl } from '../../../src/state/redis/connection/url.ts';
import { RedisScript } from '../../../src/state/redis/script.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { newClient, verdictOn } from '../clients.ts';

/** A call that writes, and the places of the arguments that are numbers. */
interface Writing {
  readonly script: RedisScript;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly numbers: readonly number[];
}

const [k1, k2, k3, k4] = ['{a}1', '{a}2', '{a}3', '{a}4'];
const NOW = String(Date.now());

const others: Readonly<Record<string, Omit<Writing, 'script'>>> = {
  'compare-and-set-1.lua': { keys: [k1], args: ['0', '', 'next'], numbers: [1] },
  'forget-client-4.lua': { keys: [k1, k2, k3, k4], args: ['', 'shop', 'entry', '5'], numbers: [4] },
  'probe-1.lua': { keys: [k1], args: ['1000', 'node', '0', '0'], numbers: [1, 3, 4] },
  'sightings.lua': {
    keys: [k1, k2],
    args: [NOW, '1', 'a', '1000', '5', '1', '500', 'b', '1000', '5', '2', '500', '600'],
    numbers: [1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 13],
  },
  'add-to-tally-1.lua': { keys: [k1], args: ['node', '1', '1000', 'paid', '2'], numbers: [2, 3, 5] },
  'take-token-1.lua': { keys: [k1], args: ['20', '20', '2000', '0'], numbers: [1, 2, 3, 4] },
  'write-lists-4.lua': {
    keys: [k1, k2, k3, k4],
    args: ['epoch', '1000', '+inf', '', '', 'a', '', '+text', 'b', '', '+text'],
    numbers: [2, 3, 10],
  },
};

describeWithServer('redis-server', 'a Lua script with an argument that is no number', () => {
  let servers: RedisServers;
  let connection: RedisConnection;
  before(async () => {
    servers = await startStandalone();
    connection = await connectRedis(parseRedisUrl(servers.url), () => {});
  });
  after(async () => {
    await connection.close();
    await servers.stop();
  });

  async function writesNothing({ script, keys, args, numbers }: Writing): Promise<void> {
    const { commands } = connection;
    for (const number of numbers) {
      const wrong = args.with(number - 1, 'NaN');
      const failure = await script.run(commands, keys, wrong).catch((error: unknown) => error);
      expect(failure, `argument ${number}`).to.be.instanceOf(Error);
      expect(await commands.exists([...keys]), `argument ${number}`).to.equal(0);
    }
    await script.run(commands, keys, args);
    expect(await commands.exists([...keys])).to.be.greaterThan(0);
    await commands.del([...keys]);
  }

  for (const [file, call] of Object.entries(others))
    it(`like ${file} writes nothing`, () => writesNothing({ script: new RedisScript(file), ...call }));

  it('like commit-8.lua writes nothing', async () => {
    const client = newClient();
    const stamp = { raw: null, storeTimeMs: 0, arrivedMs: 0 };
    const change = verdictOn(client, { state: UNKNOWN_CLIENT, order: null, answer: null, stamp }, 'order-1');
    const { keys, args } = commitCall(
      { ...change, idempotencyKey: 'once' },
      encodeClientState(change.state),
      { validUntilMs: Date.now() + 60_000, storesShape: false, journalEntries: 100 },
    );
    const script = commitScriptOf({ ...KEPT, installation: 'ours' });
    await writesNothing({ script, keys, args, numbers: [1, 10, 12, 15] });
  });

  it('knows no constant that is no number or plain text', () => {
    for (const constant of [Number.NaN, 0.5, '', 'a"b'])
      expect(() => new RedisScript('load-2.lua', { constant })).to.throw(
        `"${constant}" is no constant of a script`,
      );
  });
});
