import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '#state/store-errors.ts';

/** Where an archive lies in a store that speaks S3; plain data, so that it can be handed to a process. */
export interface S3Place {
  readonly bucket: string;
  /** '' or what all keys begin with, ending in `/`. */
  readonly prefix: string;
  /** The bucket in the path instead of the host name, as most stores but Amazon's want it. */
  readonly pathStyle: boolean;
  /** How much of it may lie on this machine. */
  readonly cacheBytesMax: number;
  /** The AWS_* variables and HOME: what the SDK wants to find in the environment of whatever process opens it. */
  readonly environment: Readonly<Record<string, string>>;
}

interface ComingObject {
  readonly body: Readable;
  /** In hex; null where whoever wrote it did not note it, as when it was copied back from a backup. */
  readonly sha256: string | null;
}

/**
 * How soon an unreachable store is noticed, and one that takes or gives nothing for that long. How long a transfer takes
 * in all is not bounded: a segment of a hundred megabytes arrives over a slow link, too.
 */
const CONNECT_MS_MAX = 2_000;
const SILENCE_MS_MAX = 8_000;

/** Sent piece by piece, because what one write has sent of a larger one is not seen under TLS. */
const PIECE_BYTES = 64 * 1024;

/** The first try and one more: a person who waits prefers an error. */
const TRIES = 2;

/** As many as one request takes. */
const REMOVED_AT_ONCE = 1000;

const SHA256 = 'sha256';

/** Loaded where it is needed: most nodes keep their archive in a folder. */
function sdk() {
  return import('@aws-sdk/client-s3');
}

/** The objects of one archive in a store that speaks S3, by their paths below its prefix. Everything throws StoreUnavailable. */
export class Bucket {
  /** For people: `s3://BUCKET/PREFIX`. */
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
    const { PutObjectCommand } = await sdk();
    const Metadata = { [SHA256]: createHash('sha256').update(body).digest('hex') };
    await this.#told(`${path} cannot be written`, async (client) =>
      client.send(new PutObjectCommand({ ...this.#object(path), Body: body, Metadata })),
    );
  }

  /** Null where there is none. */
  async get(path: string): Promise<ComingObject | null> {
    const { GetObjectCommand, NoSuchKey } = await sdk();
    return this.#told(`${path} cannot be read`, async (client) => {
      try {
        const { Body, Metadata } = await client.send(new GetObjectCommand(this.#object(path)));
        if (!(Body instanceof Readable)) throw new Error('it has no body');
        return { body: Body, sha256: Metadata?.[SHA256] ?? null };
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    });
  }

  /** A small object as text; null where there is none. */
  async text(path: string): Promise<string | null> {
    const found = await this.get(path);
    if (found === null) return null;
    return this.#told(`${path} cannot be read`, async () => {
      const parts: Buffer[] = [];
      for await (const part of found.body) parts.push(part);
      return Buffer.concat(parts).toString('utf8');
    });
  }

  /** The lengths of objects by their paths. */
  async list(below: string): Promise<ReadonlyMap<string, number>> {
    const { paginateListObjectsV2 } = await sdk();
    const { bucket: Bucket, prefix } = this.#place;
    return this.#told('what is there cannot be listed', async (client) => {
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
    const { DeleteObjectsCommand } = await sdk();
    const { bucket: Bucket } = this.#place;
    for (let from = 0; from < paths.length; from += REMOVED_AT_ONCE) {
      const some = paths.slice(from, from + REMOVED_AT_ONCE);
      const Objects = some.map((path) => ({ Key: this.#object(path).Key }));
      await this.#told(`${some[0]} cannot be removed`, async (client) => {
        const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
        const [error] = Errors;
        if (error !== undefined) throw new Error(error.Code);
      });
    }
  }

  #object(path: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#place.bucket, Key: `${this.#place.prefix}${path}` };
  }

  async #told<T>(what: string, work: (client: S3Client) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#open());
    } catch (cause) {
      throw new StoreUnavailable(`${this.name}: ${what}: ${await whyOf(cause)}`, { cause });
    }
  }

  #open(): Promise<S3Client> {
    this.#client ??= open(this.#place, this.#silenceMsMax);
    return this.#client;
  }
}

async function open({ pathStyle, environment }: S3Place, silenceMsMax: number): Promise<S3Client> {
  const { S3Client } = await sdk();
  const endpoint = environment['AWS_ENDPOINT_URL_S3'] ?? environment['AWS_ENDPOINT_URL'];
  const client = new S3Client({
    region: environment['AWS_REGION'] ?? environment['AWS_DEFAULT_REGION'] ?? 'us-east-1',
    ...(endpoint === undefined ? {} : { endpoint }),
    ...keyOf(environment),
    forcePathStyle: pathStyle,
    maxAttempts: TRIES,
    // Other stores than Amazon's do not know its newer checksums; the archive has its own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS_MAX, socketTimeout: silenceMsMax },
  });
  // The last step: what is signed, and sent again where it fails, is the whole body.
  client.middlewareStack.add((next) => (args) => next({ ...args, request: inPieces(args.request) }), {
    step: 'deserialize',
    name: 'inPieces',
  });
  return client;
}

function inPieces(request: unknown): unknown {
  if (typeof request !== 'object' || request === null || !('body' in request)) return request;
  const { body } = request;
  if (!Buffer.isBuffer(body) || body.length <= PIECE_BYTES) return request;
  return { ...request, body: Readable.from(piecesOf(body)) };
}

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let from = 0; from < body.length; from += PIECE_BYTES) yield body.subarray(from, from + PIECE_BYTES);
}

/** A key from the environment; the SDK itself finds a role or a profile. */
function keyOf(environment: S3Place['environment']): Pick<S3ClientConfig, 'credentials'> {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (accessKeyId === undefined || secretAccessKey === undefined) return {};
  const { AWS_SESSION_TOKEN: sessionToken } = environment;
  return {
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
  };
}

/** Says what went wrong, and what to do about it. */
async function whyOf(error: unknown): Promise<string> {
  if (!(error instanceof Error)) return String(error);
  const { S3ServiceException } = await sdk();
  if (!(error instanceof S3ServiceException))
    return `${error.message || error.name}; AWS_ENDPOINT_URL_S3 and AWS_REGION say where it is`;
  const status = error.$metadata.httpStatusCode ?? 0;
  const told = `${status} ${error.name}`;
  if (error.name === 'RequestTimeTooSkewed')
    return `${told}; the clock of this machine or of that store is wrong: set both by NTP`;
  if (status === 403) return `${told}; look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they allow`;
  if (error.name === 'NoSuchBucket') return `${told}; make the bucket, or set ARCHIVE_DIR right`;
  return `${told}; it is tried again`;
}
