import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Bucket } from '#history/archive/s3/bucket.ts';
import { listening } from '../../../servers/listening.ts';
import { type S3Server, s3Environment, s3Place, startS3 } from '../../../servers/s3.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { SCORING } from '../../../workbench/commands/scoring.ts';

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

  it('are sent for as long as it takes while the server takes something, and given up when it is silent', async () => {
    let isSilent = false;
    const narrow = createServer(async (req, res) => {
      if (isSilent) return;
      for await (const chunk of req) await sleep(chunk.length / PACE_BYTES_A_MS);
      res.end();
    });
    const { port } = new URL(await listening(narrow));
    const impatient = new Bucket(s3Place(Number(port), 'a'), SILENCE_MS);
    await impatient.put('large', Buffer.alloc(3 * SILENCE_MS * PACE_BYTES_A_MS));
    isSilent = true;
    const silenced = await impatient.put('small', Buffer.from('one')).catch(String);
    narrow.closeAllConnections();
    narrow.close();
    expect(silenced).to.match(/timed out after 2000 ms of inactivity/);
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
