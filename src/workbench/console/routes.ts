import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import Router, { type RouterContext } from '@koa/router';
import helmet from 'helmet';
import type { Middleware } from 'koa';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { getPageBundle } from './bundle.ts';

/** A file that the page may load, bundled or read once. */
interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Compresses the file, on another thread, when it is first asked for in this encoding. */
  readonly compressed: (encoding: Encoding) => Promise<Buffer>;
}

/** The encodings that browsers take, the smallest first. Most browsers take br only over TLS or from localhost. */
const ENCODINGS = ['br', 'gzip'] as const;

type Encoding = (typeof ENCODINGS)[number];

/** The highest quality takes ten times as long to save the last percent. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } };

const COMPRESS = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, BROTLI),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
} as const;

/** The media types of files, by the extension of their names. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const PAGE = join(import.meta.dirname, 'page');

/** Files of the page that the bundler leaves unchanged. */
const AS_THEY_ARE = ['icon.svg', 'font/inter.woff2'] as const;

const YEAR_SECONDS = 31_536_000;

/** The files that a node serves: the page, and its files below an address that contains a hash of them all. */
interface ServedConsole {
  readonly release: string;
  readonly index: ConsoleFile;
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

/**
 * Creates the routes of the console at `/`. They need no key, because the console itself holds no data. The page
 * requests all its data with the key of the person who signs in. The page loads nothing from other servers. The
 * console is bundled when somebody first opens it, because most nodes never show it. The addresses of its files
 * change with their contents, so that browsers keep them without asking again.
 */
export function createConsoleRoutes(): Router<RequestState> {
  const router = new Router<RequestState>({ strict: true, sensitive: true });
  let begun: Promise<ServedConsole> | null = null;
  const served = (): Promise<ServedConsole> => {
    begun ??= servedConsole().catch((error: unknown) => {
      begun = null;
      throw error;
    });
    return begun;
  };
  router.use(securityHeaders());
  router.get('/', async (ctx) => {
    const { index } = await served();
    ctx.set({ ETag: `W/"${computeHash([index.bytes])}"`, 'Cache-Control': 'no-cache' });
    await send(ctx, index);
  });
  router.get('/console/:release/:name', async (ctx) => {
    const { release, files } = await served();
    const file = files.get(ctx.params['name'] ?? '');
    if (file === undefined) return;
    // Nodes of different versions may take turns, so the page of another version may ask this node. The browser gets
    // the file of this version and does not keep it.
    const isOwn = ctx.params['release'] === release;
    ctx.set('Cache-Control', isOwn ? `max-age=${YEAR_SECONDS}, immutable` : 'no-store');
    await send(ctx, file);
  });
  return router;
}

async function servedConsole(): Promise<ServedConsole> {
  const texts = Object.entries(await getPageBundle());
  const asTheyAre = AS_THEY_ARE.map((path) => [basename(path), readFileSync(join(PAGE, path))] as const);
  const files = [...texts, ...asTheyAre];
  const release = computeHash(files.flat());
  const page = readFileSync(join(PAGE, 'index.html'), 'utf8');
  return {
    release,
    index: createConsoleFile('index.html', page.replaceAll('="console/', `="console/${release}/`)),
    files: new Map(files.map(([name, content]) => [name, createConsoleFile(name, content)])),
  };
}

async function send(
  ctx: RouterContext<RequestState>,
  { type, bytes, compressed }: ConsoleFile,
): Promise<void> {
  ctx.state.operation = 'console';
  ctx.set({ 'Content-Type': type, Vary: 'Accept-Encoding' });
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  // Browsers name gzip first, but that is no preference.
  const encoding = ENCODINGS.find((one) => ctx.acceptsEncodings(one) === one);
  if (encoding !== undefined) ctx.set('Content-Encoding', encoding);
  ctx.body = encoding === undefined ? bytes : await compressed(encoding);
}

function computeHash(parts: readonly (string | Buffer)[]): string {
  const all = createHash('sha256');
  for (const part of parts) all.update(part);
  return all.digest('base64url').slice(0, 22);
}

function createConsoleFile(path: string, content: string | Buffer): ConsoleFile {
  const bytes = Buffer.from(content);
  const known = new Map<Encoding, Promise<Buffer>>();
  return {
    type: TYPES[extname(path)] ?? 'application/octet-stream',
    bytes,
    compressed: (encoding) => known.getOrInsertComputed(encoding, () => COMPRESS[encoding](bytes)),
  };
}

function securityHeaders(): Middleware {
  const setHeaders = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'script-src': ["'self'"],
        'style-src': ["'self'"],
        'connect-src': ["'self'"],
        'img-src': ["'self'", 'data:'],
        'font-src': ["'self'"],
        'base-uri': ["'none'"],
        'form-action': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    // Only the proxy before the listener knows whether the listener stands behind TLS.
    strictTransportSecurity: false,
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  });
  return ({ req, res }, next) => {
    // The middleware only sets headers.
    setHeaders(req, res, () => {});
    return next();
  };
}
