import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { spawnService } from '../../service/service-process.ts';

describe('a service whose event loop stands still', function () {
  this.timeout(60_000);

  it('ends itself after ten seconds, and says why', async () => {
    const hang = join(temporaryDirectory(), 'hang-on-signal.mjs');
    writeFileSync(hang, "process.on('SIGHUP', () => { for (;;); });");
    const service = await spawnService(temporaryDirectory(), { NODE_OPTIONS: `--import ${hang}` });
    service.child.kill('SIGHUP');
    const [, signal] = await once(service.child, 'exit');
    expect(signal).to.equal('SIGKILL');
    expect(service.stderr()).to.include(
      '"msg":"the event loop has stood still for 10 s: the process is ended"',
    );
  });
});
