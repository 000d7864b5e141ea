import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';
import { getPartitionTag, installationKey, journalKey, journalLossKey, notesKey } from '#state/keys.ts';
import { COMMIT_RETENTION, createCommitCall, createCommitScript } from '#state/redis/clients.ts';
import { compareAndSet, computeStamp, readStamped } from '#state/redis/compare-and-set.ts';
import { connectRedis, type RedisConnection } from '#state/redis/connection/connection.ts';
import { parseRedisUrl } from '#state/redis/connection/url.ts';
import { parseKeyCountFromName, RedisScript } from '#state/redis/script.ts';
import { sightingsScript } from '#state/redis/sightings.ts';
import { RETENTION } from '#state/retention.ts';
import type { Commit } from '#state/store.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { newClient, paymentOf, T0, verdictOn, withAnswer } from '../clients.ts';

const asIs = (_what: string, reply: unknown) => reply;

const [k1, k2, k3, k4] = ['{a}1', '{a}2', '{a}3', '{a}4'];

/** A call that writes, and the places of the arguments that are numbers. */
interface Writing {
  readonly script: RedisScript;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly numbers: readonly number[];
}

const NOW = String(Date.now());

const others: Readonly<Record<string, Omit<Writing, 'script'>>> = {
  'compare-and-set-1.lua': { keys: [k1], args: ['', '1', 'next', '1000'], numbers: [2, 4] },
  'forget-client-4.lua': { keys: [k1, k2, k3, k4], args: ['', 'shop', 'entry', '5'], numbers: [4] },
  'probe-1.lua': { keys: [k1], args: ['1000', 'node', '0', '0'], numbers: [1, 3, 4] },
  'add-to-tally-1.lua': { keys: [k1], args: ['node', '1', '1000', 'paid', '2'], numbers: [2, 3, 5] },
  'document-names-1.lua': { keys: [k1], args: ['{a}', '1000', 'name'], numbers: [2] },
  'take-token-1.lua': { keys: [k1], args: ['20', '20', '2000', '0'], numbers: [1, 2, 3, 4] },
  'append-records-6.lua': {
    keys: [k1, k2, k3, k4, '{a}5', '{a}6'],
    args: ['epoch', '1000', '+inf', '', '', '1', 'part', 'a', '', '+text', 'b', '', '+text'],
    numbers: [2, 3, 6, 9, 12],
  },
};

const SCRIPTS = new URL('../../../src/state/redis/scripts/', import.meta.url);

describe('the Lua scripts', () => {
  const files = readdirSync(SCRIPTS);
  for (const file of files) {
    it(`${file} uses as many keys as its name says`, () => {
      const source = readFileSync(new URL(file, SCRIPTS), 'utf8');
      const numbers = [...source.matchAll(/KEYS\[(\d+)\]/g)].map(([, number]) => Number(number));
      const used = numbers.length === 0 ? null : Math.max(...numbers);
      expect(parseKeyCountFromName(file)).to.equal(used);
    });
  }
});

