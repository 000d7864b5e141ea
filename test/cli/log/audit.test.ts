import { once } from 'node:events';
import { expect } from 'chai';
import { Audit, type AuditEntry } from '../../../src/access/audit.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { type NodeProcess, startNode } from '../../processes/node-process.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { APPEND_ONLY } from '../../servers/redis-process.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { spawnService } from '../../service/service-process.ts';
import { describeOnSharedStates, type SharedState } from '../../stores/shared-state.ts';
import { SCORING } from '../scoring.ts';

const AT = Date.parse('2026-11-21T10:00:00Z');

/** On a busy machine a store may get no CPU for longer than callers wait. */
const PATIENT = { limitMs: 10_000, onLongWait: () => {} };

type Place = Pick<SharedState, 'dataDir' | 'env'>;

/** Notes an entry as a process of its own would. */
async function note(place: Place, entry: Partial<AuditEntry>): Promise<void> {
  const redisUrl = place.env['REDIS_URL'] ?? null;
  const store = await openStore({ redisUrl, dataDir: place.dataDir, patience: PATIENT }, () => {});
  const audit = new Audit(store.auditLog, () => AT);
  const change = {
    who: 'ann',
    action: 'list',
    platform: null,
    subject: null,
    before: null,
    after: null,
  } as const;
  await audit.note({ ...change, reason: null, ...entry });
  await store.close();
}

function audit(place: Place, ...args: readonly string[]): NodeProcess {
  const { PATH } = process.env;
  return startNode([SCORING, 'audit', ...args], { env: { PATH, DATA_DIR: place.dataDir, ...place.env } });
}

const shows = (command: NodeProcess, text: string) =>
  until(`"${text}" is printed`, async () => command.stdout().includes(text));

describeOnSharedStates('audit --follow', (share) => {
  let place: SharedState;
  let follower: NodeProcess;
  beforeEach(async () => {
    place = await share();
    await note(place, { reason: 'the first' });
  });
  afterEach(() => follower.child.kill('SIGKILL'));

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`prints old and new entries, each once and in order, and ends without an error at ${signal}`, async () => {
      follower = audit(place, '--follow');
      await shows(follower, '"the first"');
      for (const reason of ['the second', 'the third']) {
        await note(place, { reason });
        await shows(follower, `"${reason}"`);
      }
      follower.child.kill(signal);
      expect(await follower.exited).to.equal(0);
      const line = (reason: string) => `2026-11-21T10:00:00Z  ann  list  "${reason}"\n`;
      expect(follower.stdout()).to.equal(['the first', 'the second', 'the third'].map(line).join(''));
      expect(follower.stderr()).to.equal('');
    });
  }

  it('names an entry that cannot be read, and goes on with the next', async () => {
    const redisUrl = place.env['REDIS_URL'] ?? null;
    const store = await openStore({ redisUrl, dataDir: place.dataDir, patience: PATIENT }, () => {});
    await store.auditLog.append({ at: AT, entry: 'changed', payer: null });
    await store.close();
    await note(place, { reason: 'the third' });
    follower = audit(place);
    expect(await follower.exited).to.equal(1);
    expect(follower.stdout()).to.match(/the first.*\n.*the third"\n$/);
    expect(follower.stderr()).to.equal('Entry 2 was changed and cannot be read; run "audit verify".\n');
  });

  it('ends without an error when its reader goes away', async () => {
    follower = audit(place, '--follow');
    await shows(follower, '"the first"');
    // It may end before the write of the entry is known.
    const exit = once(follower.child, 'exit');
    follower.child.stdout?.destroy();
    await note(place, { reason: 'the second' });
    await exit;
    expect([follower.child.exitCode, follower.stderr()]).to.deep.equal([0, '']);
  });

  it('escapes control sequences and line breaks in entries, as text and as JSON', async () => {
    const hostile = 'wipe\u001b[2J\u009b1A\nann  rollout \u202egnp.exe \u{e0041}';
    await note(place, { who: hostile, subject: hostile, after: { [hostile]: hostile }, reason: hostile });
    follower = audit(place, '--follow');
    await shows(follower, 'wipe');
    const asJson = audit(place, '--follow', '--json');
    await shows(asJson, 'wipe');
    for (const command of [follower, asJson]) {
      command.child.kill('SIGINT');
      expect(await command.exited).to.equal(0);
      expect(command.stdout()).not.to.match(/[^\P{C}\n]/u);
      expect(command.stdout().split('\n')).to.have.length(3);
    }
    expect(follower.stdout()).to.include(
      '"wipe\\u001b[2J\\u009b1A\\nann  rollout \\u202egnp.exe \\udb40\\udc41"\n',
    );
    const [, told = ''] = asJson.stdout().split('\n');
    expect(JSON.parse(told)).to.include({ who: hostile, subject: hostile, reason: hostile });
  });
});

