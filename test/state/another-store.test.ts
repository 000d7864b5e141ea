import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readSalt } from '#history/archive/archived-salt.ts';
import { AnotherStore } from '#state/known-installation.ts';
import { openStore } from '#state/open-store.ts';
import type { Store } from '#state/store.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { emptyRedisUrl } from '../stores/empty-redis.ts';

const REMEDY = 'restore the known store, or accept this one: "state accept-empty --reason TEXT"';
const PATIENT = { patience: { limitMs: 10_000, onLongWait: () => {} } };

/** A kind of store under a DATA_DIR, and how it is lost. */
interface Kind {
  readonly memory: string;
  readonly redisUrl: string | null;
  empty(dataDir: string): Promise<void>;
}

function startSuite(make: () => Promise<Kind>): void {
  let kind: Kind;
  let dataDir: string;
  const open = (also: object = {}) =>
    openStore({ redisUrl: kind.redisUrl, dataDir, ...PATIENT, ...also }, () => {});
  const closed = async (opened: Promise<Store>) => {
    const store = await opened;
    await store.close();
    return store;
  };
  const refusal = async (opened: Promise<Store>) => {
    const failure = await closed(opened).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(AnotherStore);
    return String(failure).replace(/^.*?: /, '');
  };
  beforeEach(async () => {
    kind = await make();
    dataDir = temporaryDirectory();
  });

  it('is refused when it is empty and DATA_DIR names an installation, and stays empty', async () => {
    const { name } = await closed(open());
    await kind.empty(dataDir);
    const text = `the store ${name} is empty, but ${join(dataDir, kind.memory)} says that it held an installation; ${REMEDY}`;
    expect(await refusal(open())).to.equal(text);
    expect(await refusal(open())).to.equal(text);
  });

  it('is refused when it is empty and an archive says that a store was beside it', async () => {
    const expected = { id: null, salt: 'salt-of-the-archive---', toldBy: 'the archive in /archive' };
    expect(await refusal(open({ expected }))).to.match(
      /^the store .* is empty, but the archive in \/archive says that it held an installation; restore the known store/,
    );
    const store = await closed(open({ expected, isAccepted: true }));
    expect(store.clientKeys.salt).to.equal(expected.salt);
  });

  it('is refused when it is another one than DATA_DIR names', async () => {
    const { installation } = await closed(open());
    await kind.empty(dataDir);
    const other = await closed(
      openStore({ redisUrl: kind.redisUrl, dataDir, ...PATIENT, isAccepted: true, expected: null }, () => {}),
    );
    expect(other.installation).to.deep.equal(installation);
    await kind.empty(dataDir);
    const memory = join(dataDir, kind.memory);
    rmSync(memory);
    const stranger = await closed(open());
    const known = { ...installation, toldBy: 'a file' };
    expect(stranger.installation.id).to.not.equal(installation.id);
    rmSync(memory);
    expect(await refusal(open({ expected: known }))).to.equal(
      `the store ${stranger.name} belongs to installation ${stranger.installation.id}, but a file names ${installation.id}; ${REMEDY}`,
    );
  });

  it('may be another one for a command, which notes nothing, but not empty where one was', async () => {
    const known = await closed(open());
    await kind.empty(dataDir);
    const forCommand = { isForCommand: true };
    expect(await refusal(open(forCommand))).to.include('is empty, but');
    const other = {
      redisUrl: kind.redisUrl,
      dataDir: kind.redisUrl === null ? dataDir : temporaryDirectory(),
    };
    const memory = readFileSync(join(dataDir, kind.memory), 'utf8');
    rmSync(join(dataDir, kind.memory));
    const { installation } = await closed(openStore({ ...other, ...PATIENT, ...forCommand }, () => {}));
    expect(existsSync(join(dataDir, kind.memory))).to.equal(false);
    writeFileSync(join(dataDir, kind.memory), memory);
    expect((await closed(open(forCommand))).installation).to.deep.equal(installation);
    expect(installation.id).to.not.equal(known.installation.id);
    expect(readFileSync(join(dataDir, kind.memory), 'utf8')).to.equal(memory);
  });

  it('keeps its installation and salt when it is accepted, and is opened from then on', async () => {
    const before = await closed(open());
    await kind.empty(dataDir);
    const accepted = await closed(open({ isAccepted: true }));
    const after = await closed(open());
    expect([accepted.installation, after.installation]).to.deep.equal([
      before.installation,
      before.installation,
    ]);
  });

  it('begins without a question where nothing says that there was one', async () => {
    const { installation } = await closed(open());
    expect(existsSync(join(dataDir, kind.memory))).to.equal(true);
    expect(readSalt(dataDir)).to.equal(null);
    expect((await closed(open())).installation).to.deep.equal(installation);
  });
}

describe('a store at the start on SQLite', () => {
  startSuite(async () => ({
    memory: 'sqlite-installation.json',
    redisUrl: null,
    empty: async (dataDir) => {
      for (const end of ['', '-wal', '-shm']) rmSync(join(dataDir, `scoring.sqlite${end}`), { force: true });
    },
  }));
});

describeWithServer('redis-server', 'a store at the start on Redis', () => {
  startSuite(async () => ({
    memory: 'redis-installation.json',
    redisUrl: await emptyRedisUrl(),
    empty: async () => {
      await emptyRedisUrl();
    },
  }));
});
