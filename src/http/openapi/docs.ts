import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { RequestState } from '../request/request-state.ts';
import type { OpenApiDocument } from './document.ts';

const SWAGGER_UI = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

/** Paths are relative, so that the page also works behind a proxy that adds a prefix. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Client Scoring Service: API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/initializer.js"></script>
  </body>
</html>
`;

const INITIALIZER = `window.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#docs',
  validatorUrl: null,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
});
`;

/** Nothing comes from elsewhere and nothing goes elsewhere. Swagger UI sets styles by script, which needs no exception. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  // The only large answers given without a key. The system keeps what a slow reader has not taken; the
  // service does not wait for it.
  Connection: 'close',
} as const;

/**
 * A document that the reader has not taken by then is broken off. Slow readers are cut off anyway, but their time starts
 * again whenever the system takes another part.
 */
const ANSWER_MS_MAX = 8_000;

/** A reader must take one part before it is cut off for taking nothing; fewer parts cost less. */
const PART_BYTES = 256 * 1024;

/** The package's files that the page needs; read when one is first asked for, once for both listeners. */
const ASSETS = [
  asset('swagger-ui.css', 'text/css; charset=utf-8'),
  asset('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
];

/**
 * `/openapi.json` and `/docs` of a listener, below its base path; no key is needed, since they tell
 * nothing about anybody. The page is Swagger UI from the installed package and works offline. The document is made
 * when it is first asked for.
 */
export function docsRoutes(document: () => OpenApiDocument, basePath: string): Router<RequestState> {
  let texts: Readonly<Record<string, Buffer>> | null = null;
  const router = new Router<RequestState>({ prefix: basePath, strict: true, sensitive: true });
  const serve = (path: string, type: string, body: Body) => {
    router.get(path, (ctx) => {
      ctx.state.operation = 'docs';
      ctx.set({ ...HEADERS, 'Content-Type': type, 'Cache-Control': 'no-cache' });
      breakOffLate(ctx.res);
      ctx.body = body(ctx);
    });
  };
  serve('/openapi.json', 'application/json; charset=utf-8', (ctx) => {
    texts ??= encoded(JSON.stringify(document(), null, 2));
    const encoding = ctx.acceptsEncodings('br', 'gzip') || 'identity';
    ctx.vary('Accept-Encoding');
    if (encoding !== 'identity') ctx.set('Content-Encoding', encoding);
    return texts[encoding] ?? '';
  });
  serve('/docs', 'text/html; charset=utf-8', () => PAGE);
  serve('/docs/initializer.js', 'text/javascript; charset=utf-8', () => INITIALIZER);
  for (const { name, type, parts } of ASSETS) serve(`/docs/${name}`, type, () => Readable.from(parts()));
  return router;
}

type Body = (
  ctx: Pick<Context, 'acceptsEncodings' | 'vary' | 'set'>,
) => string | Buffer | NodeJS.ReadableStream;

/** A text by the encodings that a reader may ask for; made once. */
function encoded(text: string): Readonly<Record<string, Buffer>> {
  const identity = Buffer.from(text);
  return { identity, gzip: gzipSync(identity), br: brotliCompressSync(identity, BROTLI) };
}

/** The default takes a second for the last percent. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

function breakOffLate(res: ServerResponse): void {
  const late = setTimeout(() => res.destroy(), ANSWER_MS_MAX);
  res.once('close', () => clearTimeout(late));
}

/** Part by part it shows whether a reader takes anything, and all readers share the same parts. */
function asset(name: string, type: string) {
  let parts: readonly Buffer[] | null = null;
  return { name, type, parts: () => (parts ??= partsOf(readFileSync(join(SWAGGER_UI, name)))) };
}

function partsOf(file: Buffer): readonly Buffer[] {
  const count = Math.ceil(file.length / PART_BYTES);
  return Array.from({ length: count }, (_, index) =>
    file.subarray(index * PART_BYTES, (index + 1) * PART_BYTES),
  );
}
