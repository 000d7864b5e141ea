import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { registerKey } from '../../../src/state/keys.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { againAfterStandstill } from '../../servers/standstill.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { scoring } from '../scoring.ts';

interface Written {
  readonly commands: readonly (readonly string[])[];
}

const written: Written = JSON.parse(
  readFileSync(new URL('../../state/redis/earlier/written-before.json', import.meta.url), 'utf8'),
);

const NODE = { nodeId: 'n1', host: 'ops-1', pid: 7, versions: [], refused: [], counts: null };

describeWithServer('redis-server', 'state move', () => {
  let servers: RedisServers;
  const port = () => servers.nodes[0]?.port ?? 0;
  const move = () => {
    const env = { DATA_DIR: temporaryDirectory(), REDIS_URL: servers.url, ARCHIVE_DIR: 'off' };
    return againAfterStandstill(
      () => scoring(['state', 'move', '--reason', 'all nodes are upgraded'], env),
      ({ stderr }) => stderr.startsWith('error: Redis at '),
    );
  };
  before(async () => {
    servers = await startStandalone();
    for (const args of written.commands) await command(port(), args);
  });
  after(() => servers?.stop());

  it('names the nodes of an earlier version and moves nothing while there are any', async () => {
    await command(port(), ['ZADD', '{documents}:names:nodes', String(Date.now()), 'n1']);
    const key = '{documents}:document:nodes/n1';
    await command(port(), ['SET', key, JSON.stringify({ value: NODE })]);
    const { exitCode, stderr } = await move();
    await command(port(), ['DEL', key]);
    expect(stderr).to.match(
      /nothing was moved: .*ops-1.* runs an earlier version, which does not find clients that were moved; upgrade every node first/,
    );
    expect(exitCode).to.equal(1);
    expect(await command(port(), ['GET', registerKey('layout')])).to.equal(
      '{"phase":"earlier","earlierUntil":null}',
    );
  });

  it('moves all clients, says how many, and has nothing to do the next time', async () => {
    const { exitCode, stdout } = await move();
    expect(stdout).to.equal(
      '2 clients were moved; those that were asked for meanwhile moved by themselves.\n',
    );
    expect(exitCode).to.equal(0);
    expect((await move()).stdout).to.equal(
      'There is nothing to move: all clients lie where this version keeps them.\n',
    );
  });
});
