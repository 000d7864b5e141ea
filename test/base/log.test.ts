import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';

const LOG = new URL('../../src/base/log.ts', import.meta.url).href;

interface Line {
  readonly level: number;
  readonly service: string;
  readonly msg: string;
  readonly [name: string]: unknown;
}

/** The one line that a call on the log writes to stderr. */
function lineOf(call: string): Line {
  return JSON.parse(stderrOf(call));
}

function stderrOf(calls: string): string {
  const script = `import { createLog } from '${LOG}'; const log = createLog('info'); ${calls}`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stderr;
}

describe('the log', () => {
  it('writes one JSON line per call', () => {
    const { service, msg, operation, status } = lineOf(
      `log.info({ operation: 'verdict', status: 200 }, 'request')`,
    );
    expect({ service, msg, operation, status }).to.deep.equal({
      service: 'client-scoring',
      msg: 'request',
      operation: 'verdict',
      status: 200,
    });
  });

  it('hides members with the name of a secret, three levels deep', () => {
    const { key, caller, more } = lineOf(
      `log.info({ key: 'a', caller: { ip: 'b', name: 'n' }, more: { deep: { fingerprint: 'c' } } }, 'm')`,
    );
    expect({ key, caller, more }).to.deep.equal({
      key: '[redacted]',
      caller: { ip: '[redacted]', name: 'n' },
      more: { deep: { fingerprint: '[redacted]' } },
    });
  });

  it('writes an error with its stack, and hides secrets in it', () => {
    const { err } = lineOf(`log.warn({ err: Object.assign(new Error('broken'), { password: 'p' }) }, 'm')`);
    expect(err).to.include({ type: 'Error', message: 'broken', password: '[redacted]' });
    expect(err).to.have.property('stack').that.includes('Error: broken');
  });

  it('writes every line before the process ends, however it ends', () => {
    const told = `for (let n = 1; n <= 500; n++) log.info({ n }, 'told');`;
    for (const end of ['', 'process.exit(3);', `throw new Error('uncaught');`]) {
      const lines = stderrOf(`${told} ${end}`).split('\n');
      expect(lines.filter((line) => line.includes('"msg":"told"'))).to.have.length(500);
    }
  });

  it('writes a line soon, while the process goes on', async () => {
    const script = `import { createLog } from '${LOG}'; createLog('info').info('told'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [line] = await once(child.stderr, 'data');
    child.kill('SIGKILL');
    expect(JSON.parse(String(line))).to.include({ msg: 'told' });
  });

  it('writes a fatal line at once, with all lines before it', () => {
    const told = stderrOf(`log.info('before'); log.fatal('lost'); process.kill(process.pid, 'SIGKILL');`);
    expect(told.split('\n').map((line) => /"msg":"(\w+)"/.exec(line)?.[1])).to.deep.equal([
      'before',
      'lost',
      undefined,
    ]);
  });

  it('does not block the process while nobody reads, and then drops lines', async () => {
    const script = `import { createLog } from '${LOG}'; const log = createLog('info');
      let ticks = 0;
      const timer = setInterval(() => {
        for (let n = 0; n < 2000; n++) log.info({ filler: 'x'.repeat(1000) }, 'told');
        if (++ticks === 20) { console.log('alive, ' + (process.memoryUsage().rss >> 20) + ' MiB'); process.kill(process.pid, 'SIGKILL'); }
      }, 10);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = await text(child.stdout);
    expect(said).to.match(/^alive, \d{2,3} MiB\n$/);
  });

  it('does not change the given object', () => {
    const { msg, key } = lineOf(
      `const told = { key: 'a' }; log.info(told, 'told'); if (told.key !== 'a') throw new Error('changed');`,
    );
    expect([msg, key]).to.deep.equal(['told', '[redacted]']);
  });
});
