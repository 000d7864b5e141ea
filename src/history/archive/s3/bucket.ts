import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '#state/store-errors.ts';

/**
 * The place of an archive in an object store with the S3 interface. It is plain data, so that it can be sent to
 * another process.
 */
export interface S3Place {
  readonly bucket: string;
  /** The beginning of all keys. It ends in `/` or is empty. */
  readonly prefix: string;
  /** True if the bucket is a part of the path instead of the host name, as most stores except Amazon's demand. */
  readonly pathStyle: boolean;
  /** The most bytes of the archive that may lie on this machine. */
  readonly cacheBytesMax: number;
  /** The AWS_* variables and HOME, which the SDK reads from the environment of the process that opens the place. */
  readonly environment: Readonly<Record<string, string>>;
}

interface ComingObject {
  readonly body: Readable;
  /** The SHA-256 in hex. Null if the writer did not note it, as in an object that was copied from a backup. */
  readonly sha256: string | null;
}

/**
 * How long to wait for a connection, and for the next byte, before the store counts as unavailable. The whole time of
 * a transfer has no limit, so that a segment of a hundred megabytes can arrive over a slow link.
 */
const CONNECT_MS_MAX = 2_000;
const SILENCE_MS_MAX = 8_000;

/**
 * The size of the pieces in which bodies are sent. Under TLS nobody sees how much of one large write was sent, so a
 * slow write would look like silence.
 */
const PIECE_BYTES = 64 * 1024;

/** How often a request is tried: once, and once more. A person who waits prefers an early error. */
const TRIES = 2;

/** The most objects that one request can remove. */
const REMOVED_AT_ONCE = 1000;

const SHA256 = 'sha256';

/** Loads the SDK when it is needed. Most nodes keep their archive in a folder. */
function loadSdk() {
  return import('@aws-sdk/client-s3');
}

/**
 * The objects of an archive in an object store with the S3 interface, by their paths below the prefix. Every method
 * throws StoreUnavailable if the object store fails.
 */
export class Bucket {
  /** The address for people: `s3://BUCKET/PREFIX`. */
  readonly name: string;
  readonly #place: S3Place;
  readonly #silenceMsMax: number;
  #client: Promise<S3Client> | null = null;

  constructor(place: S3Place, silenceMsMax = SILENCE_MS_MAX) {
    this.#place = place;
    this.#silenceMsMax = silenceMsMax;
    this.name = `s3://${place.bucket}/${place.prefix}`.replace(/\/$/, '');
  }

  async put(path: string, body: Buffer): Promise<void> {
    const { PutObjectCommand } = await loadSdk();
    const Metadata = { [SHA256]: createHash('sha256').update(body).digest('hex') };
    await this.#withExplainedErrors(`${path} cannot be written`, async (client) =>
      client.send(new PutObjectCommand({ ...this.#toObject(path), Body: body, Metadata })),
    );
  }

  /** Reads an object. Returns null if there is no such object. */
  async get(path: string): Promise<ComingObject | null> {
    const { GetObjectCommand, NoSuchKey } = await loadSdk();
    return this.#withExplainedErrors(`${path} cannot be read`, async (client) => {
      try {
        const { Body, Metadata } = await client.send(new GetObjectCommand(this.#toObject(path)));
        if (!(Body instanceof Readable)) throw new Error('it has no body');
        return { body: Body, sha256: Metadata?.[SHA256] ?? null };
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    });
  }

  /** Reads a small object as text. Returns null if there is no such object. */
  async text(path: string): Promise<string | null> {
    const found = await this.get(path);
    if (found === null) return null;
    return this.#withExplainedErrors(`${path} cannot be read`, async () => {
      const parts: Buffer[] = [];
      for await (const part of found.body) parts.push(part);
      return Buffer.concat(parts).toString('utf8');
    });
  }

  /** Returns the lengths of the objects below a path, by path. */
  async list(below: string): Promise<ReadonlyMap<string, number>> {
    const { paginateListObjectsV2 } = await loadSdk();
    const { bucket: Bucket, prefix } = this.#place;
    return this.#withExplainedErrors('what is there cannot be listed', async (client) => {
      const sizes = new Map<string, number>();
      for await (const { Contents = [] } of paginateListObjectsV2(
        { client },
        { Bucket, Prefix: `${prefix}${below}` },
      ))
        for (const { Key = '', Size = 0 } of Contents) sizes.set(Key.slice(prefix.length), Size);
      return sizes;
    });
  }

  async remove(paths: readonly string[]): Promise<void> {
    const { DeleteObjectsCommand } = await loadSdk();
    const { bucket: Bucket } = this.#place;
    for (let from = 0; from < paths.length; from += REMOVED_AT_ONCE) {
      const some = paths.slice(from, from + REMOVED_AT_ONCE);
      const Objects = some.map((path) => ({ Key: this.#toObject(path).Key }));
      await this.#withExplainedErrors(`${some[0]} cannot be removed`, async (client) => {
        const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
        const [error] = Errors;
        if (error !== undefined) throw new Error(error.Code);
      });
    }
  }

  #toObject(path: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#place.bucket, Key: `${this.#place.prefix}${path}` };
  }

  async #withExplainedErrors<T>(what: string, work: (client: S3Client) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#open());
    } catch (cause) {
      throw new StoreUnavailable(`${this.name}: ${what}: ${await explainError(cause)}`, { cause });
    }
  }

  #open(): Promise<S3Client> {
    this.#client ??= openClient(this.#place, this.#silenceMsMax);
    return this.#client;
  }
}

