import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { formatCount } from '#base/count-text.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { ArchivedStore } from '../../history/archive/archived-store.ts';
import { archivesInS3 } from '../../history/archive/describe-on-archives.ts';
import { freeClusterPort, freePort } from '../../servers/free-port.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { assignSlots } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { FLUSHED_AT_ONCE, type RedisProcess, startRedis } from '../../servers/redis-process.ts';
import { s3Environment, startS3 } from '../../servers/s3.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { newClient, verdictOn } from '../../state/clients.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { scoring } from './scoring.ts';

/** Five payers with a verdict each. */
async function fill(store: Store, at?: number) {
  const clients = [1, 2, 3, 4, 5].map(() => newClient());
  for (const client of clients) await store.commit(verdictOn(client, await store.load(client), 'order', at));
  return clients;
}

/** 2026-11-01T00:00:00Z and a millisecond: when these payers' verdicts were decided. */
const AS_OF = '2026-11-01T00:00:00.001Z';

describe('restore --check of SQLite', () => {
  let backup: string;
  beforeEach(async () => {
    backup = temporaryDirectory();
    const store = openSqliteStore(backup);
    await fill(store);
    await store.close();
  });

  it('says of what time the backup is, and what would be lost', async () => {
    const { exitCode, stdout } = await scoring(['restore', '--check', backup], {});
    expect(stdout.trimEnd().split('\n')).to.deep.equal([
      `A backup of SQLite, as of ${AS_OF}: it starts, and all of it can be read.`,
      'Its journal holds 5 entries.',
      'No archive was checked; name one with --archive.',
      `What happened after ${AS_OF} would be missing from the store: waits, outcomes, bindings, lists, keys. After a restore, send the outcomes again and repeat the erasures.`,
    ]);
    expect(exitCode).to.equal(0);
  });

  it('does not pass over an archive that is not there', async () => {
    const place = join(backup, 'archiv');
    const { exitCode, stdout, stderr } = await scoring(
      ['restore', '--check', backup, '--archive', place],
      {},
    );
    expect([exitCode, stdout, stderr.trimEnd()]).to.deep.equal([
      2,
      '',
      `error: there is no folder ${place}; name the folder or the address of the archive`,
    ]);
  });

  it('is dated by what a person did last, when that came after the newest verdict', async () => {
    const store = openSqliteStore(backup);
    const rollout = { at: Date.parse(AS_OF) + 60_000, entry: { action: 'rollout' }, payer: null };
    for (const at of [rollout.at - 120_000, rollout.at]) await store.auditLog.append({ ...rollout, at });
    await store.close();
    const { stdout } = await scoring(['restore', '--check', backup, '--json'], {});
    expect(JSON.parse(stdout)).to.deep.include({ asOf: '2026-11-01T00:01:00.001Z', journalEntries: 5 });
  });

  it('reads an archive in S3, and says what came after the backup', async () => {
    const server = await startS3();
    const live = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
    const place = await ArchivedStore.open(live, archivesInS3(server, live, 'years'));
    await fill(live, Date.parse(AS_OF) + 60_000);
    await place.shipAll();
    const environment = s3Environment(server.port, 'years');
    const check = (archive: string) =>
      scoring(['restore', '--check', backup, '--json', '--archive', archive], environment);
    const { exitCode, stdout } = await check(environment['ARCHIVE_DIR'] ?? '');
    expect([exitCode, JSON.parse(stdout).archive]).to.deep.equal([
      0,
      {
        folder: 's3://years/years',
        decisions: 5,
        torn: 0,
        later: { decisionsMax: 5, to: '2026-11-01T00:01:00.001Z' },
      },
    ]);
    await place.close();
    await server.stop();
    const away = await check(environment['ARCHIVE_DIR'] ?? '');
    expect([away.exitCode, away.stdout]).to.deep.equal([3, '']);
    expect(away.stderr).to.match(/^error: s3:\/\/years\/years: what is there cannot be /);
  });

  it('finds a file that was cut off', async () => {
    truncateSync(join(backup, 'scoring.sqlite'), 40_000);
    const { exitCode, stderr } = await scoring(['restore', '--check', backup], {});
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/scoring\.sqlite is damaged: /);
  });

  it('says what is missing in a folder that is not a backup', async () => {
    const { exitCode, stderr } = await scoring(['restore', '--check', temporaryDirectory()], {});
    expect(exitCode).to.equal(2);
    expect(stderr).to.contain(
      'it has no scoring.sqlite, no appendonlydir, and no folders of masters with nodes.conf',
    );
  });
});

