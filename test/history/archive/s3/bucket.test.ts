import { expect } from 'chai';
import { Bucket } from '#history/archive/s3/bucket.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { freePort } from '../../../servers/free-port.ts';
import { s3Place } from '../../../servers/s3.ts';
import { startS3Proxy } from '../../../servers/s3-proxy.ts';

describe('what a store that speaks S3 refuses', () => {
  it('is told with what to do: try again, look at the key, make the bucket, or set the clock', async () => {
    const proxy = await startS3Proxy(await freePort());
    const bucket = new Bucket(s3Place(proxy.port, 'a/b'));
    for (const [status, code, advice] of [
      [503, 'SlowDown', 'it is tried again'],
      [403, 'AccessDenied', 'check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions'],
      [404, 'NoSuchBucket', 'create the bucket, or correct ARCHIVE_DIR'],
      [403, 'RequestTimeTooSkewed', 'the clock of this machine or of that store is wrong: set both by NTP'],
    ] as const) {
      proxy.treat(() => ({ status, code }));
      expect(await failure(bucket.text('log/1'))).to.equal(
        `s3://years/a/b: log/1 cannot be read: ${status} ${code}; ${advice}`,
      );
    }
    await proxy.stop();
  });

  it('is distinguished from a server that is away, whose name is told', async () => {
    const nobody = new Bucket(s3Place(await freePort(), 'a'));
    expect(await failure(nobody.list(''))).to.match(
      /^s3:\/\/years\/a: what is there cannot be listed: .*ECONNREFUSED.*; AWS_ENDPOINT_URL_S3 and AWS_REGION say where it is$/,
    );
  });
});

async function failure(work: Promise<unknown>): Promise<string> {
  const error = await work.catch((cause: unknown) => cause);
  return error instanceof StoreUnavailable ? error.message : expect.fail(`not a failure: ${String(error)}`);
}
