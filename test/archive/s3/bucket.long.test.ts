import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Bucket } from '../../../src/archive/s3/bucket.ts';
import { StoreUnavailable } from '../../../src/state/store-errors.ts';
import { SCORING } from '../../cli/scoring.ts';
import { freePort } from '../../servers/free-port.ts';
import { type S3Server, s3Environment, s3Place, startS3 } from '../../servers/s3.ts';
import { startS3Proxy } from '../../servers/s3-proxy.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';

/** The transfer takes three times as long; what lies in the buffers of the system takes less. */
const SILENCE_MS = 2_000;
const PACE_BYTES_A_MS = 10_000;

describe('objects in a store that speaks S3', () => {
  let server: S3Server;
  let bucket: Bucket;
  before(async () => {
    server = await startS3();
    bucket = new Bucket(s3Place(server.port, 'a/b'));
  });
  after(() => server.stop());

  it('are written, listed by their paths below the prefix, read and removed', async () => {
    await bucket.put('log/1', Buffer.from('one'));
    await bucket.put('log/2', Buffer.from('second'));
    expect([...(await bucket.list('log/'))]).to.deep.equal([
      ['log/1', 3],
      ['log/2', 6],
    ]);
    expect(await bucket.text('log/2')).to.equal('second');
    await bucket.remove(['log/1', 'log/never']);
    expect(await bucket.text('log/1')).to.equal(null);
    expect([...(await bucket.list('')).keys()]).to.deep.equal(['log/2']);
  });

  it('say which server is away and what to check', async () => {
    const nobody = new Bucket(s3Place(await freePort(), 'a'));
    const { message } = await failure(nobody.list(''));
    expect(message).to.match(
      /^s3:\/\/years\/a: what is there cannot be listed: .*ECONNREFUSED.*; AWS_ENDPOINT_URL_S3 and AWS_REGION say where it is$/,
    );
  });

  it('say that a clock is wrong, and nothing of a key, where the store finds the time of a request wrong', async () => {
    const proxy = await startS3Proxy(server.port);
    proxy.treat(() => ({ status: 403, code: 'RequestTimeTooSkewed' }));
    const { message } = await failure(new Bucket(s3Place(proxy.port, 'a')).list(''));
    await proxy.stop();
    expect(message).to.include(
      '403 RequestTimeTooSkewed; the clock of this machine or of that store is wrong: set both by NTP',
    );
  });

  it('are sent for as long as it takes while the server takes something, and given up when it is silent', async () => {
    let isSilent = false;
    const narrow = createServer(async (req, res) => {
      if (isSilent) return;
      for await (const chunk of req) await sleep(chunk.length / PACE_BYTES_A_MS);
      res.end();
    });
    narrow.listen(0, '127.0.0.1');
    await once(narrow, 'listening');
    const address = narrow.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const impatient = new Bucket(s3Place(port, 'a'), SILENCE_MS);
    await impatient.put('large', Buffer.alloc(3 * SILENCE_MS * PACE_BYTES_A_MS));
    isSilent = true;
    const { message } = await failure(impatient.put('small', Buffer.from('one')));
    narrow.closeAllConnections();
    narrow.close();
    expect(message).to.match(/timed out after 2000 ms of inactivity/);
  }).timeout(60_000);

  it('need the SDK, which is loaded only where ARCHIVE_DIR names such a store', () => {
    const isLoaded = (env: NodeJS.ProcessEnv) => {
      const { status, stderr } = spawnSync(
        process.execPath,
        ['--import', TELLS_OF_SDK, SCORING, 'archive', 'status'],
        { env: { DATA_DIR: temporaryDirectory(), ...env } },
      );
      expect(status, stderr.toString()).to.equal(0);
      return stderr.includes('the SDK is loaded');
    };
    expect([isLoaded({}), isLoaded(s3Environment(server.port, 'a'))]).to.deep.equal([false, true]);
  });
});

/** Tells on stderr when a module of the SDK is asked for. */
const TELLS_OF_SDK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const resolve = (name, context, next) => {
    if (name === '@aws-sdk/client-s3') console.error('the SDK is loaded');
    return next(name, context);
  };
  registerHooks({ resolve });`)}`;

async function failure(work: Promise<unknown>): Promise<StoreUnavailable> {
  const error = await work.catch((cause: unknown) => cause);
  return error instanceof StoreUnavailable ? error : expect.fail(`not a failure: ${String(error)}`);
}