describeWithServer('redis-server', 'restore --check of Redis', () => {
  it('starts a copy of the append-only file beside the server that writes it', async () => {
    const folder = temporaryDirectory();
    const server = await startRedis(folder, await freePort(), FLUSHED_AT_ONCE);
    const store = await openPatiently(server.url);
    await fill(store);
    const backup = temporaryDirectory();
    cpSync(join(folder, 'appendonlydir'), join(backup, 'appendonlydir'), { recursive: true });
    const { stdout, exitCode } = await scoring(['restore', '--check', backup, '--json'], {});
    expect([exitCode, JSON.parse(stdout)]).to.deep.equal([
      0,
      { kind: 'Redis', asOf: AS_OF, journalEntries: 5, cutOff: [], unreadable: [], archive: null },
    ]);
    await store.close();
    await server.kill();
  });

  describe('that was cut off', () => {
    let backup: string;
    let file: string;
    let entryBytes: number;
    beforeEach('makes a backup whose newest entry came a minute after the others', async () => {
      const folder = temporaryDirectory();
      const server = await startRedis(folder, await freePort(), FLUSHED_AT_ONCE);
      const store = await openPatiently(server.url);
      await fill(store);
      const written = join(folder, 'appendonlydir', 'appendonly.aof.1.incr.aof');
      const before = statSync(written).size;
      const client = newClient();
      await store.commit(verdictOn(client, await store.load(client), 'newest', Date.parse(AS_OF) + 60_000));
      entryBytes = statSync(written).size - before;
      await store.close();
      await server.kill();
      backup = temporaryDirectory();
      cpSync(join(folder, 'appendonlydir'), join(backup, 'appendonlydir'), { recursive: true });
      file = join(backup, 'appendonlydir', 'appendonly.aof.1.incr.aof');
      truncateSync(file, before + entryBytes);
    });

    it('within an entry says which file that is, what Redis drops, and how new the newest entry is', async () => {
      truncateSync(file, statSync(file).size - 7);
      const { stdout, exitCode } = await scoring(['restore', '--check', backup], {});
      expect(stdout.trimEnd().split('\n').slice(0, 4)).to.deep.equal([
        `A backup of Redis, as of ${AS_OF}: it starts, and all of it can be read.`,
        `${file} ends in the middle of an entry: Redis drops its last ${formatCount(entryBytes - 7, 'byte')}.`,
        `The copy was cut off. Its newest entry is from ${AS_OF}: compare that with when the copy was made, and take another one.`,
        'Its journal holds 5 entries.',
      ]);
      expect(exitCode).to.equal(1);
    });

    it('in the middle of the journal says the same', async () => {
      truncateSync(file, Math.floor(statSync(file).size / 2));
      const { stdout, exitCode } = await scoring(['restore', '--check', backup, '--json'], {});
      const report = JSON.parse(stdout);
      expect(report.cutOff[0]).to.include({ file });
      expect(report.cutOff[0].droppedBytes).to.be.within(1, statSync(file).size);
      expect(report.journalEntries).to.be.below(5);
      expect(exitCode).to.equal(1);
    });

    it('in the file that Redis does not read in part names that file', async () => {
      const base = join(backup, 'appendonlydir', 'appendonly.aof.1.base.rdb');
      truncateSync(base, statSync(base).size - 7);
      const { stderr, exitCode } = await scoring(['restore', '--check', backup], {});
      expect([exitCode, stderr.trimEnd()]).to.deep.equal([
        1,
        `error: ${base} cannot be read: redis-server ended with exit code 1. Take another copy.`,
      ]);
    });

    it('and goes on after what is damaged names the place', async () => {
      const bytes = readFileSync(file);
      bytes.write('x', bytes.indexOf('*3'));
      writeFileSync(file, bytes);
      const { stderr, exitCode } = await scoring(['restore', '--check', backup], {});
      expect([exitCode, stderr.trimEnd()]).to.deep.equal([
        1,
        `error: ${file} cannot be read from byte ${bytes.indexOf('x3')} on: redis-server ended with exit code 1. Take another copy.`,
      ]);
    });
  });

  it('says at once that a file is not an append-only file of Redis, and names it', async () => {
    const backup = temporaryDirectory();
    const manifest = join(backup, 'appendonlydir', 'appendonly.aof.manifest');
    mkdirSync(join(backup, 'appendonlydir'));
    writeFileSync(manifest, 'spoiled\n');
    const { exitCode, stderr } = await scoring(['restore', '--check', backup], {});
    expect([exitCode, stderr.trimEnd()]).to.deep.equal([
      1,
      `error: ${manifest} cannot be read: redis-server ended with exit code 1. Take another copy.`,
    ]);
  });
});

const MASTERS = [0, 1, 2];

