import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { startNode } from '../processes/node-process.ts';
import { freePort } from '../servers/free-port.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { Tenant } from '../service/tenant.ts';

describe('npm run demo', () => {
  it('serves a made-up day of all verdicts to the key it prints, and leaves nothing behind', async () => {
    const [port, platformPort, folder] = [await freePort(), await freePort(), temporaryDirectory()];
    const env = { ...process.env, PORT: String(port), PLATFORM_PORT: String(platformPort), TMPDIR: folder };
    const demo = startNode(['scripts/demo.ts'], { env: { ...env, REDIS_URL: 'redis://127.0.0.1:1' } });
    await until('it says what to look at', async () => demo.stdout().includes('Ctrl-C ends it'), 60_000);
    const [, key = ''] = /^ {2}(ka_\S+)$/m.exec(demo.stdout()) ?? [];
    expect(demo.stdout()).to.include(`at http://127.0.0.1:${platformPort}/ and look at`);
    const [callerUrl, platformUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${platformPort}`];
    const shop = new Tenant({ callerUrl, platformUrl }, key);
    const decisions = await shop.decisions({ limit: '500' });
    expect(decisions.length).to.be.above(100);
    expect(new Set(decisions.map(({ verdict }) => verdict))).to.include.all.keys('GET_NEW', 'WAIT', 'BLOCK');
    demo.child.kill('SIGINT');
    expect(await demo.exited).to.equal(0);
    expect(readdirSync(folder).filter((name) => name.startsWith('client-scoring-demo'))).to.deep.equal([]);
  });
});
