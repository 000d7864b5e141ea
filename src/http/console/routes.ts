import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
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

/** The page's own files: what is not named here is not served. */
const OWN_FILES = [
  'style.css',
  'icon.svg',
  'app.js',
  'html.js',
  'api.js',
  'parts/format.js',
  'parts/chart.js',
  'parts/ladder.js',
  'parts/dialog.js',
  'parts/notice.js',
  'parts/verdict.js',
  'parts/trace.js',
  'parts/history.js',
  'parts/time-line.js',
  'pages/now.js',
  'pages/decisions.js',
  'pages/client.js',
  'pages/rules.js',
  'pages/what-if.js',
  'pages/rollout.js',
  'pages/backtest.js',
] as const;

/** Files of installed packages, by the name that the page knows them under. */
const PACKAGE_FILES = [
  ['preact.js', 'preact'],
  ['hooks.js', 'preact/hooks'],
  ['htm.js', 'htm'],
  ['uplot.js', 'uplot/dist/uPlot.esm.js'],
  ['uplot.css', 'uplot/dist/uPlot.min.css'],
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
  const own = OWN_FILES.map((name) => [`/console/${name}`, fileOf(name, ownText(name))] as const);
  const packages = PACKAGE_FILES.map(
    ([name, source]) => [`/console/${name}`, fileOf(name, packageText(source))] as const,
  );
  return new Map([['/', fileOf('index.html', ownText('index.html'))] as const, ...own, ...packages]);
}

function ownText(name: string): string {
  return readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8');
}

/** Browsers resolve no package names, and an import map would be an inline script. */
function packageText(source: string): string {
  return readFileSync(fileURLToPath(import.meta.resolve(source)), 'utf8')
    .replace(/from\s*(["'])preact\1/g, 'from "./preact.js"')
    .replace(/^\/\/# sourceMappingURL=.*$/gm, '');
}

function fileOf(name: string, text: string): ConsoleFile {
  const bytes = Buffer.from(text);
  return { type: typeOf(name), bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` };
}

function typeOf(name: string): string {
  if (name.endsWith('.css')) return 'text/css; charset=utf-8';
  if (name.endsWith('.html')) return 'text/html; charset=utf-8';
  return name.endsWith('.svg') ? 'image/svg+xml' : 'text/javascript; charset=utf-8';
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
