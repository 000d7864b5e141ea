import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import Router from '@koa/router';
import helmet from 'koa-helmet';
import { ruleSchemas } from '../authoring/schema/rule-schema.ts';
import type { RequestState } from '../http/request/request-state.ts';

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
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const PAGE = join(import.meta.dirname, 'page');

/** The page itself, served at `/` alone. */
const INDEX = 'index.html';

/** Files of installed packages, by the path below `packages` that the page knows them under. */
const PACKAGE_FILES: readonly (readonly [path: string, source: string])[] = [
  ['preact.js', 'preact'],
  ['hooks.js', 'preact/hooks'],
  ['htm.js', 'htm'],
  ['uplot.js', 'uplot/dist/uPlot.esm.js'],
  ['uplot.css', 'uplot/dist/uPlot.min.css'],
  ['fflate.js', 'fflate/browser'],
  // The editor of drafts, loaded when one is opened, and what it is made of.
  ['editor/state.js', '@codemirror/state'],
  ['editor/view.js', '@codemirror/view'],
  ['editor/language.js', '@codemirror/language'],
  ['editor/commands.js', '@codemirror/commands'],
  ['editor/search.js', '@codemirror/search'],
  ['editor/autocomplete.js', '@codemirror/autocomplete'],
  ['editor/lint.js', '@codemirror/lint'],
  ['editor/lang-yaml.js', '@codemirror/lang-yaml'],
  ['editor/streamparser.js', '@codemirror/streamparser'],
  ['editor/lezer-common.js', '@lezer/common'],
  ['editor/lezer-highlight.js', '@lezer/highlight'],
  ['editor/lezer-lr.js', '@lezer/lr'],
  ['editor/lezer-yaml.js', '@lezer/yaml'],
  ['editor/find-cluster-break.js', '@marijn/find-cluster-break'],
  ['editor/style-mod.js', 'style-mod'],
  ['editor/keyname.js', 'w3c-keyname'],
  ['editor/crelt.js', 'crelt'],
];

const PACKAGE_PATHS: ReadonlyMap<string, string> = new Map(
  PACKAGE_FILES.map(([path, source]) => [source, path]),
);

/** What completes and explains the rule files in the editor: the same schemas that are written for other editors. */
const SCHEMAS = 'schemas.json';

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
    ([path, source]) => [`/console/packages/${path}`, fileOf(path, packageText(path, source))] as const,
  );
  const schemas = fileOf(SCHEMAS, JSON.stringify(Object.fromEntries(ruleSchemas())));
  return new Map([...own, ...packages, [`/console/${SCHEMAS}`, schemas] as const]);
}

/** Below the page's folder, with slashes on every system. */
function ownPaths(): readonly string[] {
  return readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .filter((path) => extname(path) in TYPES && !path.endsWith('.json'))
    .map((path) => path.replaceAll(sep, '/'));
}

function ownFile(path: string): ConsoleFile {
  const text = readFileSync(join(PAGE, path), 'utf8');
  return fileOf(path, path === INDEX ? withPreloads(text) : text);
}

/** The page with its modules named at once: otherwise a browser learns of each only after it read the one before. */
function withPreloads(index: string): string {
  const links = [...modulesOf('app.js')].map((path) => `<link rel="modulepreload" href="console/${path}">`);
  return index.replace('</head>', `  ${links.join('\n    ')}\n  </head>`);
}

/** A module of the page with all that it imports before it runs; the editor comes later, when a draft is opened. */
function modulesOf(path: string, known: Set<string> = new Set()): ReadonlySet<string> {
  if (known.has(path)) return known;
  known.add(path);
  if (path.startsWith('packages/')) return known;
  const text = readFileSync(join(PAGE, path), 'utf8');
  for (const [, imported = ''] of text.matchAll(/^(?:import|export|\}) .*?from '([^']+\.js)';$/gm))
    modulesOf(posix.join(posix.dirname(path), imported), known);
  return known;
}

/** Browsers resolve no package names, and an import map would be an inline script: a name becomes a path. */
function packageText(path: string, source: string): string {
  return readFileSync(fileURLToPath(import.meta.resolve(source)), 'utf8')
    .replace(/(\b(?:from|import)\s*)(["'])([^"'./][^"']*)\2/g, (all, before: string, _, name: string) => {
      const other = PACKAGE_PATHS.get(name);
      return other === undefined ? all : `${before}"./${posix.relative(posix.dirname(path), other)}"`;
    })
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
