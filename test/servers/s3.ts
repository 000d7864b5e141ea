import { spawn } from 'node:child_process';
import type { S3Place } from '#history/archive/s3/bucket.ts';
import { installed } from '../generators/install.ts';
import { end, own } from '../processes/own-process.ts';
import { freePort } from './free-port.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { until } from './until.ts';

/** A server that speaks S3, with one bucket. */
export interface S3Server {
  readonly port: number;
  /** Where its objects lie, each as `KEY._S3rver_object`. */
  readonly folder: string;
  /** Stops it without closing its connections, like a machine that hangs. */
  suspend(): void;
  resume(): void;
  /** kill -9. */
  stop(): Promise<void>;
  /** On the same port, with the same objects. */
  restart(): Promise<void>;
}

export const BUCKET = 'years';

export async function startS3(): Promise<S3Server> {
  const [port, directory] = [await freePort(), temporaryDirectory()];
  const options = {
    address: '127.0.0.1',
    port,
    silent: true,
    directory,
    configureBuckets: [{ name: BUCKET }],
    // It encodes a slash in a query otherwise than the SDK does, which signs as Amazon wants it.
    allowMismatchedSignatures: true,
  };
  const server = installed('@20minutes', 's3rver');
  const program = `new (require(${JSON.stringify(server)}))(${JSON.stringify(options)}).run()`;
  const start = async () => {
    const started = own(spawn(process.execPath, ['-e', program], { stdio: 'ignore' }));
    await until(`the S3 server answers on ${port}`, () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      ),
    );
    return started;
  };
  let child = await start();
  return {
    port,
    folder: `${directory}/${BUCKET}`,
    suspend: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    stop: () => end(child),
    restart: async () => {
      child = await start();
    },
  };
}

/** The settings of a node whose archive is in the bucket, which it reaches by this port. */
export function s3Environment(port: number, prefix: string): Readonly<Record<string, string>> {
  return {
    ARCHIVE_DIR: `s3://${BUCKET}/${prefix}`,
    ARCHIVE_S3_PATH_STYLE: 'on',
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
    AWS_REGION: 'eu-central-1',
  };
}

export function s3Place(port: number, prefix: string, cacheBytesMax = 1e9): S3Place {
  const { ARCHIVE_DIR, ARCHIVE_S3_PATH_STYLE, ...environment } = s3Environment(port, prefix);
  return { bucket: BUCKET, prefix: `${prefix}/`, pathStyle: true, cacheBytesMax, environment };
}