async function openClient({ pathStyle, environment }: S3Place, silenceMsMax: number): Promise<S3Client> {
  const { S3Client } = await loadSdk();
  const endpoint = environment['AWS_ENDPOINT_URL_S3'] ?? environment['AWS_ENDPOINT_URL'];
  const client = new S3Client({
    region: environment['AWS_REGION'] ?? environment['AWS_DEFAULT_REGION'] ?? 'us-east-1',
    ...(endpoint === undefined ? {} : { endpoint }),
    ...readKey(environment),
    forcePathStyle: pathStyle,
    maxAttempts: TRIES,
    // Other stores than Amazon's do not support its newer checksums. The archive has its own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS_MAX, socketTimeout: silenceMsMax },
  });
  // The function runs as the SDK's last step, so that signing and retries before it still see the whole body.
  client.middlewareStack.add((next) => (args) => next({ ...args, request: sendInPieces(args.request) }), {
    step: 'deserialize',
    name: 'inPieces',
  });
  return client;
}

function sendInPieces(request: unknown): unknown {
  if (typeof request !== 'object' || request === null || !('body' in request)) return request;
  const { body } = request;
  if (!Buffer.isBuffer(body) || body.length <= PIECE_BYTES) return request;
  return { ...request, body: Readable.from(splitBody(body)) };
}

function* splitBody(body: Buffer): Generator<Buffer> {
  for (let from = 0; from < body.length; from += PIECE_BYTES) yield body.subarray(from, from + PIECE_BYTES);
}

/** Returns the access key from the environment. If there is none, the SDK finds a role or a profile itself. */
function readKey(environment: S3Place['environment']): Pick<S3ClientConfig, 'credentials'> {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (accessKeyId === undefined || secretAccessKey === undefined) return {};
  const { AWS_SESSION_TOKEN: sessionToken } = environment;
  return {
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
  };
}

/** Says what went wrong, and what to do about it. */
async function explainError(error: unknown): Promise<string> {
  if (!(error instanceof Error)) return String(error);
  const { S3ServiceException } = await loadSdk();
  if (!(error instanceof S3ServiceException))
    return `${error.message || error.name}; AWS_ENDPOINT_URL_S3 and AWS_REGION say where it is`;
  const status = error.$metadata.httpStatusCode ?? 0;
  const told = `${status} ${error.name}`;
  if (error.name === 'RequestTimeTooSkewed')
    return `${told}; the clock of this machine or of that store is wrong: set both by NTP`;
  if (status === 403) return `${told}; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions`;
  if (error.name === 'NoSuchBucket') return `${told}; create the bucket, or correct ARCHIVE_DIR`;
  return `${told}; it is tried again`;
}
