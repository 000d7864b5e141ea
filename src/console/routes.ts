import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import Router, { type RouterContext } from '@koa/router';
import helmet from 'koa-helmet';
import { ruleSchemas } from '../authoring/schema/rule-schema.ts';
import type { RequestState } from '../http/request/request-state.ts';

/** A file that the page may load, read once at start. */
interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Compressed when it is first asked for: most nodes never show the page. */
  readonly gzipped: () => Buffer;
}

/** Kinds of files that browsers load; other files of the folder, like declarations of types, are not served. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const PAGE = join(import.meta.dirname, 'page');

/** The page itself, served at `/` alone. */
const INDEX = 'index.html';

/** What is loaded ahead: the page's frame, and the place that it opens with; the others come when somebody opens them. */
const LOADED_AHEAD = ['app.js', 'pages/now.js'];

const YEAR_SECONDS = 31_536_000;

/** Installed packages that the page loads, and those that they load themselves. */
const PACKAGES: readonly string[] = [
  ...['preact', 'preact/hooks', 'htm', 'uplot', 'fflate/browser'],
  // The editor of drafts, loaded when one is opened, and what it is made of.
  ...['state', 'view', 'language', 'commands', 'search'].map((name) => `@codemirror/${name}`),
  ...['autocomplete', 'lint', 'lang-yaml', 'streamparser'].map((name) => `@codemirror/${name}`),
  ...['common', 'highlight', 'lr', 'yaml'].map((name) => `@lezer/${name}`),
  ...['@marijn/find-cluster-break', 'style-mod', 'w3c-keyname', 'crelt'],
];

/** Files of packages that are not what their name leads to in Node. */
const OTHER_FILES: Readonly<Record<string, string>> = { uplot: 'uplot/dist/uPlot.esm.js' };

/** What completes and explains the rule files in the editor: the same schemas that are written for other editors. */
const SCHEMAS = 'schemas.json';

/**
 * The console at `/`: a page of plain modules, without a key, because it holds no data. Everything it
 * shows it asks for with the key that somebody signs in with. Nothing is loaded from elsewhere. The addresses
 * of its files hold a hash of them all, so that browsers keep them without asking again.
 */
export function consoleRoutes(): Router<RequestState> {
  const router = new Router<RequestState>({ strict: true, sensitive: true });
  const files = consoleFiles();
  const release = hashOf([...files].flatMap(([path, { bytes }]) => [path, bytes]));
  const index = fileOf(INDEX, indexOf(release));
  router.use(securityHeaders());
  router.get('/', (ctx) => {
    ctx.set({ ETag: `W/"${hashOf([index.bytes])}"`, 'Cache-Control': 'no-cache' });
    send(ctx, index);
  });
  for (const [path, file] of files) {
    router.get(`/console/:release/${path}`, (ctx) => {
      // Nodes of different versions may take turns: the page of another gets what this one has, and keeps nothing.
      const isOwn = ctx.params['release'] === release;
      ctx.set('Cache-Control', isOwn ? `max-age=${YEAR_SECONDS}, immutable` : 'no-store');
      send(ctx, file);
    });
  }
  return router;
}

function send(ctx: RouterContext<RequestState>, { type, bytes, gzipped }: ConsoleFile): void {
  ctx.state.operation = 'console';
  ctx.set({ 'Content-Type': type, Vary: 'Accept-Encoding' });
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  const isGzipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  if (isGzipped) ctx.set('Content-Encoding', 'gzip');
  ctx.body = isGzipped ? gzipped() : bytes;
}

function hashOf(parts: readonly (string | Buffer)[]): string {
  const all = createHash('sha256');
  for (const part of parts) all.update(part);
  return all.digest('base64url').slice(0, 22);
}

function consoleFiles(): ReadonlyMap<string, ConsoleFile> {
  const own = ownPaths().map((path) => [path, fileOf(path, ownText(path))] as const);
  const packages = PACKAGES.map((name) => [pathOf(name), fileOf(pathOf(name), packageText(name))] as const);
  const chartStyle = [
    'packages/uplot.css',
    fileOf('uplot.css', installed('uplot/dist/uPlot.min.css')),
  ] as const;
  const schemas = fileOf(SCHEMAS, JSON.stringify(Object.fromEntries(ruleSchemas())));
  return new Map([...own, ...packages, chartStyle, [SCHEMAS, schemas] as const]);
}

/** Below the page's folder, with slashes on every system. */
function ownPaths(): readonly string[] {
  return readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .filter((path) => extname(path) in TYPES && !path.endsWith('.json') && path !== INDEX)
    .map((path) => path.replaceAll(sep, '/'));
}

function ownText(path: string): string {
  return withPaths(path, readFileSync(join(PAGE, path), 'utf8'));
}

/** The page with its modules named at once: otherwise a browser learns of each only after it read the one before. */
function indexOf(release: string): string {
  const known = new Set<string>();
  for (const path of LOADED_AHEAD) modulesOf(path, known);
  const links = [...known].map((path) => `<link rel="modulepreload" href="console/${path}">`);
  return ownText(INDEX)
    .replace('</head>', `  ${links.join('\n    ')}\n  </head>`)
    .replaceAll('="console/', `="console/${release}/`);
}

/** Adds a module of the page with all that it imports before it runs. */
function modulesOf(path: string, known: Set<string>): void {
  if (known.has(path)) return;
  known.add(path);
  if (path.startsWith('packages/')) return;
  for (const [, imported = ''] of ownText(path).matchAll(/^(?:import|export|\}) .*?from '([^']+\.js)';$/gm))
    modulesOf(posix.join(posix.dirname(path), imported), known);
}

function packageText(name: string): string {
  const text = installed(OTHER_FILES[name] ?? name);
  return withPaths(pathOf(name), text).replace(/^\/\/# sourceMappingURL=.*$/gm, '');
}

function installed(file: string): string {
  return readFileSync(fileURLToPath(import.meta.resolve(file)), 'utf8');
}

function pathOf(name: string): string {
  return `packages/${name.replace('@', '')}.js`;
}

/** Browsers resolve no package names, and an import map would be an inline script: a name becomes a path. */
function withPaths(path: string, text: string): string {
  return text.replace(
    /(\b(?:from|import)\s*\(?)(["'])([^"'./][^"']*)\2/g,
    (all, before: string, _, name: string) =>
      PACKAGES.includes(name) ? `${before}'./${posix.relative(posix.dirname(path), pathOf(name))}'` : all,
  );
}

function fileOf(path: string, text: string): ConsoleFile {
  const bytes = Buffer.from(text);
  let gzipped: Buffer | null = null;
  return {
    type: TYPES[extname(path)] ?? 'application/octet-stream',
    bytes,
    gzipped: () => {
      gzipped ??= gzipSync(bytes);
      return gzipped;
    },
  };
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
