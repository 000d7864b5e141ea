import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import Router from '@koa/router';
import helmet from 'koa-helmet';
import type { RequestState } from '../request/request-state.ts';

/** A file that the page may load, read once at start. */
interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Kinds of files that browsers load; what else lies in the folder, like declarations of types, is not served. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const PAGE = join(import.meta.dirname, 'page');

/** The page itself, served at `/` alone. */
const INDEX = 'index.html';

/** Files of installed packages, by the path that the page knows them under. */
const PACKAGE_FILES = [
  ['packages/preact.js', 'preact'],
  ['packages/hooks.js', 'preact/hooks'],
  ['packages/htm.js', 'htm'],
  ['packages/uplot.js', 'uplot/dist/uPlot.esm.js'],
  ['packages/uplot.css', 'uplot/dist/uPlot.min.css'],
] as const;

/**
 * The console at `/`: a page of plain modules, without a key, because it holds no data. Everything it
 * shows it asks for with the key that somebody signs in with. Nothing is loaded from elsewhere.
 */
export function consoleRoutes(): Router<RequestState> {
  const router = new Router<RequestState>({ strict: true, sensitive: true });
  const files = consoleFiles();
  router.use(securityHeaders());
  for (const [path, file] of files) {
    router.get(path, (ctx) => {
      ctx.state.operation = 'console';
      // Asked for again each time, and answered with 304: nodes of different versions may take turns.
      ctx.set({ ETag: file.etag, 'Cache-Control': 'no-cache', 'Content-Type': file.type });
      ctx.status = 200;
      if (ctx.fresh) ctx.status = 304;
      else ctx.body = file.bytes;
    });
  }
  return router;
}

function consoleFiles(): ReadonlyMap<string, ConsoleFile> {
  const own = ownPaths().map((path) => [path === INDEX ? '/' : `/console/${path}`, ownFile(path)] as const);
  const packages = PACKAGE_FILES.map(
    ([path, source]) => [`/console/${path}`, fileOf(path, packageText(source))] as const,
  );
  return new Map([...own, ...packages]);
}

/** Below the page's folder, with slashes on every system. */
function ownPaths(): readonly string[] {
  return readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .filter((path) => extname(path) in TYPES)
    .map((path) => path.replaceAll(sep, '/'));
}

function ownFile(path: string): ConsoleFile {
  return fileOf(path, readFileSync(join(PAGE, path), 'utf8'));
}

/** Browsers resolve no package names, and an import map would be an inline script. */
function packageText(source: string): string {
  return readFileSync(fileURLToPath(import.meta.resolve(source)), 'utf8')
    .replace(/from\s*(["'])preact\1/g, 'from "./preact.js"')
    .replace(/^\/\/# sourceMappingURL=.*$/gm, '');
}

function fileOf(path: string, text: string): ConsoleFile {
  const bytes = Buffer.from(text);
  const etag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
  return { type: TYPES[extname(path)] ?? 'application/octet-stream', bytes, etag };
}

function securityHeaders() {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'script-src': ["'self'"],
        'style-src': ["'self'"],
        'connect-src': ["'self'"],
        'img-src': ["'self'", 'data:'],
        'base-uri': ["'none'"],
        'form-action': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    // Whether the listener stands behind TLS is for the proxy in front of it to say.
    strictTransportSecurity: false,
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  });
}