describeOnSharedStates('audit verify', (share) => {
  it('says that nothing was changed, and names a missing entry that was noted elsewhere', async () => {
    const place = await share();
    await note(place, { reason: 'the first' });
    const follower = audit(place, '--json');
    await follower.exited;
    const { number, hash } = JSON.parse(follower.stdout().trim().split('\n').at(-1) ?? '');
    const known = audit(place, 'verify', '--known', `${number}:${hash}`);
    expect(await known.exited).to.equal(0);
    expect(known.stdout()).to.equal(
      'Nothing was changed: 1 entry is as written; about payers who were erased: 0.\n',
    );
    const lost = audit(place, 'verify', '--known', `${number + 1}:${hash}`, '--json');
    expect(await lost.exited).to.equal(1);
    expect(JSON.parse(lost.stdout())).to.deep.equal({
      entries: number,
      forgotten: 0,
      faults: [{ number: number + 1, what: `Entry ${number + 1} is missing.` }],
    });
  });
});

describe('audit --follow over a restart', () => {
  it('continues with the entries of the next service on SQLite', async () => {
    const place = { dataDir: temporaryDirectory(), env: { ARCHIVE_DIR: 'off' } };
    const first = await spawnService(place.dataDir, place.env);
    const follower = audit(place, '--follow');
    await shows(follower, 'there was no key yet');
    first.signal('SIGKILL');
    await first.exited;
    const second = await spawnService(place.dataDir, place.env);
    await note(place, { reason: 'after the restart' });
    await shows(follower, '"after the restart"');
    follower.child.kill('SIGINT');
    expect([await follower.exited, follower.stderr()]).to.deep.equal([0, '']);
    expect(follower.stdout().match(/there was no key yet/g)).to.have.length(1);
    await second.stop();
  });

  describeWithServer('redis-server', 'on Redis', () => {
    let redis: RedisServers;
    before(async () => {
      redis = await startStandalone([...APPEND_ONLY, '--appendfsync', 'always']);
    });
    after(() => redis.stop());

    it('says once that the store is away, and continues where it was', async () => {
      const place = { dataDir: temporaryDirectory(), env: { REDIS_URL: redis.url } };
      const [server] = redis.nodes;
      await note(place, { reason: 'before' });
      const follower = audit(place, '--follow');
      await shows(follower, '"before"');
      await server?.kill();
      await until('it says so', async () => follower.stderr().includes('The store does not answer'));
      await server?.restart();
      await note(place, { reason: 'after' });
      await shows(follower, '"after"');
      follower.child.kill('SIGINT');
      expect(await follower.exited).to.equal(0);
      expect(follower.stdout().match(/"before"|"after"/g)).to.deep.equal(['"before"', '"after"']);
      const said = follower.stderr().split('\n');
      expect(said.filter((line) => line.startsWith('The store answers again'))).to.deep.equal([
        'The store answers again; it goes on from where it stopped.',
      ]);
      expect(new Set(said).size, follower.stderr()).to.equal(said.length);
    });
  });
});