describeWithServer(
  'redis-server',
  'a Redis Cluster that is restored beside the one it was taken from',
  function () {
    this.timeout(120_000);
    const masters: RedisProcess[] = [];
    const folders: string[] = [];
    const production = () => masters.map(({ url }) => url).join(',');
    /** The state of the cluster, which a drill must not change. */
    const seen = async () =>
      Promise.all(
        masters.map(async ({ port }) => ({
          nodes: String(await command(port, ['CLUSTER', 'NODES']))
            .split('\n')
            .map((line) => line.split(' ').slice(0, 2).concat(line.split(' ').slice(8)).join(' '))
            .toSorted(),
          keys: await command(port, ['DBSIZE']),
          clients: String(await command(port, ['CLIENT', 'LIST'])).split('\n').length,
        })),
      );

    before(async () => {
      for (const _ of MASTERS) {
        const folder = temporaryDirectory();
        folders.push(folder);
        const cluster = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'];
        masters.push(await startRedis(folder, await freeClusterPort(), [...FLUSHED_AT_ONCE, ...cluster]));
      }
      const ports = masters.map(({ port }) => port);
      await assignSlots(ports);
      for (const port of ports.slice(1))
        await command(ports[0] ?? 0, ['CLUSTER', 'MEET', '127.0.0.1', String(port)]);
      for (const port of ports)
        await until('the cluster is ready', async () =>
          /cluster_state:ok[\s\S]*cluster_known_nodes:3/.test(
            String(await command(port, ['CLUSTER', 'INFO'])),
          ),
        );
    });
    after(async () => {
      for (const master of masters) await master.kill();
    });

    function backUp(): string {
      const backup = temporaryDirectory();
      for (const [at, folder] of folders.entries()) {
        mkdirSync(join(backup, `master-${at}`));
        for (const part of ['appendonlydir', 'nodes.conf'])
          cpSync(join(folder, part), join(backup, `master-${at}`, part), { recursive: true });
      }
      return backup;
    }

    it('has the same payers under a new identity, and leaves the original as it is', async () => {
      const store = await openPatiently(production());
      const clients = await fill(store);
      const backup = backUp();
      const before = await seen();
      const ports = [await freeClusterPort(), await freeClusterPort(), await freeClusterPort()];
      const target = join(temporaryDirectory(), 'restored');
      const script = join(import.meta.dirname, '..', '..', '..', 'packaging', 'restore-cluster');
      const { stdout } = await promisify(execFile)(script, [backup, target, ...ports.map(String)]);
      const url = /^REDIS_URL=(.*)$/m.exec(stdout)?.[1] ?? '';
      const copy = await openPatiently(url);
      try {
        for (const client of clients) {
          const [{ state }, { state: there }] = [await store.load(client), await copy.load(client)];
          expect(there).to.deep.equal(state);
        }
        const [client = newClient()] = clients;
        await copy.commit(verdictOn(client, await copy.load(client), 'only-here'));
        expect((await store.load(client)).state.seq).to.equal(1);
        expect(await seen()).to.deep.equal(before);
      } finally {
        await copy.close();
        await store.close();
        for (const port of ports) await command(port, ['SHUTDOWN', 'NOSAVE']).catch(() => {});
      }
    });

    it('is checked by one command', async () => {
      const store = await openPatiently(production());
      await fill(store);
      const entries = await store.journalLength();
      const backup = backUp();
      const before = await seen();
      const { stdout, exitCode, stderr } = await scoring(['restore', '--check', backup, '--json'], {});
      expect(exitCode, stderr).to.equal(0);
      expect(JSON.parse(stdout)).to.deep.equal({
        kind: 'Redis Cluster',
        asOf: AS_OF,
        journalEntries: entries,
        cutOff: [],
        unreadable: [],
        archive: null,
      });
      expect(await seen()).to.deep.equal(before);
      await store.close();
    });

    it('says of which master a file was cut off', async () => {
      const store = await openPatiently(production());
      await fill(store);
      await store.close();
      const backup = backUp();
      const [file = ''] = globSync('*/appendonlydir/*.incr.aof', { cwd: backup })
        .map((name) => join(backup, name))
        .toSorted((a, b) => statSync(b).size - statSync(a).size);
      truncateSync(file, statSync(file).size - 7);
      const { stdout, exitCode, stderr } = await scoring(['restore', '--check', backup, '--json'], {});
      expect(exitCode, stderr).to.equal(1);
      expect(JSON.parse(stdout).cutOff[0]).to.include({ file });
    });

    it('is refused where a folder is that of a replica', async () => {
      const backup = temporaryDirectory();
      mkdirSync(join(backup, 'one', 'appendonlydir'), { recursive: true });
      writeFileSync(join(backup, 'one', 'nodes.conf'), 'a 127.0.0.1:1@2 myself,slave b 0 0 1 connected\n');
      const { exitCode, stderr } = await scoring(['restore', '--check', backup], {});
      expect(exitCode).to.equal(1);
      expect(stderr.trimEnd()).to.equal(
        `error: restore-cluster: ${backup}/one/nodes.conf is not of a master: back up the server that was master then`,
      );
    });
  },
);