describeWithServer('redis-server', 'a Lua script', () => {
  let servers: RedisServers;
  let connection: RedisConnection;
  before(async () => {
    servers = await startStandalone();
    connection = await connectRedis(parseRedisUrl(servers.url), () => {});
  });
  after(async () => {
    await connection?.close();
    await servers?.stop();
  });
  beforeEach(() => connection.commands.flushAll());

  it('is refused with another number of keys than its name says', async () => {
    const script = new RedisScript('load-2.lua');
    const failure = await Promise.try(() => script.run(connection, ['a'], [], asIs)).catch(String);
    expect(failure).to.equal('Error: load-2.lua takes 2 keys and was given 1');
  });

  it('runs on a server that does not know it yet', async () => {
    const script = new RedisScript('load-2.lua');
    const reply = await script.run(connection, ['a', 'b'], ['', '', ''], asIs);
    expect(reply).to.be.an('array').with.length(4);
  });

  describe('keeps to its bound:', () => {
    const run = (file: string, keys: readonly string[], ...args: readonly string[]) =>
      new RedisScript(file).run(connection, keys, args, asIs);

    it('commit-5.lua, to the entries, the decisions of a key and the notes, and notes what was lost', async () => {
      const { commands } = connection;
      const client = newClient();
      const partition = getPartitionTag(client.hash);
      const [keptMs, entries, decisions, notes] = [RETENTION.decisionMs, 5, 2, 2];
      const commitScript = createCommitScript({
        stateMs: keptMs,
        recordMs: keptMs,
        shapeMs: keptMs,
        decisionsOfOrders: decisions,
        notes,
        installation: 'ours',
      });
      const stamp = { raw: '', storeTimeMs: 0, arrivedMs: 0 };
      let snapshot = { state: UNKNOWN_CLIENT_STATE, order: null, answer: null, stamp };
      const soon = Date.now() + 600_000;
      const commit = async (change: Commit, validUntilMs = soon, journalEntries = entries) => {
        const raw = encodeClientState(change.state);
        const terms = { validUntilMs, storesShape: true, journalEntries, installation: 'ours' };
        const call = createCommitCall(change, raw, terms);
        const status = await commitScript.run(connection, call.keys, call.args, asIs);
        if (status === 1) snapshot = { ...snapshot, state: change.state, stamp: { ...snapshot.stamp, raw } };
        return { status, orders: call.keys[3] ?? '' };
      };
      const begun = await commit(verdictOn(client, snapshot, 'order'));
      expect(begun.status, 'a partition without an installation').to.equal(-3);
      await commands.sAdd(installationKey(partition), 'ours');
      expect((await commit(verdictOn(client, snapshot, 'order'), 1)).status, 'too late').to.equal(-1);
      expect(await commands.exists(journalKey(partition))).to.equal(0);
      await commit(paymentOf(client, snapshot, 'order'));
      const [first = ''] = await commands.hKeys(notesKey(client.hash));
      let orders = '';
      for (let seq = 1; seq <= entries + 100; seq++)
        ({ orders } = await commit(withAnswer(verdictOn(client, snapshot, 'order', T0 + seq), `key-${seq}`)));
      expect(await commands.xLen(journalKey(partition))).to.equal(entries + 1);
      const lost = await commands.hGetAll(journalLossKey(partition));
      expect(lost).to.include({ entries: '100' }).and.to.have.all.keys('entries', 'from', 'to');
      for (const [held, left] of [
        [-3, entries],
        [-3, entries - 1],
        [-9, entries],
      ] as const) {
        await commit(paymentOf(client, snapshot, 'order'), undefined, held);
        expect(await commands.xLen(journalKey(partition)), 'short of memory').to.equal(left);
      }
      expect(await commands.zCard(orders)).to.equal(decisions);
      const left = await commands.hKeys(notesKey(client.hash));
      expect(left).to.have.length(notes).and.not.include(first, 'what ends first goes first');
    });

    it('add-to-tally-1.lua, which counts a batch once and keeps the tally for a time', async () => {
      for (const [number, count] of [
        ['1', '2'],
        ['1', '2'],
        ['2', '3'],
      ] as const)
        await run('add-to-tally-1.lua', ['{tally}'], 'writer', number, '60000', 'seen', count);
      expect(await connection.commands.hGetAll('{tally}')).to.include({ seen: '5', writer: '2' });
      expect(await connection.commands.pTTL('{tally}')).to.be.within(1, 60_000);
    });

    it('forget-client-4.lua, to the erasures that wait', async () => {
      for (const entry of ['a', 'b', 'c'])
        await run('forget-client-4.lua', [k1, k2, k3, k4], '', 'shop', entry, '2');
      const waiting = await connection.commands.zRange(k4, 0, -1);
      expect(waiting.map((text) => text.split(' ')[1])).to.deep.equal(['b', 'c']);
    });

    it('probe-1.lua, to words of others that are not too old', async () => {
      const probe = (node: string, lookedMs: number) =>
        run('probe-1.lua', ['{probe}'], '60000', node, String(lookedMs), '3');
      const nowMs = Date.now();
      await probe('never looked', 0);
      await probe('another', nowMs);
      expect(Object(await probe('own', nowMs)).slice(1)).to.deep.equal([`${nowMs}:3`]);
      expect(await connection.commands.hKeys('{probe}')).to.have.members(['another', 'own']);
      expect(await connection.commands.pTTL('{probe}')).to.be.within(1, 60_000);
    });

    it('append-records-6.lua, to removals that are remembered', async () => {
      const keys = ['{l}1', '{l}2', '{l}3', '{l}4', '{l}5', '{l}6'];
      const write = (keptMs: string, change: string) =>
        run('append-records-6.lua', keys, 'epoch', keptMs, '+inf', '', '', '', '', 'a', '', change);
      for (const change of ['+text', '-', '+again']) await write('60000', change);
      expect(await connection.commands.zCard('{l}3'), 'a record that came back is not removed').to.equal(0);
      await write('0', '-');
      expect(await connection.commands.hGet('{l}4', 'horizon')).to.equal('4');
      expect(await connection.commands.exists(['{l}2', '{l}3'])).to.equal(0);
    });

    it('document-names-1.lua, to names whose document is there or may still come', async () => {
      const { commands } = connection;
      const names = (graceMs: string, noted = '') =>
        run('document-names-1.lua', ['{d}names'], '{d}:', graceMs, noted);
      for (const noted of ['kept', 'to come']) expect(await names('60000', noted)).to.equal(null);
      await commands.set('{d}:kept', 'document');
      expect(await names('60000')).to.deep.equal(['kept']);
      expect(await commands.zCard('{d}names'), 'one is about to be written').to.equal(2);
      expect(await names('0')).to.deep.equal(['kept']);
      expect(await commands.zRange('{d}names', 0, -1)).to.deep.equal(['kept']);
    });

    it('append-records-6.lua, to the number that the first record must get', async () => {
      const keys = ['{l}1', '{l}2', '{l}3', '{l}4', '{l}5', '{l}6'];
      const append = (number: string) =>
        run('append-records-6.lua', keys, 'e', '0', '+inf', '', '', number, 'part', `of ${number}`, '', '+');
      for (const [number, answer] of [
        ['2', null],
        ['1', [1]],
        ['1', null],
        ['3', null],
        ['2', [1]],
      ] as const)
        expect(await append(number), number).to.deep.equal(answer);
      const { commands } = connection;
      expect(await commands.zRange('{l}2', 0, -1)).to.deep.equal(['of 1', 'of 2']);
      expect({ ...(await commands.hGetAll('{l}5')) }).to.deep.equal({ 1: 'part', 2: 'part' });
      expect(await commands.sMembers('{l}6')).to.have.members(['1', '2']);
    });

    it('compare-and-set-1.lua, to the text that was read and to when it ends', async () => {
      const { commands } = connection;
      const change = (...args: readonly string[]) => run('compare-and-set-1.lua', ['{t}'], ...args);
      expect(await change('', '1', 'text', '3600000')).to.equal(1);
      expect(await change('', '1', 'late', '')).to.equal(0);
      expect(await change(computeStamp('text'), '1', 'next', '')).to.equal(1);
      expect(await change(computeStamp('text'), '1', 'late', '')).to.equal(0);
      expect(await commands.get('{t}')).to.equal('next');
      expect(await commands.pTTL('{t}')).to.be.within(3_000_000, 3_600_000);
      expect(await change(computeStamp('next'), '0', '', '')).to.equal(1);
      expect(await commands.exists('{t}')).to.equal(0);
    });

    it('and a text that is no UTF-8 is replaced by the stamp of its bytes', async () => {
      const { commands } = connection;
      const door = {
        connection,
        runOn:
          () =>
          <T>(call: () => Promise<T>) =>
            call(),
      };
      await commands.set('{t}', Buffer.from([0x7b, 0xff, 0x7d]));
      const { text = '', stamp = '' } = (await readStamped(door, '{t}')) ?? {};
      expect(text).to.equal('{\ufffd}');
      expect(await compareAndSet(door, '{t}', computeStamp(text), 'late')).to.equal(false);
      expect(await compareAndSet(door, '{t}', stamp, 'mended')).to.equal(true);
      expect(await commands.get('{t}')).to.equal('mended');
    });
  });

  describe('with an argument that is no number', () => {
    /** `before` is there before each call. */
    async function writesNothing(
      { script, keys, args, numbers }: Writing,
      before: readonly string[] = [],
    ): Promise<void> {
      const { commands } = connection;
      const written = keys.filter((key) => !before.includes(key));
      for (const number of numbers) {
        const wrong = args.with(number - 1, 'NaN');
        const failure = await script.run(connection, keys, wrong, asIs).catch((error: unknown) => error);
        expect(failure, `argument ${number}`).to.be.instanceOf(Error);
        expect(await commands.exists(written), `argument ${number}`).to.equal(0);
      }
      await script.run(connection, keys, args, asIs);
      expect(await commands.exists(written)).to.be.greaterThan(0);
      await commands.del([...keys]);
    }

    for (const [file, call] of Object.entries(others))
      it(`like ${file} writes nothing`, () => writesNothing({ script: new RedisScript(file), ...call }));

    it('like sightings.lua writes nothing', () =>
      writesNothing({
        script: sightingsScript,
        keys: [k1, k2],
        args: [
          ...[NOW.padStart(14, '0'), '1', 'a', 'pb1'],
          ...['pub12345', 'pub12345v', '1', '00000000000500', '1', '1', '5'],
          ...['p', 'pub', '2', '00000000000600', '00000000000500'],
        ],
        numbers: [1, 2, 7, 8, 9, 10, 11, 14, 15, 16],
      }));

    it('like note-payment-1.lua writes nothing', async () => {
      const { commands } = connection;
      const script = new RedisScript('note-payment-1.lua');
      const run = (...args: readonly string[]) => script.run(connection, [k1], args, asIs);
      await commands.zAdd(k1, { value: 'a', score: 2000 });
      for (const args of [
        ['a', 'NaN', '0'],
        ['a', '1000', 'NaN'],
      ])
        expect(await run(...args).catch((error: unknown) => error)).to.be.instanceOf(Error);
      expect(await commands.zCard(k1)).to.equal(1);
      expect(await run('a', '1000', '0')).to.equal(1);
      expect(await commands.zCard(k1)).to.equal(2);
      await commands.del(k1);
    });

    it('like commit-5.lua writes nothing', async () => {
      const client = newClient();
      const stamp = { raw: null, storeTimeMs: 0, arrivedMs: 0 };
      const change = verdictOn(
        client,
        { state: UNKNOWN_CLIENT_STATE, order: null, answer: null, stamp },
        'order-1',
      );
      const terms = { validUntilMs: Date.now() + 60_000, storesShape: true, journalEntries: 100 };
      const { keys, args } = createCommitCall(withAnswer(change, 'once'), encodeClientState(change.state), {
        ...terms,
        installation: 'ours',
      });
      const script = createCommitScript({ ...COMMIT_RETENTION, installation: 'ours' });
      const installation = installationKey(getPartitionTag(client.hash));
      await connection.commands.sAdd(installation, 'ours');
      await writesNothing({ script, keys, args, numbers: [1, 7, 10, 13] }, [installation]);
    });

    it('knows no constant that is no number or plain text', () => {
      for (const constant of [Number.NaN, 0.5, '', 'a"b'])
        expect(() => new RedisScript('load-2.lua', { constant })).to.throw(
          `"${constant}" is no constant of a script`,
        );
    });
  });
});
